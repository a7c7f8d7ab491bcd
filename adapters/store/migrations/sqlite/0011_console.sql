-- By which people sign in to the console as the operator.
CREATE TABLE operator_keys (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    hash BLOB NOT NULL,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL
);

-- Who is signed in to the console. Of the token that the browser has, only the hash is here; the credential is the hash of
-- the secret that was shown: the session ends with it.
CREATE TABLE console_sessions (
    token_hash BLOB NOT NULL PRIMARY KEY,
    client_id TEXT REFERENCES clients (id),
    operator_key_id TEXT REFERENCES operator_keys (id),
    credential_hash BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX console_sessions_by_client ON console_sessions (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX console_sessions_by_operator ON console_sessions (operator_key_id) WHERE operator_key_id IS NOT NULL;
CREATE INDEX console_sessions_old ON console_sessions (expires_at);

-- What ends when: the calendar asks for a span of days.
CREATE INDEX certificates_expiring ON certificates (reseller_id, not_after) WHERE state = 'issued';
