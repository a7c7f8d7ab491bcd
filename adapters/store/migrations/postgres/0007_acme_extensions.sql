-- Further chains from an issuing CA up to a root, beside the one of its own certificate. The number is part of the URL.
CREATE TABLE issuer_chains (
    issuer_id TEXT COLLATE "C" NOT NULL REFERENCES issuers (id),
    number BIGINT NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    pem TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (issuer_id, number),
    UNIQUE (issuer_id, fingerprint)
);

-- The name at which control is shown of all names below it, where it is (RFC 9444).
ALTER TABLE authorizations ADD COLUMN namespace TEXT COLLATE "C";
CREATE INDEX authorizations_valid_below ON authorizations (account_id, namespace, expires_at)
    WHERE state = 'valid' AND namespace IS NOT NULL;
