//! `/v1/usage`: how many certificates were issued.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chancery_domain::{Problems, ProfileName, Scope, Timestamp};
use chancery_http::{ApiError, Authenticated, Door, StrictQuery};
use chancery_service::{AccountLookup, ServiceError, UsageBy, UsageRequest, UsageRow};
use chancery_wire as wire;
use http::HeaderMap;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::certificate::wants_csv;
use crate::openapi::{NoAccount, Refused};

const DAY: i64 = 86_400;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(count))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct UsageQuery {
    /// The first day, in UTC; 29 days before `to` where it is left out.
    #[param(example = "2026-11-01")]
    from: Option<String>,
    /// The last day, in UTC; today where it is left out.
    #[param(example = "2026-11-30")]
    to: Option<String>,
    /// By what it is counted, with commas between: day, account, group, profile; `day` where it is left out.
    #[param(example = "day,profile")]
    by: Option<String>,
    /// Only certificates of this root account.
    account_lookup: Option<String>,
    /// Only certificates of this profile.
    profile: Option<String>,
    /// `csv` or `json`; by `Accept` where it is left out.
    #[param(example = "json")]
    format: Option<String>,
}

/// Counts the certificates that were issued
///
/// The count is exact and up to this moment, in days of UTC. It goes by the groups that accounts are in now. At most 400
/// days and 10,000 rows at a time. With `Accept: text/csv`, or `format=csv`, it comes as CSV.
#[utoipa::path(get, path = "/v1/usage", tag = "Certificates", operation_id = "getUsage", params(UsageQuery),
    security(("OAuth2Reseller" = ["reseller", "read:certificate"])),
    responses((status = 200, content((wire::UsageReport = "application/json"), (String = "text/csv"))), Refused, NoAccount))]
async fn count(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    query: Result<StrictQuery<UsageQuery>, ApiError>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadCertificate)?;
    let StrictQuery(query) = query?;
    let as_csv = query.format.as_deref().map_or_else(|| wants_csv(&headers), |format| format == "csv");
    let request = read(query, door.services.now())?;
    let (by, (from, to)) = (request.by, request.days);
    let items: Vec<_> = door.services.usage.count(&caller, request).await?.into_iter().map(view).collect();
    if as_csv {
        return Ok(csv(by, &items));
    }
    Ok(Json(wire::UsageReport { from: written(from), to: written(to), items }).into_response())
}

fn read(query: UsageQuery, now: Timestamp) -> Result<UsageRequest, ServiceError> {
    let mut problems = Problems::default();
    let mut day = |field: &str, text: Option<String>| match text {
        None => None,
        Some(text) => {
            let at = Timestamp::parse(&format!("{text}T00:00:00Z")).filter(|at| at.as_secs() >= 0 && text.len() == 10);
            if at.is_none() {
                problems.add(field, "malformed", "must be a day such as 2026-11-15");
            }
            at.map(|at| at.as_secs() / DAY)
        }
    };
    let (from, to) = (day("from", query.from), day("to", query.to));
    let to = to.unwrap_or(now.as_secs() / DAY);
    let from = from.unwrap_or(to - 29);
    let mut by = UsageBy::default();
    for one in query.by.as_deref().unwrap_or("day").split(',') {
        match one.trim() {
            "day" => by.day = true,
            "account" => by.account = true,
            "group" => by.group = true,
            "profile" => by.profile = true,
            _ => {
                problems.add("by", "unknown", "must be day, account, group or profile, or several with commas between")
            }
        }
    }
    if query.format.is_some_and(|format| !matches!(format.as_str(), "csv" | "json")) {
        problems.add("format", "unknown", "must be csv or json");
    }
    let profile = query.profile.and_then(|text| problems.take("profile", ProfileName::parse(&text)));
    problems.into_result().map_err(ServiceError::Invalid)?;
    let account = query.account_lookup.map(|text| AccountLookup::parse(&text));
    Ok(UsageRequest { days: (from, to), account, profile, by })
}

fn view(row: UsageRow) -> wire::UsageItem {
    let UsageRow { day, account, group, profile, issued } = row;
    wire::UsageItem { day: day.map(written), account, group, profile, issued }
}

fn written(day: i64) -> String {
    Timestamp::from_secs(day * DAY).date()
}

/// What is in it needs no quotes: days, lookups, and names of profiles.
fn csv(by: UsageBy, items: &[wire::UsageItem]) -> Response {
    let columns = [(by.day, "day"), (by.account, "account"), (by.group, "group"), (by.profile, "profile")];
    let line = |fields: [&str; 4], last: &str| {
        let asked = columns.iter().zip(fields).filter(|((asked, _), _)| *asked).map(|(_, field)| field);
        asked.chain([last]).collect::<Vec<_>>().join(",") + "\r\n"
    };
    let mut text = line(columns.map(|(_, name)| name), "issued");
    for item in items {
        let or_empty = |text: &'_ Option<String>| text.clone().unwrap_or_default();
        let fields = [&item.day, &item.account, &item.group, &item.profile].map(or_empty);
        text.push_str(&line(fields.each_ref().map(String::as_str), &item.issued.to_string()));
    }
    let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, "attachment; filename=usage.csv")];
    (headers, text).into_response()
}
