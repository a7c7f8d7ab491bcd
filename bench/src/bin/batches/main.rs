//! Measures changes that reach very many rows: how long the longest transaction takes, and how long others wait meanwhile.
//!
//! `cargo run --release -p chancery-bench --bin batches -- [--quick] [--sqlite | --postgres] [--orders N] [--names N]
//! [--members N] [--groups N]`
//!
//! Both databases, PostgreSQL where `CHANCERY_TEST_POSTGRES` names a server.

#![allow(clippy::unwrap_used, reason = "what fails here ends the measurement")]

mod measure;
mod stage;

use chancery_testkit::TestStore;
use chancery_tests::{World, settings};

use crate::measure::{Figures, HEADER};

/// What was asked for on the command line.
#[derive(Clone, Copy)]
struct Plan {
    sqlite: bool,
    postgres: bool,
    /// Open orders that depend on one authorization, and that one account has.
    orders: usize,
    /// Names of each of them.
    names: usize,
    /// Members of a group.
    members: usize,
    /// Groups that a policy is assigned to.
    groups: usize,
}

fn main() {
    let Some(plan) = Plan::from_arguments(std::env::args().skip(1)) else {
        eprintln!(
            "usage: batches [--quick] [--sqlite | --postgres] [--orders N] [--names N] [--members N] [--groups N]"
        );
        std::process::exit(2);
    };
    if cfg!(debug_assertions) {
        println!("This is a debug build: its figures say nothing. Use --release.\n");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        if plan.sqlite {
            measure("SQLite", plan, TestStore::sqlite()).await;
        }
        if plan.postgres
            && let Some(store) = TestStore::postgres()
        {
            measure("PostgreSQL", plan, store).await;
        }
    });
}

async fn measure(database: &str, plan: Plan, store: TestStore) {
    println!("{database}, {} orders of {} names", plan.orders, plan.names);
    let world = World::over(store, settings(), Vec::new()).await;
    world.start_workers();
    let stage = stage::Stage::new(&world).await;
    let mut all: Vec<(String, Figures)> = Vec::new();

    let (client, authorization) = stage.dependent_orders(plan.orders, plan.names).await;
    let deactivate = stage.deactivate(&client, &authorization);
    all.push(("an authorization is deactivated".to_owned(), measure::figures(&stage, deactivate).await));

    let account = stage.account_with_orders(plan.orders, plan.names).await;
    let terminate = stage.delete(format!("/v1/account/{account}"));
    all.push(("an account is terminated".to_owned(), measure::figures(&stage, terminate).await));

    let group = stage.group_with_members(plan.members).await;
    let delete = stage.delete(format!("/v1/account-group/{group}"));
    all.push((format!("a group of {} is deleted", plan.members), measure::figures(&stage, delete).await));

    let policy = stage.policy_of_groups(plan.groups).await;
    let delete = stage.delete(format!("/v1/policy/{policy}"));
    all.push((format!("a policy of {} groups is deleted", plan.groups), measure::figures(&stage, delete).await));

    println!("{HEADER}");
    for (what, figures) in all {
        println!("| {what} {figures}");
    }
    println!();
}

impl Plan {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut plan =
            Self { sqlite: true, postgres: true, orders: 10_000, names: 100, members: 10_000, groups: 1_000 };
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next()?.parse().ok().filter(|number| *number > 0);
            match argument.as_str() {
                "--quick" => plan = Self { orders: 1_000, names: 10, members: 2_000, ..plan },
                "--sqlite" => plan.postgres = false,
                "--postgres" => plan.sqlite = false,
                "--orders" => plan.orders = number()?,
                "--names" => plan.names = number()?,
                "--members" => plan.members = number()?,
                "--groups" => plan.groups = number()?,
                _ => return None,
            }
        }
        Some(plan)
    }
}
