//! The few kinds of values that both databases keep alike: integers, texts, bytes, and nothing.

use chancery_domain::Timestamp;
use rusqlite::types::{ToSqlOutput, ValueRef};

/// One parameter of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    pub(crate) fn has_zero_byte(&self) -> bool {
        matches!(self, Self::Text(text) if text.contains('\0'))
    }
}

/// The parameters of a statement, in the order of `?1`, `?2`, …
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::value::Value::from($value)),*] };
}
pub(crate) use params;

macro_rules! from {
    ($($kind:ty => |$value:ident| $made:expr;)*) => {$(
        impl From<$kind> for Value {
            fn from($value: $kind) -> Self { $made }
        }
    )*};
}

from! {
    i64 => |value| Self::Int(value);
    u32 => |value| Self::Int(i64::from(value));
    bool => |value| Self::Int(i64::from(value));
    Timestamp => |value| Self::Int(value.as_millis());
    &str => |value| Self::Text(value.to_owned());
    String => |value| Self::Text(value);
    &[u8] => |value| Self::Bytes(value.to_vec());
    Vec<u8> => |value| Self::Bytes(value);
}

macro_rules! from_display {
    ($($kind:ident)*) => {$(
        impl From<chancery_domain::$kind> for Value {
            fn from(value: chancery_domain::$kind) -> Self { Self::Text(value.to_string()) }
        }
    )*};
}

from_display! { ResellerId ClientId ApiKeyId TokenKeyId AccountId EabId GroupId PolicyId OrderId AuthorizationId ChallengeId CertificateId AcmeAccountId IssuerId AuditId WebhookId WebhookSecretId DeliveryId OperatorKeyId PauseId Kid }

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
            Self::Bytes(value) => ValueRef::Blob(value),
        }))
    }
}
