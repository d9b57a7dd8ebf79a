-- Rollouts: how a version goes out over clusters, and everything that was recorded on the way. Rows are kept:
-- they are the history. An operator or a cluster may be removed later, so its id stands here without a foreign
-- key and its name beside it; only reservations refer to both, so that neither goes while it is being changed.

CREATE TABLE rollouts (
    id uuid PRIMARY KEY,
    operator_id uuid NOT NULL,
    operator text NOT NULL,
    target_version text NOT NULL,
    -- What most of the targets ran when it began.
    previous_version text,
    strategy text NOT NULL CHECK (strategy IN ('Direct', 'Canary', 'Rolling', 'BlueGreen')),
    status text NOT NULL CHECK (status IN
        ('Planning', 'Deploying', 'Validating', 'Completed', 'RollingBack', 'RolledBack', 'Failed', 'Cancelled')),
    -- Of `state`: an older server leaves alone what it would misread.
    format integer NOT NULL CHECK (format > 0),
    state jsonb NOT NULL CHECK (jsonb_typeof(state) = 'object'),
    placements jsonb NOT NULL CHECK (jsonb_typeof(placements) = 'object'),
    -- Of `state`, for those who search: the names of the clusters, where they stand, the keys of the steps under
    -- way, the number of the last command that was followed.
    targets text[] NOT NULL,
    environments text[] NOT NULL,
    open_steps text[] NOT NULL DEFAULT '{}',
    followed bigint NOT NULL DEFAULT 0 CHECK (followed >= 0),
    started_by text NOT NULL,
    -- The person behind it; nobody where the manager itself started it.
    started_by_id uuid,
    -- Why an admin goes past approvals, where one does.
    emergency text,
    may_delete text[] NOT NULL DEFAULT '{}',
    -- The W3C traceparent of the request that began it.
    trace text,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    -- Grows with each decision; whoever decides writes only over what they have read.
    version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
    -- The last numbers that were handed out: without gaps, since the row is locked by whoever takes one.
    news_seq bigint NOT NULL DEFAULT 0 CHECK (news_seq >= 0),
    command_seq bigint NOT NULL DEFAULT 0 CHECK (command_seq >= 0)
);
CREATE INDEX rollouts_created_at ON rollouts (created_at DESC, id);
CREATE INDEX rollouts_status ON rollouts (status, created_at DESC);
CREATE INDEX rollouts_operator ON rollouts (operator, created_at DESC);
CREATE INDEX rollouts_operator_id ON rollouts (operator_id, ended_at DESC);
CREATE INDEX rollouts_targets ON rollouts USING gin (targets);

-- The values that somebody gave. Apart from the rest, so that no query for a list can ever carry them.
CREATE TABLE rollout_values (
    rollout_id uuid PRIMARY KEY REFERENCES rollouts (id) ON DELETE CASCADE,
    -- AES-256-GCM, the id of the key in front, bound to the rollout's id.
    sealed bytea NOT NULL
);

-- One active rollout per operator and cluster.
CREATE TABLE rollout_reservations (
    cluster_id uuid NOT NULL CONSTRAINT rollout_reservations_cluster_id_fkey REFERENCES clusters (id),
    operator_id uuid NOT NULL CONSTRAINT rollout_reservations_operator_id_fkey REFERENCES operators (id),
    rollout_id uuid NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    CONSTRAINT rollout_reservations_pkey PRIMARY KEY (cluster_id, operator_id)
);
CREATE INDEX rollout_reservations_rollout ON rollout_reservations (rollout_id);
CREATE INDEX rollout_reservations_operator ON rollout_reservations (operator_id);

-- Steps: the intent is written with the decision, before anything is done; the outcome after.
CREATE TABLE rollout_steps (
    rollout_id uuid NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    -- As `cluster/Kind/attempt`.
    key text NOT NULL,
    -- In the order in which they were intended.
    number bigint GENERATED ALWAYS AS IDENTITY,
    cluster text NOT NULL,
    kind text NOT NULL,
    attempt bigint NOT NULL CHECK (attempt > 0),
    intended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deadline timestamptz NOT NULL,
    -- The epoch of the claim under which it was begun last.
    begun bigint,
    begun_at timestamptz,
    outcome jsonb CHECK (jsonb_typeof(outcome) = 'object'),
    ended_at timestamptz,
    PRIMARY KEY (rollout_id, key),
    CHECK ((begun IS NULL) = (begun_at IS NULL)),
    CHECK ((outcome IS NULL) = (ended_at IS NULL))
);
CREATE INDEX rollout_steps_number ON rollout_steps (rollout_id, number);

-- The latest look at each cluster.
CREATE TABLE rollout_observations (
    rollout_id uuid NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    cluster text NOT NULL,
    at timestamptz NOT NULL,
    observation jsonb NOT NULL,
    PRIMARY KEY (rollout_id, cluster)
);

-- The latest answer of each gate.
CREATE TABLE rollout_measurements (
    rollout_id uuid NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    gate text NOT NULL,
    at timestamptz NOT NULL,
    measurement jsonb NOT NULL,
    PRIMARY KEY (rollout_id, gate)
);

-- What the last preflight said about each cluster.
CREATE TABLE rollout_preflights (
    rollout_id uuid NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    cluster text NOT NULL,
    preflight jsonb NOT NULL,
    PRIMARY KEY (rollout_id, cluster)
);

-- What was there before a cluster was touched; manifests and values hold secrets.
CREATE TABLE rollout_snapshots (
    rollout_id uuid NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    cluster text NOT NULL,
    -- AES-256-GCM, the id of the key in front, bound to the rollout's id and the cluster's name.
    sealed bytea NOT NULL,
    PRIMARY KEY (rollout_id, cluster)
);
-- They are encrypted; trying to compress them costs and gains nothing.
ALTER TABLE rollout_snapshots ALTER COLUMN sealed SET STORAGE EXTERNAL;

-- What people want of a rollout.
CREATE TABLE rollout_commands (
    rollout_id uuid NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    number bigint NOT NULL CHECK (number > 0),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    by text NOT NULL,
    command jsonb NOT NULL,
    PRIMARY KEY (rollout_id, number)
);

-- What happened in a rollout.
CREATE TABLE rollout_news (
    rollout_id uuid NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    number bigint NOT NULL CHECK (number > 0),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text NOT NULL,
    cluster text,
    text text NOT NULL,
    PRIMARY KEY (rollout_id, number)
);
