use std::{fmt, io};

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::ErrorResponseBody;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Error {
    /// The server refused.
    Refused {
        /// SQLSTATE.
        code: String,
        said: String,
        /// It hung up afterwards.
        fatal: bool,
    },
    /// The connection is of no more use, or was never made.
    Lost(io::Error),
}

impl Error {
    pub(crate) fn lost(why: impl Into<String>) -> Self {
        Self::Lost(io::Error::other(why.into()))
    }

    /// The server answered COMMIT by rolling the transaction back.
    pub(crate) fn rolled_back() -> Self {
        let said = "the server rolled the transaction back instead of committing it".to_owned();
        // in_failed_sql_transaction
        Self::Refused { code: "25P02".to_owned(), said, fatal: false }
    }

    /// What the server calls it, if it said anything.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            Self::Lost(_) => None,
        }
    }

    /// Whether it is about the connection, as the server or a proxy before it says, or as is plain.
    pub(crate) fn is_of_the_line(&self) -> bool {
        self.code().is_none_or(|code| code.starts_with("08"))
    }

    pub(super) fn read(body: &ErrorResponseBody) -> Self {
        let (mut code, mut said, mut fatal) = (String::new(), String::new(), false);
        let mut fields = body.fields();
        while let Ok(Some(field)) = fields.next() {
            let text = String::from_utf8_lossy(field.value_bytes());
            match field.type_() {
                b'C' => code = text.into_owned(),
                b'M' => said = text.into_owned(),
                // Never translated, as the one in `S` is.
                b'V' => fatal = matches!(text.as_ref(), "FATAL" | "PANIC"),
                _ => {}
            }
        }
        Self::Refused { code, said, fatal }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { code, said, .. } => write!(f, "{said} ({code})"),
            Self::Lost(error) => error.fmt(f),
        }
    }
}
