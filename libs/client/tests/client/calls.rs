//! Each operation asks for what the API has.

use chancery_client::wire::{
    EabCredentialRequest, IdentifierInput, IssuancePolicy, PolicyEvaluationRequest, ResellerAccountGroupRequest,
    ResellerAccountRequest, ResellerUpdateAccountRequest,
};
use chancery_client::{AccountQuery, CertificateForm, Downloaded, PageQuery};
use serde_json::{Value, json};

use crate::server::{Answer, Seen, Server, account, merged};

/// Gives everyone an answer of the right shape.
fn answer(seen: &Seen) -> Answer {
    let times = json!({"createdAt": "2026-11-15T00:00:00Z", "updatedAt": "2026-11-15T00:00:00Z"});
    let group = merged(json!({"lookup": "grp_1", "name": "g", "memberCount": 0, "policies": []}), times.clone());
    let policy = merged(json!({"lookup": "pol_1", "name": "p", "assignedGroups": []}), times);
    let path = seen.target.split('?').next().unwrap();
    let parts: Vec<_> = path.split('/').skip(2).collect();
    let page = |item: &Value| json!({"items": [item], "nextCursor": "next"});
    let body = match (seen.method.as_str(), parts.as_slice()) {
        ("GET", ["version"]) => json!({"name": "chancery", "version": "0.1.0", "apiVersion": "v1"}),
        ("GET", ["account" | "eab-credential"] | [.., "eab-credential" | "member"]) => page(&account("acc_1")),
        ("GET", ["account-group"]) => page(&group),
        ("GET", ["policy"]) => page(&policy),
        ("POST", ["policy", "evaluate"]) => {
            json!({"allowed": true, "profile": "TLS-90d", "validityDays": 90, "policies": [], "violations": []})
        }
        ("POST", ["account"]) => merged(account("acc_1"), json!({"hmacKey": "k"})),
        ("GET", ["account", _]) => merged(account("acc_1"), json!({"eabCredentials": [], "groups": []})),
        ("GET", ["eab-credential", _]) => account("eab_1"),
        ("POST", ["account", _, "eab-credential"]) => {
            merged(account("eab_1"), json!({"hmacKey": "k", "hmacKeyUrl": "k", "acmeDirectories": {"TLS-90d": "u"}}))
        }
        ("POST", ["account-group"]) | ("GET" | "PUT", ["account-group", _]) => group,
        ("POST", ["policy"]) | ("GET" | "PUT", ["policy", _]) => policy,
        _ => json!({"success": true, "message": "Done."}),
    };
    let answer = Answer::json(if seen.method == "POST" { 201 } else { 200 }, body);
    if seen.header("idempotency-key") == Some("again") { answer.with("idempotency-replayed", "true") } else { answer }
}

#[tokio::test]
async fn accounts() {
    let server = Server::start(answer).await;
    let client = server.client();
    let request = ResellerAccountRequest { customer_email: "a@example.com".to_owned(), ..Default::default() };
    assert_eq!(client.accounts().create(&request).await.unwrap().hmac_key.as_deref(), Some("k"));
    assert_eq!(client.accounts().get("a+b@example.com").await.unwrap().account.lookup, "acc_1");
    assert_eq!(client.accounts().get(7).await.unwrap().groups, []);
    let query = AccountQuery {
        customer_email: Some("a+b@example.com".to_owned()),
        is_suspended: Some(false),
        include_deleted: Some(true),
        limit: Some(5),
        cursor: Some("c/d=".to_owned()),
    };
    let page = client.accounts().list(query).await.unwrap();
    assert_eq!((page.items.len(), page.next_cursor.as_deref()), (1, Some("next")));
    let change = ResellerUpdateAccountRequest { suspended: Some(true), ..Default::default() };
    assert!(client.accounts().update("acc_1", &change).await.unwrap().success);
    assert!(client.accounts().delete("acc_1").await.unwrap().success);

    let expected = [
        "POST /v1/account",
        "GET /v1/account/a%2Bb%40example.com",
        "GET /v1/account/7",
        "GET /v1/account?customer_email=a%2Bb%40example.com&is_suspended=false&include_deleted=true&limit=5&cursor=c%2Fd%3D",
        "PATCH /v1/account/acc_1",
        "DELETE /v1/account/acc_1",
    ];
    assert_eq!(server.lines(), expected);
    let seen = server.seen();
    assert_eq!(seen[0].json(), json!({"customer_email": "a@example.com"}));
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
    assert_eq!(seen[4].json(), json!({"suspended": true}));
    assert!(seen.iter().all(|seen| seen.header("authorization") == Some("Bearer t")));
    assert!(seen.iter().all(|seen| seen.header("user-agent").unwrap().starts_with("chancery-client/")));
}

