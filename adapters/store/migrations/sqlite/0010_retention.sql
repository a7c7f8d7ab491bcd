-- What only one node at a time does, and until when it may.
CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until BIGINT NOT NULL
);

-- What has ended, by when it did: that which has been kept long enough comes first.
CREATE INDEX orders_ended ON orders (state_at, id) WHERE state IN ('cancelled', 'invalid');
CREATE INDEX orders_lapsed ON orders (expires_at, id) WHERE state IN ('pending', 'ready');
CREATE INDEX certificates_ended ON certificates (not_after, order_id) WHERE not_after IS NOT NULL;
CREATE INDEX authorizations_alone ON authorizations (expires_at, id) WHERE order_id IS NULL;
CREATE INDEX certificate_names_by_certificate ON certificate_names (certificate_id);
CREATE INDEX issued_per_day_by_day ON issued_per_day (day);
CREATE INDEX active_until_day_by_day ON active_until_day (day);

-- Lines of the trail may go once they are older than what is kept, and that is written down before.
DROP TRIGGER audit_is_never_deleted;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
WHEN OLD.at >= COALESCE((SELECT value FROM epochs
    WHERE name = CASE OLD.outcome WHEN 'refused' THEN 'refusals_kept_from' ELSE 'audit_kept_from' END), 0)
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;
