//! Comma-separated lists (RFC 4180) that are as long as they are, as the doors that have such lists write them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use chancery_overload::RequestPermit;
use chancery_service::{
    AccountLookup, Caller, CertificateDetails, CertificateFilter, ListRequest, Origin, ServiceError, Services,
    StoreError, WrittenPage,
};
use futures_util::{StreamExt, stream};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use crate::door::Door;

/// Rows that are read at a time.
const PAGE: u32 = 1000;
/// Attempts at a page that a limit refuses before the list breaks off.
const MAX_ATTEMPTS: u32 = 60;

/// What a caller has shown who they are with: it is looked at again while they read.
pub trait Shown: Send + Sync + 'static {
    /// Who that is by now, or why they are not let in any more.
    fn caller(&self, services: &Services, origin: Origin) -> impl Future<Output = Result<Caller, ServiceError>> + Send;
}

/// Who gets a list, for as long as it takes.
pub struct CsvReader<S> {
    pub door: Door,
    pub caller: Caller,
    pub shown: S,
    /// The place of the request among those of its reseller: it is not over when its answer begins.
    pub place: Option<Arc<RequestPermit>>,
}

/// The certificates that are meant.
pub type CsvFilter = (Option<AccountLookup>, CertificateFilter);

impl<S: Shown> CsvReader<S> {
    /// All certificates that fit a filter; none where there is none.
    pub fn certificates(
        self,
        filter: Option<CsvFilter>,
        header: &'static str,
        row: impl Fn(&CertificateDetails, &Caller) -> String + Send + Sync + 'static,
    ) -> Result<Response, ServiceError> {
        let list = self.door.services.certificates.start_export(&self.caller)?;
        let all = Arc::new((self, filter, row, list));
        Ok(streamed(header, move |cursor| {
            let all = all.clone();
            async move {
                let (reader, filter, row, _) = all.as_ref();
                let Some((account, filter)) = filter.clone() else { return Ok(WrittenPage::default()) };
                let (certificates, caller) = (&reader.door.services.certificates, &reader.caller);
                reader.require_let_in(cursor.is_some()).await?;
                let request = ListRequest { limit: PAGE, cursor };
                let read = || certificates.list(caller, account.clone(), filter.clone(), &request);
                let page = once_admitted(read).await?;
                Ok(page.write(|one| row(one, caller).into_bytes()))
            }
        }))
    }

    /// For every further page: who asked must still be let in, as the same, with the same scopes; and as many rows as are looked
    /// through for a page count as a request.
    async fn require_let_in(&self, further: bool) -> Result<(), ServiceError> {
        if !further {
            return Ok(());
        }
        let (services, known) = (&self.door.services, &self.caller);
        let caller = self.shown.caller(services, known.origin.clone()).await?;
        if caller.reseller != known.reseller || caller.scopes != known.scopes {
            return Err(ServiceError::Internal("the caller's scopes are others by now".to_owned()));
        }
        once_admitted(|| services.rates.request(known.reseller)).await.map(drop)
    }
}

/// A list, written page by page as it is read. One that breaks off in the middle ends the connection, so that nobody takes a part
/// of it for the whole.
fn streamed<F>(header: &'static str, page: impl Fn(Option<String>) -> F + Send + 'static) -> Response
where
    F: Future<Output = Result<WrittenPage, ServiceError>> + Send + 'static,
{
    let header = stream::once(std::future::ready(Ok(header.as_bytes().to_vec())));
    let pages = stream::try_unfold(Some(None), move |place: Option<Option<String>>| {
        let part = place.map(&page);
        async move {
            let Some(part) = part else { return Ok::<_, ServiceError>(None) };
            let part = part.await.inspect_err(|error| tracing::warn!(%error, "a list breaks off"))?;
            Ok(Some((part.items.concat(), part.next_cursor.map(Some))))
        }
    });
    let headers =
        [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, "attachment; filename=certificates.csv")];
    (headers, Body::from_stream(header.chain(pages))).into_response()
}

/// Repeats a step while the request rate or a limit on load refuses it. A download that breaks off is of no use, and its reseller
/// may occupy its share of the permits with other lists.
async fn once_admitted<T, F>(step: impl Fn() -> F) -> Result<T, ServiceError>
where
    F: Future<Output = Result<T, ServiceError>>,
{
    for _ in 0..MAX_ATTEMPTS {
        let seconds = match step().await {
            Err(ServiceError::RateLimited(refusal)) => refusal.retry_seconds().unwrap_or(1).clamp(1, 5),
            Err(ServiceError::Overloaded(_) | ServiceError::Store(StoreError::QueueFull)) => 1,
            done => return done,
        };
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
    Err(ServiceError::Internal("the limits of the reseller left no room for a list".to_owned()))
}

/// A text as one field. A spreadsheet takes what begins like a formula for one; it is told that this is text.
pub fn csv_field(text: &str) -> String {
    let text = match text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use chancery_overload::Limit;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_page_that_a_limit_refuses_is_read_again() {
        let attempts = AtomicU32::new(0);
        let step = || async {
            match attempts.fetch_add(1, Ordering::Relaxed) {
                0 => Err(ServiceError::Overloaded(Limit::ListReads)),
                1 => Err(ServiceError::Store(StoreError::QueueFull)),
                attempt => Ok(attempt),
            }
        };
        assert_eq!(once_admitted(step).await.unwrap(), 2);
        attempts.store(0, Ordering::Relaxed);
        let never = || async {
            attempts.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(ServiceError::Overloaded(Limit::ListReads))
        };
        assert!(once_admitted(never).await.is_err());
        assert_eq!(attempts.swap(0, Ordering::Relaxed), MAX_ATTEMPTS);
        let missing = || async {
            attempts.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(ServiceError::BadCursor)
        };
        assert!(once_admitted(missing).await.is_err());
        assert_eq!(attempts.load(Ordering::Relaxed), 1, "no other refusal passes by itself");
    }

    #[test]
    fn a_field_is_text_and_stays_one_field() {
        assert_eq!(csv_field("plain"), "plain");
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv_field("CN=a, O=\"b\""), "\"CN=a, O=\"\"b\"\"\"");
        for formula in ["=cmd()@example.com", "+1", "-1", "@SUM(1)", "\t=1"] {
            assert_eq!(csv_field(formula), format!("'{formula}"));
        }
        assert_eq!(csv_field("\r=1"), "\"'\r=1\"");
        assert_eq!(csv_field("=1,2"), "\"'=1,2\"");
    }
}
