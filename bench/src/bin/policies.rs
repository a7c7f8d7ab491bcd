//! Evaluates a hundred names against the largest rules that a reseller can have, with the index and without.
//!
//! Nothing is stored and nothing is sent: this is the CPU time that an order costs before its transaction begins.

use std::time::{Duration, Instant};

use chancery_domain::policy::{DomainPattern, Request, evaluate};
use chancery_domain::{CompiledPolicy, DnsName, Identifier, Name, PolicyRules, Profile};

/// The rules of all policies of a reseller, as they are stored.
const RULES_BYTES: usize = 2 * 1024 * 1024;
const POLICIES: usize = 1000;
/// The entries of one list of rules.
const ENTRIES: usize = 1000;
const NAMES: usize = 100;
const ROUNDS: usize = 200;

struct Case {
    what: &'static str,
    rules: Vec<PolicyRules>,
    names: Vec<Identifier>,
}

fn main() {
    println!("| case | patterns | violations | p50 | max | compiled in | one pattern after the other |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for case in [permitted(), refused(), wildcards(), deep()] {
        measure(&case);
    }
}

/// Every policy lists domains of its own beside those of the customer, and denies others.
fn permitted() -> Case {
    let list = |number: usize, kind: &str, count: usize| {
        let others = (0..count).map(|entry| format!("*.{kind}{entry}.customer-{number}.example"));
        others.chain((kind == "a").then(|| "*.shop.example".to_owned())).collect::<Vec<_>>()
    };
    let policies = fill(POLICIES, |number, count| (list(number, "a", count), list(number, "d", count)));
    Case {
        what: "1,000 policies, permitted",
        rules: policies,
        names: names(|number| format!("n{number}.shop.example")),
    }
}

/// The same, and no name is allowed by any policy.
fn refused() -> Case {
    let names = names(|number| format!("n{number}.elsewhere.example"));
    Case { what: "1,000 policies, refused", names, ..permitted() }
}

/// Ten policies with a thousand wildcards each, all of which cover most names.
fn wildcards() -> Case {
    let chain = |letter: &str, depth: usize| format!("{}test", format!("{letter}.").repeat(depth));
    let list = |number: usize| (0..ENTRIES).map(|entry| format!("*.{}", chain("a", (number + entry) % 120))).collect();
    let rules = (0..10).map(|number| rules(list(number), list(number))).collect();
    Case {
        what: "10,000 overlapping wildcards",
        rules,
        names: names(|number| format!("x{number}.{}", chain("a", 115))),
    }
}

/// Names of as many labels as there can be, against policies that name all the names above them.
fn deep() -> Case {
    let chain = |number: usize, depth: usize| format!("{}d{}.test", "a.".repeat(depth), number % NAMES);
    let list = |number: usize, count: usize| (0..count).map(|depth| format!("*.{}", chain(number, depth))).collect();
    let policies = fill(POLICIES, |number, count| (list(number, count), list(number + 1, count)));
    Case { what: "1,000 policies, 120 labels", rules: policies, names: names(|number| chain(number, 118)) }
}

fn names(name: impl Fn(usize) -> String) -> Vec<Identifier> {
    (0..NAMES).map(|number| Identifier::parse(&name(number)).expect("a name")).collect()
}

/// So many policies, with lists as long as fit into the rules of a reseller.
fn fill(policies: usize, lists: impl Fn(usize, usize) -> (Vec<String>, Vec<String>)) -> Vec<PolicyRules> {
    let share = RULES_BYTES / policies;
    let all = (0..policies).map(|number| {
        let fits = |count: &usize| {
            let (allowed, denied) = lists(number, *count);
            stored_bytes(&allowed) + stored_bytes(&denied) <= share
        };
        let count = (1..).take_while(fits).last().unwrap_or(0);
        let (allowed, denied) = lists(number, count);
        rules(allowed, denied)
    });
    all.collect()
}

/// As texts in quotes, with a comma between two.
fn stored_bytes(patterns: &[String]) -> usize {
    patterns.iter().map(|pattern| pattern.len() + 3).sum()
}

fn rules(allowed: Vec<String>, denied: Vec<String>) -> PolicyRules {
    let parse =
        |texts: Vec<String>| Some(texts.iter().map(|text| DomainPattern::parse(text).expect("a pattern")).collect());
    PolicyRules { allowed_domains: parse(allowed), denied_domains: parse(denied), ..PolicyRules::default() }
}

fn measure(case: &Case) {
    let name = Name::parse("policy").expect("a name");
    let begun = Instant::now();
    let compile = |rules: &PolicyRules| CompiledPolicy { id: None, name: name.clone(), rules: rules.clone().compile() };
    let policies: Vec<_> = case.rules.iter().map(compile).collect();
    let compiled_in = begun.elapsed();
    let profile = Profile::predefined().remove(0);
    let request = Request::of(&profile, &case.names);
    let mut violations = 0;
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            violations = evaluate(&request, &policies).violations.len();
            begun.elapsed()
        })
        .collect();
    times.sort();
    let begun = Instant::now();
    let expected = one_after_the_other(case);
    let naive = begun.elapsed();
    assert_eq!(violations, expected, "{}: the index must find what the patterns say", case.what);
    let patterns: usize = case.rules.iter().map(|rules| lists(rules).map(<[_]>::len).sum::<usize>()).sum();
    let milliseconds = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1000.0);
    println!(
        "| {} | {patterns} | {violations} | {} | {} | {} | {} |",
        case.what,
        milliseconds(times[ROUNDS / 2]),
        milliseconds(times[ROUNDS - 1]),
        milliseconds(compiled_in),
        milliseconds(naive),
    );
}

fn lists(rules: &PolicyRules) -> impl Iterator<Item = &[DomainPattern]> {
    [&rules.allowed_domains, &rules.denied_domains].into_iter().flatten().map(Vec::as_slice)
}

/// The number of violations, found without an index.
fn one_after_the_other(case: &Case) -> usize {
    let name = |identifier: &'_ Identifier| match identifier {
        Identifier::Dns(name) => name.clone(),
        Identifier::Ip(address) => panic!("{address} is no name"),
    };
    let names: Vec<DnsName> = case.names.iter().map(name).collect();
    let violations = |rules: &PolicyRules| {
        let allowed = |name: &&DnsName| rules.allowed_domains.iter().flatten().any(|pattern| pattern.covers(name));
        let denied = |name: &&DnsName| rules.denied_domains.iter().flatten().any(|pattern| pattern.touches(name));
        names.iter().filter(|name| !allowed(name)).count() + names.iter().filter(denied).count()
    };
    case.rules.iter().map(violations).sum()
}
