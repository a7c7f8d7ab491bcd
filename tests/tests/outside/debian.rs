//! The Debian package, on this machine.

mod slow {
    use std::process::Command;

    use crate::dev_server::tool;

    #[test]
    fn the_debian_package_installs_starts_issues_upgrades_and_goes_without_a_trace() {
        let Some(binary) = tool("CHANCERY_TEST_BINARY") else { return };
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        let has_dpkg = Command::new("dpkg").arg("--version").output().is_ok();
        if !is_root || !has_dpkg {
            let asked_for = std::env::var_os("CHANCERY_REQUIRE_TOOLS").is_some();
            assert!(!asked_for, "it takes root on Debian to install a package: run ./scripts/test as root");
            eprintln!("skipped: it takes root on Debian to install a package");
            return;
        }
        let tried = Command::new("packaging/deb/try").arg("--binary").arg(binary).current_dir(root).output().unwrap();
        let said = [tried.stdout, tried.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        // One that is in use is not touched.
        if said.contains("a chancery is on this machine already") {
            eprintln!("skipped: {said}");
            return;
        }
        assert!(tried.status.success() && said.contains("all is well"), "{said}");
    }
}
