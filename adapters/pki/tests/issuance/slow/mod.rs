//! What takes long: another program is started for every document.

mod linters;
