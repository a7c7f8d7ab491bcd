-- Where a record stands in the order of commits, so that a reader who goes on from a position misses nothing: the number
-- of its transaction, and a base that grows when a database is restored into a cluster that counts anew.
CREATE SEQUENCE audit_base;
SELECT setval('audit_base', 1);
ALTER TABLE audit ADD COLUMN position BIGINT;
ALTER TABLE audit ALTER COLUMN position
    SET DEFAULT pg_current_xact_id()::text::bigint + pg_sequence_last_value('audit_base'::regclass);
CREATE INDEX audit_by_position ON audit (reseller_id, position);

-- Certificates by their end, for those who are told before it comes; and how far that has been looked through.
CREATE INDEX certificates_by_end ON certificates (not_after) WHERE state = 'issued';
CREATE TABLE watermarks (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

-- Where resellers want to be told of events, and up to where each has been told.
CREATE TABLE webhooks (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    reseller_id TEXT COLLATE "C" NOT NULL REFERENCES resellers (id),
    url TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C",
    types TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    failing_since BIGINT,
    position BIGINT NOT NULL,
    after_id TEXT COLLATE "C" NOT NULL,
    lease TEXT COLLATE "C" NOT NULL,
    leased_until BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX webhooks_by_reseller ON webhooks (reseller_id, id DESC NULLS LAST);
CREATE INDEX webhooks_at_work ON webhooks (leased_until) WHERE state = 'active';

CREATE TABLE webhook_secrets (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    webhook_id TEXT COLLATE "C" NOT NULL REFERENCES webhooks (id),
    sealed BYTEA NOT NULL,
    ends_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX webhook_secrets_by_webhook ON webhook_secrets (webhook_id);

-- One row for each event that is told to a webhook, however often that is tried.
CREATE TABLE deliveries (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    webhook_id TEXT COLLATE "C" NOT NULL REFERENCES webhooks (id),
    reseller_id TEXT COLLATE "C" NOT NULL,
    event_id TEXT COLLATE "C" NOT NULL,
    event_type TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    attempts BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    tried_at BIGINT,
    answered BIGINT,
    failure TEXT COLLATE "C",
    took BIGINT,
    created_at BIGINT NOT NULL,
    UNIQUE (webhook_id, event_id)
);
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, id DESC NULLS LAST);
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at) WHERE state = 'pending';
