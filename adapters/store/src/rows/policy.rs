use chancery_domain::{
    AccountId, Description, GroupId, Name, Page, PageRequest, Policy, PolicyId, PolicyVersion, ResellerId,
};

use super::policy_rules::{policy_rules_json, read_rules};
use super::{NEWEST_FIRST, OWN};
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

const COLUMNS: &str = "id, reseller_id, name, description, rules, created_at, updated_at, version";

/// Each policy once, through however many groups it applies. The rules, which can be long, are not read.
const VERSIONS_OF_ACCOUNT: &str = "SELECT policies.id, policies.version, policies.updated_at FROM (
        SELECT DISTINCT group_policies.policy_id FROM group_members
        JOIN group_policies ON group_policies.group_id = group_members.group_id WHERE group_members.account_id = ?1
    ) AS own JOIN policies ON policies.id = own.policy_id";

impl Tx<'_> {
    /// Adds a policy; `false` when the name is taken.
    pub fn insert_policy(&mut self, policy: &Policy) -> Result<bool, StoreError> {
        let added = self.execute(
            &format!("INSERT INTO policies ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING"),
            params![
                policy.id,
                policy.reseller,
                policy.name.as_str(),
                policy.description.as_ref().map(Description::as_str),
                policy_rules_json(&policy.rules),
                policy.created_at,
                policy.updated_at,
                policy.version,
            ],
        )?;
        Ok(added == 1)
    }

    /// How many policies a reseller has, counted up to so many.
    pub fn policies_up_to(&mut self, reseller: ResellerId, most: u32) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(*) FROM (SELECT 1 FROM policies WHERE reseller_id = ?1 LIMIT ?2) AS counted";
        Ok(self.query_one(sql, params![reseller, most], |row| row.int())?.unwrap_or(0))
    }

    /// How many policies a group has, counted up to so many.
    pub fn policies_of_group_up_to(&mut self, group: GroupId, most: u32) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(*) FROM (SELECT 1 FROM group_policies
                   JOIN policies ON policies.id = group_policies.policy_id WHERE group_id = ?1 LIMIT ?2) AS counted";
        Ok(self.query_one(sql, params![group, most], |row| row.int())?.unwrap_or(0))
    }

    pub fn policy(&mut self, reseller: ResellerId, id: PolicyId) -> Result<Option<Policy>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM policies WHERE {OWN}");
        self.query_one(&sql, params![id, reseller], read)
    }

    /// The policy, which then stays until the unit of work ends.
    pub fn hold_policy(&mut self, reseller: ResellerId, id: PolicyId) -> Result<Option<Policy>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM policies WHERE {OWN}");
        self.query_held(&sql, params![id, reseller], read)
    }

    /// The policy, which nobody else can hold or change until the unit of work ends.
    pub fn claim_policy(&mut self, reseller: ResellerId, id: PolicyId) -> Result<Option<Policy>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM policies WHERE {OWN}");
        Ok(self.query_claimed(&sql, params![id, reseller], read)?.pop())
    }

    pub fn policy_by_name(&mut self, reseller: ResellerId, name: &Name) -> Result<Option<Policy>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM policies WHERE reseller_id = ?1 AND name = ?2");
        self.query_one(&sql, params![reseller, name.as_str()], read)
    }

    /// A page of a reseller's policies, newest first.
    pub fn policies(&mut self, reseller: ResellerId, page: &PageRequest) -> Result<Page<Policy>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM policies WHERE reseller_id = ?1 AND id < ?2 ORDER BY id {NEWEST_FIRST} LIMIT ?3"
        );
        let rows = |tx: &mut Self, after, limit| tx.query(&sql, params![reseller, after, limit], read);
        self.page(page, rows, |policy| policy.id.to_string())
    }

    /// The policies assigned to a group, by name, without their rules: those can be long.
    pub fn policies_of_group(&mut self, group: GroupId) -> Result<Vec<(PolicyId, Name)>, StoreError> {
        let sql = "SELECT id, name FROM policies
                   WHERE id IN (SELECT policy_id FROM group_policies WHERE group_id = ?1) ORDER BY name";
        self.query(sql, params![group], |row| Ok((row.parsed()?, row.through(Name::parse)?)))
    }

    /// The versions of all policies that apply to an account, by id. Every transaction of an order reads them; most accounts are
    /// in no group, and then it is one index lookup.
    pub fn policy_versions(&mut self, account: AccountId) -> Result<Vec<PolicyVersion>, StoreError> {
        let read = |row: &mut Columns<'_>| {
            Ok(PolicyVersion { id: row.parsed()?, version: row.int()?, updated_at: row.time()? })
        };
        let mut versions = self.query(VERSIONS_OF_ACCOUNT, params![account], read)?;
        versions.sort_unstable();
        Ok(versions)
    }

    /// How long the rules of all policies of a reseller are together, in bytes.
    pub fn length_of_rules(&mut self, reseller: ResellerId) -> Result<i64, StoreError> {
        let sql = "SELECT CAST(SUM(OCTET_LENGTH(rules)) AS BIGINT) FROM policies WHERE reseller_id = ?1";
        Ok(self.query_one(sql, params![reseller], |row| row.int_or_none())?.flatten().unwrap_or(0))
    }

    pub fn save_policy(&mut self, policy: &Policy) -> Result<(), StoreError> {
        self.update(
            "policy",
            policy.id,
            "UPDATE policies SET name = ?3, description = ?4, rules = ?5, updated_at = ?6, version = version + 1
             WHERE id = ?1 AND version = ?2",
            params![
                policy.id,
                policy.version,
                policy.name.as_str(),
                policy.description.as_ref().map(Description::as_str),
                policy_rules_json(&policy.rules),
                policy.updated_at,
            ],
        )
    }

    /// Removes a policy. What is left of its assignments counts for nothing, and is for [`Tx::delete_assignments`].
    pub fn delete_policy(&mut self, id: PolicyId) -> Result<(), StoreError> {
        self.put("DELETE FROM policies WHERE id = ?1", params![id])
    }
}

fn read(row: &mut Columns<'_>) -> Result<Policy, StoreError> {
    Ok(Policy {
        id: row.parsed()?,
        reseller: row.parsed()?,
        name: row.through(Name::parse)?,
        description: row.through_or_none(Description::parse)?,
        rules: row.through(read_rules)?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.int()?,
    })
}
