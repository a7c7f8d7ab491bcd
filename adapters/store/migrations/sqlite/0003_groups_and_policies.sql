CREATE TABLE account_groups (
    id TEXT NOT NULL PRIMARY KEY,
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    name TEXT NOT NULL,
    description TEXT,
    member_count BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    UNIQUE (reseller_id, name)
);
CREATE INDEX account_groups_by_reseller ON account_groups (reseller_id, id);

CREATE TABLE group_members (
    group_id TEXT NOT NULL REFERENCES account_groups (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    added_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX group_members_by_group ON group_members (group_id, account_id);
CREATE INDEX group_members_by_account ON group_members (account_id, group_id);

CREATE TABLE policies (
    id TEXT NOT NULL PRIMARY KEY,
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    name TEXT NOT NULL,
    description TEXT,
    rules TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    UNIQUE (reseller_id, name)
);
CREATE INDEX policies_by_reseller ON policies (reseller_id, id);

CREATE TABLE group_policies (
    group_id TEXT NOT NULL REFERENCES account_groups (id),
    policy_id TEXT NOT NULL REFERENCES policies (id),
    assigned_at BIGINT NOT NULL,
    PRIMARY KEY (group_id, policy_id)
);
CREATE INDEX group_policies_by_policy ON group_policies (policy_id, group_id);
