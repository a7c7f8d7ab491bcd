-- What was signed for certificate logs, until the certificate is there. Whoever has one may ask about it as about a
-- certificate. One that no certificate will come of is revoked. What a copy of the database had, when it was put back, is left
-- as it was: a certificate may have come of it since.
CREATE TABLE precertificates (
    serial TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    issuer_id TEXT COLLATE "C" NOT NULL REFERENCES issuers (id),
    -- Its order may be deleted before it has ended.
    certificate_id TEXT COLLATE "C" NOT NULL,
    reseller_id TEXT COLLATE "C" NOT NULL,
    order_id TEXT COLLATE "C" NOT NULL,
    crl_shard BIGINT NOT NULL,
    key_hash BYTEA NOT NULL,
    der BYTEA NOT NULL,
    not_after BIGINT NOT NULL,
    signed_at BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    state_at BIGINT NOT NULL,
    revocation_reason BIGINT
);
CREATE INDEX precertificates_open ON precertificates (serial) WHERE state = 'open';
CREATE INDEX precertificates_revoked ON precertificates (issuer_id, crl_shard, serial) WHERE state = 'revoked';
CREATE INDEX precertificates_by_key_hash ON precertificates (key_hash);
CREATE INDEX precertificates_ended ON precertificates (not_after) WHERE state <> 'open';
