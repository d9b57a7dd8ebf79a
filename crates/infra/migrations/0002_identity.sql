-- People, their sessions, tokens of machines, the keys that sign both, and attempts to get in.

CREATE TABLE users (
    id uuid PRIMARY KEY,
    -- In lower case; `issuer:name` for people of another issuer. It is never given twice: rows stay.
    username text NOT NULL,
    full_name text,
    email text,
    role text NOT NULL CHECK (role IN ('Viewer', 'Operator', 'EnvironmentOwner', 'Admin')),
    environments text[] NOT NULL DEFAULT '{}'
        CHECK (environments <@ ARRAY['Development', 'Staging', 'Production']),
    -- Both, or neither for a local user.
    issuer text,
    subject text,
    state text NOT NULL DEFAULT 'Enabled' CHECK (state IN ('Enabled', 'Disabled', 'Deleted')),
    -- A PHC string. People of another issuer have none.
    password_hash text,
    password_until timestamptz,
    must_change_password boolean NOT NULL DEFAULT false,
    -- Grows when tokens made before must not count any more.
    version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
    -- Grows with every change.
    revision bigint NOT NULL DEFAULT 1 CHECK (revision > 0),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_login_at timestamptz,
    CONSTRAINT users_username_key UNIQUE (username),
    CONSTRAINT users_subject_key UNIQUE (issuer, subject),
    CHECK (username = lower(username)),
    CHECK ((issuer IS NULL) = (subject IS NULL)),
    CHECK (issuer IS NULL OR password_hash IS NULL),
    CHECK (role = 'EnvironmentOwner' OR environments = '{}')
);
CREATE INDEX users_role ON users (role) WHERE state = 'Enabled';

CREATE TABLE sessions (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    started_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL CHECK (ends_at > started_at),
    ended_at timestamptz
);
CREATE INDEX sessions_user_id ON sessions (user_id);
CREATE INDEX sessions_ends_at ON sessions (ends_at);

CREATE TABLE signing_keys (
    id text PRIMARY KEY,
    -- Each number is given once: servers that rotate at the same moment make one key.
    number bigint NOT NULL CHECK (number > 0),
    public_key bytea NOT NULL,
    -- Sealed by the keyring; the private key is nowhere in clear.
    sealed bytea NOT NULL,
    active_from timestamptz NOT NULL,
    CONSTRAINT signing_keys_number_key UNIQUE (number)
);

CREATE TABLE api_tokens (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    owner_id uuid NOT NULL REFERENCES users (id),
    role text NOT NULL CHECK (role IN ('Viewer', 'Operator', 'EnvironmentOwner', 'Admin')),
    environments text[] NOT NULL DEFAULT '{}'
        CHECK (environments <@ ARRAY['Development', 'Staging', 'Production']),
    -- The key stays as long as a token that it signed counts.
    key_id text REFERENCES signing_keys (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
    revoked_at timestamptz,
    last_used_at timestamptz
);
CREATE UNIQUE INDEX api_tokens_name_key ON api_tokens (owner_id, name) WHERE revoked_at IS NULL;
CREATE INDEX api_tokens_created_at ON api_tokens (created_at);
CREATE INDEX api_tokens_key_id ON api_tokens (key_id);

-- Attempts to log in that were not known to be right, by name and by address, whether or not there is such
-- a user.
CREATE TABLE login_attempts (
    key text PRIMARY KEY,
    failures integer NOT NULL CHECK (failures >= 0),
    last_at timestamptz NOT NULL,
    locked_until timestamptz
);
CREATE INDEX login_attempts_last_at ON login_attempts (last_at);
