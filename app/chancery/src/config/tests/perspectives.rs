use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use chancery_domain::{Quorum, Region};

use super::*;

/// A secret that several can have.
pub(super) struct Shared(tempfile::TempDir);

impl Shared {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "0123456789abcdef0123456789abcdef").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        Self(folder)
    }

    /// A perspective, as it is written; the last setting of a name counts.
    fn perspective(&self, name: &str, more: &[(&str, &str)]) -> String {
        let secret = self.0.path().join("secret");
        let mut settings =
            vec![("name", name), ("url", "http://127.0.0.1:1"), ("secret_file", secret.to_str().unwrap())];
        for (setting, value) in more {
            settings.retain(|(other, _)| other != setting);
            settings.push((setting, value));
        }
        let lines: String = settings.iter().map(|(setting, value)| format!("{setting} = '{value}'\n")).collect();
        format!("[[dcv.perspectives]]\n{lines}")
    }

    /// Perspectives in these regions, as they are written.
    pub(super) fn perspectives(&self, regions: &[&str]) -> String {
        let one = |(place, region): (usize, &&str)| {
            let url = format!("http://127.0.0.1:{}", place + 1);
            self.perspective(&format!("p{place}"), &[("region", region), ("url", &url)])
        };
        regions.iter().enumerate().map(one).collect()
    }
}

#[test]
fn of_perspectives_as_many_may_fail_as_is_allowed_or_fewer() {
    let shared = Shared::new();
    let none = settled("");
    assert_eq!((none.perspectives.remotes.len(), none.settings.issuing.quorum.needed()), (0, 0));
    let three = shared.perspectives(&["ripe", "arin", "ripe"]);
    let installation = settled(&three);
    assert!(installation.perspectives.remotes.iter().map(|remote| remote.name()).eq(["p0", "p1", "p2"]));
    let regions = [("p0", Region::Ripe), ("p1", Region::Arin), ("p2", Region::Ripe)];
    let quorum = Quorum::new(regions.map(|(name, region)| (name.to_owned(), Some(region))).into(), 1);
    assert_eq!(installation.perspectives.quorum, quorum);
    assert_eq!(installation.settings.issuing.quorum, quorum);
    assert_eq!(settled(&format!("dcv.perspectives_may_fail = 0\n{three}")).settings.issuing.quorum.needed(), 3);
    let found = problems_of(&format!("dcv.perspectives_may_fail = 2\n{three}"));
    assert_eq!(found, ["dcv.perspectives_may_fail: must be 0 to 1, not 2"]);
    assert_eq!(settled(&shared.perspective("alone", &[])).settings.issuing.quorum.needed(), 1);
}

