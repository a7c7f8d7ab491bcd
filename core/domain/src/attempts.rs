//! What is kept of looks: enough to see what happened, and never more than a few kilobytes a challenge. What others
//! send us must not fill our database, nor the answers of those who ask for an order with a hundred names.

use crate::evidence::{Attempt, ValidationProblem};

/// Bytes of a text; URLs and such.
const TEXT: usize = 400;
/// Bytes of an entry of a list, and entries.
const ENTRY: usize = 200;
const ENTRIES: usize = 10;
/// Bytes of what a problem says.
const DETAIL: usize = 1000;
/// Bytes of all looks at a challenge. The last is kept whatever it takes, and the last from every other perspective, in
/// short: they are bounded by themselves.
const BUDGET: usize = 8 * 1024;

impl Attempt {
    /// What is kept of the looks at a challenge: the last from every perspective, the first, and of the others the latest
    /// that there is room for. Long texts are cut.
    pub fn kept(attempts: Vec<Self>) -> Vec<Self> {
        let attempts: Vec<_> = attempts.into_iter().map(Self::bounded).collect();
        let Some(last) = attempts.len().checked_sub(1) else { return attempts };
        let mut kept = vec![None; attempts.len()];
        let mut room = BUDGET;
        let decides = |place: usize| {
            let mut later = attempts[place + 1..].iter();
            later.all(|later| later.perspective != attempts[place].perspective)
        };
        for place in (0..=last).rev().filter(|place| decides(*place)) {
            let whole = place == last || attempts[place].size() <= room;
            let look = if whole { attempts[place].clone() } else { attempts[place].in_short() };
            room = room.saturating_sub(look.size());
            kept[place] = Some(look);
        }
        for place in std::iter::once(0).chain((1..last).rev()) {
            if kept[place].is_some() {
                continue;
            }
            let size = attempts[place].size();
            if size > room {
                break;
            }
            room -= size;
            kept[place] = Some(attempts[place].clone());
        }
        kept.into_iter().flatten().collect()
    }

    /// Who looked when, whom he spoke to, and what came of it.
    fn in_short(&self) -> Self {
        let problem = self.problem.clone();
        let problem = problem.map(|problem| ValidationProblem { detail: cut(problem.detail, ENTRY), ..problem });
        Self {
            at: self.at,
            perspective: self.perspective.clone(),
            address_used: self.address_used.clone(),
            http_status: self.http_status,
            dnssec: self.dnssec.clone(),
            problem,
            ..Self::default()
        }
    }

    fn bounded(self) -> Self {
        Self {
            at: self.at,
            perspective: cut(self.perspective, ENTRY),
            addresses_resolved: entries(self.addresses_resolved),
            address_used: self.address_used.map(|text| cut(text, ENTRY)),
            url: self.url.map(|text| cut(text, TEXT)),
            redirects: entries(self.redirects),
            http_status: self.http_status,
            dns_answers: entries(self.dns_answers),
            dnssec: self.dnssec.map(|text| cut(text, ENTRY)),
            expected: self.expected.map(|text| cut(text, TEXT)),
            actual: self.actual.map(|text| cut(text, TEXT)),
            problem: self.problem.map(ValidationProblem::bounded),
        }
    }

    /// About how many bytes it takes.
    fn size(&self) -> usize {
        let lists = [&self.addresses_resolved, &self.redirects, &self.dns_answers];
        let texts = [&self.address_used, &self.url, &self.dnssec, &self.expected, &self.actual];
        let listed: usize = lists.into_iter().flatten().map(|text| text.len() + 3).sum();
        let said: usize = texts.into_iter().flatten().map(String::len).sum();
        let problem = self.problem.as_ref().map_or(0, |problem| problem.detail.len());
        // The rest is the names of the members.
        300 + self.perspective.len() + listed + said + problem
    }
}

impl ValidationProblem {
    /// The problem, with its text cut where it is long.
    #[must_use]
    pub fn bounded(self) -> Self {
        Self { kind: self.kind, detail: cut(self.detail, DETAIL) }
    }
}

fn entries(mut list: Vec<String>) -> Vec<String> {
    list.truncate(ENTRIES);
    list.into_iter().map(|text| cut(text, ENTRY)).collect()
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most - '…'.len_utf8()));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ProblemKind;

    /// A look at which the other side did its worst.
    fn large(at: i64) -> Attempt {
        let text = || "é".repeat(10_000);
        let list = || vec![text(); 50];
        Attempt {
            at,
            perspective: "primary".to_owned(),
            addresses_resolved: list(),
            address_used: Some(text()),
            url: Some(text()),
            redirects: list(),
            http_status: Some(200),
            dns_answers: list(),
            dnssec: Some("secure".to_owned()),
            expected: Some(text()),
            actual: Some(text()),
            problem: Some(ValidationProblem { kind: ProblemKind::Connection, detail: text() }),
        }
    }

    fn small(at: i64) -> Attempt {
        Attempt { at, perspective: "primary".to_owned(), actual: Some("x".repeat(100)), ..Attempt::default() }
    }

    fn times(attempts: &[Attempt]) -> Vec<i64> {
        attempts.iter().map(|attempt| attempt.at).collect()
    }

    #[test]
    fn of_large_looks_the_last_is_kept_and_cut() {
        let kept = Attempt::kept((0..8).map(large).collect());
        assert_eq!(times(&kept), [7]);
        assert!(kept.iter().map(Attempt::size).sum::<usize>() < 10 * 1024);
        let kept = &kept[0];
        assert_eq!((kept.redirects.len(), kept.dns_answers.len()), (10, 10));
        assert!(kept.redirects[0].len() <= 200 && kept.redirects[0].ends_with('…'));
    }

    #[test]
    fn of_every_perspective_the_last_look_is_kept_if_only_in_short() {
        let from = |perspective: &str, at| Attempt { perspective: perspective.to_owned(), ..large(at) };
        let looks =
            vec![from("primary", 0), from("primary", 1), from("a", 2), from("b", 3), from("a", 4), from("c", 5)];
        let kept = Attempt::kept(looks);
        assert_eq!(times(&kept), [1, 3, 4, 5]);
        assert!(kept[..3].iter().all(|look| look.redirects.is_empty() && look.size() < 1000), "{kept:?}");
        assert!(kept.iter().all(|look| look.address_used.is_some() && look.problem.is_some()));
        assert_eq!(kept[3].redirects.len(), 10);
    }

    #[test]
    fn small_looks_are_all_kept_and_as_they_are() {
        let looks: Vec<_> = (0..8).map(small).collect();
        assert_eq!(Attempt::kept(looks.clone()), looks);
        assert_eq!(Attempt::kept(looks[..1].to_vec()), looks[..1]);
        assert_eq!(Attempt::kept(Vec::new()), []);
    }

    #[test]
    fn the_first_and_the_latest_are_kept_where_there_is_room() {
        let middling = |at| Attempt { redirects: vec!["u".repeat(150); 10], ..small(at) };
        assert_eq!(times(&Attempt::kept((0..8).map(middling).collect())), [0, 5, 6, 7]);
    }
}
