//! A bounded list of violations.

use crate::problem::{Problem, messages};

/// The number of violations that are described; further ones are only counted. Without a bound, a thousand policies with
/// several rules each and a hundred names make a response of more than 100 MiB.
pub const MAX_VIOLATIONS: usize = 32;

/// What prevents an order: the first [`MAX_VIOLATIONS`] in full, and the number of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations {
    described: Vec<Problem>,
    omitted: usize,
    /// The distinct rules that are violated, those of omitted violations included.
    rules: Vec<&'static str>,
}

impl Violations {
    /// Adds a violation of a rule. `describe` is called only if there is room for one more.
    pub fn add(&mut self, rule: &'static str, describe: impl FnOnce() -> Problem) {
        match self.has_room() {
            true => self.push(describe()),
            false => self.omit(rule, 1),
        }
    }

    /// Counts violations of a rule without describing them.
    pub fn omit(&mut self, rule: &'static str, count: usize) {
        if count > 0 {
            self.omitted += count;
            self.note(rule);
        }
    }

    /// Whether the next violation is described.
    pub fn has_room(&self) -> bool {
        self.described.len() < MAX_VIOLATIONS
    }

    pub fn is_empty(&self) -> bool {
        self.described.is_empty() && self.omitted == 0
    }

    /// The number of violations, those that are not described included.
    pub fn len(&self) -> usize {
        self.described.len() + self.omitted
    }

    pub fn described(&self) -> &[Problem] {
        &self.described
    }

    pub fn described_mut(&mut self) -> &mut [Problem] {
        &mut self.described
    }

    /// The number of violations that are counted and not described.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Whether all of them violate this rule.
    pub fn are_all_of(&self, rule: &str) -> bool {
        self.rules.iter().all(|violated| *violated == rule)
    }

    /// Adds the violations of another list behind these.
    pub fn append(&mut self, other: Self) {
        for problem in other.described {
            self.add(problem.code, || problem);
        }
        self.omitted += other.omitted;
        other.rules.into_iter().for_each(|rule| self.note(rule));
    }

    /// The described violations in one line, and how many there are beyond them.
    pub fn messages(&self) -> String {
        match self.omitted {
            0 => messages(&self.described),
            more => format!("{}; and {more} more", messages(&self.described)),
        }
    }

    /// The described violations, and the number of the others.
    pub fn into_parts(self) -> (Vec<Problem>, usize) {
        (self.described, self.omitted)
    }

    fn push(&mut self, problem: Problem) {
        self.note(problem.code);
        self.described.push(problem);
    }

    fn note(&mut self, rule: &'static str) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }
}

impl Extend<Problem> for Violations {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        problems.into_iter().for_each(|problem| self.add(problem.code, || problem));
    }
}

impl FromIterator<Problem> for Violations {
    fn from_iter<I: IntoIterator<Item = Problem>>(problems: I) -> Self {
        let mut violations = Self::default();
        violations.extend(problems);
        violations
    }
}

impl From<Problem> for Violations {
    fn from(problem: Problem) -> Self {
        Self::from_iter([problem])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rule: &'static str, count: usize) -> Violations {
        (0..count).map(|number| Problem::new("field", rule, format!("message {number}"))).collect()
    }

    #[test]
    fn describes_the_first_and_counts_the_others() {
        let mut violations = of("one", MAX_VIOLATIONS);
        violations.add("two", || panic!("there is no room to describe it"));
        violations.omit("three", 5);
        assert_eq!((violations.described().len(), violations.omitted(), violations.len()), (32, 6, 38));
        assert!(violations.messages().ends_with("message 31; and 6 more"));
        assert!(!violations.are_all_of("one"), "omitted violations of other rules count");
    }

    #[test]
    fn lists_that_are_joined_stay_bounded() {
        let mut violations = of("one", 30);
        violations.append(of("one", 40));
        assert_eq!((violations.described().len(), violations.omitted()), (32, 38));
        assert!(violations.are_all_of("one"));
        violations.append(of("two", 1));
        assert!(!violations.are_all_of("one"));
        assert_eq!(violations.len(), 71);
    }

    #[test]
    fn a_short_list_says_nothing_of_others() {
        assert_eq!(of("one", 2).messages(), "message 0; message 1");
        assert!(of("one", 0).is_empty() && !of("one", 1).is_empty());
    }
}
