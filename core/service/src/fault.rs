//! The steps between which a crash must not matter. A test that has armed its own process for one of them sees it killed
//! there.
//!
//! Only a build with the feature `faults` can be armed, which tests ask for. A build of the whole workspace gives it to the
//! program as well: so the feature by itself does nothing, and nothing from outside, no variable and no setting, arms a process.
//! Whoever wants to die has to call [`arm`], which the program does not.

#[cfg(feature = "faults")]
use std::sync::OnceLock;

macro_rules! steps {
    ($($(#[$doc:meta])* $step:ident,)*) => {
        /// A step on the way from a chosen challenge to a certificate, in their order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Step {
            $($(#[$doc])* $step,)*
        }

        impl Step {
            /// Every step there is.
            pub const ALL: &[Self] = &[$(Self::$step),*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$step => stringify!($step),)*
                }
            }
        }
    };
}

steps! {
    /// The choice of a challenge is durable, and nobody has looked yet.
    Chosen,
    /// It is known what to look for.
    ToLook,
    /// What was seen is written, and not yet durable.
    Concluding,
    /// What was seen is durable.
    Concluded,
    /// The certificate is asked for, and nobody has begun.
    Finalized,
    /// The draft is written, and not yet durable.
    Drafting,
    /// The draft is durable.
    Drafted,
    /// A precertificate is signed, and nobody but this process has it.
    PrecertificateSigned,
    /// The precertificate is durable, and no log has it.
    PrecertificateKept,
    /// Logs have promised to show it, and that is not written.
    Promised,
    /// The draft of the certificate, with what they have promised, is durable.
    Logged,
    /// The draft was read again and is about to be signed.
    ToSign,
    /// It is signed, and nobody but this process has it.
    Signed,
    /// The certificate is written, and not yet durable.
    Keeping,
    /// The certificate is durable.
    Kept,
    /// A change that is applied in batches is durable, and no batch has begun.
    Cascading,
    /// A batch is durable, and there may be more.
    Batched,
}

/// Says that a step is reached.
#[cfg(not(feature = "faults"))]
pub(crate) fn reached(_: Step) {}

#[cfg(feature = "faults")]
static LAST: OnceLock<Step> = OnceLock::new();

/// Makes this step the last that the process reaches. Only the first call counts.
#[cfg(feature = "faults")]
pub fn arm(step: Step) {
    let _ = LAST.set(step);
}

/// Says that a step is reached, which may be the last thing this process does.
#[cfg(feature = "faults")]
pub(crate) fn reached(step: Step) {
    if LAST.get() != Some(&step) {
        return;
    }
    // As hard as it gets: nothing is flushed, nothing unwinds.
    let killed = std::process::Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status();
    panic!("{step:?} was to be the last step: {killed:?}");
}
