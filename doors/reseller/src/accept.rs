//! Which form of an answer a caller would like best (RFC 9110 section 12.5.1).

use http::HeaderMap;
use http::header::ACCEPT;

/// The best liked of what is offered; of those that are liked as well as each other the one that the caller names first, and then
/// the one that is offered first. None where none of them is accepted.
pub(crate) fn best_liked<T: Copy>(headers: &HeaderMap, offered: &[(&str, T)]) -> Option<T> {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges: Vec<_> = lines.flat_map(|line| line.split(',')).filter_map(Range::read).collect();
    if ranges.is_empty() {
        ranges.extend(Range::read("*/*"));
    }
    let liking = |media_type: &str| {
        let fitting = ranges.iter().enumerate().filter_map(|(place, range)| Some((range.fits(media_type)?, place)));
        // What is said of it most precisely is what counts.
        let (_, place) = fitting.max_by_key(|(precision, place)| (*precision, usize::MAX - place))?;
        (ranges[place].weight > 0.0).then_some((ranges[place].weight, place))
    };
    let mut best = None;
    for (media_type, form) in offered {
        let Some((weight, place)) = liking(media_type) else { continue };
        if best.is_none_or(|(most, first, _)| weight > most || (weight == most && place < first)) {
            best = Some((weight, place, *form));
        }
    }
    best.map(|(_, _, form)| form)
}

/// One of the media ranges of `Accept`.
struct Range<'a> {
    kind: &'a str,
    subkind: &'a str,
    weight: f32,
}

impl<'a> Range<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (kind, subkind) = parts.next()?.split_once('/')?;
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        Some(Self { kind, subkind, weight: weight.and_then(|text| text.parse().ok()).unwrap_or(1.0) })
    }

    /// How precisely it names a media type, if it does.
    fn fits(&self, media_type: &str) -> Option<u8> {
        let (kind, subkind) = media_type.split_once('/')?;
        match (self.kind, self.subkind) {
            ("*", "*") => Some(0),
            (own, "*") if own.eq_ignore_ascii_case(kind) => Some(1),
            (own, sub) if own.eq_ignore_ascii_case(kind) && sub.eq_ignore_ascii_case(subkind) => Some(2),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERED: [(&str, char); 3] = [("application/pem", 'p'), ("application/json", 'j'), ("text/csv", 'c')];

    fn best(accept: &'static str) -> Option<char> {
        let headers = [(ACCEPT, http::HeaderValue::from_static(accept))].into_iter().collect();
        best_liked(&headers, &OFFERED)
    }

    #[test]
    fn what_is_said_most_precisely_counts() {
        for (accept, liked) in [
            ("*/*", Some('p')),
            ("application/*", Some('p')),
            ("text/*", Some('c')),
            ("TEXT/Csv", Some('c')),
            ("application/json, application/pem", Some('j')),
            ("application/pem;q=0.5, application/json;q=0.9", Some('j')),
            ("application/pem;q=0, */*", Some('j')),
            ("*/*, application/pem; q=0", Some('j')),
            ("application/pem;q=0.2, */*;q=0.9", Some('j')),
            ("application/*;q=0, */*", Some('c')),
            ("application/pem;q=0", None),
            ("image/png", None),
            ("image/png, */*;q=0.1", Some('p')),
            ("", Some('p')),
            ("json", Some('p')),
        ] {
            assert_eq!(best(accept), liked, "{accept}");
        }
        assert_eq!(best_liked(&HeaderMap::new(), &OFFERED), Some('p'));
    }
}
