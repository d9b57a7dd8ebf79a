-- Decisions that people make before a rollout goes on. Rows are never removed: an end is a status, and
-- decisions are only added.

CREATE TABLE approvals (
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('ProductionDeployment', 'OperatorVersionUpgrade', 'BreakingCrdChange')),
    rollout_id uuid NOT NULL,
    operator text NOT NULL,
    target_version text NOT NULL,
    environment text NOT NULL CHECK (environment IN ('Development', 'Staging', 'Production')),
    plan_hash text NOT NULL,
    because text NOT NULL,
    started_by text NOT NULL,
    -- The person behind it; nobody where the manager itself started the rollout.
    started_by_id uuid,
    -- Who decides, in order, as the rules were when it was asked.
    levels jsonb NOT NULL CHECK (jsonb_typeof(levels) = 'array' AND jsonb_array_length(levels) > 0),
    four_eyes boolean NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
    status text NOT NULL
        CHECK (status IN ('Pending', 'Approved', 'Rejected', 'Expired', 'Lapsed', 'Bypassed')),
    ended_at timestamptz,
    lapsed_because text,
    -- Grows with each change; whoever decides writes only over what they have seen.
    version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
    CHECK ((status = 'Pending') = (ended_at IS NULL)),
    CHECK ((status = 'Lapsed') = (lapsed_because IS NOT NULL))
);
-- One question about one plan is asked once. A plan that comes back after it changed is asked about anew.
CREATE UNIQUE INDEX approvals_subject_key ON approvals (rollout_id, kind, environment, plan_hash)
    WHERE status <> 'Lapsed';
CREATE INDEX approvals_created_at ON approvals (created_at DESC, id);
CREATE INDEX approvals_status ON approvals (status, created_at DESC);

CREATE TABLE approval_decisions (
    approval_id uuid NOT NULL REFERENCES approvals,
    number integer NOT NULL CHECK (number >= 0),
    level integer NOT NULL CHECK (level >= 0),
    person uuid NOT NULL,
    name text NOT NULL,
    verdict text NOT NULL CHECK (verdict IN ('Approved', 'Rejected', 'Bypassed')),
    note text,
    at timestamptz NOT NULL,
    PRIMARY KEY (approval_id, number)
);
-- Each person decides once; an admin who goes past it in an emergency may have decided before.
CREATE UNIQUE INDEX approval_decisions_person_key ON approval_decisions (approval_id, person)
    WHERE verdict <> 'Bypassed';
