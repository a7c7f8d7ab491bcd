//! The database and what is in it: schema, durability, secrets, CAs, revocation lists.

use std::time::Duration;

use chancery_domain::Timestamp;
use chancery_pki::{Certificate, IssuerChain};
use chancery_service::{CaKeys, Examination, ExaminedIssuer, ExaminedList, KeyPlace, Remedy, examine};
use chancery_store::{
    ChainRecord, DatabaseUrl, Facts, IssuerKind, IssuerRecord, IssuerRevocation, IssuerState, Store, StoreError, Tx,
};

use super::finding::Report;
use super::signing;
use crate::commands::context::quiet;
use crate::config::span::roughly;
use crate::installation::Installation;
use crate::threads::Threads;

/// The oldest release of PostgreSQL that is known to work.
const OLDEST_POSTGRES: i64 = 15;
/// A list is made anew every day; after this much more, something keeps it from being made.
const LATE: Duration = Duration::from_secs(26 * 3600);
const DAY: Duration = Duration::from_secs(86_400);
/// How far clocks may be apart.
const TOLERANCE: Duration = Duration::from_secs(5);
const FAR: Duration = Duration::from_secs(60);

/// What a database says that others have to know.
pub(super) struct Told {
    /// Those that are above our CAs.
    pub(super) roots: Vec<Certificate>,
    /// The services that run on it, by their ids.
    pub(super) nodes: Vec<String>,
}

/// Gives what it says, where it can be read.
pub(super) fn look(installation: &Installation, thorough: bool, now: Timestamp, report: &mut Report) -> Option<Told> {
    let database = &installation.database;
    if let DatabaseUrl::Sqlite(path) = database
        && !path.exists()
    {
        let what = format!("there is no database at {}", path.display());
        let place = &installation.place;
        let advice = format!("new: chancery init {place}; lost: chancery restore {place} --from BACKUP");
        report.problem("database", what, advice);
        return None;
    }
    let facts = match Store::facts(database, &installation.store) {
        Ok(facts) => facts,
        Err(error) => {
            report.problem("database", format!("{database}: {error}"), unreachable(database));
            return None;
        }
    };
    judge_facts(database, &facts, installation.store.migrate, report);
    judge_clock(facts.time, now, report);
    if let DatabaseUrl::Sqlite(path) = database
        && thorough
    {
        match Store::inspect_file(path).map_err(|error| error.to_string()) {
            Ok(findings) if findings.is_empty() => report.well("database", "every page is sound"),
            Ok(findings) => report.problem("database", findings.join("; "), DAMAGED),
            Err(error) => report.problem("database", error, DAMAGED),
        }
    }
    let keyring = match installation.keyring() {
        Ok(keyring) => keyring,
        Err(failure) => {
            report.problem("keys", failure.to_string(), "bring the keyring file from its backup");
            return None;
        }
    };
    if facts.schema < facts.known_schema || is_too_new(&facts) {
        return None;
    }
    let ca_keys = CaKeys::new(keyring.clone(), installation.token.clone());
    let examined = Threads::start().map_err(|error| error.to_string()).and_then(|threads| {
        let store = Store::open_untouched(database, &quiet(installation)).map_err(|error| error.to_string())?;
        let examination = threads.run(examine(&store, &keyring, &ca_keys)).map_err(|error| error.to_string())?;
        let read = |tx: &mut Tx<'_>| Ok::<_, StoreError>((tx.issuers()?, tx.chains()?, tx.nodes(u32::MAX)?));
        let (issuers, chains, nodes) = threads.run(store.read(read)).map_err(|error| error.to_string())?;
        Ok((examination, issuers, chains, nodes))
    });
    match examined {
        Ok((examination, issuers, chains, nodes)) => {
            judge(installation, &examination, now, report);
            signing::judge(&installation.settings.issuing, &issuers, now, report);
            let nodes = nodes.into_iter().map(|node| node.id).collect();
            Some(Told { roots: roots(&issuers, &chains), nodes })
        }
        Err(error) => {
            report.problem("database", format!("cannot be read: {error}"), DAMAGED);
            None
        }
    }
}

