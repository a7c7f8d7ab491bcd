//! Which installation a command works on.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::config::{self, ConfigError};
use crate::dev::{self, DEFAULT_FOLDER};
use crate::failure::Failure;
use crate::installation::Installation;

/// Names the configuration where no flag does.
const CONFIG_VARIABLE: &str = "CHANCERY_CONFIG";
const HEADING: &str = "Which installation";

/// The flags that all of the operator's commands have.
#[derive(Args, Clone, Debug)]
pub struct Target {
    /// The configuration file of the service [env: CHANCERY_CONFIG]
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "data_dir", help_heading = HEADING)]
    config: Option<PathBuf>,
    /// The folder of a `chancery dev` [default: ./chancery-data where it exists]
    #[arg(long, value_name = "DIR", global = true, help_heading = HEADING)]
    data_dir: Option<PathBuf>,
    /// Use this database instead of the one in the configuration
    #[arg(long, value_name = "URL", global = true, conflicts_with = "data_dir", help_heading = HEADING)]
    database_url: Option<String>,
    /// Print JSON for scripts
    #[arg(long, global = true)]
    pub json: bool,
}

impl Target {
    pub fn find(&self) -> Result<Installation, Failure> {
        self.find_or_tell().and_then(|found| Ok(found?))
    }

    /// The installation; what is wrong with its configuration is told apart from not knowing which one is meant.
    pub fn find_or_tell(&self) -> Result<Result<Installation, ConfigError>, Failure> {
        if let Some(folder) = &self.data_dir {
            return dev::find(folder).map(Ok);
        }
        let named = std::env::var_os(CONFIG_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
        if let Some(path) = self.config.clone().or(named) {
            return Ok(config::load(&path, self.database_url.as_deref()));
        }
        if Path::new(DEFAULT_FOLDER).is_dir() && self.database_url.is_none() {
            return dev::find(Path::new(DEFAULT_FOLDER)).map(Ok);
        }
        Err(Failure::usage("it is not clear which installation this is for")
            .advise("name it with --config FILE, or with --data-dir DIR for a `chancery dev`"))
    }

    /// The folder that was named, where one was.
    pub fn folder(&self) -> Option<&Path> {
        self.data_dir.as_deref()
    }
}

/// The flags of a command that is about a configuration itself.
#[derive(Args, Clone, Debug)]
pub struct ConfigTarget {
    /// The configuration file
    #[arg(long, value_name = "FILE", env = CONFIG_VARIABLE)]
    pub config: PathBuf,
    /// Use this database instead of the one in the configuration
    #[arg(long, value_name = "URL")]
    pub database_url: Option<String>,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}
