CREATE TABLE sequences (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO sequences (name, value) VALUES ('account_number', 0);

CREATE TABLE accounts (
    id TEXT NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    kid TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    external_id TEXT,
    metadata TEXT NOT NULL,
    suspended BIGINT NOT NULL,
    deleted_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE UNIQUE INDEX accounts_live_email ON accounts (reseller_id, email_key) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX accounts_live_external_id ON accounts (reseller_id, external_id) WHERE deleted_at IS NULL AND external_id IS NOT NULL;
CREATE INDEX accounts_all ON accounts (reseller_id, id);
CREATE INDEX accounts_live ON accounts (reseller_id, id) WHERE deleted_at IS NULL;
CREATE INDEX accounts_live_suspended ON accounts (reseller_id, suspended, id) WHERE deleted_at IS NULL;
CREATE INDEX accounts_all_suspended ON accounts (reseller_id, suspended, id);
CREATE INDEX accounts_by_email ON accounts (reseller_id, email_key, id);

CREATE TABLE eab_credentials (
    id TEXT NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    kid TEXT NOT NULL UNIQUE,
    is_root BIGINT NOT NULL,
    sealed BLOB NOT NULL,
    label TEXT,
    expires_at BIGINT,
    max_bindings BIGINT,
    bindings BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE UNIQUE INDEX eab_credentials_root ON eab_credentials (account_id) WHERE is_root = 1;
CREATE INDEX eab_credentials_by_account ON eab_credentials (account_id, id);
CREATE INDEX eab_credentials_by_reseller ON eab_credentials (reseller_id, id);
