use crate::failure::Failure;
use crate::print::out;

/// Prints the document as `/openapi.json` serves it.
pub fn run() -> Result<(), Failure> {
    let text = chancery_reseller::openapi().to_pretty_json().map_err(Failure::failed)?;
    out(&format!("{text}\n"))
}
