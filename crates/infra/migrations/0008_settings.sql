-- Policies, approval rules and windows, each as its document has it.
CREATE TABLE settings (
    kind text NOT NULL CHECK (kind IN ('Policy', 'ApprovalRule', 'Window')),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 253),
    spec jsonb NOT NULL,
    revision bigint NOT NULL DEFAULT 1 CHECK (revision > 0),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (kind, name)
);
