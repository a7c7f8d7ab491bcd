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
/// Bytes of all looks at a challenge. The last is kept whatever it takes: it is bounded by itself.
const BUDGET: usize = 8 * 1024;

impl Attempt {
    /// What is kept of the looks at a challenge: the last, the first, and of the others the latest that there is room
    /// for. Long texts are cut.
    pub fn kept(attempts: Vec<Self>) -> Vec<Self> {
        let attempts: Vec<_> = attempts.into_iter().map(Self::bounded).collect();
        let Some(last) = attempts.len().checked_sub(1) else { return attempts };
        let mut room = BUDGET.saturating_sub(attempts[last].size());
        let mut keep = vec![false; attempts.len()];
        keep[last] = true;
        for place in std::iter::once(0).chain((1..last).rev()).filter(|place| *place < last) {
            let size = attempts[place].size();
            if size > room {
                break;
            }
            room -= size;
            keep[place] = true;
        }
        attempts.into_iter().zip(keep).filter_map(|(attempt, keep)| keep.then_some(attempt)).collect()
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
    /// The same, cut where it is long.
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
