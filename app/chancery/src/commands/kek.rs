//! The key-encryption keys: what seals every secret in the database.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chancery_domain::{Action, Clock, Timestamp};
use chancery_machine::SystemClock;
use chancery_seal::{KeyInfo, Keyring, key_id};
use chancery_store::{SEALED_COLUMNS, Tx};
use clap::Subcommand;
use serde_json::json;

use super::context::Context;
use super::noting::{note, untold};
use crate::config::{IDEMPOTENCY_WINDOW, span};
use crate::failure::Failure;
use crate::installation::Kek;
use crate::print::record;
use crate::target::Target;

#[derive(Subcommand, Debug)]
pub enum KekCommand {
    /// List the keys, and how many secrets each seals
    List,
    /// Add a new key and seal every secret with it; the old keys stay until they are pruned
    Rotate {
        /// Only add the key: copy the file to every node, and then rotate. Needed where nodes have files of their own
        #[arg(long)]
        prepare: bool,
    },
    /// Drop the keys that seal nothing any more
    Prune,
}

/// Secrets read from the database at a time.
const BATCH: u32 = 500;

pub fn run(target: &Target, command: KekCommand) -> Result<(), Failure> {
    let context = Context::open(target)?;
    match command {
        KekCommand::List => list(&context),
        KekCommand::Rotate { prepare: true } => prepare(&context),
        KekCommand::Rotate { prepare: false } => rotate(&context),
        KekCommand::Prune => prune(&context),
    }
}

fn list(context: &Context) -> Result<(), Failure> {
    let used = usage(context)?;
    let records: Vec<_> = context
        .kernel
        .keyring
        .keys()
        .iter()
        .map(|key| {
            record! {
                "key_id" => key.id,
                "primary" => key.primary,
                "secrets" => used.get(&key.id).copied().unwrap_or(0),
                "created_at" => key.created_at.map(|at| Timestamp::from_secs(at).to_string()),
            }
        })
        .collect();
    context.printer.table(&["key_id", "primary", "secrets", "created_at"], &records)
}

fn prepare(context: &Context) -> Result<(), Failure> {
    let path = keyring_file(context)?;
    let prepared = Keyring::prepare(&path, SystemClock.now().as_secs()).map_err(Failure::failed)?;
    let noted = note(&context.kernel.store, Action::KekPrepare, prepared.clone(), json!({}));
    context.wait(noted).map_err(|error| untold(&format!("added {prepared}"), &error))?;
    let sentence = format!(
        "{prepared} is in {} and seals nothing yet. Copy the file to every node, and then run `chancery kek rotate`.",
        path.display()
    );
    context.printer.say(&sentence, &record! { "key_id" => prepared, "prepared" => true })
}

fn rotate(context: &Context) -> Result<(), Failure> {
    let path = keyring_file(context)?;
    let primary = Keyring::rotate(&path, SystemClock.now().as_secs()).map_err(Failure::failed)?;
    let done = context.wait(context.operator.reseal()).map_err(|error| {
        Failure::failed(format!("the new key {primary} is in use, but not every secret is sealed with it yet: {error}"))
            .advise("run `chancery kek rotate` again; the old keys are still there")
    })?;
    let sentence = format!(
        "{primary} seals everything now ({} secrets sealed anew). The old keys stay until `chancery kek prune`.",
        done.resealed
    );
    let record = record! { "key_id" => primary, "resealed" => done.resealed, "already" => done.already };
    context.printer.say(&sentence, &record)
}

