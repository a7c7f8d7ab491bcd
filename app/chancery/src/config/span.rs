//! Lengths of time as people write them: `30s`, `15m`, `24h`, `30d`.

use std::time::Duration;

/// Reads a whole number and a unit.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a length of time such as \"30s\", \"15m\", \"24h\" or \"30d\"");
    let end = text.find(|character: char| !character.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(end);
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

/// The shortest way to write it.
pub fn show(span: Duration) -> String {
    let seconds = span.as_secs();
    let (size, unit) = [(86_400, "d"), (3600, "h"), (60, "m")]
        .into_iter()
        .find(|(size, _)| seconds >= *size && seconds.is_multiple_of(*size))
        .unwrap_or((1, "s"));
    format!("{}{unit}", seconds / size)
}

/// For people, who do not ask for seconds where there are days.
pub fn roughly(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_told_what_matters() {
        for (seconds, text) in [(5, "5 s"), (600, "10 min"), (7199, "119 min"), (90_000, "25 h"), (900_000, "10 days")]
        {
            assert_eq!(roughly(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn comes_back_from_its_text() {
        for (text, seconds) in [("0s", 0), ("90s", 90), ("15m", 900), ("25h", 90_000), ("30d", 2_592_000)] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)));
            assert_eq!(show(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn what_is_no_length_of_time_is_refused() {
        for text in ["", "s", "10", "-1s", "1.5h", "1h30m", "1 h", "1w", "99999999999999999999s", "999999999999999999d"]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
