//! What a keyring promises, over real files.

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::Command,
    sync::Barrier,
};

use chancery_seal::{Keyring, KeyringError, SealError, key_id};
use tempfile::TempDir;

const CONTEXT: &str = "eab_credentials.hmac_key:eab_1";
const NOW: i64 = 1_767_225_600;

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("keyring.json");
    (dir, path)
}

#[test]
fn what_is_sealed_opens_after_a_restart() {
    let (_dir, path) = place();
    let sealed = Keyring::create(&path, NOW).unwrap().seal(CONTEXT, b"secret");
    let again = Keyring::load(&path).unwrap();
    assert_eq!(*again.open(CONTEXT, &sealed).unwrap(), b"secret");
    assert_eq!(key_id(&sealed).unwrap(), again.primary_id());
    assert_eq!(*again.open(CONTEXT, &again.seal(CONTEXT, b"")).unwrap(), b"");
}

#[test]
fn sealing_the_same_secret_twice_gives_different_bytes_that_do_not_hold_it() {
    let (_dir, path) = place();
    let keyring = Keyring::create(&path, NOW).unwrap();
    let (first, second) =
        (keyring.seal(CONTEXT, b"a long enough secret"), keyring.seal(CONTEXT, b"a long enough secret"));
    assert_ne!(first, second);
    assert!(!first.windows(20).any(|part| part == b"a long enough secret"));
}

#[test]
fn a_value_does_not_open_in_another_context() {
    let (_dir, path) = place();
    let keyring = Keyring::create(&path, NOW).unwrap();
    let sealed = keyring.seal(CONTEXT, b"secret");
    for other in ["eab_credentials.hmac_key:eab_2", "", "eab_credentials.hmac_key:eab_1 "] {
        assert!(matches!(keyring.open(other, &sealed), Err(SealError::Refused)), "{other:?}");
    }
}

#[test]
fn a_value_with_any_bit_changed_does_not_open() {
    let (_dir, path) = place();
    let keyring = Keyring::create(&path, NOW).unwrap();
    let sealed = keyring.seal(CONTEXT, b"secret");
    for bit in 0..sealed.len() * 8 {
        let mut altered = sealed.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        assert!(keyring.open(CONTEXT, &altered).is_err(), "bit {bit}");
    }
    for len in 0..sealed.len() {
        assert!(keyring.open(CONTEXT, &sealed[..len]).is_err(), "first {len} bytes");
    }
    assert!(keyring.open(CONTEXT, &[&sealed[..], b"x"].concat()).is_err());
}

