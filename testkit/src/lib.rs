//! What tests share: a frozen clock, seeded randomness, servers and databases to throw away.

pub mod postgres;
