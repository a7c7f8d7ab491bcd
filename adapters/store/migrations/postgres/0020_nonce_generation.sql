-- The generation of ACME nonces that can be redeemed: at most one row. PostgreSQL empties an unlogged table when it recovers
-- from a crash and when a standby is promoted, which is exactly when the records of redeemed nonces may be incomplete. The
-- next node to notice starts a new generation.
CREATE UNLOGGED TABLE acme_nonce_generation (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    generation BIGINT NOT NULL
);
