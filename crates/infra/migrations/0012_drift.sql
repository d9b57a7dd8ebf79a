-- What of a release is not as it was released any more, and when that was looked at.
ALTER TABLE installations
    ADD COLUMN drift jsonb CHECK (jsonb_typeof(drift) = 'object'),
    ADD COLUMN drift_checked_at timestamptz;
