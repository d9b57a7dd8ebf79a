-- Values that charts get in an environment or on a cluster are settings, too.
ALTER TABLE settings DROP CONSTRAINT settings_kind_check;
ALTER TABLE settings ADD CONSTRAINT settings_kind_check
    CHECK (kind IN ('Policy', 'ApprovalRule', 'Window', 'Values'));