#[test]
fn a_key_id_cannot_be_swapped_for_another_name_of_the_same_key() {
    let (_dir, path) = place();
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let entry = |id| format!(r#"{{"id":"{id}","key":"{key}","created_at":1}}"#);
    fs::write(&path, format!(r#"{{"primary":"k1","keys":[{},{}]}}"#, entry("k1"), entry("k2"))).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let keyring = Keyring::load(&path).unwrap();
    let mut sealed = keyring.seal(CONTEXT, b"secret");
    assert_eq!(&sealed[..4], b"\x01\x02k1");
    sealed[3] = b'2';
    assert!(matches!(keyring.open(CONTEXT, &sealed), Err(SealError::Refused)));
}

#[test]
fn a_value_of_another_keyring_names_the_key_that_is_missing() {
    let ((_a, one), (_b, two)) = (place(), place());
    let (one, two) = (Keyring::create(one, NOW).unwrap(), Keyring::create(two, NOW).unwrap());
    let missing = one.primary_id();
    let error = two.open(CONTEXT, &one.seal(CONTEXT, b"secret")).unwrap_err();
    assert!(matches!(error, SealError::UnknownKey(id) if id == missing));
}

#[test]
fn a_keyring_is_made_for_its_owner_only_and_others_are_refused() {
    let (dir, path) = place();
    Keyring::create(&path, NOW).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    for mode in [0o640, 0o604, 0o620, 0o601] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = Keyring::load(&path).err().unwrap();
        assert!(matches!(error, KeyringError::Exposed { .. }));
        assert!(error.to_string().contains(&format!("chmod 600 {}", path.display())), "{error}");
        assert!(Keyring::rotate(&path, NOW).is_err());
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    Keyring::load(&path).unwrap();
    assert!(!dir.path().join("keyring.json.new").exists());
}

#[test]
fn an_existing_file_is_never_overwritten() {
    let (dir, path) = place();
    fs::write(&path, "precious").unwrap();
    assert!(matches!(Keyring::create(&path, NOW), Err(KeyringError::Exists { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    assert!(!dir.path().join("keyring.json.new").exists());
}

#[test]
fn a_draft_left_by_a_crash_is_in_nobodys_way() {
    let (dir, path) = place();
    fs::write(dir.path().join("keyring.json.new"), "half").unwrap();
    Keyring::create(&path, NOW).unwrap();
    fs::write(dir.path().join("keyring.json.new"), "half").unwrap();
    Keyring::rotate(&path, NOW).unwrap();
    assert_eq!(Keyring::load(&path).unwrap().keys().len(), 2);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
}

#[test]
fn an_older_handle_seals_with_the_new_primary_and_opens_both() {
    let (_dir, path) = place();
    let running = Keyring::create(&path, NOW).unwrap();
    let clone = running.clone();
    let (old_id, old) = (running.primary_id(), running.seal(CONTEXT, b"old"));

    let new_id = Keyring::rotate(&path, NOW + 1).unwrap();
    let new = running.seal(CONTEXT, b"new");

    assert_ne!(old_id, new_id);
    assert_eq!(key_id(&new).unwrap(), new_id);
    assert_eq!(clone.primary_id(), new_id);
    assert_eq!(*clone.open(CONTEXT, &old).unwrap(), b"old");
    let keys: Vec<_> = clone.keys().into_iter().map(|key| (key.id, key.created_at, key.primary)).collect();
    assert_eq!(keys, [(old_id, Some(NOW), false), (new_id, Some(NOW + 1), true)]);
}

#[test]
fn an_older_handle_opens_what_another_process_sealed_after_a_rotation() {
    let (_dir, path) = place();
    let older = Keyring::create(&path, NOW).unwrap();
    Keyring::rotate(&path, NOW).unwrap();
    let sealed = Keyring::load(&path).unwrap().seal(CONTEXT, b"new");
    assert_eq!(*older.open(CONTEXT, &sealed).unwrap(), b"new");
}

#[test]
fn a_broken_file_does_not_stop_a_running_process_but_is_reported() {
    let (_dir, path) = place();
    let running = Keyring::create(&path, NOW).unwrap();
    let good = fs::read(&path).unwrap();
    let sealed = running.seal(CONTEXT, b"secret");

    fs::write(&path, "{").unwrap();
    assert_eq!(*running.open(CONTEXT, &running.seal(CONTEXT, b"more")).unwrap(), b"more");
    assert!(matches!(running.reload(), Err(KeyringError::Malformed { .. })));
    let (_other_dir, other) = place();
    let foreign = Keyring::create(other, NOW).unwrap().seal(CONTEXT, b"x");
    assert!(matches!(running.open(CONTEXT, &foreign), Err(SealError::Keyring(KeyringError::Malformed { .. }))));
    fs::remove_file(&path).unwrap();
    assert_eq!(*running.open(CONTEXT, &sealed).unwrap(), b"secret");
    running.seal(CONTEXT, b"more");

    fs::write(&path, good).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    running.reload().unwrap();
}

#[test]
fn pruning_drops_what_is_not_kept_and_never_the_primary() {
    let (_dir, path) = place();
    let keyring = Keyring::create(&path, NOW).unwrap();
    let first = keyring.primary_id();
    let on_first = keyring.seal(CONTEXT, b"secret");
    let second = Keyring::rotate(&path, NOW).unwrap();
    let third = Keyring::rotate(&path, NOW).unwrap();

    assert!(matches!(Keyring::prune(&path, &["mistyped"]), Err(KeyringError::KeepUnknown(_))));
    assert_eq!(keyring.keys().len(), 3);
    assert_eq!(Keyring::prune(&path, &[&first]).unwrap(), [second]);
    assert_eq!(*Keyring::load(&path).unwrap().open(CONTEXT, &on_first).unwrap(), b"secret");
    assert_eq!(Keyring::prune(&path, &[] as &[&str]).unwrap(), [first]);
    assert_eq!(Keyring::load(&path).unwrap().primary_id(), third);
    assert!(matches!(Keyring::load(&path).unwrap().open(CONTEXT, &on_first), Err(SealError::UnknownKey(_))));
}

#[test]
fn concurrent_rotations_lose_no_key() {
    let (_dir, path) = place();
    Keyring::create(&path, NOW).unwrap();
    let start = Barrier::new(8);
    let ids: HashSet<String> = std::thread::scope(|scope| {
        let rotate = || {
            start.wait();
            (0..10).map(|_| Keyring::rotate(&path, NOW).unwrap()).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(rotate)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let kept: HashSet<String> = Keyring::load(&path).unwrap().keys().into_iter().map(|key| key.id).collect();
    assert_eq!(ids.len(), 80);
    assert_eq!(kept.len(), 81);
    assert!(ids.is_subset(&kept));
}

#[test]
fn of_concurrent_creations_one_wins() {
    let (_dir, path) = place();
    let start = Barrier::new(8);
    let made: Vec<_> = std::thread::scope(|scope| {
        let create = || {
            start.wait();
            Keyring::create(&path, NOW)
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap().ok()).collect()
    });
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].primary_id(), Keyring::load(&path).unwrap().primary_id());
}

#[test]
fn a_rotation_keeps_the_owner_and_follows_a_symbolic_link() {
    let (dir, path) = place();
    Keyring::create(&path, NOW).unwrap();
    // Only root may give a file away; elsewhere the owner is ours before and after.
    if chown(&path, Some(12_345), Some(12_345)).is_ok() {
        assert_eq!(fs::metadata(&path).unwrap().uid(), 12_345);
    }
    let before = fs::metadata(&path).unwrap();
    let link = dir.path().join("link.json");
    symlink(&path, &link).unwrap();
    let running = Keyring::load(&link).unwrap();

    let id = Keyring::rotate(&link, NOW).unwrap();

    let after = fs::metadata(&path).unwrap();
    assert_eq!((before.uid(), before.gid()), (after.uid(), after.gid()));
    assert_eq!(fs::metadata(dir.path().join("keyring.json.lock")).unwrap().uid(), after.uid());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(running.primary_id(), id);
}

#[test]
fn a_key_given_as_text_opens_the_same_values_from_a_file() {
    let text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let given = Keyring::from_base64(&format!(" {text}\n")).unwrap();
    let sealed = given.seal(CONTEXT, b"secret");
    let (_dir, path) = place();
    let id = given.primary_id();
    fs::write(&path, format!(r#"{{"primary":"{id}","keys":[{{"id":"{id}","key":"{text}","created_at":1}}]}}"#))
        .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(*Keyring::load(&path).unwrap().open(CONTEXT, &sealed).unwrap(), b"secret");
    for bad in ["", "AAECAw==", &text[..43], &format!("{text}AAAA"), "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g"] {
        assert!(matches!(Keyring::from_base64(bad), Err(KeyringError::BadKey)), "{bad:?}");
    }
}

#[test]
fn a_prepared_key_seals_nothing_until_it_is_rotated_to() {
    let (_dir, path) = place();
    let keyring = Keyring::create(&path, NOW).unwrap();
    let first = keyring.primary_id();
    let prepared = Keyring::prepare(&path, NOW + 1).unwrap();
    assert_eq!(Keyring::prepare(&path, NOW + 2).unwrap(), prepared, "one is enough");
    assert_eq!((keyring.primary_id(), keyring.keys().len()), (first, 2));
    assert_eq!(Keyring::prune(&path, &[] as &[&str]).unwrap(), Vec::<String>::new(), "it is still to be used");
    assert_eq!(Keyring::rotate(&path, NOW + 3).unwrap(), prepared);
    assert_eq!((keyring.primary_id(), keyring.keys().len()), (prepared, 2));
}

#[test]
fn a_rotation_needs_no_part_in_the_group_of_the_keyring() {
    const KEYRING: &str = "CHANCERY_SEAL_TEST_KEYRING";
    if let Some(path) = std::env::var_os(KEYRING) {
        // In the process that is started below.
        Keyring::rotate(path, NOW).unwrap();
        return;
    }
    let (dir, path) = place();
    Keyring::create(&path, NOW).unwrap();
    let lock = dir.path().join("keyring.json.lock");
    // Only root may give a file to a group that it has no part in, and become somebody else.
    if [dir.path(), &path, &lock].iter().any(|each| chown(each, Some(12_345), Some(54_321)).is_err()) {
        return;
    }
    // The other user may not reach the folder that the tests were built in.
    let program = dir.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut other = Command::new(program);
    other.args(["--exact", "a_rotation_needs_no_part_in_the_group_of_the_keyring"]).env(KEYRING, &path);
    // Nor may the folder for temporary files be one that programs are run from.
    let Ok(done) = other.current_dir(dir.path()).uid(12_345).gid(12_345).output() else { return };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));

    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.uid(), after.mode() & 0o7777), (12_345, 0o600));
    assert_eq!(Keyring::load(&path).unwrap().keys().len(), 2);
    assert!(!dir.path().join("keyring.json.new").exists());
}

#[test]
fn a_keyring_is_made_where_a_link_leads() {
    let (dir, link) = place();
    symlink("kept/real.json", &link).unwrap();
    let refused = Keyring::create(&link, NOW).err().unwrap();
    assert!(matches!(refused, KeyringError::Dangling { .. }));
    assert!(refused.to_string().contains("keyring.json is a link to nothing"), "{refused}");

    fs::create_dir(dir.path().join("kept")).unwrap();
    let made = Keyring::create(&link, NOW).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let real = dir.path().join("kept/real.json");
    assert_eq!(Keyring::load(real).unwrap().primary_id(), made.primary_id());
    assert!(matches!(Keyring::create(&link, NOW), Err(KeyringError::Exists { .. })));

    let circle = dir.path().join("circle.json");
    symlink(&circle, &circle).unwrap();
    assert!(matches!(Keyring::create(&circle, NOW), Err(KeyringError::Dangling { .. })));
}
