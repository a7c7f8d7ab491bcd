//! Lists that go on over several pages.

use std::sync::atomic::{AtomicUsize, Ordering};

use chancery_client::{AccountQuery, Error, PageQuery, StatusCode};
use serde_json::json;

use crate::server::{Answer, Seen, Server, account};

/// Three pages, the second one empty.
fn pages(seen: &Seen) -> Answer {
    let cursor = seen.target.split_once("cursor=").map(|(_, rest)| rest.split('&').next().unwrap());
    Answer::json(
        200,
        match cursor {
            None => json!({"items": [account("acc_1"), account("acc_2")], "nextCursor": "a+b/c="}),
            Some("a%2Bb%2Fc%3D") => json!({"items": [], "nextCursor": "last"}),
            Some("last") => json!({"items": [account("acc_3")]}),
            Some(other) => panic!("nobody gave out {other}"),
        },
    )
}

fn suspended() -> AccountQuery {
    AccountQuery { is_suspended: Some(true), limit: Some(2), ..Default::default() }
}

#[tokio::test]
async fn all_items_are_brought_in_order_and_the_filter_stays() {
    let server = Server::start(pages).await;
    let all = server.client().accounts().list_all(suspended()).collect().await.unwrap();
    assert_eq!(all.iter().map(|account| account.lookup.as_str()).collect::<Vec<_>>(), ["acc_1", "acc_2", "acc_3"]);
    let expected = [
        "GET /v1/account?is_suspended=true&limit=2",
        "GET /v1/account?is_suspended=true&limit=2&cursor=a%2Bb%2Fc%3D",
        "GET /v1/account?is_suspended=true&limit=2&cursor=last",
    ];
    assert_eq!(server.lines(), expected);
}

#[tokio::test]
async fn a_page_is_fetched_when_its_first_item_is_asked_for() {
    let server = Server::start(pages).await;
    let client = server.client();
    let mut accounts = client.eab().list_all_of_account("acc_9", PageQuery::default());
    assert_eq!(server.seen().len(), 0);
    accounts.next().await.unwrap().unwrap();
    assert_eq!(accounts.next().await.unwrap().unwrap().lookup, "acc_2");
    assert_eq!(server.seen().len(), 1);
    assert_eq!(accounts.next().await.unwrap().unwrap().lookup, "acc_3");
    assert_eq!(server.seen().len(), 3);
    assert!(accounts.next().await.unwrap().is_none());
    assert!(accounts.next().await.unwrap().is_none());
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn pages_can_be_had_whole() {
    let server = Server::start(pages).await;
    let client = server.client();
    let mut members = client.groups().list_all_members("grp_1", PageQuery::default());
    members.next().await.unwrap();
    let mut sizes = Vec::new();
    while let Some(page) = members.next_page().await.unwrap() {
        sizes.push(page.len());
    }
    assert_eq!(sizes, [1, 0, 1]);
}

#[tokio::test]
async fn a_list_may_begin_at_a_cursor() {
    let server = Server::start(pages).await;
    let from = PageQuery { limit: None, cursor: Some("last".to_owned()) };
    assert_eq!(server.client().eab().list_all(from).collect().await.unwrap().len(), 1);
}

#[tokio::test]
async fn after_an_error_the_same_page_is_asked_for_again() {
    let asked = AtomicUsize::new(0);
    let server = Server::start(move |seen| match asked.fetch_add(1, Ordering::SeqCst) {
        1 => Answer::text(502, "Bad gateway"),
        _ => pages(seen),
    })
    .await;
    let client = server.client();
    let mut accounts = client.accounts().list_all(AccountQuery::default());
    accounts.next_page().await.unwrap();
    assert_eq!(accounts.next().await.unwrap_err().status(), Some(StatusCode::BAD_GATEWAY));
    assert_eq!(accounts.next().await.unwrap().unwrap().lookup, "acc_3");
}

#[tokio::test]
async fn a_server_that_goes_round_in_circles_is_not_followed() {
    let server = Server::start(|_| Answer::json(200, json!({"items": [], "nextCursor": "same"}))).await;
    let error = server.client().accounts().list_all(AccountQuery::default()).collect().await.unwrap_err();
    assert!(matches!(error, Error::Unexpected { .. }), "{error}");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_lookup_that_cannot_be_asked_for_is_told_at_the_first_item() {
    let server = Server::start(pages).await;
    let mut members = server.client().groups().list_all_members("..", PageQuery::default());
    assert!(matches!(members.next().await, Err(Error::Unsendable(_))));
    assert!(server.seen().is_empty());
}
