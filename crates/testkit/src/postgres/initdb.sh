# Runs initdb, and removes the shared memory that it leaves when it is broken off half way: when its owner
# dies, its folder goes, and the server inside it panics without letting go.

# Its end is waited for, whoever asks this script to end.
trap '' TERM
setsid "$@" && exit
code=$?
uid=$(id -u)
# Only small pieces of this user's that nobody uses and whose maker is gone: what PostgreSQL leaves.
while read -r key id mode size maker last attached owner rest; do
    if [ "$owner" = "$uid" ] && [ "$attached" = 0 ] && [ "$size" -lt 1024 ] && [ ! -d "/proc/$maker" ]; then
        ipcrm -m "$id"
    fi
done < /proc/sysvipc/shm
exit "$code"