/// Our own that are in use, and those of others who vouch for our CAs.
fn roots(issuers: &[IssuerRecord], chains: &[ChainRecord]) -> Vec<Certificate> {
    let active = |issuer: &&IssuerRecord| issuer.kind == IssuerKind::Root && issuer.state == IssuerState::Active;
    let own = issuers.iter().filter(active).filter_map(|issuer| Certificate::from_der(&issuer.certificate).ok());
    let others = chains.iter().filter_map(|chain| IssuerChain::from_pem(&chain.pem).ok()?.root().cloned());
    own.chain(others).collect()
}

const DAMAGED: &str = "stop the service, keep a copy of the file, and put the last good backup back (chancery restore)";

fn unreachable(database: &DatabaseUrl) -> &'static str {
    match database {
        DatabaseUrl::Sqlite(_) => "see that the file is a database of this service and that this user may read it",
        DatabaseUrl::Postgres(_) => "see that the server runs, that database.url is right, and that it lets us in",
    }
}

fn judge_facts(database: &DatabaseUrl, facts: &Facts, migrate: bool, report: &mut Report) {
    let Facts { software, schema, known_schema, .. } = facts;
    report.well("database", format!("{database} answers ({software})"));
    match schema.cmp(known_schema) {
        std::cmp::Ordering::Equal => report.well("schema", format!("version {schema}")),
        std::cmp::Ordering::Greater if !is_too_new(facts) => report.warn(
            "schema",
            format!("version {schema} is of a newer release, which leaves room for this one"),
            "finish the upgrade when it suits you",
        ),
        std::cmp::Ordering::Greater => report.problem(
            "schema",
            format!("version {schema} is of a newer release; this one knows up to {known_schema}"),
            "install the newer release again",
        ),
        std::cmp::Ordering::Less if *schema == 0 => {
            report.problem("schema", "the database is empty", "run chancery init");
        }
        std::cmp::Ordering::Less if migrate => report.warn(
            "schema",
            format!("version {schema} is brought to {known_schema} at the next start"),
            "back the database up first; then start the service, or run chancery migrate",
        ),
        std::cmp::Ordering::Less => report.problem(
            "schema",
            format!("version {schema} is older than {known_schema}, and database.migrate is off"),
            "back the database up, then run chancery migrate",
        ),
    }
    if let Some(release) = facts.server_release.filter(|release| *release < OLDEST_POSTGRES) {
        let what = format!("release {release} of PostgreSQL is older than {OLDEST_POSTGRES}");
        report.problem("database", what, "upgrade the server");
    }
    if facts.standby {
        let what = "this server is a standby and takes no writes";
        report.problem("database", what, "point database.url at the primary");
    }
    for setting in &facts.unsafe_settings {
        let what = format!("{setting}: what was acknowledged can be lost when the machine fails");
        report.problem("durability", what, "turn it on in postgresql.conf");
    }
    if facts.unsafe_settings.is_empty() {
        report.well("durability", "every commit waits for the disk");
    }
}

/// Whether a newer release has changed what this one relies on.
fn is_too_new(facts: &Facts) -> bool {
    facts.schema > facts.known_schema && facts.needed_schema > facts.known_schema
}

fn judge_clock(time: Option<Timestamp>, now: Timestamp, report: &mut Report) {
    let Some(time) = time else { return };
    let apart = now.since(time).max(time.since(now));
    let what = format!("this machine's clock and the database's are {} apart", roughly(apart));
    match apart {
        apart if apart > FAR => report.problem("clock", what, "set both by NTP"),
        apart if apart > TOLERANCE => report.warn("clock", what, "set both by NTP"),
        _ => report.well("clock", "agrees with the database's"),
    }
}

