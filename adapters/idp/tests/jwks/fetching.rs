//! Keys come, change, and stay when the provider does not.

use std::sync::Arc;
use std::time::Duration;

use chancery_service::identity::KeySource;

use crate::provider::{Answer, EAGER, Provider, fetcher, keys, kids};

#[tokio::test]
async fn the_first_refresh_brings_the_keys() {
    let provider = Provider::start(keys("one")).await;
    let fetcher = fetcher(&provider.url(), EAGER);
    assert_eq!(kids(&fetcher), None);
    assert_eq!(fetcher.refresh().await, Ok(()));
    assert_eq!(kids(&fetcher), Some(vec!["one".to_owned()]));
    assert_eq!(provider.last_request(), format!("/keys 127.0.0.1:{}", provider.port()));
}

#[tokio::test]
async fn localhost_in_any_case_is_this_machine() {
    let provider = Provider::start(keys("one")).await;
    let fetcher = fetcher(&format!("http://LOCALHOST:{}", provider.port()), EAGER);
    assert_eq!(fetcher.refresh().await, Ok(()));
    assert_eq!(provider.last_request(), format!("/ LOCALHOST:{}", provider.port()));
}

#[tokio::test]
async fn rotated_keys_are_seen_after_a_refresh() {
    let provider = Provider::start(keys("one")).await;
    let fetcher = fetcher(&provider.url(), EAGER);
    fetcher.refresh().await.unwrap();
    provider.answers(keys("two"));
    assert_eq!(kids(&fetcher), Some(vec!["one".to_owned()]));
    fetcher.refresh().await.unwrap();
    assert_eq!(kids(&fetcher), Some(vec!["two".to_owned()]));
}

#[tokio::test]
async fn a_provider_that_withdraws_every_key_is_obeyed() {
    let provider = Provider::start(keys("one")).await;
    let fetcher = fetcher(&provider.url(), EAGER);
    fetcher.refresh().await.unwrap();
    provider.answers(Answer::Body(br#"{"keys":[]}"#.to_vec()));
    fetcher.refresh().await.unwrap();
    assert_eq!(kids(&fetcher), Some(vec![]));
}

#[tokio::test]
async fn a_provider_that_went_away_takes_no_key_with_it() {
    let provider = Provider::start(keys("one")).await;
    let url = provider.url();
    let fetcher = fetcher(&url, EAGER);
    fetcher.refresh().await.unwrap();
    provider.stop().await;
    let error = fetcher.refresh().await.unwrap_err();
    assert!(error.starts_with(&format!("fetching keys from {url}: cannot connect: ")), "{error}");
    assert!(error.contains("refused"), "{error}");
    assert_eq!(kids(&fetcher), Some(vec!["one".to_owned()]));
}

#[tokio::test]
async fn a_provider_that_was_never_reached_gives_an_error_and_no_keys() {
    let provider = Provider::start(keys("one")).await;
    let url = provider.url();
    provider.stop().await;
    let fetcher = fetcher(&url, EAGER);
    let error = fetcher.refresh().await.unwrap_err();
    assert!(error.contains("cannot connect"), "{error}");
    assert_eq!(kids(&fetcher), None);
}

#[tokio::test]
async fn the_query_is_sent_and_never_told() {
    let provider = Provider::start(keys("one")).await;
    let fetcher = fetcher(&format!("{}?token=geheim", provider.url()), EAGER);
    fetcher.refresh().await.unwrap();
    assert!(provider.last_request().starts_with("/keys?token=geheim "), "{}", provider.last_request());
    provider.answers(Answer::Status(500));
    let error = fetcher.refresh().await.unwrap_err();
    assert!(error.contains(&provider.url()) && !error.contains("geheim"), "{error}");
}

#[tokio::test]
async fn in_the_background_keys_are_fetched_at_once_and_again_and_again() {
    let provider = Provider::start(keys("one")).await;
    let fetcher = Arc::new(fetcher(&provider.url(), EAGER));
    let running = tokio::spawn(fetcher.clone().run());
    let sees = async |kid: &str| {
        while kids(&fetcher) != Some(vec![kid.to_owned()]) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let all = async {
        sees("one").await;
        provider.answers(Answer::Status(503));
        let so_far = provider.requests();
        while provider.requests() < so_far + 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        provider.answers(keys("two"));
        sees("two").await;
    };
    tokio::time::timeout(Duration::from_secs(10), all).await.unwrap();
    running.abort();
}
