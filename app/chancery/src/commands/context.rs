//! An installation, opened for one command.

use std::sync::Arc;

use chancery_service::{Kernel, Operator, Services};
use chancery_store::Options;

use crate::assembly::Assembled;
use crate::failure::Failure;
use crate::installation::Installation;
use crate::print::Printer;
use crate::target::Target;
use crate::threads::Threads;

pub struct Context {
    pub installation: Installation,
    pub kernel: Arc<Kernel>,
    pub services: Services,
    pub operator: Operator,
    pub printer: Printer,
    threads: Threads,
}

impl Context {
    /// Opens what the flags name. The schema is left as it is: only `migrate`, `init` and a starting service change it.
    pub fn open(target: &Target) -> Result<Self, Failure> {
        let installation = target.find()?;
        let keyring = installation.keyring()?;
        let store = installation.open_store(&Options { migrate: false, ..quiet(&installation) })?;
        Self::assemble(installation, target, store, keyring)
    }

    pub fn assemble(
        installation: Installation,
        target: &Target,
        store: chancery_store::Store,
        keyring: chancery_seal::Keyring,
    ) -> Result<Self, Failure> {
        let threads = Threads::start()?;
        let Assembled { kernel, services, .. } = threads.run(installation.assemble(store, keyring))?;
        let operator = services.operator.clone().acting_as(&person());
        Ok(Self { installation, kernel, services, operator, printer: Printer { json: target.json }, threads })
    }

    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.threads.run(work)
    }
}

impl Drop for Context {
    /// Whoever copies the file of the database next shall have what the command has done; where others have it open, it is
    /// theirs to see to.
    fn drop(&mut self) {
        let _others = self.kernel.store.empty_log();
    }
}

/// As the installation says, with as few connections as one command needs.
pub fn quiet(installation: &Installation) -> Options {
    Options { connections: 1, ..installation.store.clone() }
}

/// Who is at the keyboard, for the audit trail.
pub fn person() -> String {
    let named = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
    let name = named("SUDO_USER").or_else(|| named("USER")).or_else(|| named("LOGNAME"));
    // It is stored and shown: nothing but plain text of a sane length.
    let name: String = name.unwrap_or_default().chars().filter(|letter| !letter.is_control()).take(100).collect();
    if name.is_empty() { "operator".to_owned() } else { name }
}
