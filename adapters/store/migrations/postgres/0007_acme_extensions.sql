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
