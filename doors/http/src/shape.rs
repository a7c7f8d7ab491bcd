//! What was asked, as far as it has the shape that was wanted, and everything that is wrong with it.

use chancery_service::ServiceError;
use chancery_wire::{ErrorCode, FieldProblem};

use crate::{
    document::{MAX_PROBLEMS, Unfit, code},
    error::ApiError,
    service_error::problem,
};

#[derive(Debug)]
pub(crate) enum Shape<T> {
    Fits(T),
    /// It has another shape; the value, where there is one, has stand-ins in place of what does not fit.
    Unfit(Vec<FieldProblem>, Option<T>),
    /// It could not be taken apart at all.
    Malformed(ApiError),
}

/// What the whole body is called in a problem that is about nothing smaller.
pub(crate) const WHOLE: &str = "body";

impl<T> Shape<T> {
    pub(crate) fn of(read: Result<T, Unfit<T>>) -> Self {
        match read {
            Ok(value) => Self::Fits(value),
            Err(Unfit { problems, stand_in }) => Self::Unfit(problems, stand_in),
        }
    }

    /// What was sent, once the rules for its members have had their say, or all that is wrong with `what`.
    pub(crate) fn read<U>(self, what: &str, rules: impl FnOnce(T) -> Result<U, ServiceError>) -> Result<U, ApiError> {
        match self {
            Self::Fits(value) => Ok(rules(value)?),
            Self::Malformed(error) => Err(error),
            Self::Unfit(mut problems, stand_in) => {
                if let Some(Err(ServiceError::Invalid(further))) = stand_in.map(rules) {
                    let further: Vec<_> = further.0.into_iter().map(problem).collect();
                    let news = further.into_iter().filter(|new| !follows(new, &problems)).collect::<Vec<_>>();
                    problems.extend(news);
                    problems.truncate(MAX_PROBLEMS);
                }
                Err(refuse(what, problems))
            }
        }
    }
}

/// Whether a problem may be one with a stand-in: it is about a member that has a problem already, about the item of a
/// list that such a member is a part of, or about them all.
pub(crate) fn follows(new: &FieldProblem, known: &[FieldProblem]) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    // What is not known here is left out, and nothing stands in for it.
    let in_item = |known: &FieldProblem| {
        new.field.ends_with(']') && known.code != code::UNKNOWN_FIELD && within(&known.field, &new.field)
    };
    let touches = |known: &FieldProblem| within(&new.field, &known.field) || in_item(known);
    new.field == WHOLE || known.iter().any(|known| known.field == WHOLE || touches(known))
}

/// One answer for all the problems that were found in `what`.
pub(crate) fn refuse(what: &str, problems: Vec<FieldProblem>) -> ApiError {
    let kind = if problems.iter().all(|problem| problem.code == code::UNKNOWN_FIELD) {
        ErrorCode::UnknownField
    } else {
        ErrorCode::InvalidRequest
    };
    let message = match problems.as_slice() {
        [only] => format!("{what} is not acceptable: {} {}.", only.field, only.message),
        more if more.len() >= MAX_PROBLEMS => format!("{what} has many problems; the first {} are listed.", more.len()),
        more => format!("{what} has {} problems.", more.len()),
    };
    ApiError::bad_request(kind, message).with_errors(problems)
}
