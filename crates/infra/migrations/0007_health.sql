-- The health of operators, cluster by cluster: how it is, how it was, and what it is compared with.

CREATE TABLE operator_health (
    cluster_id uuid NOT NULL,
    operator_id uuid NOT NULL,
    verdict text NOT NULL DEFAULT 'Unknown' CHECK (verdict IN ('Unknown', 'Healthy', 'Degraded', 'Unhealthy')),
    verdict_since timestamptz,
    -- What the last check found; null before the first.
    health jsonb,
    -- The run of failed checks it is in, and what has to be remembered from look to look.
    episode jsonb NOT NULL DEFAULT '{}',
    memory jsonb NOT NULL DEFAULT '{}',
    checked_at timestamptz,
    PRIMARY KEY (cluster_id, operator_id),
    CHECK ((health IS NULL) = (checked_at IS NULL))
);
CREATE INDEX operator_health_operator ON operator_health (operator_id, verdict);

-- Every check for a day, then one an hour; changes of the verdict for good.
CREATE TABLE operator_health_samples (
    cluster_id uuid NOT NULL,
    operator_id uuid NOT NULL,
    at timestamptz NOT NULL,
    verdict text NOT NULL CHECK (verdict IN ('Unknown', 'Healthy', 'Degraded', 'Unhealthy')),
    changed boolean NOT NULL,
    reasons jsonb,
    ready_pods integer NOT NULL CHECK (ready_pods >= 0),
    expected_pods integer NOT NULL CHECK (expected_pods >= 0),
    error_rate double precision NOT NULL CHECK (error_rate BETWEEN 0 AND 1),
    PRIMARY KEY (cluster_id, operator_id, at),
    FOREIGN KEY (cluster_id, operator_id) REFERENCES operator_health ON DELETE CASCADE
);
CREATE INDEX operator_health_samples_changes
    ON operator_health_samples (cluster_id, operator_id, at) WHERE changed;
CREATE INDEX operator_health_samples_thin ON operator_health_samples (at) WHERE NOT changed;

CREATE TABLE operator_health_baselines (
    cluster_id uuid NOT NULL,
    operator_id uuid NOT NULL,
    taken_at timestamptz NOT NULL,
    baseline jsonb NOT NULL,
    PRIMARY KEY (cluster_id, operator_id),
    FOREIGN KEY (cluster_id, operator_id) REFERENCES operator_health ON DELETE CASCADE
);
