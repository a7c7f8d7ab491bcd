//! Codes, and what becomes of them at a provider that behaves well, badly, or not at all.

use std::time::Duration;

use chancery_domain::Secret;
use chancery_idp::{CodeRedeemer, FetcherError, RedeemLimits};
use chancery_service::identity::{CodeExchange as _, RedeemError};

use crate::provider::{Answer, Provider};

const HASTY: RedeemLimits = RedeemLimits { timeout: Duration::from_secs(1), body: 4096, at_once: 1 };

async fn redeem(redeemer: &CodeRedeemer) -> Result<String, RedeemError> {
    let [code, verifier] = ["the code", "the verifier"].map(|text| Secret::new(text.to_owned()));
    redeemer.redeem(&code, &verifier, "https://ca.test/return").await.map(|token| token.reveal().to_owned())
}

fn redeemer(provider: &Provider, limits: RedeemLimits) -> CodeRedeemer {
    CodeRedeemer::new(&provider.url(), None, "us", None, limits).unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn a_code_is_exchanged_for_an_id_token() {
    let provider = Provider::start(Answer::Body(br#"{"id_token":"a.b.c","access_token":"x"}"#.to_vec())).await;
    assert_eq!(redeem(&redeemer(&provider, HASTY)).await.unwrap(), "a.b.c");
}

#[tokio::test]
async fn what_the_provider_does_wrong_is_told_apart_from_what_it_refuses() {
    let provider = Provider::start(Answer::Status(400)).await;
    let redeemer = redeemer(&provider, HASTY);
    for (answer, refused) in [
        (Answer::Status(400), true),
        (Answer::Status(401), true),
        (Answer::Body(b"{}".to_vec()), true),
        (Answer::Body(b"not JSON".to_vec()), true),
        (Answer::Status(500), false),
        // It may lead anywhere, with the code in its bag.
        (Answer::Status(307), false),
        (Answer::Body(vec![b' '; 4097]), false),
        (Answer::Late(Duration::from_secs(60), Vec::new()), false),
        (Answer::Trickle(Duration::from_millis(20)), false),
    ] {
        provider.answers(answer);
        match redeem(&redeemer).await.unwrap_err() {
            RedeemError::Refused(reason) => assert!(refused, "{reason}"),
            RedeemError::Unavailable(reason) => assert!(!refused, "{reason}"),
        }
    }
}

#[tokio::test]
async fn those_who_send_many_codes_are_no_flood_at_the_provider() {
    let provider = Provider::start(Answer::Late(Duration::from_millis(300), b"{}".to_vec())).await;
    let redeemer = redeemer(&provider, HASTY);
    let (one, other) = tokio::join!(redeem(&redeemer), redeem(&redeemer));
    assert!(matches!(one, Err(RedeemError::Refused(_))) && matches!(other, Err(RedeemError::Unavailable(_))));
    assert_eq!(provider.requests(), 1);
}

#[test]
fn a_secret_is_not_sent_in_the_open() {
    let made = CodeRedeemer::new("http://id.example.com/token", None, "us", None, RedeemLimits::default());
    assert!(matches!(made, Err(FetcherError::PlainHttp(_))));
}