fn judge(installation: &Installation, examination: &Examination, now: Timestamp, report: &mut Report) {
    let secrets = &examination.secrets;
    match secrets.shut.as_slice() {
        [] => report.well("keys", format!("all {} secrets open", secrets.opened)),
        shut => report.problem(
            "keys",
            format!("secrets that do not open: {}", shut.join("; ")),
            "bring the key-encryption keys that sealed them (a backup of the keyring file)",
        ),
    }
    if let Some(written) = examination.last_written_at.filter(|written| *written > now.plus(FAR)) {
        let what = format!("the clock says {now}, and the database was written at {written}");
        let advice =
            "set this machine's clock by NTP; where it is right, another was ahead, and this passes by that date";
        report.problem("clock", what, advice);
    }
    if examination.issuers.is_empty() {
        report.problem("authorities", "there is no certificate authority", "run chancery init");
    }
    let profiles = &installation.settings.issuing.certificates;
    let longest = profiles.values().map(|profile| profile.validity_days).max().unwrap_or(0);
    for issuer in &examination.issuers {
        judge_issuer(issuer, DAY * longest, now, report);
    }
    judge_roots(&examination.issuers, report);
    judge_lists(&examination.lists, now, report);
}

fn judge_issuer(issuer: &ExaminedIssuer, longest: Duration, now: Timestamp, report: &mut Report) {
    let ExaminedIssuer { name, kind, state, not_after, chain_ends, place, unfit, revocation, .. } = issuer;
    if let Some(IssuerRevocation { at, reason }) = revocation {
        let what = format!("{name} is revoked since {at} ({reason}): nothing that it signed is to be trusted");
        return match not_after {
            Some(end) if *end <= now => report.well("authorities", format!("{name} ended at {end}, revoked")),
            Some(_) | None => report.warn("authorities", what, "have customers renew what it signed"),
        };
    }
    if let Some(unfit) = unfit {
        let what = format!("{name} cannot sign: {unfit}");
        let advice = match place {
            Some(KeyPlace::Token) => {
                "see that keys.pkcs11 names the token and that it is there; a key that it has lost is in the HSM's backup"
            }
            Some(KeyPlace::Database) | None => "put a backup back in which key and certificate belong together",
        };
        return report.problem("authorities", what, advice);
    }
    let Some(own_end) = *not_after else { return };
    let preferred = chain_ends.is_some();
    let chain_ends = chain_ends.filter(|chain_ends| *chain_ends < own_end);
    let not_after = chain_ends.unwrap_or(own_end);
    let (left, retired) = (not_after.since(now), *state == IssuerState::Retired);
    // A root signs CAs of five years; one year is time enough to make another known.
    let needed = match kind {
        IssuerKind::Root => DAY * 365,
        IssuerKind::Issuing => longest,
    };
    let advice = match (kind, Remedy::of(preferred, chain_ends.is_some())) {
        (IssuerKind::Root, _) => "make another root in time; relying parties have to be given it",
        (IssuerKind::Issuing, Remedy::Rotate) => "chancery ca rotate",
        (IssuerKind::Issuing, Remedy::Vouch) => {
            "have it vouched for anew (chancery ca request), by CAs that last, then chancery ca add-chain --prefer"
        }
        (IssuerKind::Issuing, Remedy::VouchForSuccessor) => {
            "make a successor that is vouched for before it issues (chancery ca create --inactive)"
        }
    };
    let ending = match chain_ends {
        Some(_) => format!("the chain of {name}"),
        None => name.clone(),
    };
    match left {
        Duration::ZERO if retired => report.well("authorities", format!("{ending} ended at {not_after}, retired")),
        Duration::ZERO => report.problem("authorities", format!("{ending} ended at {not_after}"), advice),
        left if left < needed && !retired => {
            let what = format!("{ending} ends in {}, and shortens what it signs", roughly(left));
            report.warn("authorities", what, advice);
        }
        left => report.well("authorities", format!("{name} has its key, and lasts for {}", roughly(left))),
    }
}

