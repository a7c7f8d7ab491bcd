-- Whoever speaks ACME: a key, bound to a customer by an EAB credential.
CREATE TABLE acme_accounts (
    id TEXT NOT NULL PRIMARY KEY,
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    kid TEXT NOT NULL,
    jwk TEXT NOT NULL,
    thumbprint TEXT NOT NULL UNIQUE,
    contacts TEXT NOT NULL,
    terms_agreed_at BIGINT,
    state TEXT NOT NULL,
    state_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX acme_accounts_by_account ON acme_accounts (account_id, id);
CREATE INDEX acme_accounts_by_kid ON acme_accounts (kid, id);

-- Nonces that were used, until they would be too old anyway.
CREATE TABLE acme_nonces (
    nonce TEXT NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX acme_nonces_old ON acme_nonces (expires_at);

ALTER TABLE orders ADD COLUMN acme_account_id TEXT REFERENCES acme_accounts (id);
-- The certificate that the order is to replace, as RFC 9773 names it.
ALTER TABLE orders ADD COLUMN replaces TEXT;
CREATE INDEX orders_by_acme_account ON orders (acme_account_id, id) WHERE acme_account_id IS NOT NULL;
CREATE INDEX orders_replacing ON orders (replaces) WHERE replaces IS NOT NULL;

ALTER TABLE authorizations ADD COLUMN acme_account_id TEXT REFERENCES acme_accounts (id);
