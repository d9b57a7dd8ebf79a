-- Schemas of CRDs: those that versions of operators bring, their history, and what clusters run.

-- One row per operator: whoever stores CRDs of an operator says which revision they looked at.
CREATE TABLE crd_operators (
    operator_name text PRIMARY KEY,
    revision bigint NOT NULL DEFAULT 1 CHECK (revision > 0)
);

-- The versions whose CRDs are stored whole: what is not among them, the version does not have.
CREATE TABLE crd_recordings (
    operator_name text NOT NULL REFERENCES crd_operators ON DELETE CASCADE,
    operator_version text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (operator_name, operator_version)
);

CREATE TABLE crds (
    crd_id uuid PRIMARY KEY,
    name text NOT NULL,
    "group" text NOT NULL,
    versions text[] NOT NULL,
    scope text NOT NULL CHECK (scope IN ('Namespaced', 'Cluster')),
    operator_name text NOT NULL REFERENCES crd_operators ON DELETE CASCADE,
    operator_version text NOT NULL,
    schema_definition text NOT NULL,
    content_hash text NOT NULL CHECK (length(content_hash) = 64),
    schema_version text NOT NULL,
    step text NOT NULL CHECK (step IN ('First', 'Same', 'Compatible', 'Breaking')),
    status text NOT NULL CHECK (status IN ('Active', 'Deprecated', 'Removed')),
    approval_status text NOT NULL CHECK (approval_status IN ('NotRequired', 'Pending', 'Approved')),
    approved_by text,
    approved_at timestamptz,
    deprecated_at timestamptz,
    deprecation_reason text,
    migration_guide text,
    removed_in text,
    current boolean NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT crds_version_key UNIQUE (operator_name, operator_version, name),
    CHECK ((approval_status = 'Approved') = (approved_by IS NOT NULL)),
    CHECK ((approved_by IS NULL) = (approved_at IS NULL)),
    CHECK ((deprecated_at IS NULL) = (deprecation_reason IS NULL))
);
CREATE INDEX crds_name ON crds (name);
CREATE UNIQUE INDEX crds_current_key ON crds (operator_name, name) WHERE current;

-- What a version of an operator changed in a CRD, against the version before it.
CREATE TABLE crd_history (
    operator_name text NOT NULL REFERENCES crd_operators ON DELETE CASCADE,
    name text NOT NULL,
    operator_version text NOT NULL,
    place integer NOT NULL CHECK (place >= 0),
    change_type text NOT NULL CHECK (change_type IN ('Added', 'Modified', 'Removed')),
    field_path text NOT NULL,
    previous_type text,
    new_type text,
    is_breaking boolean NOT NULL,
    description text NOT NULL,
    finding text NOT NULL,
    severity text NOT NULL CHECK (severity IN ('breaking', 'risky', 'safe')),
    -- The numbers of the version, so that history can be read in its order.
    version_order bigint[] NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (operator_name, name, operator_version, place)
);
CREATE INDEX crd_history_newest ON crd_history (operator_name, name, version_order DESC, place);

-- Definitions that clusters run, each once.
CREATE TABLE live_crd_definitions (
    content_hash text PRIMARY KEY CHECK (length(content_hash) = 64),
    definition text NOT NULL
);

-- When somebody looked at the CRDs of a cluster.
CREATE TABLE crd_looks (
    cluster_id uuid PRIMARY KEY REFERENCES clusters (id) ON DELETE CASCADE,
    looked_at timestamptz,
    failure text
);

CREATE TABLE live_crds (
    cluster_id uuid NOT NULL REFERENCES crd_looks ON DELETE CASCADE,
    name text NOT NULL,
    content_hash text NOT NULL REFERENCES live_crd_definitions,
    stored_versions text[] NOT NULL,
    since timestamptz NOT NULL,
    PRIMARY KEY (cluster_id, name)
);
CREATE INDEX live_crds_name ON live_crds (name);
CREATE INDEX live_crds_content ON live_crds (content_hash);