/// Whether all that is issued leads to roots of the same kind: to others' alone, or to ours.
fn judge_roots(issuers: &[ExaminedIssuer], report: &mut Report) {
    let issues = |issuer: &&ExaminedIssuer| issuer.kind == IssuerKind::Issuing && issuer.state == IssuerState::Active;
    let (below_others, ours): (Vec<_>, Vec<_>) =
        issuers.iter().filter(issues).partition(|issuer| issuer.chain_ends.is_some());
    let Some(example) = below_others.first() else { return };
    for issuer in ours {
        let what = format!(
            "what {} signs leads to this service's own root, and what {} signs to another one",
            issuer.name, example.name
        );
        let advice = "have it vouched for as well (chancery ca request), or chancery ca retire";
        report.warn("authorities", what, advice);
    }
}

fn judge_lists(lists: &[ExaminedList], now: Timestamp, report: &mut Report) {
    let published: Vec<_> = lists.iter().filter(|list| list.published).collect();
    let Some(oldest) = published.iter().min_by_key(|list| list.this_update) else {
        return report.warn("revocation", "no revocation list was made yet", "start the service: it makes them");
    };
    let ended = published.iter().filter(|list| list.next_update <= now).count();
    let age = now.since(oldest.this_update);
    if ended > 0 {
        let what = format!("{ended} revocation lists have run out: relying parties refuse what they are about");
        report.problem("revocation", what, "start the service, and see in its log why lists are not made");
    } else if age > LATE {
        let what = format!("a revocation list is {} old, and should be made every day", roughly(age));
        report.warn("revocation", what, "start the service, and see in its log why lists are not made");
    } else if lists.iter().any(|list| list.lacking) {
        let what = "a revocation, or a new address, is on no list yet: relying parties do not know of it";
        report.warn("revocation", what, "start the service: it makes the list within a second");
    } else if published.len() < lists.len() {
        let missing = lists.len() - published.len();
        report.warn("revocation", format!("{missing} revocation lists are to be made"), "start the service");
    } else {
        report.well("revocation", format!("{} lists, the oldest is {} old", lists.len(), roughly(age)));
    }
}

#[cfg(test)]
mod tests {
    use chancery_domain::RevocationReason;

    use super::super::finding::{Finding, Level};
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

    fn found(judge: impl FnOnce(&mut Report)) -> Finding {
        let mut report = Report::default();
        judge(&mut report);
        assert_eq!(report.0.len(), 1, "{:?}", report.0);
        report.0.remove(0)
    }

    #[test]
    fn a_ca_is_told_before_it_ends() {
        let issuer = |kind, state, days: u32| ExaminedIssuer {
            id: "iss_01mcc5rm00ee3rgq7rf7em3d93".parse().expect("an id"),
            name: "E1".to_owned(),
            kind,
            state,
            revocation: None,
            not_after: Some(NOW.plus(DAY * days)),
            chain_ends: None,
            place: Some(KeyPlace::Database),
            unfit: None,
        };
        let revocation = Some(IssuerRevocation { at: NOW, reason: RevocationReason::KeyCompromise });
        let revoked = |days| ExaminedIssuer { revocation, ..issuer(IssuerKind::Issuing, IssuerState::Retired, days) };
        let level = |issuer: ExaminedIssuer| found(|report| judge_issuer(&issuer, DAY * 90, NOW, report)).level;
        assert_eq!(level(issuer(IssuerKind::Issuing, IssuerState::Active, 91)), Level::Ok);
        assert_eq!(level(issuer(IssuerKind::Issuing, IssuerState::Active, 89)), Level::Warning);
        assert_eq!(level(issuer(IssuerKind::Issuing, IssuerState::Retired, 89)), Level::Ok);
        assert_eq!(level(issuer(IssuerKind::Issuing, IssuerState::Active, 0)), Level::Problem);
        assert_eq!(level(issuer(IssuerKind::Issuing, IssuerState::Retired, 0)), Level::Ok);
        assert_eq!(level(issuer(IssuerKind::Root, IssuerState::Active, 364)), Level::Warning);
        assert_eq!([level(revoked(91)), level(revoked(0))], [Level::Warning, Level::Ok]);

        let below = |days: u32| ExaminedIssuer {
            chain_ends: Some(NOW.plus(DAY * days)),
            ..issuer(IssuerKind::Issuing, IssuerState::Active, 91)
        };
        assert_eq!([91, 89, 0].map(|days| level(below(days))), [Level::Ok, Level::Warning, Level::Problem]);
        let told = found(|report| judge_issuer(&below(89), DAY * 90, NOW, report));
        assert!(told.what.starts_with("the chain of E1 ends in"), "{told:?}");
        assert!(told.advice.is_some_and(|advice| advice.contains("chancery ca request")));
        let own_first = ExaminedIssuer {
            chain_ends: Some(NOW.plus(DAY * 365)),
            ..issuer(IssuerKind::Issuing, IssuerState::Active, 89)
        };
        let told = found(|report| judge_issuer(&own_first, DAY * 90, NOW, report));
        assert!(told.advice.is_some_and(|advice| advice.contains("chancery ca create --inactive")));
    }

