//! A trace that somebody else has begun: `traceparent` of W3C Trace Context.

use data_encoding::HEXLOWER;

/// A span of another service, and whether its trace is kept there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parent {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    pub sampled: bool,
}

impl Parent {
    /// `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`; a later version may go on after another hyphen.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let [version] = hex::<1>(parts.next()?)?;
        let (trace_id, span_id) = (hex::<16>(parts.next()?)?, hex::<8>(parts.next()?)?);
        let [flags] = hex::<1>(parts.next()?)?;
        let ends = version != 0 || parts.next().is_none();
        let valid = version != 0xff && ends && trace_id != [0; 16] && span_id != [0; 8];
        valid.then_some(Self { trace_id, span_id, sampled: flags & 1 == 1 })
    }
}

/// Lower case alone, as the specification has it.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_parent_is_read_as_it_is_written() {
        let parent = Parent::parse(GOOD).unwrap();
        assert_eq!(HEXLOWER.encode(&parent.trace_id), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!((HEXLOWER.encode(&parent.span_id).as_str(), parent.sampled), ("b7ad6b7169203331", true));
        assert!(!Parent::parse(&GOOD.replace("-01", "-02")).unwrap().sampled);
        assert!(Parent::parse(&GOOD.replace("00-0af", "cc-0af")).is_some());
        assert!(Parent::parse(&(GOOD.replace("00-0af", "cc-0af") + "-what-comes")).is_some());
    }

    #[test]
    fn whatever_else_is_none() {
        let zeros = |part: &str| GOOD.replace(part, &"0".repeat(part.len()));
        for bad in [
            String::new(),
            "00".to_owned(),
            GOOD.to_uppercase(),
            GOOD.replace("00-0af", "ff-0af"),
            format!("{GOOD}-x"),
            format!(" {GOOD}"),
            GOOD[..54].to_owned(),
            GOOD.replace('-', ""),
            GOOD.replace("b7ad", "b7a\u{e4}"),
            zeros("0af7651916cd43dd8448eb211c80319c"),
            zeros("b7ad6b7169203331"),
        ] {
            assert_eq!(Parent::parse(&bad), None, "{bad}");
        }
    }
}
