use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::files::unwritable;
use crate::print::out;

/// Writes one page for each command and subcommand: `chancery.1`, `chancery-my.1`, `chancery-my-order-create.1`, …
pub fn run(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| unwritable("create the folder", folder, &error))?;
    let written = clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), folder);
    written.map_err(|error| unwritable("write to", folder, &error))?;
    out(&format!("Written to {}; read one with: man {}/chancery.1\n", folder.display(), folder.display()))
}