#[test]
fn perspectives_that_cannot_be_asked_are_refused() {
    let shared = Shared::new();
    let open = shared.0.path().join("open");
    fs::write(&open, "everybody reads it").unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o644)).unwrap();
    let lines = shared.0.path().join("lines");
    fs::write(&lines, "0123456789abcdef0123456789abcdef\n0123456789abcdef0123456789abcdef\n").unwrap();
    fs::set_permissions(&lines, Permissions::from_mode(0o600)).unwrap();
    let short = shared.0.path().join("short");
    fs::write(&short, "short").unwrap();
    fs::set_permissions(&short, Permissions::from_mode(0o600)).unwrap();
    let [open, lines, short] = [&open, &lines, &short].map(|path| path.to_str().unwrap());
    for (setting, value, said) in [
        ("name", "", "must be a short word"),
        ("name", "North", "must be a short word"),
        ("name", "primary", "must not be primary"),
        ("url", "http://perspective.example.net", "it must begin with https://"),
        ("url", "nowhere", "cannot be used"),
        ("region", "RIPE", "must be one of afrinic, apnic, arin, lacnic, ripe"),
        ("secret_file", "/nowhere", "cannot read"),
        ("secret_file", "", "must name the file"),
        ("secret_file", "/", "is not a file"),
        ("secret_file", short, "32 characters"),
        ("secret_file", open, "chmod 600"),
        ("secret_file", lines, "on one line"),
        ("ca_file", "/nowhere", "cannot read"),
    ] {
        let found = problems_of(&shared.perspective("north", &[(setting, value)]));
        let expected = format!("dcv.perspectives.0.{setting}: ");
        assert!(found.len() == 1 && found[0].starts_with(&expected) && found[0].contains(said), "{value}: {found:?}");
    }
    let two = |more: &[(&str, &str)]| [shared.perspective("north", &[]), shared.perspective("south", more)].concat();
    let elsewhere = ("url", "http://127.0.0.1:2");
    assert_eq!(problems_of(&two(&[elsewhere])), [""; 0]);
    let found = problems_of(&two(&[elsewhere, ("name", "north")]));
    assert_eq!(found, ["dcv.perspectives.1.name: is the same as another perspective's"]);
    let found = problems_of(&two(&[("url", "http://127.0.0.1:1/")]));
    assert_eq!(found, ["dcv.perspectives.1.url: is another perspective's: one sees no more than one"]);
    let found = problems_of(&two(&[elsewhere, ("region", "ripe")]));
    assert!(found.len() == 1 && found[0].contains("of all perspectives, or of none"), "{found:?}");
    let one = |number| shared.perspective(&format!("p{number}"), &[("url", &format!("http://127.0.0.1:{number}"))]);
    let crowd: String = (1..=17).map(one).collect();
    assert_eq!(problems_of(&crowd), ["dcv.perspectives: must be 16 at most"]);
}

#[test]
fn public_profiles_are_refused_without_perspectives_in_two_regions() {
    let shared = Shared::new();
    let public = "profiles.default_profile = 'a'\n[[profiles.list]]\nname = 'a'\npublic = true\n";
    let nowhere = shared.perspective("p", &[]);
    for few in [String::new(), nowhere, shared.perspectives(&["ripe"]), shared.perspectives(&["ripe"; 5])] {
        let found = problems_of(&(public.to_owned() + &few));
        let said = "dcv.perspectives: must name perspectives, with their `region`, in at least two regions while the \
                    profile a is public";
        assert!(found.len() == 1 && found[0].starts_with(said), "{found:?}");
        assert_eq!(problems_of(&(public.replace("true", "false") + &few)), [""; 0]);
    }
    assert_eq!(problems_of(&(public.to_owned() + &shared.perspectives(&["ripe", "arin"]))), [""; 0]);
    // A region that cannot be read is one problem, not two.
    let found = problems_of(&(public.to_owned() + &shared.perspectives(&["ripe", "RIPE"])));
    assert!(found.iter().all(|problem| !problem.contains("is public")), "{found:?}");
}

#[test]
fn public_certificates_want_more_perspectives_as_time_goes_by() {
    let shared = Shared::new();
    let public = "profiles.default_profile = 'a'\n[[profiles.list]]\nname = 'a'\npublic = true\n";
    // 2026-11-18, and 2027-01-01.
    let (before, after) = (1_794_960_000, 1_798_761_600);
    let warned = |regions: &[&str], at| {
        let mut warnings = settled(&(public.to_owned() + &shared.perspectives(regions))).warnings(at);
        warnings.retain(|warning| warning.contains("perspectives"));
        warnings
    };
    let warnings = warned(&["ripe", "arin", "apnic"], before);
    assert!(warnings.len() == 1 && warnings[0].contains("from 4 other perspectives"), "{warnings:?}");
    let four = ["ripe", "arin", "ripe", "apnic"];
    assert_eq!(warned(&four, before), Vec::<String>::new());
    assert!(warned(&four, after)[0].contains("there are 4, in 3"), "{:?}", warned(&four, after));
    assert_eq!(settled(&shared.perspectives(&["ripe"])).warnings(after), Vec::<String>::new());
}
