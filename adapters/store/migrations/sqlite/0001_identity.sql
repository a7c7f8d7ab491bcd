CREATE TABLE resellers (
    id TEXT NOT NULL PRIMARY KEY,
    code TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    suspended BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);

CREATE TABLE clients (
    id TEXT NOT NULL PRIMARY KEY,
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    disabled BIGINT NOT NULL,
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX clients_by_reseller ON clients (reseller_id, id);

CREATE TABLE client_secrets (
    client_id TEXT NOT NULL REFERENCES clients (id),
    hash BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (client_id, hash)
);

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    hash BLOB NOT NULL,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX api_keys_by_reseller ON api_keys (reseller_id, id);

-- Keys that sign access tokens. Published from created_at, used from active_from, kept until the last token ended.
CREATE TABLE token_keys (
    id TEXT NOT NULL PRIMARY KEY,
    sealed BLOB NOT NULL,
    public_key TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    active_from BIGINT NOT NULL
);

CREATE TABLE service_secrets (
    name TEXT NOT NULL PRIMARY KEY,
    sealed BLOB NOT NULL,
    created_at BIGINT NOT NULL
);

-- Counters that tell a node that what it keeps in memory is out of date.
CREATE TABLE epochs (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO epochs (name, value) VALUES ('identity', 1);

CREATE TABLE issuers (
    id TEXT NOT NULL PRIMARY KEY,
    parent_id TEXT REFERENCES issuers (id),
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    certificate BLOB NOT NULL,
    sealed BLOB NOT NULL,
    created_at BIGINT NOT NULL
);
