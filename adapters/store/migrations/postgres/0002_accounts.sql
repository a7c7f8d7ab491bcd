CREATE SEQUENCE account_number;

CREATE TABLE accounts (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    reseller_id TEXT COLLATE "C" NOT NULL REFERENCES resellers (id),
    kid TEXT COLLATE "C" NOT NULL UNIQUE,
    email TEXT COLLATE "C" NOT NULL,
    email_key TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C",
    metadata TEXT COLLATE "C" NOT NULL,
    suspended BIGINT NOT NULL,
    deleted_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
-- A list is read through the index that ends in its key, whatever the planner thinks of the tables: NULLS LAST keeps the
-- primary key from serving the order, which would read past every row that is not asked for.
CREATE UNIQUE INDEX accounts_live_email ON accounts (reseller_id, email_key) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX accounts_live_external_id ON accounts (reseller_id, external_id) WHERE deleted_at IS NULL AND external_id IS NOT NULL;
CREATE INDEX accounts_all ON accounts (reseller_id, id DESC NULLS LAST);
CREATE INDEX accounts_live ON accounts (reseller_id, id DESC NULLS LAST) WHERE deleted_at IS NULL;
CREATE INDEX accounts_live_suspended ON accounts (reseller_id, suspended, id DESC NULLS LAST) WHERE deleted_at IS NULL;
CREATE INDEX accounts_all_suspended ON accounts (reseller_id, suspended, id DESC NULLS LAST);
CREATE INDEX accounts_by_email ON accounts (reseller_id, email_key, id DESC NULLS LAST);

CREATE TABLE eab_credentials (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    reseller_id TEXT COLLATE "C" NOT NULL REFERENCES resellers (id),
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    kid TEXT COLLATE "C" NOT NULL UNIQUE,
    is_root BIGINT NOT NULL,
    sealed BYTEA NOT NULL,
    label TEXT COLLATE "C",
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
CREATE INDEX eab_credentials_by_account ON eab_credentials (account_id, id DESC NULLS LAST);
CREATE INDEX eab_credentials_by_reseller ON eab_credentials (reseller_id, id DESC NULLS LAST);
