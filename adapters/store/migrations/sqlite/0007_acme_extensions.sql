-- Further chains from an issuing CA up to a root, beside the one of its own certificate. The number is part of the URL.
CREATE TABLE issuer_chains (
    issuer_id TEXT NOT NULL REFERENCES issuers (id),
    number BIGINT NOT NULL,
    fingerprint TEXT NOT NULL,
    pem TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (issuer_id, number),
    UNIQUE (issuer_id, fingerprint)
);

-- The name at which control is shown of all names below it, where it is (RFC 9444).
ALTER TABLE authorizations ADD COLUMN namespace TEXT;
CREATE INDEX authorizations_valid_below ON authorizations (account_id, namespace, expires_at)
    WHERE state = 'valid' AND namespace IS NOT NULL;
