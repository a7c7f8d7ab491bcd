//! The reseller API, spoken to as a reseller does.

mod account;
