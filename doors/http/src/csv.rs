//! Fields of comma-separated lists (RFC 4180), as the doors that have such lists write them.

/// A text as one field. A spreadsheet takes what begins like a formula for one; it is told that this is text.
pub fn csv_field(text: &str) -> String {
    let text = match text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_text_and_stays_one_field() {
        assert_eq!(csv_field("plain"), "plain");
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv_field("CN=a, O=\"b\""), "\"CN=a, O=\"\"b\"\"\"");
        for formula in ["=cmd()@example.com", "+1", "-1", "@SUM(1)", "\t=1"] {
            assert_eq!(csv_field(formula), format!("'{formula}"));
        }
        assert_eq!(csv_field("\r=1"), "\"'\r=1\"");
        assert_eq!(csv_field("=1,2"), "\"'=1,2\"");
    }
}