#[tokio::test]
async fn eab_credentials() {
    let server = Server::start(answer).await;
    let client = server.client();
    let labelled = EabCredentialRequest { label: Some("web 1".to_owned()), ..Default::default() };
    assert_eq!(client.eab().create("a@b.example").await.unwrap().acme_directories["TLS-90d"], "u");
    client.eab().create_with("acc_1", &labelled).await.unwrap();
    assert_eq!(client.eab().get("kid").await.unwrap().lookup, "eab_1");
    client.eab().list(PageQuery { limit: Some(2), cursor: None }).await.unwrap();
    client.eab().list_of_account("acc_1", PageQuery::default()).await.unwrap();
    client.eab().delete("kid").await.unwrap();
    let expected = [
        "POST /v1/account/a%40b.example/eab-credential",
        "POST /v1/account/acc_1/eab-credential",
        "GET /v1/eab-credential/kid",
        "GET /v1/eab-credential?limit=2",
        "GET /v1/account/acc_1/eab-credential",
        "DELETE /v1/eab-credential/kid",
    ];
    assert_eq!(server.lines(), expected);
    let seen = server.seen();
    assert_eq!((seen[0].body.len(), seen[0].header("content-type")), (0, None));
    assert_eq!(seen[1].json(), json!({"label": "web 1"}));
}

#[tokio::test]
async fn groups_members_and_their_policies() {
    let server = Server::start(answer).await;
    let client = server.client();
    let groups = client.groups();
    let request = ResellerAccountGroupRequest { name: "g".to_owned(), description: None };
    assert_eq!(groups.create(&request).await.unwrap().lookup, "grp_1");
    groups.get("grp_1").await.unwrap();
    groups.list(PageQuery::default()).await.unwrap();
    groups.update("grp_1", &request).await.unwrap();
    groups.delete("grp_1").await.unwrap();
    groups.assign_policy("grp_1", "pol/1").await.unwrap();
    groups.unassign_policy("grp_1", "pol_1").await.unwrap();
    groups.list_members("grp_1", PageQuery { limit: Some(9), cursor: None }).await.unwrap();
    groups.add_members("grp_1", ["acc_1", "acc_2"]).await.unwrap();
    groups.remove_members("grp_1", &["acc_1".to_owned()]).await.unwrap();
    groups.move_members("grp_1", "grp_2", vec!["acc_2".to_owned()]).await.unwrap();
    let expected = [
        "POST /v1/account-group",
        "GET /v1/account-group/grp_1",
        "GET /v1/account-group",
        "PUT /v1/account-group/grp_1",
        "DELETE /v1/account-group/grp_1",
        "POST /v1/account-group/grp_1/policy/pol%2F1",
        "DELETE /v1/account-group/grp_1/policy/pol_1",
        "GET /v1/account-group/grp_1/member?limit=9",
        "POST /v1/account-group/grp_1/member",
        "DELETE /v1/account-group/grp_1/member",
        "PATCH /v1/account-group/grp_1/grp_2/member",
    ];
    assert_eq!(server.lines(), expected);
    let seen = server.seen();
    assert_eq!(seen[3].json(), json!({"name": "g"}));
    assert_eq!(seen[8].json(), json!({"accounts": ["acc_1", "acc_2"]}));
    assert_eq!(seen[9].json(), json!({"accounts": ["acc_1"]}));
    assert_eq!(seen[10].json(), json!({"accounts": ["acc_2"]}));
}

