-- Certificates that a CA of ours has signed and the database knew nothing of: lost with what came after the copy that it was put
-- back from, or never seen here. They belong to nobody, but are answered for. Where only a revocation list told of one, its
-- key is not known, nor when it ends: not after its CA.
CREATE TABLE recovered_certificates (
    serial TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    issuer_id TEXT COLLATE "C" NOT NULL REFERENCES issuers (id),
    crl_shard BIGINT NOT NULL,
    key_hash BYTEA,
    der BYTEA,
    not_after BIGINT NOT NULL,
    recovered_at BIGINT NOT NULL,
    revoked_at BIGINT,
    revocation_reason BIGINT
);
CREATE INDEX recovered_certificates_revoked ON recovered_certificates (issuer_id, crl_shard, serial) WHERE revoked_at IS NOT NULL;
CREATE INDEX recovered_certificates_by_key_hash ON recovered_certificates (key_hash);
CREATE INDEX recovered_certificates_ended ON recovered_certificates (not_after);
