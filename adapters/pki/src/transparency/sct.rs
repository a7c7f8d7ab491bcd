//! Signed certificate timestamps, as TLS writes them (RFC 6962 section 3.2 and 3.3).

use super::log::LogId;

/// The only version there is.
const V1: u8 = 0;
/// By how many seconds the clock of a log may be ahead of ours.
const AHEAD: i64 = 5;

/// The promise of a log to show something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sct {
    /// Whose promise it is.
    pub log: LogId,
    /// In milliseconds since 1970.
    pub timestamp: u64,
    pub extensions: Vec<u8>,
    /// With the numbers of its algorithms before it, as logs give it (RFC 5246 section 4.7).
    pub signature: Vec<u8>,
}

impl Sct {
    /// Whether its time has come by ours, in Unix seconds. Clocks differ a little, and what is issued is used a little later.
    pub fn has_come(&self, now: i64) -> bool {
        let latest = now.saturating_add(AHEAD).saturating_mul(1000);
        i64::try_from(self.timestamp).is_ok_and(|at| at <= latest)
    }

    /// None where a part is too long to be written.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![V1];
        bytes.extend(self.log.as_bytes());
        bytes.extend(self.timestamp.to_be_bytes());
        bytes.extend(short(&self.extensions)?);
        bytes.extend(&self.signature);
        Some(bytes)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let [V1] = reader.array()? else { return None };
        let log = LogId::from_bytes(reader.array()?);
        let timestamp = u64::from_be_bytes(reader.array()?);
        let extensions = reader.short()?.to_vec();
        let (signature, algorithms) = (reader.0.to_vec(), reader.array::<2>());
        let (Some(_), Some(_), []) = (algorithms, reader.short(), reader.0) else { return None };
        Some(Self { log, timestamp, extensions, signature })
    }

    /// The numbers of the hash and of the kind of signature, and the signature itself.
    pub(super) fn signature_parts(&self) -> Option<([u8; 2], &[u8])> {
        let mut reader = Reader(&self.signature);
        let (algorithms, signature) = (reader.array()?, reader.short()?);
        reader.0.is_empty().then_some((algorithms, signature))
    }
}

/// A list of them; none where one is too long to be written, or all are.
pub(super) fn encode_list(scts: &[Sct]) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    for sct in scts {
        all.extend(short(&sct.encode()?)?);
    }
    short(&all)
}

/// What is in a list; none where it is no list, or an empty one.
pub(super) fn decode_list(bytes: &[u8]) -> Option<Vec<Sct>> {
    let mut outer = Reader(bytes);
    let (mut inner, []) = (Reader(outer.short()?), outer.0) else { return None };
    let mut scts = Vec::new();
    while !inner.0.is_empty() {
        scts.push(Sct::decode(inner.short()?)?);
    }
    (!scts.is_empty()).then_some(scts)
}

/// Two bytes that say how long it is, and then itself.
pub(super) fn short(bytes: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(bytes.len()).ok()?;
    Some([length.to_be_bytes().as_slice(), bytes].concat())
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn short(&mut self) -> Option<&'a [u8]> {
        let length = u16::from_be_bytes(self.array()?);
        let (first, rest) = self.0.split_at_checked(length.into())?;
        self.0 = rest;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Logs are strangers, and a stored draft may be damaged.
        #[test]
        fn whatever_is_read_is_written_the_same(marks in prop::collection::vec(0_u8..40, 1..4), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3)) {
            let scts: Vec<_> = marks.into_iter().map(sct).collect();
            let mut bytes = encode_list(&scts).unwrap();
            for (place, byte) in changes {
                *place.get_mut(&mut bytes) = byte;
            }
            if let Some(read) = decode_list(&bytes) {
                prop_assert_eq!(encode_list(&read).unwrap(), bytes);
            }
        }
    }

    fn sct(mark: u8) -> Sct {
        let extensions = vec![mark; usize::from(mark)];
        Sct { log: LogId::from_bytes([mark; 32]), timestamp: 7, extensions, signature: vec![4, 3, 0, 1, mark] }
    }

    #[test]
    fn a_list_reads_back_as_it_was_written() {
        let all = [sct(1), sct(2)];
        let written = encode_list(&all).unwrap();
        assert_eq!(decode_list(&written).unwrap(), all);
        // 2 for the list; for each 2, 1 + 32 + 8, and 2 before what it has in extensions; and its signature.
        assert_eq!(written.len(), 2 + (2 + 41 + 2 + 1 + 5) + (2 + 41 + 2 + 2 + 5));
        assert_eq!(written[..2], [0, 103]);
    }

    #[test]
    fn what_is_cut_short_or_goes_on_is_no_list() {
        let written = encode_list(&[sct(3)]).unwrap();
        for end in 0..written.len() {
            assert_eq!(decode_list(&written[..end]), None, "{end}");
        }
        assert_eq!(decode_list(&[written.as_slice(), &[0]].concat()), None);
        assert_eq!(decode_list(&[0, 0]), None, "an empty list");
        let mut later_version = written.clone();
        later_version[4] = 1;
        assert_eq!(decode_list(&later_version), None);
        let endless = Sct { signature: vec![4, 3, 0, 1, 9, 9], ..sct(3) };
        assert_eq!(decode_list(&encode_list(&[endless]).unwrap()), None, "more than a signature");
        let long = Sct { extensions: vec![0; 65_536], ..sct(3) };
        assert_eq!(encode_list(&[long]), None);
    }
}