#[tokio::test]
async fn policies_and_the_version() {
    let server = Server::start(answer).await;
    let client = server.client();
    let policies = client.policies();
    let request = IssuancePolicy { name: "p".to_owned(), max_names: Some(3), ..Default::default() };
    assert_eq!(policies.create(&request).await.unwrap().lookup, "pol_1");
    policies.get("pol_1").await.unwrap();
    policies.list(PageQuery::default()).await.unwrap();
    policies.update("pol_1", &request).await.unwrap();
    policies.delete("pol_1").await.unwrap();
    let asked = PolicyEvaluationRequest {
        account_lookup: Some("acc_1".to_owned()),
        identifiers: vec![IdentifierInput::Text("www.example.com".to_owned())],
        ..Default::default()
    };
    assert!(policies.evaluate(&asked).await.unwrap().allowed);
    assert_eq!(client.version().await.unwrap().api_version, "v1");
    let expected = [
        "POST /v1/policy",
        "GET /v1/policy/pol_1",
        "GET /v1/policy",
        "PUT /v1/policy/pol_1",
        "DELETE /v1/policy/pol_1",
        "POST /v1/policy/evaluate",
        "GET /v1/version",
    ];
    assert_eq!(server.lines(), expected);
    let seen = server.seen();
    assert_eq!(seen[0].json(), json!({"name": "p", "max_names": 3}));
    assert_eq!(seen[5].json(), json!({"account_lookup": "acc_1", "identifiers": ["www.example.com"]}));
    assert_eq!(seen[6].header("authorization"), None, "the version is for everyone");
}

#[tokio::test]
async fn a_creation_under_a_key_says_whether_it_was_replayed() {
    let server = Server::start(answer).await;
    let client = server.client();
    let account = ResellerAccountRequest { customer_email: "a@example.com".to_owned(), ..Default::default() };
    let group = ResellerAccountGroupRequest { name: "g".to_owned(), description: None };
    let policy = IssuancePolicy { name: "p".to_owned(), ..Default::default() };
    for (key, replayed) in [("first", false), ("again", true)] {
        assert_eq!(client.accounts().create_once(&account, key).await.unwrap().replayed, replayed);
        assert_eq!(client.groups().create_once(&group, key).await.unwrap().replayed, replayed);
        assert_eq!(client.policies().create_once(&policy, key).await.unwrap().replayed, replayed);
        let eab = client.eab().create_once("acc_1", &EabCredentialRequest::default(), key).await.unwrap();
        assert_eq!((eab.replayed, eab.value.hmac_key_url.as_str()), (replayed, "k"));
    }
    let keys: Vec<_> = server.seen().iter().map(|seen| seen.header("idempotency-key").unwrap().to_owned()).collect();
    assert_eq!(keys, ["first", "first", "first", "first", "again", "again", "again", "again"]);
}

#[tokio::test]
async fn a_certificate_is_downloaded_in_the_form_that_is_asked_for() {
    let server = Server::start(|seen| match seen.target.as_str() {
        "/.well-known/oauth-authorization-server" => {
            Answer::json(200, json!({"token_endpoint": "https://id.example/oauth/token", "chancery_audience": "api"}))
        }
        _ => Answer::json(200, json!(seen.header("accept"))),
    })
    .await;
    let client = server.client();
    for (form, chain, accepted) in [
        (CertificateForm::Pem, None, "application/pem-certificate-chain"),
        (CertificateForm::Der, Some(2), "application/pkix-cert"),
        (CertificateForm::Pkcs7, None, "application/pkcs7-mime"),
        (CertificateForm::Json, None, "application/json"),
    ] {
        let downloaded = client.certificates().download("cert_1", form, chain).await.unwrap();
        assert_eq!(downloaded, Downloaded::Issued(format!("{accepted:?}").into()));
    }
    assert_eq!(server.lines()[1], "GET /v1/certificate/cert_1?chain=2");
    let told = client.metadata().await.unwrap();
    assert_eq!(
        (told.chancery_audience.as_deref(), &*told.token_endpoint),
        (Some("api"), "https://id.example/oauth/token")
    );
    assert_eq!(server.seen().last().unwrap().header("authorization"), None);
}
