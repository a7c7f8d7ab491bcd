//! Certificate Transparency (RFC 6962): what is signed is shown to public logs first, and says which of them have it.
//!
//! A *precertificate* is the certificate with a mark that nobody takes it for one. Logs promise to show it, by a signed
//! timestamp (SCT) each; the certificate has those in the place of the mark, and is otherwise the same, to the byte.

mod current;
mod embed;
mod log;
mod sct;

pub use current::CurrentLogs;
pub use embed::{LogEntry, is_precertificate_of};
pub use log::{Lacks, Log, LogId, LogKey, LogList, LogListError, SctNeeds};
pub use sct::Sct;

pub(crate) use embed::{POISON, SCT_LIST, is_poison, poison, sct_list};
