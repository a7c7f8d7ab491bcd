//! Numbers as drawings: inline SVG, with the same numbers in words and in a table for those who do not see it.

use chancery_service::console::{Counted, Ending, IssuedOn};
use maud::{Markup, html};

use crate::parts::columns;
use crate::query::link;
use crate::text::{at_least, counted, grouped, plural, short_date};

/// A part of a whole: its class, its words, how many.
pub(crate) struct Share {
    pub(crate) class: &'static str,
    pub(crate) words: &'static str,
    pub(crate) number: Counted,
    pub(crate) href: String,
}

/// A ring of shares, with the sum in its middle. Where not all of a share was counted nobody knows how large it is beside the
/// others: then there are numbers alone.
pub(crate) fn ring(title: &str, shares: &[Share]) -> Markup {
    let known = shares.iter().all(|share| !share.number.more);
    html! {
        div.donut {
            @if known { (drawn_ring(title, shares)) }
            ul.legend-list {
                @for share in shares {
                    li { i class=(share.class) {} a href=(share.href) { (share.words) } b { (at_least(share.number)) } }
                }
            }
        }
        @if !known { p.muted { "Not all of them are counted, so their shares are not drawn." } }
    }
}

fn drawn_ring(title: &str, shares: &[Share]) -> Markup {
    let sum: i64 = shares.iter().map(|share| share.number.count).sum();
    let around = 2.0 * std::f64::consts::PI * 42.0;
    let mut begun = 0.0;
    let arcs: Vec<(&str, f64, f64)> = shares
        .iter()
        .filter(|share| share.number.count > 0)
        .map(|share| {
            let length = around * share.number.count as f64 / sum as f64;
            let arc = (share.class, length, begun);
            begun += length;
            arc
        })
        .collect();
    let gap = if arcs.len() > 1 { 2.0 } else { 0.0 };
    let said: Vec<_> = shares.iter().map(|share| format!("{} {}", counted(share.number), share.words)).collect();
    html! {
        svg.chart viewBox="0 0 110 110" role="img" aria-label={ (title) ": " (said.join(", ")) } {
            circle.ring.track cx="55" cy="55" r="42" {}
            @for (class, length, begun) in arcs {
                circle class={ "ring " (class) } cx="55" cy="55" r="42" transform="rotate(-90 55 55)"
                    stroke-dasharray={ (rounded((length - gap).max(1.0))) " " (rounded(around)) }
                    stroke-dashoffset=(rounded(-begun)) {}
            }
            text.big x="55" y="59" text-anchor="middle" { (short(sum)) }
            text x="55" y="73" text-anchor="middle" { "in all" }
        }
    }
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 190.0;
const FLOOR: f64 = 162.0;

/// How many were issued on each day.
pub(crate) fn days(title: &str, days: &[IssuedOn]) -> Markup {
    let top = ceiling(days.iter().map(|day| day.issued).max().unwrap_or(0));
    let all: i64 = days.iter().map(|day| day.issued).sum();
    let step = (WIDTH - 36.0) / days.len().max(1) as f64;
    html! {
        svg.chart.days viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
            aria-label={ (title) ": " (plural(all, "certificate")) " in " (days.len()) " days" } {
            @for part in 0..=2 {
                @let value = top * part / 2;
                @let y = FLOOR - (FLOOR - 12.0) * value as f64 / top as f64;
                line.axis x1="36" x2=(WIDTH) y1=(rounded(y)) y2=(rounded(y)) {}
                text x="30" y=(rounded(y + 4.0)) text-anchor="end" { (short(value)) }
            }
            @for (place, IssuedOn { day, issued }) in days.iter().enumerate() {
                @let x = 36.0 + step * place as f64 + step * 0.18;
                g {
                    title { (short_date(*day)) ": " (grouped(*issued)) " issued" }
                    // Something to point at, where there is nothing too.
                    rect x=(rounded(x)) y="12" width=(rounded(step * 0.64)) height=(rounded(FLOOR - 12.0)) fill="transparent" {}
                    @if *issued > 0 {
                        @let height = ((FLOOR - 12.0) * *issued as f64 / top as f64).max(2.0);
                        rect.s-issued x=(rounded(x)) y=(rounded(FLOOR - height)) width=(rounded(step * 0.64)) height=(rounded(height)) rx="2.5" {}
                    }
                }
                @if place % 2 == (days.len() + 1) % 2 {
                    text.thin[place % 4 != (days.len() + 3) % 4] x=(rounded(x + step * 0.32)) y="184" text-anchor="middle" { (short_date(*day)) }
                }
            }
        }
        details {
            summary { "As a table" }
            table.plain {
                (columns(&["Day", "Issued"]))
                tbody { @for day in days.iter().rev() { tr { th scope="row" { (short_date(day.day)) } td.num { (grouped(day.issued)) } } } }
            }
        }
    }
}

/// How many certificates end on each of the coming days: a row of cells, the fuller the darker.
pub(crate) fn endings(title: &str, endings: &[Ending]) -> Markup {
    let most = endings.iter().map(|ending| ending.certificates.count).max().unwrap_or(0);
    let all: i64 = endings.iter().map(|ending| ending.certificates.count).sum();
    let (columns, cell) = (10, 34.0);
    let rows = endings.len().div_ceil(columns);
    html! {
        svg.chart viewBox={ "0 0 " (columns as f64 * cell) " " (rows as f64 * cell) } role="group"
            aria-label={ (title) ": " (plural(all, "certificate")) " in " (endings.len()) " days" } {
            @for (place, ending) in endings.iter().enumerate() {
                @let (x, y) = ((place % columns) as f64 * cell, (place / columns) as f64 * cell);
                @let count = ending.certificates.count;
                @let words = format!("{}: {}", short_date(ending.day), plural(count, "certificate"));
                @let square = html! {
                    title { (words) }
                    rect class={ "heat-" (level(count, most)) } x=(rounded(x + 2.0)) y=(rounded(y + 2.0)) width="30" height="30" rx="7" {}
                };
                @if count > 0 {
                    a href=(link("/console/calendar", &[("day", ending.day.date().as_str())])) aria-label=(words) { (square) }
                } @else { g { (square) } }
            }
        }
    }
}

/// A round number that nothing goes over, and whose half is whole.
fn ceiling(most: i64) -> i64 {
    let mut step = 2;
    loop {
        for times in [1, 2, 5] {
            if step * times >= most {
                return step * times;
            }
        }
        step *= 10;
    }
}

fn level(count: i64, most: i64) -> i64 {
    // Where there are few, one is not many.
    let most = most.max(4);
    (count * 4 + most - 1) / most
}

fn short(number: i64) -> String {
    if number >= 10_000 { format!("{}k", number / 1000) } else { grouped(number) }
}

fn rounded(number: f64) -> String {
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number() {
        assert_eq!([0, 1, 3, 5, 11, 21, 101, 4001].map(ceiling), [2, 2, 4, 10, 20, 40, 200, 10_000]);
    }

    #[test]
    fn the_fullest_day_is_the_darkest() {
        assert_eq!([0, 1, 50, 99, 100].map(|count| level(count, 100)), [0, 1, 2, 4, 4]);
        assert_eq!(level(1, 1), 1);
    }

    #[test]
    fn the_highest_bar_stays_below_the_top() {
        let at = |place: i64| chancery_domain::Timestamp::from_secs(place * 86_400);
        let all: Vec<_> = [0, 1, 100_000]
            .iter()
            .zip(0..)
            .map(|(issued, place)| IssuedOn { day: at(place), issued: *issued })
            .collect();
        let drawn = days("Issued", &all).into_string();
        assert_eq!(drawn.matches("class=\"s-issued\"").count(), 2, "{drawn}");
        assert!(drawn.contains("y=\"12.0\" width=\"128.9\" height=\"150.0\" rx"), "{drawn}");
        assert!(drawn.contains("y=\"160.0\" width=\"128.9\" height=\"2.0\" rx"), "too low to be seen: {drawn}");
        assert!(drawn.contains("Issued: 100,001 certificates in 3 days"), "{drawn}");
    }

    #[test]
    fn shares_that_were_not_counted_whole_are_not_drawn() {
        let share =
            |class, count, more| Share { class, words: "x", number: Counted { count, more }, href: String::new() };
        let known = ring("By status", &[share("a", 10_000, false), share("b", 30_000, false)]).into_string();
        assert_eq!(known.matches("class=\"ring").count(), 3, "the track and two arcs: {known}");
        assert!(known.contains(">40k<") && !known.contains("more than"), "{known}");
        let unknown = ring("By status", &[share("a", 10_000, true), share("b", 30_000, false)]).into_string();
        assert!(!unknown.contains("<svg") && !unknown.contains("class=\"ring"), "{unknown}");
        assert!(unknown.contains("<b>more than 10,000</b>") && unknown.contains("<b>30,000</b>"), "{unknown}");
    }
}
