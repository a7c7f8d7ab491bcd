CREATE TABLE audit (
    id TEXT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    reseller_id TEXT,
    actor_kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    address TEXT NOT NULL,
    request_id TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    outcome TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX audit_by_reseller ON audit (reseller_id, id);
CREATE INDEX audit_by_subject ON audit (subject, id);
CREATE INDEX audit_by_actor ON audit (actor, id);
CREATE INDEX audit_by_action ON audit (action, id);
CREATE INDEX audit_by_request ON audit (request_id, id);
CREATE INDEX audit_refused ON audit (id) WHERE outcome = 'refused';

-- What was written down stays as it was written.
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;
CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;

CREATE TABLE idempotency (
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    idempotency_key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    status BIGINT NOT NULL,
    sealed BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (reseller_id, idempotency_key)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
