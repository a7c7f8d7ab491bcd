-- Who is signed in to the console through an external OpenID provider. Programs that do not know this table take such a
-- session for none. Of the token that the browser has, only the hash is here; the state is the hash of what the sign-in
-- was begun with, which begins one session and no more.
CREATE TABLE console_external_sessions (
    token_hash BLOB NOT NULL PRIMARY KEY,
    state_hash BLOB NOT NULL UNIQUE,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX console_external_sessions_by_subject ON console_external_sessions (issuer, subject);
CREATE INDEX console_external_sessions_old ON console_external_sessions (expires_at);

-- The processes that serve from this database, as they last said of themselves.
CREATE TABLE nodes (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL
);
CREATE INDEX nodes_by_seen ON nodes (seen_at);
