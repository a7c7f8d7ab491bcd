//! How many must have seen the same from elsewhere before it is believed (Baseline Requirements section 3.2.2.9).

use std::collections::BTreeSet;
use std::fmt;

use crate::time::Timestamp;

/// Where on the Internet a perspective is: which registry gives out the addresses there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    Afrinic,
    Apnic,
    Arin,
    Lacnic,
    Ripe,
}

impl Region {
    pub const ALL: &'static [Self] = &[Self::Afrinic, Self::Apnic, Self::Arin, Self::Lacnic, Self::Ripe];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Afrinic => "afrinic",
            Self::Apnic => "apnic",
            Self::Arin => "arin",
            Self::Lacnic => "lacnic",
            Self::Ripe => "ripe",
        }
    }

    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|region| region.as_str() == text)
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Those who agree must be in so many regions, where there are as many.
const REGIONS: usize = 2;

/// How many of these perspectives may fail to agree at most.
pub const fn tolerance(perspectives: usize) -> usize {
    match perspectives {
        0 | 1 => 0,
        2..=5 => 1,
        _ => 2,
    }
}

/// How many perspectives must be asked, besides our own, for public certificates; in two regions at least.
pub fn needed_for_public(now: Timestamp) -> usize {
    // 2026-06-15 and 2026-12-15. What was in force before is not for new installations.
    match now.as_secs() {
        ..1_781_481_600 => 3,
        1_781_481_600..1_797_292_800 => 4,
        1_797_292_800.. => 5,
    }
}

/// What has to be seen from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quorum {
    /// Who they are, and where.
    perspectives: Vec<(String, Option<Region>)>,
    may_fail: usize,
}

/// How it stands with what was seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Enough agree, whatever the others say.
    Met,
    /// It can still become either.
    Open,
    /// Too few can agree, whatever the others say.
    Missed,
}

impl Quorum {
    /// Of these perspectives, of which so many may fail to agree; never more than [`tolerance`].
    pub fn new(perspectives: Vec<(String, Option<Region>)>, may_fail: usize) -> Self {
        let may_fail = may_fail.min(tolerance(perspectives.len()));
        Self { perspectives, may_fail }
    }

    pub fn perspectives(&self) -> usize {
        self.perspectives.len()
    }

    pub fn may_fail(&self) -> usize {
        self.may_fail
    }

    /// How many have to agree at least.
    pub fn needed(&self) -> usize {
        self.perspectives.len() - self.may_fail
    }

    /// In how many regions there are perspectives.
    pub fn regions(&self) -> usize {
        self.perspectives.iter().filter_map(|(_, region)| *region).collect::<BTreeSet<_>>().len()
    }

    /// Whether perspectives that agree must be in two regions: always, if there are any in two.
    pub fn requires_two_regions(&self) -> bool {
        self.regions() >= REGIONS
    }

    /// Whether it is enough that these have agreed, some time ago: those who are not asked any more do not count.
    pub fn is_met_by(&self, agreed: &[String]) -> bool {
        let votes: Vec<_> = self.perspectives.iter().map(|(name, _)| Some(agreed.contains(name))).collect();
        self.standing(&votes) == Standing::Met
    }

