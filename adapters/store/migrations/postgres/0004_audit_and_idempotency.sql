CREATE TABLE audit (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    reseller_id TEXT COLLATE "C",
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    request_id TEXT COLLATE "C" NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    detail TEXT COLLATE "C" NOT NULL
);
CREATE INDEX audit_by_reseller ON audit (reseller_id, id DESC NULLS LAST);
CREATE INDEX audit_by_subject ON audit (subject, id DESC NULLS LAST);
CREATE INDEX audit_by_actor ON audit (actor, id DESC NULLS LAST);
CREATE INDEX audit_by_action ON audit (action, id DESC NULLS LAST);
CREATE INDEX audit_by_request ON audit (request_id, id DESC NULLS LAST);
CREATE INDEX audit_refused ON audit (id DESC NULLS LAST) WHERE outcome = 'refused';

-- What was written down stays as it was written.
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only';
END;
$$;
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();

CREATE TABLE idempotency (
    reseller_id TEXT COLLATE "C" NOT NULL REFERENCES resellers (id),
    idempotency_key TEXT COLLATE "C" NOT NULL,
    fingerprint BYTEA NOT NULL,
    status BIGINT NOT NULL,
    sealed BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (reseller_id, idempotency_key)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