fn prune(context: &Context) -> Result<(), Failure> {
    let path = keyring_file(context)?;
    let used = usage(context)?;
    let keys = context.kernel.keyring.keys();
    let recent = recent(&keys, changed_at(&path)?, SystemClock.now());
    let keep: Vec<_> = used.keys().cloned().chain(recent.iter().cloned()).collect();
    let dropped = Keyring::prune(&path, &keep).map_err(Failure::failed)?;
    if !dropped.is_empty() {
        let primary = context.kernel.keyring.primary_id();
        let noted = note(&context.kernel.store, Action::KekPrune, primary, json!({"dropped": dropped}));
        context.wait(noted).map_err(|error| untold(&format!("dropped {}", dropped.join(", ")), &error))?;
    }
    let kept: Vec<_> = context.kernel.keyring.keys().into_iter().map(|key| key.id).collect();
    let mut sentence = match dropped.len() {
        0 => "Nothing was dropped.".to_owned(),
        _ => format!("Dropped {}.", dropped.join(", ")),
    };
    if !recent.is_empty() {
        let window = span::show(IDEMPOTENCY_WINDOW);
        sentence.push_str(&format!(
            " Kept {}: in use within the last {window}, and answers that can be replayed may still need it.",
            recent.join(", ")
        ));
    }
    context.printer.say(&sentence, &record! { "dropped" => dropped, "kept" => kept })
}

/// How many secrets each key seals.
fn usage(context: &Context) -> Result<BTreeMap<String, u64>, Failure> {
    let mut used = BTreeMap::new();
    for column in SEALED_COLUMNS {
        let mut after = String::new();
        loop {
            let from = after.clone();
            let read = move |tx: &mut Tx<'_>| tx.sealed_values(*column, &from, BATCH);
            let values = context.wait(context.kernel.store.read(read))?;
            let Some(last) = values.last() else { break };
            after.clone_from(&last.id);
            for value in &values {
                let key = key_id(&value.sealed).map_err(Failure::failed)?;
                *used.entry(key.to_owned()).or_insert(0) += 1;
            }
        }
    }
    Ok(used)
}

/// Keys that were the primary within the time that an answer is kept for replaying. Those answers are sealed too, and
/// are forgotten rather than sealed anew.
///
/// A key may lie ready for long before it becomes the primary, so of the primary it counts when the file last changed.
fn recent(keys: &[KeyInfo], changed: Timestamp, now: Timestamp) -> Vec<String> {
    let successors = keys.iter().zip(keys.iter().skip(1));
    let until = successors.map(|(key, next)| {
        let made = next.created_at.unwrap_or(0);
        (key, if next.primary { made.max(changed.as_secs()) } else { made })
    });
    let recent =
        until.filter(|(key, until)| !key.primary && now.since(Timestamp::from_secs(*until)) < IDEMPOTENCY_WINDOW);
    recent.map(|(key, _)| key.id.clone()).collect()
}

fn changed_at(path: &Path) -> Result<Timestamp, Failure> {
    let changed = fs::metadata(path).and_then(|file| file.modified()).map_err(Failure::failed)?;
    let since = changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(Timestamp::from_secs(i64::try_from(since.as_secs()).unwrap_or(i64::MAX)))
}

fn keyring_file(context: &Context) -> Result<PathBuf, Failure> {
    match &context.installation.kek {
        Kek::File(path) => Ok(path.clone()),
        Kek::Text(_) => Err(Failure::usage("a single key from the environment cannot be rotated")
            .advise("move it into a keyring file (keys.kek_file) first; docs/rotation.md says how")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_kept_for_a_day_after_another_took_over() {
        let key = |id: &str, created_at, primary| KeyInfo { id: id.to_owned(), created_at: Some(created_at), primary };
        let keys = [key("a", 0, false), key("b", 1_000, false), key("c", 50_000, true)];
        let at = Timestamp::from_secs;
        assert_eq!(recent(&keys, at(50_000), at(60_000)), ["a", "b"]);
        assert_eq!(recent(&keys, at(50_000), at(1_000 + 86_400)), ["b"]);
        assert_eq!(recent(&keys, at(50_000), at(50_000 + 86_400)), Vec::<String>::new());
        // It was made in advance, and has been the primary only since then.
        assert_eq!(recent(&keys, at(200_000), at(50_000 + 86_400)), ["b"]);
    }
}
