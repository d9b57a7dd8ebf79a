-- Clusters, how they are reached, and how they are.

CREATE TABLE clusters (
    id uuid PRIMARY KEY,
    name text NOT NULL CONSTRAINT clusters_name_key UNIQUE CHECK (name ~ '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$'),
    description text,
    environment text NOT NULL CHECK (environment IN ('Development', 'Staging', 'Production')),
    labels jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(labels) = 'object'),
    api_server_url text NOT NULL,
    -- Of the namespace kube-system: tells a cluster from every other, whatever its address.
    uid text,
    is_enabled boolean NOT NULL DEFAULT true,
    health_status text NOT NULL DEFAULT 'Unknown'
        CHECK (health_status IN ('Unknown', 'Healthy', 'Degraded', 'Unhealthy')),
    health_reason text,
    health_since timestamptz,
    reachable boolean NOT NULL DEFAULT false,
    latency_ms integer CHECK (latency_ms >= 0),
    last_health_check_at timestamptz,
    kubernetes_version text,
    nodes_ready integer NOT NULL DEFAULT 0 CHECK (nodes_ready >= 0),
    nodes_not_ready integer NOT NULL DEFAULT 0 CHECK (nodes_not_ready >= 0),
    credential_kind text NOT NULL
        CHECK (credential_kind IN ('ServiceAccountToken', 'Token', 'ClientCertificate')),
    credential_expires_at timestamptz,
    credential_changed_at timestamptz NOT NULL,
    -- When the audit last said that the manager looks at the cluster: once a day is enough.
    access_noted_at timestamptz,
    -- Counts what people change; health does not, or nobody could hold an ETag for a minute.
    revision bigint NOT NULL DEFAULT 1,
    registered_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX clusters_environment ON clusters (environment);
CREATE INDEX clusters_health_status ON clusters (health_status);
CREATE INDEX clusters_labels ON clusters USING gin (labels jsonb_path_ops);
CREATE INDEX clusters_uid ON clusters (uid) WHERE uid IS NOT NULL;

-- Apart from the rest, so that no query for a list can ever carry them.
CREATE TABLE cluster_credentials (
    cluster_id uuid PRIMARY KEY REFERENCES clusters (id) ON DELETE CASCADE,
    -- AES-256-GCM, the id of the key in front, bound to the cluster's id.
    sealed bytea NOT NULL,
    version bigint NOT NULL DEFAULT 1
);

CREATE TABLE cluster_health_history (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster_id uuid NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    at timestamptz NOT NULL,
    status text NOT NULL CHECK (status IN ('Unknown', 'Healthy', 'Degraded', 'Unhealthy')),
    reason text,
    latency_ms integer CHECK (latency_ms >= 0),
    -- Samples at which the status changed are kept for good, the others for a day.
    changed boolean NOT NULL
);
CREATE INDEX cluster_health_history_of ON cluster_health_history (cluster_id, at DESC, id DESC);
CREATE INDEX cluster_health_history_thin ON cluster_health_history (cluster_id, at) WHERE NOT changed;
