//! What others sent, made fit to be kept and shown.

/// As much of a text as a person needs to see what is wrong with it.
const SHOWN: usize = 200;

/// The beginning of what was received, on one line: what is no text and what would move a cursor is escaped.
pub(crate) fn shown(received: &[u8]) -> String {
    let cut = &received[..received.len().min(SHOWN * 4)];
    let mut shown = String::new();
    for (count, character) in String::from_utf8_lossy(cut).chars().enumerate() {
        if count == SHOWN {
            return shown + "…";
        }
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if cut.len() < received.len() { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_received_is_cut_and_escaped() {
        assert_eq!(shown(b"plain"), "plain");
        assert_eq!(shown(b"two\nlines \x1b[31m \xff"), "two\\nlines \\u{1b}[31m \u{fffd}");
        assert_eq!(shown("ü".repeat(200).as_bytes()), "ü".repeat(200));
        assert_eq!(shown("ü".repeat(201).as_bytes()), "ü".repeat(200) + "…");
        assert_eq!(shown(&[b'a'; 100_000]), "a".repeat(200) + "…");
    }
}
