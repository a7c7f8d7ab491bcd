//! Names below a DNAME record (RFC 6672). The alias that a server makes of it has no signature; the record itself has.

use hickory_proto::op::Message;
use hickory_proto::rr::{Name, RData, RecordType};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder};

use crate::answer::Security;
use crate::dnssec::Validating;
use crate::lookup_error::Failure;

/// Where a name leads by a DNAME record above it that is rightly signed.
pub(crate) async fn renamed(validating: &Validating, name: &Name) -> Result<Option<Name>, Failure> {
    let mut above = name.base_name();
    while !above.is_root() {
        match validating.ask(&above, RecordType::DNAME).await {
            Ok((message, Security::Secure)) => {
                if let Some(target) = target(&message, &above) {
                    return Ok(moved(name, &above, &target));
                }
            }
            // This one may be below it as well.
            Ok((_, Security::Insecure | Security::Unchecked)) | Err(Failure::Bogus) => {}
            Err(failure) => return Err(failure),
        }
        above = above.base_name();
    }
    Ok(None)
}

/// The library does not know what is in such a record.
fn target(message: &Message, owner: &Name) -> Option<Name> {
    let record = message.answers.iter().find(|record| record.name == *owner && is_dname(&record.data))?;
    let RData::Unknown { rdata, .. } = &record.data else { return None };
    let mut name = Name::read(&mut BinDecoder::new(&rdata.anything)).ok()?;
    name.set_fqdn(true);
    Some(name)
}

fn is_dname(data: &RData) -> bool {
    data.record_type() == RecordType::DNAME
}

/// The name with its end replaced; none if that is too long.
fn moved(name: &Name, from: &Name, to: &Name) -> Option<Name> {
    let own = name.iter().count() - from.iter().count();
    let mut moved = Name::from_labels(name.iter().take(own).chain(to.iter())).ok()?;
    moved.set_fqdn(true);
    Some(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_name_is_replaced() {
        let parsed = |name: &str| Name::from_ascii(name).unwrap();
        let moved = |name: &str, from: &str, to: &str| super::moved(&parsed(name), &parsed(from), &parsed(to));
        assert_eq!(moved("a.b.old.test.", "old.test.", "new.example."), Some(parsed("a.b.new.example.")));
        assert_eq!(moved("a.old.test.", "old.test.", "."), Some(parsed("a.")));
        let long = vec!["a".repeat(60); 4].join(".") + ".";
        assert_eq!(moved("abcdefghijkl.old.test.", "old.test.", &long), None);
    }
}
