-- Buckets of tokens that the nodes share. A crash may empty the table: what is lost is who was near a limit.
CREATE UNLOGGED TABLE rate_buckets (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- When it is full again if nobody takes any more, and how long a token and the whole bucket take; in microseconds.
    full_at BIGINT NOT NULL,
    step BIGINT NOT NULL,
    room BIGINT NOT NULL,
    -- What the last node to ask had spent and wanted, and what it was given.
    spent BIGINT NOT NULL,
    wanted BIGINT NOT NULL,
    granted BIGINT NOT NULL
) WITH (fillfactor = 50);

-- The nodes that take from them, and when each was last heard of.
CREATE UNLOGGED TABLE rate_nodes (
    node TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    seen_at BIGINT NOT NULL
);

-- Names whose validation fails again and again for a customer, and those that are paused for it.
CREATE TABLE failing_names (
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    name TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    reseller_id TEXT COLLATE "C" NOT NULL REFERENCES resellers (id),
    failures BIGINT NOT NULL,
    problem TEXT COLLATE "C" NOT NULL,
    first_failed_at BIGINT NOT NULL,
    last_failed_at BIGINT NOT NULL,
    paused_at BIGINT,
    PRIMARY KEY (account_id, name)
);
CREATE INDEX failing_names_paused ON failing_names (reseller_id, id DESC NULLS LAST) WHERE paused_at IS NOT NULL;
CREATE INDEX failing_names_old ON failing_names (last_failed_at);
INSERT INTO epochs (name, value) VALUES ('pauses', 1);

-- Certificates that were issued, counted by day once they are old enough that no more can come.
CREATE TABLE usage_days (
    reseller_id TEXT COLLATE "C" NOT NULL REFERENCES resellers (id),
    day BIGINT NOT NULL,
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    profile TEXT COLLATE "C" NOT NULL,
    issued BIGINT NOT NULL,
    PRIMARY KEY (reseller_id, day, account_id, profile)
);
CREATE TABLE usage_marks (
    reseller_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES resellers (id),
    counted_until BIGINT NOT NULL
);
CREATE INDEX certificates_issued ON certificates (reseller_id, issued_at) WHERE issued_at IS NOT NULL;
