-- What a job needs to know beside its subject: a change that reaches too many rows for one transaction is applied in batches,
-- and this says what is left of it.
ALTER TABLE jobs ADD COLUMN detail TEXT COLLATE "C";

-- A group or policy is deleted at once. Its memberships and assignments follow in batches, so they no longer refer to a row
-- that must be there; whoever reads them joins the group or the policy.
ALTER TABLE group_members DROP CONSTRAINT group_members_group_id_fkey;
ALTER TABLE group_policies DROP CONSTRAINT group_policies_policy_id_fkey;

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
