//! Times and numbers as people read them.

use chancery_domain::Timestamp;
use chancery_service::console::Counted;
use maud::{Markup, html};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY: i64 = 86_400;

/// `15 Nov 2026`.
pub(crate) fn date(at: Timestamp) -> String {
    let (year, month, day) = parts(at);
    format!("{day} {} {year}", MONTHS.get(month.wrapping_sub(1)).copied().unwrap_or_default())
}

/// `15 Nov`.
pub(crate) fn short_date(at: Timestamp) -> String {
    let (_, month, day) = parts(at);
    format!("{day} {}", MONTHS.get(month.wrapping_sub(1)).copied().unwrap_or_default())
}

/// `Nov`.
pub(crate) fn month(at: Timestamp) -> &'static str {
    MONTHS.get(parts(at).1.wrapping_sub(1)).copied().unwrap_or_default()
}

pub(crate) fn day_of_month(at: Timestamp) -> u32 {
    parts(at).2
}

/// Monday is 0.
pub(crate) fn weekday(at: Timestamp) -> u32 {
    // The first of January 1970 was a Thursday.
    u32::try_from((at.as_secs().div_euclid(DAY) + 3).rem_euclid(7)).unwrap_or(0)
}

/// A moment: how far away in words, and exactly for whoever points at it.
pub(crate) fn moment(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(at) title=(exact(at)) { (ago(at, now)) } }
}

/// A day, and exactly for whoever points at it.
pub(crate) fn on_day(at: Timestamp) -> Markup {
    html! { time datetime=(at) title=(exact(at)) { (date(at)) } }
}

/// `15 Nov 2026, 15:04:05 UTC`.
pub(crate) fn exact(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}, {} UTC", date(at), text.get(11..19).unwrap_or_default())
}

/// `3 hours ago`, `in 12 days`.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_secs() - at.as_secs();
    let (size, past) = (seconds.abs(), seconds >= 0);
    let said = match size {
        0..=44 => return if past { "just now".to_owned() } else { "in a moment".to_owned() },
        45..=5_399 => plural((size + 30) / 60, "minute"),
        5_400..=129_599 => plural((size + 1_800) / 3_600, "hour"),
        129_600..=7_775_999 => plural((size + DAY / 2) / DAY, "day"),
        7_776_000..=63_071_999 => plural((size + 15 * DAY) / (30 * DAY), "month"),
        _ => plural(size / (365 * DAY), "year"),
    };
    if past { format!("{said} ago") } else { format!("in {said}") }
}

pub(crate) fn plural(count: i64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{} {word}s", grouped(count)) }
}

/// `12,345`.
pub(crate) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

/// `10,000+` where there are more than were counted.
pub(crate) fn counted(number: Counted) -> String {
    format!("{}{}", grouped(number.count), if number.more { "+" } else { "" })
}

/// `more than 10,000` where there are more than were counted.
pub(crate) fn at_least(number: Counted) -> String {
    format!("{}{}", if number.more { "more than " } else { "" }, grouped(number.count))
}

fn parts(at: Timestamp) -> (String, usize, u32) {
    let text = at.to_string();
    let number = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse().ok()).unwrap_or(0_u32);
    (text.get(0..4).unwrap_or_default().to_owned(), number(5..7) as usize, number(8..10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_words() {
        let now = Timestamp::from_secs(1_763_164_800);
        let at = |seconds: i64| ago(Timestamp::from_secs(1_763_164_800 + seconds), now);
        assert_eq!((at(0).as_str(), at(30).as_str()), ("just now", "in a moment"));
        assert_eq!((at(-60).as_str(), at(-3600).as_str()), ("1 minute ago", "60 minutes ago"));
        assert_eq!((at(86_400 * 12).as_str(), at(-86_400 * 400).as_str()), ("in 12 days", "13 months ago"));
        assert_eq!((date(now).as_str(), exact(now).as_str()), ("15 Nov 2025", "15 Nov 2025, 00:00:00 UTC"));
        assert_eq!((weekday(now), now.date().as_str()), (5, "2025-11-15"));
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            ["0", "999", "1,000", "-1,234,567"],
            [0, 999, 1000, -1_234_567].map(grouped).each_ref().map(String::as_str)
        );
    }
}
