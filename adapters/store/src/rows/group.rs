use chancery_domain::{
    Account, AccountId, Description, Group, GroupId, Name, Page, PageRequest, PolicyId, ResellerId, Timestamp,
};

use super::account::{SELECT as ACCOUNT, read as read_account};
use super::{NEWEST_FIRST, OWN};
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

const COLUMNS: &str = "id, reseller_id, name, description, member_count, created_at, updated_at, version";

impl Tx<'_> {
    /// Adds a group; `false` when the name is taken.
    pub fn insert_group(&mut self, group: &Group) -> Result<bool, StoreError> {
        let added = self.execute(
            &format!(
                "INSERT INTO account_groups ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING"
            ),
            params![
                group.id,
                group.reseller,
                group.name.as_str(),
                group.description.as_ref().map(Description::as_str),
                group.member_count,
                group.created_at,
                group.updated_at,
                group.version,
            ],
        )?;
        Ok(added == 1)
    }

    /// How many groups a reseller has, counted up to `most`.
    pub fn groups_up_to(&mut self, reseller: ResellerId, most: u32) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(*) FROM (SELECT 1 FROM account_groups WHERE reseller_id = ?1 LIMIT ?2) AS counted";
        Ok(self.query_one(sql, params![reseller, most], |row| row.int())?.unwrap_or(0))
    }

    pub fn group(&mut self, reseller: ResellerId, id: GroupId) -> Result<Option<Group>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM account_groups WHERE {OWN}");
        self.query_one(&sql, params![id, reseller], read)
    }

    /// The group, which then stays until the unit of work ends.
    pub fn hold_group(&mut self, reseller: ResellerId, id: GroupId) -> Result<Option<Group>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM account_groups WHERE {OWN}");
        self.query_held(&sql, params![id, reseller], read)
    }

    /// The group, which nobody else can hold or change until the unit of work ends. Who claims several does so in the
    /// order of their ids, and before holding any account: so no two units wait for each other.
    pub fn claim_group(&mut self, reseller: ResellerId, id: GroupId) -> Result<Option<Group>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM account_groups WHERE {OWN}");
        Ok(self.query_claimed(&sql, params![id, reseller], read)?.pop())
    }

    /// Claims up to `most` groups that an account is in, as [`Tx::claim_group`] does.
    pub fn claim_groups_of_account(&mut self, account: AccountId, most: u32) -> Result<Vec<Group>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM account_groups
             WHERE id IN (SELECT group_id FROM group_members WHERE account_id = ?1) ORDER BY id LIMIT ?2"
        );
        self.query_claimed(&sql, params![account, most], read)
    }

    pub fn group_by_name(&mut self, reseller: ResellerId, name: &Name) -> Result<Option<Group>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM account_groups WHERE reseller_id = ?1 AND name = ?2");
        self.query_one(&sql, params![reseller, name.as_str()], read)
    }

    /// A page of a reseller's groups, newest first.
    pub fn groups(&mut self, reseller: ResellerId, page: &PageRequest) -> Result<Page<Group>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM account_groups WHERE reseller_id = ?1 AND id < ?2
             ORDER BY id {NEWEST_FIRST} LIMIT ?3"
        );
        let rows = |tx: &mut Self, after, limit| tx.query(&sql, params![reseller, after, limit], read);
        self.page(page, rows, |group| group.id.to_string())
    }

    /// The first `most` groups an account is in, by name.
    pub fn groups_of_account(&mut self, account: AccountId, most: u32) -> Result<Vec<Group>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM account_groups
             WHERE id IN (SELECT group_id FROM group_members WHERE account_id = ?1) ORDER BY name LIMIT ?2"
        );
        self.query(&sql, params![account, most], read)
    }

    /// The first `most` groups that a policy is assigned to, by name, without their descriptions.
    pub fn groups_of_policy(&mut self, policy: PolicyId, most: u32) -> Result<Vec<(GroupId, Name)>, StoreError> {
        let sql = "SELECT id, name FROM account_groups
                   WHERE id IN (SELECT group_id FROM group_policies WHERE policy_id = ?1) ORDER BY name LIMIT ?2";
        self.query(sql, params![policy, most], |row| Ok((row.parsed()?, row.through(Name::parse)?)))
    }

    /// Up to `most` of the groups that a policy is assigned to.
    pub fn some_groups_of_policy(&mut self, policy: PolicyId, most: u32) -> Result<Vec<GroupId>, StoreError> {
        let sql = "SELECT group_id FROM group_policies WHERE policy_id = ?1 ORDER BY group_id LIMIT ?2";
        self.query(sql, params![policy, most], |row| row.parsed())
    }

    pub fn save_group(&mut self, group: &Group) -> Result<(), StoreError> {
        self.update(
            "account group",
            group.id,
            "UPDATE account_groups SET name = ?3, description = ?4, updated_at = ?5, version = version + 1
             WHERE id = ?1 AND version = ?2",
            params![
                group.id,
                group.version,
                group.name.as_str(),
                group.description.as_ref().map(Description::as_str),
                group.updated_at,
            ],
        )
    }

    /// Removes a group with its assignments; the accounts and policies stay. What is left of its memberships counts for nothing,
    /// and is for [`Tx::delete_members`].
    pub fn delete_group(&mut self, id: GroupId) -> Result<(), StoreError> {
        self.put("DELETE FROM group_policies WHERE group_id = ?1", params![id])?;
        self.put("DELETE FROM account_groups WHERE id = ?1", params![id])
    }

    /// Puts an account into a group; `false` when it is there already.
    pub fn add_member(&mut self, group: GroupId, account: AccountId, now: Timestamp) -> Result<bool, StoreError> {
        let added = self.execute(
            "INSERT INTO group_members (group_id, account_id, added_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            params![group, account, now],
        )?;
        Ok(added == 1)
    }

    /// In how many groups an account is, counted up to so many.
    pub fn groups_of_account_up_to(&mut self, account: AccountId, most: u32) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(*) FROM (SELECT 1 FROM group_members
                   JOIN account_groups ON account_groups.id = group_members.group_id
                   WHERE account_id = ?1 LIMIT ?2) AS counted";
        Ok(self.query_one(sql, params![account, most], |row| row.int())?.unwrap_or(0))
    }

    /// Whether an account is in a group.
    pub fn is_member(&mut self, group: GroupId, account: AccountId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM group_members WHERE group_id = ?1 AND account_id = ?2";
        Ok(self.query_one(sql, params![group, account], |_| Ok(()))?.is_some())
    }

    /// Takes an account out of a group; `false` when it is not there.
    pub fn remove_member(&mut self, group: GroupId, account: AccountId) -> Result<bool, StoreError> {
        let sql = "DELETE FROM group_members WHERE group_id = ?1 AND account_id = ?2";
        Ok(self.execute(sql, params![group, account])? == 1)
    }

    /// Keeps the number of members beside the group, so that nobody has to count them.
    pub fn change_member_count(&mut self, group: GroupId, by: i64, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE account_groups SET member_count = member_count + ?2, updated_at = ?3, version = version + 1
                   WHERE id = ?1";
        self.put(sql, params![group, by, now])
    }

    /// A page of the accounts in a group, newest account first.
    pub fn members(
        &mut self,
        reseller: ResellerId,
        group: GroupId,
        page: &PageRequest,
    ) -> Result<Page<Account>, StoreError> {
        let sql = format!(
            "{ACCOUNT} JOIN group_members ON account_id = accounts.id
             WHERE group_id = ?1 AND account_id < ?2 AND reseller_id = ?4
             ORDER BY account_id {NEWEST_FIRST} LIMIT ?3"
        );
        let rows = |tx: &mut Self, after, limit| tx.query(&sql, params![group, after, limit, reseller], read_account);
        self.page(page, rows, |account| account.id.to_string())
    }

    /// Assigns a policy to a group; `false` when it is assigned already.
    pub fn assign_policy(&mut self, group: GroupId, policy: PolicyId, now: Timestamp) -> Result<bool, StoreError> {
        let added = self.execute(
            "INSERT INTO group_policies (group_id, policy_id, assigned_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            params![group, policy, now],
        )?;
        Ok(added == 1)
    }

    /// Takes a policy off a group; `false` when it is not assigned.
    pub fn unassign_policy(&mut self, group: GroupId, policy: PolicyId) -> Result<bool, StoreError> {
        let sql = "DELETE FROM group_policies WHERE group_id = ?1 AND policy_id = ?2";
        Ok(self.execute(sql, params![group, policy])? == 1)
    }
}

fn read(row: &mut Columns<'_>) -> Result<Group, StoreError> {
    Ok(Group {
        id: row.parsed()?,
        reseller: row.parsed()?,
        name: row.through(Name::parse)?,
        description: row.through_or_none(Description::parse)?,
        member_count: row.int()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.int()?,
    })
}
