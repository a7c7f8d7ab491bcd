CREATE TABLE orders (
    id TEXT NOT NULL PRIMARY KEY,
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    kid TEXT NOT NULL,
    -- Whether the credential was revoked already when it was ordered.
    kid_was_revoked BIGINT NOT NULL,
    via TEXT NOT NULL,
    profile TEXT NOT NULL,
    identifiers TEXT NOT NULL,
    certificate_id TEXT NOT NULL UNIQUE,
    csr BLOB,
    not_before BIGINT,
    not_after BIGINT,
    external_id TEXT,
    metadata TEXT NOT NULL,
    state TEXT NOT NULL,
    state_at BIGINT NOT NULL,
    problem TEXT,
    finalized_at BIGINT,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX orders_by_reseller ON orders (reseller_id, id);
CREATE INDEX orders_by_account ON orders (account_id, id);
CREATE INDEX orders_by_state ON orders (reseller_id, state, id);
CREATE UNIQUE INDEX orders_external_id ON orders (reseller_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX orders_open ON orders (account_id, state, expires_at) WHERE finalized_at IS NULL;

-- Challenges are part of their authorization: they are read, changed and guarded together.
CREATE TABLE authorizations (
    id TEXT NOT NULL PRIMARY KEY,
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    order_id TEXT REFERENCES orders (id),
    position BIGINT NOT NULL,
    identifier TEXT NOT NULL,
    state TEXT NOT NULL,
    state_at BIGINT NOT NULL,
    validation TEXT,
    challenges TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX authorizations_by_order ON authorizations (order_id, position);
CREATE INDEX authorizations_valid ON authorizations (account_id, identifier, expires_at) WHERE state = 'valid';

-- One row an order, born with it. The draft is stored before it is signed, with the serial it is to have.
CREATE TABLE certificates (
    id TEXT NOT NULL PRIMARY KEY,
    order_id TEXT NOT NULL UNIQUE REFERENCES orders (id),
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    kid TEXT NOT NULL,
    via TEXT NOT NULL,
    profile TEXT NOT NULL,
    identifiers TEXT NOT NULL,
    external_id TEXT,
    state TEXT NOT NULL,
    state_at BIGINT NOT NULL,
    -- When the order expires, and with it the certificate that was to come; none once it is asked for.
    pending_until BIGINT,
    issuer_id TEXT REFERENCES issuers (id),
    serial TEXT UNIQUE,
    draft BLOB,
    der BLOB,
    subject TEXT,
    key_type TEXT,
    key_hash BLOB,
    not_before BIGINT,
    not_after BIGINT,
    fingerprint TEXT,
    issued_at BIGINT,
    revoked_at BIGINT,
    revocation_reason BIGINT,
    revocation_comment TEXT,
    crl_shard BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX certificates_by_reseller ON certificates (reseller_id, id);
CREATE INDEX certificates_by_account ON certificates (account_id, id);
CREATE INDEX certificates_by_kid ON certificates (kid, id);
CREATE INDEX certificates_by_state ON certificates (reseller_id, state, id);
CREATE INDEX certificates_by_profile ON certificates (reseller_id, profile, id);
CREATE INDEX certificates_by_external_id ON certificates (reseller_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX certificates_live ON certificates (account_id, not_after) WHERE state = 'issued';
CREATE INDEX certificates_revoked ON certificates (issuer_id, crl_shard, serial) WHERE revoked_at IS NOT NULL;
CREATE INDEX certificates_by_key_hash ON certificates (key_hash) WHERE key_hash IS NOT NULL;

CREATE TABLE certificate_names (
    reseller_id TEXT NOT NULL,
    name TEXT NOT NULL,
    certificate_id TEXT NOT NULL REFERENCES certificates (id),
    PRIMARY KEY (reseller_id, name, certificate_id)
);

-- Work that must be done even if the process that began it dies. One live job for each subject.
CREATE TABLE jobs (
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    run_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    lease TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (kind, subject)
);
CREATE INDEX jobs_due ON jobs (run_at);

-- Certificates counted as they are issued, so that a quota needs no counting of rows.
CREATE TABLE issued_per_day (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    day BIGINT NOT NULL,
    issued BIGINT NOT NULL,
    PRIMARY KEY (account_id, day)
);
CREATE TABLE active_until_day (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    day BIGINT NOT NULL,
    active BIGINT NOT NULL,
    PRIMARY KEY (account_id, day)
);

CREATE TABLE blocked_keys (
    key_hash BLOB NOT NULL PRIMARY KEY,
    reason TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE account_keys (
    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    sealed BLOB NOT NULL,
    thumbprint TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- One row a revocation list. `changes` grows with every revocation that belongs on it; the list that is published
-- `covers` so many of them. A number is drawn, and the list claimed, before it is made.
CREATE TABLE crls (
    issuer_id TEXT NOT NULL REFERENCES issuers (id),
    shard BIGINT NOT NULL,
    changes BIGINT NOT NULL,
    drawn BIGINT NOT NULL,
    claimed_until BIGINT NOT NULL,
    number BIGINT NOT NULL,
    covers BIGINT NOT NULL,
    der BLOB,
    this_update BIGINT NOT NULL,
    next_update BIGINT NOT NULL,
    scheduled_at BIGINT NOT NULL,
    PRIMARY KEY (issuer_id, shard)
);
