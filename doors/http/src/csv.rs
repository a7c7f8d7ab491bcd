//! Comma-separated lists (RFC 4180) that are as long as they are, as the doors that have such lists write them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use chancery_domain::ResellerId;
use chancery_service::{
    AccountLookup, Caller, CertificateDetails, CertificateFilter, Limit, Limits, ListRequest, Origin, ServiceError,
    Services,
};
use futures_util::{StreamExt, stream};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use crate::door::Door;
use crate::load::Place;

/// Rows that are read at a time.
const PAGE: u32 = 1000;
/// How often a page waits for the request rate before the list is given up.
const MOST_WAITS: u32 = 60;

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
    pub place: Option<Arc<Place>>,
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
        let list = self.door.services.certificates.begin_long_list(&self.caller)?;
        let all = Arc::new((self, filter, row, list));
        Ok(streamed(header, move |ask| {
            let all = all.clone();
            async move {
                let (reader, filter, row, _) = all.as_ref();
                let Some((account, filter)) = filter.clone() else { return Ok(Page { rows: Vec::new(), next: None }) };
                let (certificates, caller) = (&reader.door.services.certificates, &reader.caller);
                reader.require_let_in(&ask).await?;
                let request = ListRequest { limit: PAGE, cursor: ask.cursor };
                let page = certificates.list(caller, account, filter, &request).await?;
                Ok(Page { rows: page.items.iter().map(|one| row(one, caller)).collect(), next: page.next_cursor })
            }
        }))
    }

    /// For every page: who asked must still be let in, as the same, with the same scopes; and so many rows count as a request.
    async fn require_let_in(&self, ask: &Ask) -> Result<(), ServiceError> {
        // The first page is that of the request itself.
        if ask.cursor.is_none() {
            return Ok(());
        }
        let (services, known) = (&self.door.services, &self.caller);
        let caller = self.shown.caller(services, known.origin.clone()).await?;
        if caller.reseller != known.reseller || caller.scopes != known.scopes {
            return Err(ServiceError::Internal("the caller's scopes are others by now".to_owned()));
        }
        if ask.counts { count_rows(&services.limits, known.reseller).await } else { Ok(()) }
    }
}

/// What is asked for next.
struct Ask {
    /// Where it begins; nowhere where that is the beginning.
    cursor: Option<String>,
    /// Whether as many rows as a page may have were written, or looked through in vain, since something counted last.
    counts: bool,
}

/// A part of a list.
struct Page {
    rows: Vec<String>,
    /// Where the next part begins.
    next: Option<String>,
}

/// A list, written page by page as it is read. One that breaks off in the middle ends the connection, so that nobody takes a part
/// of it for the whole.
fn streamed<F>(header: &'static str, page: impl Fn(Ask) -> F + Send + 'static) -> Response
where
    F: Future<Output = Result<Page, ServiceError>> + Send + 'static,
{
    let header = stream::once(std::future::ready(Ok(header.to_owned())));
    let first = Some((None, 0));
    let pages = stream::try_unfold(first, move |part: Option<(Option<String>, usize)>| {
        let part = part.map(|(cursor, written)| {
            let counts = written >= PAGE as usize;
            (page(Ask { cursor, counts }), if counts { written - PAGE as usize } else { written })
        });
        async move {
            let Some((page, written)) = part else { return Ok::<_, ServiceError>(None) };
            let Page { rows, next } = page.await.inspect_err(|error| tracing::warn!(%error, "a list breaks off"))?;
            // A page that is empty and not the last has looked through as much as one that is full.
            let looked = if rows.is_empty() { PAGE as usize } else { rows.len() };
            Ok(Some((rows.concat(), next.map(|next| (Some(next), written + looked)))))
        }
    });
    let headers =
        [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, "attachment; filename=certificates.csv")];
    (headers, Body::from_stream(header.chain(pages))).into_response()
}

/// Counts so many further rows as the request that they are as good as. Where there were too many it waits, since a list that breaks off
/// is of no use to anybody.
async fn count_rows(limits: &Limits, reseller: ResellerId) -> Result<(), ServiceError> {
    for _ in 0..MOST_WAITS {
        let decision = limits.take(Limit::Requests, &reseller.to_string()).await;
        let Some(refused) = decision.filter(|decision| !decision.allowed()) else { return Ok(()) };
        tokio::time::sleep(Duration::from_secs(refused.retry_seconds().unwrap_or(1).clamp(1, 5))).await;
    }
    Err(ServiceError::Internal("the request rate left no room for a list".to_owned()))
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
    use std::sync::Mutex;

    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn rows_count_and_not_pages() {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let asks = Arc::clone(&asked);
        let response = streamed("header\r\n", move |Ask { cursor, counts }| {
            let page: u32 = cursor.map_or(0, |cursor| cursor.parse().unwrap());
            asks.lock().unwrap().push(counts);
            let next = (page < 5).then(|| (page + 1).to_string());
            async move { Ok(Page { rows: vec!["row\r\n".to_owned(); 400], next }) }
        });
        let list = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(list.iter().filter(|byte| **byte == b'\n').count(), 1 + 6 * 400);
        assert_eq!(*asked.lock().unwrap(), [false, false, false, true, false, true]);
    }

    #[tokio::test]
    async fn pages_without_rows_count() {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let asks = Arc::clone(&asked);
        let response = streamed("header\r\n", move |Ask { cursor, counts }| {
            asks.lock().unwrap().push(counts);
            let next = cursor.is_none_or(|cursor| cursor.len() < 3).then(|| "x".repeat(asks.lock().unwrap().len()));
            async move { Ok(Page { rows: Vec::new(), next }) }
        });
        response.into_body().collect().await.unwrap();
        assert_eq!(*asked.lock().unwrap(), [false, true, true, true]);
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
