//! How a build is named. Part of the build script, and of the program's tests.

/// The version of the package, and the commit where there is one.
pub(crate) fn build_version(package: &str, commit: &str) -> Result<String, &'static str> {
    let is_commit = (7..=64).contains(&commit.len()) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    match (commit.is_empty(), is_commit) {
        (true, _) => Ok(package.to_owned()),
        (false, true) => Ok(format!("{package} ({commit})")),
        (false, false) => Err("CHANCERY_COMMIT has to be the hash of a commit, such as 1a2b3c4d5e6f"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_named_by_its_version_and_the_commit_where_there_is_one() {
        assert_eq!(build_version("0.1.0", "").as_deref(), Ok("0.1.0"));
        assert_eq!(build_version("0.1.0", "1a2b3c4d5e6f").as_deref(), Ok("0.1.0 (1a2b3c4d5e6f)"));
        let whole = "0123456789abcdef".repeat(4);
        assert_eq!(build_version("0.1.0", &whole), Ok(format!("0.1.0 ({whole})")));
    }

    #[test]
    fn what_is_no_commit_is_refused() {
        for wrong in ["main", "1a2b3c", "1a2b3c4d5e6f ", "v0.1.0-3-g1a2b3c4", &"0".repeat(65), "1a2b3c4d\n"] {
            assert!(build_version("0.1.0", wrong).is_err(), "{wrong:?}");
        }
    }
}
