//! Asks a validator that looks from somewhere else on the Internet, and has the words that the two speak.
//!
//! What is told is what a [`Validator`](chancery_dcv::Validator) is asked for and answers, in JSON over HTTPS: the one end is
//! [`Remote`], the other the command `chancery perspective`. A secret that both have shows who may ask, the certificate of
//! the server who answers.

mod envelope;
mod remote;
mod wire;

pub use envelope::{Answer, Question, QuestionId, Settings};
pub use remote::{Asker, Description, Place, Remote, Unreachable};
pub use wire::{CAA, CaaAnswer, CaaQuestion, DESCRIPTION, VERIFY, VerifyAnswer, VerifyQuestion};