    #[test]
    fn cas_below_other_roots_than_the_rest_are_told() {
        let issuer = |name: &str, state, chain_ends| ExaminedIssuer {
            id: "iss_01mcc5rm00ee3rgq7rf7em3d93".parse().expect("an id"),
            name: name.to_owned(),
            kind: IssuerKind::Issuing,
            state,
            revocation: None,
            not_after: Some(NOW),
            chain_ends,
            place: Some(KeyPlace::Database),
            unfit: None,
        };
        let (active, retired) = (IssuerState::Active, IssuerState::Retired);
        let told = found(|report| {
            let issuers = [issuer("E1", active, Some(NOW)), issuer("E2", active, None), issuer("E3", retired, None)];
            judge_roots(&issuers, report);
        });
        assert_eq!(told.level, Level::Warning);
        assert!(told.what.starts_with("what E2 signs leads to this service's own root, and what E1 signs"), "{told:?}");
        let mut report = Report::default();
        judge_roots(&[issuer("E1", active, None), issuer("E2", active, None)], &mut report);
        judge_roots(&[issuer("E1", active, Some(NOW)), issuer("E2", retired, None)], &mut report);
        assert!(report.0.is_empty(), "{:?}", report.0);
    }

    #[test]
    fn a_server_that_may_lose_what_it_acknowledged_is_told() {
        let well = Facts {
            software: "PostgreSQL 15.8".to_owned(),
            server_release: Some(15),
            schema: 7,
            known_schema: 7,
            needed_schema: 0,
            time: None,
            unsafe_settings: Vec::new(),
            standby: false,
        };
        let problems = |facts: Facts| {
            let mut report = Report::default();
            judge_facts(&"sqlite://x".parse().expect("a URL"), &facts, true, &mut report);
            let problems = report.0.into_iter().filter(|finding| finding.level == Level::Problem);
            problems.map(|finding| finding.check).collect::<Vec<_>>()
        };
        assert_eq!(problems(well.clone()), Vec::<&str>::new());
        let unsafe_settings = vec!["fsync = off".to_owned()];
        assert_eq!(problems(Facts { unsafe_settings, ..well.clone() }), ["durability"]);
        assert_eq!(problems(Facts { standby: true, ..well.clone() }), ["database"]);
        assert_eq!(problems(Facts { server_release: Some(14), ..well.clone() }), ["database"]);
        assert_eq!(problems(Facts { schema: 8, needed_schema: 7, ..well.clone() }), Vec::<&str>::new());
        assert_eq!(problems(Facts { schema: 8, needed_schema: 8, ..well.clone() }), ["schema"]);
        assert_eq!(problems(Facts { schema: 0, ..well }), ["schema"]);
    }

    #[test]
    fn clocks_may_be_seconds_apart() {
        let level =
            |seconds| found(|report| judge_clock(Some(NOW.plus(Duration::from_secs(seconds))), NOW, report)).level;
        assert_eq!([level(5), level(6), level(61)], [Level::Ok, Level::Warning, Level::Problem]);
    }
}
