//! A named set of accounts, to which policies are assigned.

use crate::id::{GroupId, ResellerId};
use crate::text::{Description, Name};
use crate::time::Timestamp;

/// An account group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub id: GroupId,
    pub reseller: ResellerId,
    pub name: Name,
    pub description: Option<Description>,
    pub member_count: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}
