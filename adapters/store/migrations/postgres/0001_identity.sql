CREATE TABLE resellers (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    code TEXT COLLATE "C" NOT NULL UNIQUE,
    name TEXT COLLATE "C" NOT NULL,
    suspended BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);

CREATE TABLE clients (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    reseller_id TEXT COLLATE "C" NOT NULL REFERENCES resellers (id),
    name TEXT COLLATE "C" NOT NULL,
    scopes TEXT COLLATE "C" NOT NULL,
    disabled BIGINT NOT NULL,
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX clients_by_reseller ON clients (reseller_id, id);

CREATE TABLE client_secrets (
    client_id TEXT COLLATE "C" NOT NULL REFERENCES clients (id),
    hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (client_id, hash)
);

CREATE TABLE api_keys (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    reseller_id TEXT COLLATE "C" NOT NULL REFERENCES resellers (id),
    name TEXT COLLATE "C" NOT NULL,
    scopes TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX api_keys_by_reseller ON api_keys (reseller_id, id);

-- Keys that sign access tokens. Published from created_at, used from active_from, kept until the last token ended.
CREATE TABLE token_keys (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    sealed BYTEA NOT NULL,
    public_key TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    active_from BIGINT NOT NULL
);

CREATE TABLE service_secrets (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    sealed BYTEA NOT NULL,
    created_at BIGINT NOT NULL
);

-- Counters that tell a node that what it keeps in memory is out of date.
CREATE TABLE epochs (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO epochs (name, value) VALUES ('identity', 1);

CREATE TABLE issuers (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    parent_id TEXT COLLATE "C" REFERENCES issuers (id),
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    kind TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    certificate BYTEA NOT NULL,
    sealed BYTEA NOT NULL,
    created_at BIGINT NOT NULL
);