    /// Whether enough agree. Of each perspective, in order: whether it agreed, or nothing where it has not answered yet.
    pub fn standing(&self, votes: &[Option<bool>]) -> Standing {
        let count = |wanted: Option<bool>| votes.iter().filter(|vote| **vote == wanted).count();
        let (agreed, failed) = (count(Some(true)), count(Some(false)));
        let regions = |counts: fn(Option<bool>) -> bool| {
            let of_those = self.perspectives.iter().zip(votes).filter(|(_, vote)| counts(**vote));
            of_those.filter_map(|((_, region), _)| *region).collect::<BTreeSet<_>>().len()
        };
        let enough = if self.requires_two_regions() { REGIONS } else { 0 };
        if failed > self.may_fail || regions(|vote| vote != Some(false)) < enough {
            return Standing::Missed;
        }
        let met = agreed + self.may_fail >= self.perspectives.len() && regions(|vote| vote == Some(true)) >= enough;
        if met { Standing::Met } else { Standing::Open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YES: Option<bool> = Some(true);
    const NO: Option<bool> = Some(false);

    /// Perspectives in these regions, named by their numbers.
    fn of(regions: &[Option<Region>], may_fail: usize) -> Quorum {
        let named = regions.iter().enumerate().map(|(number, region)| (number.to_string(), *region));
        Quorum::new(named.collect(), may_fail)
    }

    fn quorum(perspectives: usize) -> Quorum {
        of(&vec![None; perspectives], usize::MAX)
    }

    #[test]
    fn as_many_may_fail_as_the_baseline_requirements_allow_and_no_more() {
        let allowed: Vec<_> = (1..=8).map(|perspectives| quorum(perspectives).may_fail()).collect();
        assert_eq!(allowed, [0, 1, 1, 1, 1, 2, 2, 2]);
        assert_eq!(of(&[None; 3], 0).may_fail(), 0);
    }

    #[test]
    fn it_is_met_or_missed_as_soon_as_nothing_can_change_it() {
        let of_three = quorum(3);
        for (votes, standing) in [
            ([None, None, None], Standing::Open),
            ([YES, None, None], Standing::Open),
            ([YES, None, YES], Standing::Met),
            ([YES, NO, YES], Standing::Met),
            ([None, NO, YES], Standing::Open),
            ([None, NO, None], Standing::Open),
            ([NO, NO, None], Standing::Missed),
            ([NO, NO, YES], Standing::Missed),
        ] {
            assert_eq!(of_three.standing(&votes), standing, "{votes:?}");
        }
        assert_eq!(quorum(1).standing(&[NO]), Standing::Missed);
        assert_eq!(quorum(1).standing(&[None]), Standing::Open);
        assert_eq!(quorum(1).standing(&[YES]), Standing::Met);
    }

    #[test]
    fn those_who_agree_are_in_two_regions_where_there_are_two() {
        let (ripe, arin) = (Some(Region::Ripe), Some(Region::Arin));
        let quorum = of(&[ripe, ripe, arin], 1);
        assert_eq!(quorum.standing(&[YES, YES, None]), Standing::Open);
        assert_eq!(quorum.standing(&[YES, YES, NO]), Standing::Missed);
        assert_eq!(quorum.standing(&[None, None, NO]), Standing::Missed);
        assert_eq!(quorum.standing(&[YES, None, YES]), Standing::Met);
        let all_in_one = of(&[ripe, ripe, None], 1);
        assert_eq!(all_in_one.standing(&[YES, YES, NO]), Standing::Met);
        let one_that_is_said = of(&[ripe, None, None], 1);
        assert_eq!(one_that_is_said.standing(&[NO, YES, YES]), Standing::Met);
    }

    #[test]
    fn those_who_agreed_count_while_they_are_asked_and_where_they_are() {
        let agreed = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(quorum(3).is_met_by(&agreed(&["0", "2"])));
        assert!(!quorum(3).is_met_by(&agreed(&["0"])));
        assert!(!quorum(3).is_met_by(&agreed(&["0", "gone", "gone as well"])));
        assert!(!quorum(3).is_met_by(&agreed(&["0", "0"])));
        let (ripe, arin) = (Some(Region::Ripe), Some(Region::Arin));
        assert!(!of(&[ripe, ripe, arin], 1).is_met_by(&agreed(&["0", "1"])));
        assert!(quorum(0).is_met_by(&[]));
    }

    #[test]
    fn public_certificates_need_more_of_them_as_time_goes_by() {
        let at = |secs| needed_for_public(Timestamp::from_secs(secs));
        // The last second of the day before, and the first of the day.
        assert_eq!((at(1_781_481_599), at(1_781_481_600)), (3, 4));
        assert_eq!((at(1_797_292_799), at(1_797_292_800)), (4, 5));
    }

    #[test]
    fn regions_are_read_as_they_are_written() {
        for region in Region::ALL {
            assert_eq!(Region::from_name(&region.to_string()), Some(*region));
        }
        assert_eq!(Region::from_name("RIPE"), None);
    }
}
