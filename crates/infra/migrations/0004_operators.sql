-- Operators, what their repositories offer, the archives that are kept, and where they are installed.

CREATE TABLE operators (
    id uuid PRIMARY KEY,
    name text NOT NULL CONSTRAINT operators_name_key UNIQUE CHECK (name ~ '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$'),
    description text,
    namespace text NOT NULL CHECK (namespace ~ '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$'),
    chart_repository text NOT NULL,
    chart_name text NOT NULL,
    current_version text,
    -- Sorts byte by byte as versions do, so that the database can compare them.
    current_order text COLLATE "C",
    latest_version text,
    latest_order text COLLATE "C",
    crd_names text[] NOT NULL DEFAULT '{}',
    labels jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(labels) = 'object'),
    default_values jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(default_values) = 'object'),
    profile jsonb CHECK (jsonb_typeof(profile) = 'object'),
    authority text,
    checked_at timestamptz,
    check_error text,
    revision bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CHECK ((current_version IS NULL) = (current_order IS NULL)),
    CHECK ((latest_version IS NULL) = (latest_order IS NULL))
);
CREATE INDEX operators_namespace ON operators (namespace);
CREATE INDEX operators_labels ON operators USING gin (labels jsonb_path_ops);

-- Apart from the rest, so that no query for a list can ever carry them.
CREATE TABLE operator_credentials (
    operator_id uuid PRIMARY KEY REFERENCES operators (id) ON DELETE CASCADE,
    -- AES-256-GCM, the id of the key in front, bound to the operator's id.
    sealed bytea NOT NULL
);

-- Archives by digest, each once, whichever operators they are of. Packed as they came.
CREATE TABLE chart_archives (
    digest text PRIMARY KEY CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
    size integer NOT NULL CHECK (size > 0),
    bytes bytea NOT NULL CHECK (octet_length(bytes) = size),
    kept_at timestamptz NOT NULL DEFAULT now()
);
-- They are compressed already; trying again costs and gains nothing.
ALTER TABLE chart_archives ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE operator_versions (
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    version text NOT NULL,
    version_order text COLLATE "C" NOT NULL,
    app_version text,
    released_at timestamptz,
    deprecated boolean NOT NULL DEFAULT false,
    changelog_url text,
    -- What the repository says.
    digest text,
    -- What is kept.
    archive_digest text REFERENCES chart_archives (digest),
    crds_recorded_at timestamptz,
    first_seen_at timestamptz NOT NULL,
    -- Since when the repository does not offer it any more. It stays known: something may run it.
    withdrawn_at timestamptz,
    PRIMARY KEY (operator_id, version)
);
CREATE INDEX operator_versions_order ON operator_versions (operator_id, version_order DESC);
CREATE INDEX operator_versions_archive ON operator_versions (archive_digest) WHERE archive_digest IS NOT NULL;

-- The operators installed per cluster, and the releases of which nobody registered the operator.
CREATE TABLE installations (
    cluster_id uuid NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    namespace text NOT NULL,
    release text NOT NULL,
    operator_id uuid CONSTRAINT installations_operator_id_fkey REFERENCES operators (id),
    chart text NOT NULL,
    version text NOT NULL,
    app_version text,
    revision bigint NOT NULL CHECK (revision >= 0),
    state text NOT NULL CHECK (state IN ('deployed', 'failed', 'pending', 'uninstalled', 'unknown')),
    managed_by text NOT NULL CHECK (managed_by IN ('helm', 'slipway', 'argocd', 'flux', 'olm')),
    manager_reference text,
    deployed_at timestamptz,
    -- Sealed, since values may hold secrets; only of releases that belong to an operator.
    values_sealed bytea,
    first_seen_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    adopted_at timestamptz,
    adopted_by text,
    PRIMARY KEY (cluster_id, namespace, release),
    CHECK ((adopted_at IS NULL) = (adopted_by IS NULL))
);
CREATE INDEX installations_operator ON installations (operator_id) WHERE operator_id IS NOT NULL;
