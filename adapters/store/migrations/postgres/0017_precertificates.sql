-- What was signed for logs of certificates, until the certificate is there. Whoever has one may ask about it as about a
-- certificate: one that no certificate will come of is given up, and is revoked from then on.
CREATE TABLE precertificates (
    serial TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    issuer_id TEXT COLLATE "C" NOT NULL REFERENCES issuers (id),
    -- Its order may be deleted before it has ended.
    certificate_id TEXT COLLATE "C" NOT NULL,
    reseller_id TEXT COLLATE "C" NOT NULL,
    order_id TEXT COLLATE "C" NOT NULL,
    crl_shard BIGINT NOT NULL,
    der BYTEA NOT NULL,
    not_after BIGINT NOT NULL,
    signed_at BIGINT NOT NULL,
    given_up_at BIGINT
);
CREATE INDEX precertificates_open ON precertificates (serial) WHERE given_up_at IS NULL;
CREATE INDEX precertificates_given_up ON precertificates (issuer_id, crl_shard, serial) WHERE given_up_at IS NOT NULL;
CREATE INDEX precertificates_ended ON precertificates (not_after) WHERE given_up_at IS NOT NULL;
