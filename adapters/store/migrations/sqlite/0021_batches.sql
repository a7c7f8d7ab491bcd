-- What a job needs to know beside its subject: a change that reaches too many rows for one transaction is applied in batches,
-- and this says what is left of it.
ALTER TABLE jobs ADD COLUMN detail TEXT;

-- A group or policy is deleted at once. Its memberships and assignments follow in batches, so they no longer refer to a row
-- that must be there; whoever reads them joins the group or the policy.
CREATE TABLE members (
    group_id TEXT NOT NULL,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    added_at BIGINT NOT NULL
);
INSERT INTO members (group_id, account_id, added_at) SELECT group_id, account_id, added_at FROM group_members;
DROP TABLE group_members;
ALTER TABLE members RENAME TO group_members;
CREATE UNIQUE INDEX group_members_by_group ON group_members (group_id, account_id);
CREATE INDEX group_members_by_account ON group_members (account_id, group_id);

CREATE TABLE assignments (
    group_id TEXT NOT NULL REFERENCES account_groups (id),
    policy_id TEXT NOT NULL,
    assigned_at BIGINT NOT NULL,
    PRIMARY KEY (group_id, policy_id)
);
INSERT INTO assignments (group_id, policy_id, assigned_at) SELECT group_id, policy_id, assigned_at FROM group_policies;
DROP TABLE group_policies;
ALTER TABLE assignments RENAME TO group_policies;
CREATE INDEX group_policies_by_policy ON group_policies (policy_id, group_id);

-- With the ACME account in the index, the authorizations and open orders of one are found without reading those of the others
-- of the same customer.
DROP INDEX authorizations_valid;
CREATE INDEX authorizations_valid ON authorizations (account_id, identifier, acme_account_id, expires_at)
    WHERE state = 'valid';
DROP INDEX authorizations_valid_below;
CREATE INDEX authorizations_valid_below ON authorizations (account_id, namespace, acme_account_id, expires_at)
    WHERE state = 'valid' AND namespace IS NOT NULL;
DROP INDEX orders_open;
CREATE INDEX orders_open ON orders (account_id, state, expires_at, acme_account_id) WHERE finalized_at IS NULL;
