-- What every write stands on: counters, audit, events, outbox, work; and what the servers count together.

-- Numbers without gaps, in the order of commits: the row stays locked until whoever took a number has
-- committed. A sequence would hand numbers out in the order of asking, and a reader that goes on "after
-- number n" would miss whatever was committed late.
CREATE TABLE counters (
    name text PRIMARY KEY,
    last bigint NOT NULL DEFAULT 0 CHECK (last >= 0)
);
INSERT INTO counters (name) VALUES ('audit'), ('events');

CREATE TABLE audit_log (
    number bigint PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor_kind text NOT NULL CHECK (actor_kind IN ('user', 'token', 'system', 'anonymous')),
    actor_id uuid,
    actor text NOT NULL,
    source text,
    trace_id text,
    action text NOT NULL,
    resource text NOT NULL,
    result text NOT NULL CHECK (result IN ('success', 'failure', 'denied')),
    message text NOT NULL,
    before jsonb,
    after jsonb
);
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_actor ON audit_log (actor, number);
CREATE INDEX audit_log_action ON audit_log (action text_pattern_ops, number);
CREATE INDEX audit_log_resource ON audit_log (resource, number);
CREATE INDEX audit_log_trace_id ON audit_log (trace_id) WHERE trace_id IS NOT NULL;

CREATE FUNCTION audit_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('slipway.thinning_audit', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit is only ever added to' USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER audit_log_rows BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION audit_log_is_append_only();
CREATE TRIGGER audit_log_table BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_append_only();

-- The one thing that takes away, for the retention setting.
CREATE FUNCTION thin_audit_log(older_than timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    removed bigint;
BEGIN
    PERFORM set_config('slipway.thinning_audit', 'on', true);
    DELETE FROM audit_log WHERE at < older_than;
    GET DIAGNOSTICS removed = ROW_COUNT;
    PERFORM set_config('slipway.thinning_audit', 'off', true);
    RETURN removed;
END
$$;

CREATE TABLE events (
    number bigint PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    topic text NOT NULL,
    subject text NOT NULL,
    kind text NOT NULL,
    data jsonb NOT NULL
);
CREATE INDEX events_at ON events (at);

-- Epochs grow over all work and all time: work that was ended and made again never meets an old claim.
CREATE SEQUENCE work_epochs;
CREATE TABLE work (
    kind text NOT NULL,
    key text NOT NULL,
    due_at timestamptz NOT NULL,
    -- Whether it was made due anew while somebody held it: giving it back must not put that off.
    moved boolean NOT NULL DEFAULT false,
    claimed_by text,
    claim_until timestamptz,
    epoch bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, key),
    CHECK ((claimed_by IS NULL) = (claim_until IS NULL))
);
CREATE INDEX work_due ON work (kind, due_at);

CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    recipient jsonb NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    text text NOT NULL,
    facts jsonb NOT NULL,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    last_error text,
    sent_at timestamptz,
    given_up_at timestamptz,
    CHECK (sent_at IS NULL OR given_up_at IS NULL)
);
CREATE INDEX outbox_done ON outbox (COALESCE(sent_at, given_up_at));

-- How much a caller used of a limit in a window of time, counted by all servers together. It may be lost
-- in a crash: then everybody begins anew.
CREATE UNLOGGED TABLE rate_limits (
    bucket text NOT NULL,
    subject text NOT NULL,
    window_start timestamptz NOT NULL,
    used bigint NOT NULL CHECK (used >= 0),
    PRIMARY KEY (bucket, subject, window_start)
);
CREATE INDEX rate_limits_window_start ON rate_limits (window_start);

-- Replies to requests with an Idempotency-Key: without a status the request is still under way, by a
-- server that has until `held_until`; afterwards another may take it over.
CREATE TABLE idempotency_keys (
    subject text NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    held_by uuid NOT NULL,
    held_until timestamptz NOT NULL,
    status smallint CHECK (status BETWEEN 100 AND 599),
    headers jsonb,
    body bytea,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (subject, key)
);
CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);
