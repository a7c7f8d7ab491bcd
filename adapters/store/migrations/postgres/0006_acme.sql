-- Whoever speaks ACME: a key, bound to a customer by an EAB credential.
CREATE TABLE acme_accounts (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    reseller_id TEXT COLLATE "C" NOT NULL REFERENCES resellers (id),
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    kid TEXT COLLATE "C" NOT NULL,
    jwk TEXT COLLATE "C" NOT NULL,
    thumbprint TEXT COLLATE "C" NOT NULL UNIQUE,
    contacts TEXT COLLATE "C" NOT NULL,
    terms_agreed_at BIGINT,
    state TEXT COLLATE "C" NOT NULL,
    state_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX acme_accounts_by_account ON acme_accounts (account_id, id DESC NULLS LAST);
CREATE INDEX acme_accounts_by_kid ON acme_accounts (kid, id DESC NULLS LAST);

-- Nonces that were used, until they would be too old anyway.
CREATE TABLE acme_nonces (
    nonce TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX acme_nonces_old ON acme_nonces (expires_at);

ALTER TABLE orders ADD COLUMN acme_account_id TEXT COLLATE "C" REFERENCES acme_accounts (id);
-- The certificate that the order is to replace, as RFC 9773 names it.
ALTER TABLE orders ADD COLUMN replaces TEXT COLLATE "C";
CREATE INDEX orders_by_acme_account ON orders (acme_account_id, id DESC NULLS LAST) WHERE acme_account_id IS NOT NULL;
CREATE INDEX orders_replacing ON orders (replaces) WHERE replaces IS NOT NULL;

ALTER TABLE authorizations ADD COLUMN acme_account_id TEXT COLLATE "C" REFERENCES acme_accounts (id);
