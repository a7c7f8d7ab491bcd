//! Many who ask are one who fetches.

use std::sync::Arc;
use std::time::Duration;

use chancery_idp::FetchLimits;
use chancery_service::identity::KeySource;
use futures_util::future::join_all;

use crate::provider::{Answer, EAGER, Provider, fetcher, key_set, keys, kids};

const PATIENT: FetchLimits = FetchLimits { min_interval: Duration::from_secs(60), ..EAGER };
const A_WHILE: Duration = Duration::from_millis(200);

#[tokio::test]
async fn those_who_ask_together_share_one_fetch() {
    // Without a minimal interval, so that nothing but the sharing keeps the requests down.
    let provider = Provider::start(Answer::Late(A_WHILE, key_set("one"))).await;
    let fetcher = fetcher(&provider.url(), EAGER);
    let outcomes = join_all((0..50).map(|_| fetcher.refresh())).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(provider.requests(), 1);
    assert_eq!(kids(&fetcher), Some(vec!["one".to_owned()]));
}

#[tokio::test]
async fn those_who_ask_together_share_one_failure() {
    let provider = Provider::start(Answer::Late(A_WHILE, b"no".to_vec())).await;
    let fetcher = fetcher(&provider.url(), EAGER);
    let outcomes = join_all((0..50).map(|_| fetcher.refresh())).await;
    assert!(outcomes.iter().all(|outcome| outcome == &outcomes[0] && outcome.is_err()), "{outcomes:?}");
    assert_eq!(provider.requests(), 1);
}

#[tokio::test]
async fn a_recent_success_answers_for_the_next_calls() {
    let provider = Provider::start(keys("one")).await;
    let fetcher = fetcher(&provider.url(), PATIENT);
    fetcher.refresh().await.unwrap();
    provider.answers(Answer::Status(500));
    assert_eq!(fetcher.refresh().await, Ok(()));
    assert_eq!(provider.requests(), 1);
}

#[tokio::test]
async fn a_recent_failure_answers_for_the_next_calls() {
    let provider = Provider::start(Answer::Status(500)).await;
    let fetcher = fetcher(&provider.url(), PATIENT);
    let error = fetcher.refresh().await.unwrap_err();
    provider.answers(keys("one"));
    assert_eq!(fetcher.refresh().await, Err(error));
    assert_eq!(provider.requests(), 1);
    assert_eq!(kids(&fetcher), None);
}

#[tokio::test]
async fn after_the_interval_the_provider_is_asked_again() {
    let provider = Provider::start(Answer::Status(500)).await;
    let fetcher = fetcher(&provider.url(), FetchLimits { min_interval: A_WHILE, ..EAGER });
    fetcher.refresh().await.unwrap_err();
    provider.answers(keys("one"));
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(fetcher.refresh().await, Ok(()));
    assert_eq!(provider.requests(), 2);
    assert_eq!(kids(&fetcher), Some(vec!["one".to_owned()]));
}

#[tokio::test]
async fn a_caller_who_hangs_up_does_not_stop_the_fetch_nor_cause_another() {
    let provider = Provider::start(Answer::Late(A_WHILE * 3, key_set("one"))).await;
    let fetcher = fetcher(&provider.url(), PATIENT);
    for _ in 0..5 {
        tokio::time::timeout(A_WHILE / 20, fetcher.refresh()).await.unwrap_err();
    }
    assert_eq!(fetcher.refresh().await, Ok(()));
    assert_eq!(provider.requests(), 1);
    assert_eq!(kids(&fetcher), Some(vec!["one".to_owned()]));
}

#[test]
fn a_fetch_that_ended_with_its_runtime_does_not_block_the_next() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (serving, first, second) = (runtime(), runtime(), runtime());
    let provider = serving.block_on(Provider::start(Answer::Late(Duration::from_secs(60), Vec::new())));
    let fetcher = Arc::new(fetcher(&provider.url(), PATIENT));
    first.block_on(async { tokio::time::timeout(A_WHILE, fetcher.refresh()).await.unwrap_err() });
    drop(first);
    provider.answers(keys("one"));
    assert_eq!(second.block_on(fetcher.refresh()), Ok(()));
}
