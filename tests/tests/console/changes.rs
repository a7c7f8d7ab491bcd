//! What the forms do.

use chancery_domain::PageRequest;
use chancery_store::{AuditFilter, Outcome};
use chancery_tests::{World, lookup, on_both_databases, settings};

use crate::browser::{Browser, form_of};

on_both_databases! {
    async fn a_customer_is_created_changed_suspended_and_terminated(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let group = tenant.make_group("Retail").await;
        let made = browser.post("/console/customers", &[("email", "anna@example.com"), ("external_id", "C-1"), ("group", &group)]).await;
        assert_eq!(made.status, 200);
        let page = made.text();
        for words in ["--eab-kid", "--eab-hmac-key", "lego --server", "acme.sh --register-account", "acme_eab", "/acme/TLS-90d/directory"] {
            assert!(page.contains(words), "{words} is missing");
        }
        let account = tenant.get("/v1/account/anna@example.com").await.expect(200);
        let id = lookup(&account);
        assert!(!browser.look(&format!("/console/customers/{id}")).await.contains("HMAC key"), "a key is shown twice");
        let taken = browser.post("/console/customers", &[("email", "ANNA@example.com")]).await;
        assert!(taken.status == 400 && taken.text().contains("exists already"), "{}", taken.text());
        let at = |what: &str| format!("/console/customers/{id}/{what}");
        assert_eq!(browser.done(&at("edit"), &[("email", "b@example.com"), ("external_id", "C-2")]).await, format!("/console/customers/{id}?done=saved"));
        let wrong = browser.post(&at("edit"), &[("email", "no address")]).await;
        assert!(wrong.status == 400 && wrong.text().contains("aria-invalid=\"true\""));
        assert_eq!(tenant.get(&format!("/v1/account/{id}")).await.expect(200)["externalId"], "C-2");
        // A field that is emptied is empty from then on; one that is not sent stays.
        browser.done(&at("edit"), &[("email", "b@example.com")]).await;
        assert_eq!(tenant.get(&format!("/v1/account/{id}")).await.expect(200)["externalId"], "C-2");
        browser.done(&at("edit"), &[("email", "b@example.com"), ("external_id", " ")]).await;
        let cleared = tenant.get(&format!("/v1/account/{id}")).await.expect(200);
        assert_eq!((&cleared["externalId"], &cleared["email"]), (&serde_json::Value::Null, &"b@example.com".into()), "{cleared}");
        browser.done(&at("suspend"), &[]).await;
        assert_eq!(tenant.get(&format!("/v1/account/{id}")).await.expect(200)["status"], "suspended");
        browser.done(&at("resume"), &[]).await;
        assert_eq!(browser.post(&at("terminate"), &[]).await.status, 400);
        browser.done(&at("terminate"), &[("sure", "yes")]).await;
        assert!(browser.look(&format!("/console/customers/{id}")).await.contains("terminated"));
        assert_eq!(browser.post(&at("suspend"), &[]).await.status, 404);
    }

    async fn a_key_is_made_and_revoked(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let id = lookup(&tenant.make_account("anna@example.com").await);
        let made = browser.post(&format!("/console/customers/{id}/credentials"), &[("label", "Web server"), ("days", "30")]).await;
        assert_eq!(made.status, 200, "{}", made.text());
        let keys = tenant.get(&format!("/v1/account/{id}/eab-credential")).await.expect(200);
        let kid = keys["items"][0]["kid"].as_str().or(keys["items"][0]["eabKid"].as_str()).unwrap_or_else(|| panic!("{keys}")).to_owned();
        assert!(made.text().contains(&kid));
        browser.done(&format!("/console/customers/{id}/credentials/{kid}/revoke"), &[]).await;
        assert!(browser.look(&format!("/console/customers/{id}")).await.contains("revoked"));
        // What is wrong is said beside its field, and what was typed is still there.
        for (field, value) in [("days", "many"), ("days", "3651"), ("max_bindings", "0"), ("label", "x\ny")] {
            let form = [("label", "Mail server"), (field, value)];
            let form = if field == "label" { &form[1..] } else { &form[..] };
            let bad = browser.post(&format!("/console/customers/{id}/credentials"), form).await;
            let page = bad.text();
            assert_eq!((bad.status.as_u16(), page.matches("aria-invalid=\"true\"").count()), (400, 1), "{field}: {page}");
            assert!(page.contains(&format!("id=\"e-{field}\"")) && page.contains("ACME keys"), "{field}: {page}");
            assert!(field == "label" || (page.contains("value=\"Mail server\"") && page.contains(&format!("value=\"{value}\""))), "{page}");
            // The form is open, and the other one is as it was.
            assert!(page.contains("<details class=\"confirm\" open>") && page.contains("value=\"anna@example.com\""), "{page}");
        }
    }

    async fn groups_and_policies_are_made_assigned_and_tried(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let id = lookup(&tenant.make_account("anna@example.com").await);
        let to = browser.done("/console/groups", &[("name", "Retail"), ("description", "Shops")]).await;
        let group = to.trim_start_matches("/console/groups/").split('?').next().unwrap().to_owned();
        let other = tenant.make_group("Other").await;
        let rules = [
            ("name", "Strict"), ("allowed_domains", "*.example.com\nexample.org"), ("allow_wildcards", "no"),
            ("allowed_profiles", "TLS-90d"), ("max_names", "3"), ("allowed_key_types", "ec-p256"), ("allowed_key_types", "ec-p384"),
        ];
        let to = browser.done("/console/policies", &rules).await;
        let policy = to.trim_start_matches("/console/policies/").split('?').next().unwrap().to_owned();
        let kept = tenant.get(&format!("/v1/policy/{policy}")).await.expect(200);
        assert_eq!(kept["allowedDomains"], serde_json::json!(["*.example.com", "example.org"]), "{kept}");
        assert_eq!((&kept["allowWildcards"], &kept["maxNames"]), (&false.into(), &3.into()));
        // The form shows what is kept: saved as it is, nothing changes.
        let page = browser.look(&format!("/console/policies/{policy}")).await;
        assert!(page.contains("*.example.com\nexample.org"), "{page}");
        let wrong = browser.post(&format!("/console/policies/{policy}/edit"), &[("name", "Strict"), ("max_names", "1000"), ("allowed_domains", "no domain!")]).await;
        assert_eq!(wrong.status, 400);
        assert!(wrong.text().contains("must be from 1 to 100") || wrong.text().contains("Must be from 1 to 100"), "{}", wrong.text());
        let group_at = |what: &str| format!("/console/groups/{group}/{what}");
        browser.done(&group_at("assign"), &[("policy", &policy)]).await;
        browser.done(&group_at("add"), &[("accounts", "anna@example.com")]).await;
        let nobody = browser.post(&group_at("add"), &[("accounts", "nobody@example.com")]).await;
        assert!(nobody.status == 400 && nobody.text().contains("nobody@example.com"));
        let trial = |names: &str| format!("/console/policies/try?customer={id}&names={names}");
        assert!(browser.look(&trial("www.example.com")).await.contains("This could be ordered."));
        let refused = browser.look(&trial("*.example.com")).await;
        assert!(refused.contains("This would be refused.") && refused.contains("Strict"), "{refused}");
        browser.done(&group_at("move"), &[("account", &id), ("to", &other)]).await;
        assert!(browser.look(&format!("/console/groups/{other}")).await.contains("anna@example.com"));
        browser.done(&format!("/console/groups/{other}/remove"), &[("account", &id)]).await;
        browser.done(&group_at("unassign"), &[("policy", &policy)]).await;
        browser.done(&format!("/console/policies/{policy}/delete"), &[]).await;
        browser.done(&group_at("delete"), &[]).await;
        assert_eq!(browser.get(&format!("/console/groups/{group}")).await.status, 404);
    }

    async fn a_form_that_is_sent_twice_makes_one_client_or_key(world: World) {
        let tenant = world.tenant("NORTH").await;
        let id = lookup(&tenant.make_account("anna@example.com").await);
        let mut browser = Browser::of(&world, &tenant).await;
        let mut operator = Browser::of_operator(&world).await;
        let customer = format!("/console/customers/{id}");
        let clients = "/console/operator/resellers/NORTH";
        let key = form_of(&browser.look(&customer).await, &format!("{customer}/credentials"));
        let own = form_of(&browser.look("/console/clients/new").await, "/console/clients");
        let other = form_of(&operator.look(clients).await, &format!("{clients}/clients"));
        let customers = "/console/customers";
        let new = form_of(&browser.look(&format!("{customers}/new")).await, customers);
        let renewal = format!("{clients}/clients/{}/rotate", world.tenant("SOUTH").await.client_id).replace("NORTH", "SOUTH");
        let renewed = form_of(&operator.look("/console/operator/resellers/SOUTH").await, &renewal);
        // Of the other reseller, under which it is not.
        let misplaced = renewal.replace("SOUTH", "NORTH");
        assert_eq!(operator.post(&misplaced, &[]).await.status, 404);
        let codes = |page: &str| {
            let codes: Vec<_> = page.split("<code>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect();
            assert!(codes.len() >= 2, "{page}");
            codes
        };
        let filled = |form: &[(String, String)], more: &[(&str, &str)]| {
            let kept = form.iter().filter(|(name, _)| !more.iter().any(|(given, _)| given == name)).cloned();
            kept.chain(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))).collect::<Vec<_>>()
        };
        let (secret, current) = (tenant.client_secret.clone(), "current");
        let forms = [
            (false, format!("{customer}/credentials"), filled(&key, &[("label", "mail")])),
            (false, customers.to_owned(), filled(&new, &[("email", "bert@example.com")])),
            // Gone back to, and something else written into it: that is another one.
            (false, customers.to_owned(), filled(&new, &[("email", "cleo@example.com")])),
            (true, format!("{clients}/clients"), filled(&other, &[("name", "Laptop")])),
            (true, renewal, renewed),
        ];
        let mut seen = std::collections::BTreeSet::new();
        for (is_operator, action, fields) in forms {
            let who = if is_operator { &mut operator } else { &mut browser };
            let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let [first, again] = [who.post(&action, &fields).await, who.post(&action, &fields).await];
            assert_eq!((first.status.as_u16(), again.status.as_u16()), (200, 200), "{action}");
            // A browser that was clicked in twice shows the second answer alone.
            assert_eq!(codes(&first.text()), codes(&again.text()), "{action}");
            assert!(seen.insert(codes(&first.text())), "{action}");
        }
        let fields = filled(&own, &[("name", "Robot"), (current, &secret)]);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let first = browser.post("/console/clients", &fields).await;
        let again = browser.post("/console/clients", &fields).await;
        assert_eq!((first.status.as_u16(), again.status.as_u16()), (200, 200));
        assert_eq!(codes(&first.text()), codes(&again.text()));
        let page = browser.look("/console/clients").await;
        for name in ["Robot", "Laptop"] {
            assert_eq!(page.matches(&format!(">{name}<")).count(), 1, "{name}: {page}");
        }
        let keys = tenant.get(&format!("/v1/account/{id}/eab-credential")).await.expect(200);
        assert_eq!(keys["items"].as_array().unwrap().len(), 2, "the first one, and one more: {keys}");
    }

    async fn what_forms_are_refused_for_is_written_down_with_who_sent_them(world: World) {
        let (tenant, audit) = (world.tenant("NORTH").await, world.services.audit.clone());
        let writer = tokio::spawn(async move { audit.run(std::future::pending()).await });
        let mut browser = Browser::of(&world, &tenant).await;
        let mut operator = Browser::of_operator(&world).await;
        assert_eq!(browser.post("/console/customers", &[("email", "bad")]).await.status, 400);
        let guess = [("name", "x"), ("current", "chs_guess")];
        assert_eq!(browser.post("/console/clients", &guess).await.status, 400);
        assert_eq!(operator.post("/console/operator/resellers", &[("code", "?"), ("name", "")]).await.status, 400);
        assert_eq!(operator.post("/console/operator/resellers/NOPE/suspend", &[]).await.status, 404);
        let refused = async || {
            let filter = AuditFilter { outcome: Some(Outcome::Refused), ..AuditFilter::default() };
            world.services.audit.list(filter, PageRequest { limit: 100, after: None }).await.unwrap()
        };
        let began = std::time::Instant::now();
        while refused().await.len() < 4 {
            assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", refused().await);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        writer.abort();
        for record in refused().await {
            let kind = if record.subject.contains("/operator/") { "operator" } else { "client" };
            let detail: serde_json::Value = serde_json::from_str(&record.detail).unwrap();
            let why = detail["message"].as_str().unwrap();
            assert_eq!(record.actor_kind, kind, "{record:?}");
            assert!(!record.actor.is_empty() && !why.is_empty() && !why.contains("chs_guess"), "{record:?}");
        }
    }

    async fn where_forms_are_sent_to_there_is_no_page_and_no_way_to_one(world: World) {
        let tenant = world.tenant("NORTH").await;
        let id = lookup(&tenant.make_account("anna@example.com").await);
        let mut browser = Browser::of(&world, &tenant).await;
        let edit = format!("/console/customers/{id}/edit");
        let reply = browser.get(&edit).await;
        assert_eq!((reply.status.as_u16(), reply.header("allow")), (405, Some("POST")));
        assert!(reply.text().contains("where a form is sent to"), "{}", reply.text());
        assert!(reply.header("content-security-policy").is_some());
        // Whoever chooses colours there would come to it, and lose what was typed.
        let wrong = browser.post(&edit, &[("email", "bad")]).await;
        assert!(wrong.status == 400 && !wrong.text().contains("/console/theme"), "{}", wrong.text());
        let list = browser.get("/console/customers?q=an&status=all").await.text();
        assert!(list.contains("value=\"/console/customers?q=an&amp;status=all\""), "{list}");
        let told = browser.get(&format!("/console/customers/{id}?done=saved")).await.text();
        assert!(told.contains(&format!("name=\"back\" value=\"/console/customers/{id}\"")), "{told}");
    }

    async fn a_search_and_a_customer_with_many_keys_show_all_there_is_to_see(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut ids = Vec::new();
        for number in 0..53 {
            ids.push(lookup(&tenant.make_account(&format!("s{number}@example.com")).await));
        }
        for id in &ids[..2] {
            let path = format!("/v1/account/{id}");
            tenant.patch(&path, serde_json::json!({"suspended": true})).await.expect(200);
        }
        let mut browser = Browser::of(&world, &tenant).await;
        let all = browser.look("/console/customers?q=s").await;
        assert!(all.contains("There may be more"), "{all}");
        let suspended = browser.look("/console/customers?q=s&status=suspended").await;
        assert!(!suspended.contains("There may be more") && suspended.matches("/console/customers/acc_").count() == 2, "{suspended}");
        let keys = format!("/v1/account/{}/eab-credential", ids[5]);
        for _ in 0..101 {
            tenant.post_empty(&keys).await.expect(201);
        }
        let page = browser.look(&format!("/console/customers/{}", ids[5])).await;
        assert!(!page.contains("First key"));
        let next = page.split("?keys=").nth(1).unwrap().split('"').next().unwrap();
        let later = browser.look(&format!("/console/customers/{}?keys={next}", ids[5])).await;
        assert!(later.contains("First key") && later.contains("First page"), "{later}");
    }

    async fn a_policy_that_is_saved_as_it_is_shown_stays_as_it_is(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let all = serde_json::json!({
            "description": "Two\nlines", "allowed_domains": ["*.example.com", "example.org"], "denied_domains": ["a.example.com"],
            "allow_wildcards": false, "allow_ip_addresses": true, "allowed_profiles": ["TLS-90d"],
            "allowed_key_types": ["ec-p256"], "allowed_challenge_types": ["http-01", "dns-01"], "max_names": 3,
            "max_validity_days": 30, "max_certificates_per_day": 0, "max_certificates_per_week": 7,
            "max_active_certificates": 9, "issuance_enabled": true,
        });
        let nothing = serde_json::json!({
            "allowed_domains": [], "allowed_profiles": [], "allowed_key_types": [], "allowed_challenge_types": [],
        });
        for (name, rules) in [("All", all), ("Nothing", nothing), ("None", serde_json::json!({}))] {
            let policy = tenant.make_policy(name, rules).await;
            let (shown, edit) = (format!("/console/policies/{policy}"), format!("/console/policies/{policy}/edit"));
            let mut before = tenant.get(&format!("/v1/policy/{policy}")).await.expect(200);
            let form = form_of(&browser.look(&shown).await, &edit);
            let fields: Vec<_> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            browser.done(&edit, &fields).await;
            let after = tenant.get(&format!("/v1/policy/{policy}")).await.expect(200);
            before["updatedAt"] = after["updatedAt"].clone();
            assert_eq!(after, before);
            // By now it is another one than the page showed.
            let late = browser.post(&edit, &fields).await;
            assert!(late.status == 400 && late.text().contains("changed since this page was opened"), "{}", late.text());
        }
        let neither = browser.post("/console/policies", &[("name", "Neither"), ("allow_wildcards", "maybe")]).await;
        assert!(neither.status == 400 && neither.text().contains("ust be yes, no or nothing"), "{}", neither.text());
        let both = [("name", "Both"), ("allowed_key_types", "ec-p256"), ("nothing", "allowed_key_types")];
        let refused = browser.post("/console/policies", &both).await;
        assert!(refused.status == 400 && refused.text().contains("annot allow nothing and something"), "{}", refused.text());
    }

    async fn a_policy_keeps_a_profile_that_is_not_configured_any_more(world: World) {
        let tenant = world.tenant("NORTH").await;
        let policy = tenant.make_policy("Old", serde_json::json!({"allowed_profiles": ["TLS-90d"]})).await;
        let mut settings = settings();
        settings.profiles.retain(|profile| profile.name.as_str() != "TLS-90d");
        settings.default_profile = settings.profiles[0].name.clone();
        let later = world.another_node(settings, Vec::new()).await;
        let mut browser = Browser::at(later.stranger());
        assert_eq!(browser.sign_in(&tenant.client_id, &tenant.client_secret).await.status, 303);
        let (shown, edit) = (format!("/console/policies/{policy}"), format!("/console/policies/{policy}/edit"));
        let mut form = form_of(&browser.look(&shown).await, &edit);
        form.retain(|(name, _)| name != "max_names");
        form.push(("max_names".to_owned(), "3".to_owned()));
        let fields: Vec<_> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        browser.done(&edit, &fields).await;
        let kept = tenant.get(&format!("/v1/policy/{policy}")).await.expect(200);
        assert_eq!((&kept["allowedProfiles"], &kept["maxNames"]), (&serde_json::json!(["TLS-90d"]), &3.into()));
    }

    async fn a_policy_that_nobody_has_is_tried_by_itself(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let (id, group) = (lookup(&tenant.make_account("anna@example.com").await), tenant.make_group("Retail").await);
        tenant.add_members(&group, std::slice::from_ref(&id)).await;
        let wide = tenant.make_policy("Wide", serde_json::json!({"max_names": 5})).await;
        tenant.assign(&group, &wide).await;
        let strict = tenant.make_policy("Strict", serde_json::json!({"allow_wildcards": false, "max_certificates_per_day": 1, "max_validity_days": 7})).await;
        let link = format!("/console/policies/try?policy={strict}");
        assert!(browser.look(&format!("/console/policies/{strict}")).await.contains(&format!("href=\"{link}\"")));
        let form = browser.look(&link).await;
        assert!(form.contains(&format!("<option value=\"{strict}\" selected>Strict</option>")) && !form.contains("aria-invalid"), "{form}");
        let tried = browser.look(&format!("{link}&customer=&names=*.example.com")).await;
        assert!(tried.contains("This would be refused.") && tried.contains("Asked: Strict<"), "{tried}");
        let tried = browser.look(&format!("{link}&customer=&names=www.example.com")).await;
        assert!(tried.contains("This policy has nothing against it.") && tried.contains("valid for 7 days"), "{tried}");
        assert!(tried.contains("quotas were not asked"), "{tried}");
        // With a customer its quotas are asked, too, and still no other policy.
        let order = world.issue(&tenant, &id, &["www.example.com"]).await;
        assert_eq!(order["status"], "valid");
        let used_up = browser.look(&format!("{link}&customer={id}&names=www.example.com")).await;
        assert!(used_up.contains("1 of 1 certificates a day are used up") && used_up.contains("Asked: Strict<"), "{used_up}");
        let own = browser.look(&format!("/console/policies/try?policy=&customer={id}&names=*.example.com")).await;
        assert!(own.contains("This could be ordered.") && own.contains("Asked: Wide<"), "{own}");
        // Neither, or one that is not there or not ours, is said beside the field.
        let foreign = world.tenant("SOUTH").await.make_policy("Theirs", serde_json::json!({})).await;
        for query in ["policy=&customer=&", &format!("policy={foreign}&"), "policy=nothing&"] {
            let reply = browser.get(&format!("/console/policies/try?{query}names=www.example.com")).await;
            let page = reply.text();
            assert_eq!((reply.status.as_u16(), page.matches("aria-invalid=\"true\"").count()), (400, 1), "{query}: {page}");
            assert!(!page.contains("Theirs"), "{page}");
        }
    }

    async fn a_certificate_is_found_and_revoked(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let (certificate, order) = issued(&world, &tenant).await;
        let page = browser.look("/console/certificates?q=www.example.com").await;
        assert!(page.contains(&certificate));
        let listed = tenant.get("/v1/certificates").await.expect(200);
        let serial = listed["items"][0]["serialNumber"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned();
        // As a number, as other programs show it, and one that is not there.
        let pairs: Vec<_> = serial.as_bytes().chunks(2).map(|pair| String::from_utf8_lossy(pair).to_uppercase()).collect();
        let another = format!("{}{}", if serial.starts_with('1') { "2" } else { "1" }, &serial[1..]);
        for (asked, found) in [(&serial, true), (&pairs.join("%3A"), true), (&another, false)] {
            let page = browser.look(&format!("/console/certificates?q={asked}")).await;
            assert_eq!(page.contains(&format!("/console/certificates/{certificate}")), found, "{asked}: {page}");
        }
        let mut stranger = Browser::of(&world, &world.tenant("SOUTH").await).await;
        assert!(!stranger.look(&format!("/console/certificates?q={serial}")).await.contains(&certificate));
        let shown = tenant.get(&format!("/v1/certificate/{certificate}")).await.text();
        assert_eq!(browser.get(&format!("/console/certificates/{certificate}/fullchain.pem")).await.text(), shown);
        let at = format!("/console/certificates/{certificate}/revoke");
        assert_eq!(browser.post(&at, &[("reason", "superseded")]).await.status, 400, "nobody is sure");
        assert_eq!(browser.post(&at, &[("reason", "because"), ("sure", "yes")]).await.status, 400);
        let unprintable = browser.post(&at, &[("reason", "superseded"), ("sure", "yes"), ("comment", "a\u{0}b")]).await;
        assert!(unprintable.status == 400 && unprintable.text().contains("The note must not contain"), "{}", unprintable.text());
        browser.done(&at, &[("reason", "superseded"), ("sure", "yes"), ("comment", "replaced")]).await;
        let page = browser.look(&format!("/console/certificates/{certificate}")).await;
        assert!(page.contains("superseded") && page.contains("replaced"), "{page}");
        assert!(browser.look(&format!("/console/orders/{order}")).await.contains("Control of www.example.com"));
        let audit = browser.look("/console/audit?action=certificate.revoke").await;
        assert!(audit.contains(&certificate), "{audit}");
    }

    async fn an_order_is_cancelled_or_finalized(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let id = lookup(&tenant.make_account("anna@example.com").await);
        let open = lookup(&tenant.make_order(&id, &["open.example.com"]).await);
        browser.done(&format!("/console/orders/{open}/cancel"), &[]).await;
        assert_eq!(tenant.show_order(&open).await["status"], "cancelled");
        let ready = lookup(&world.make_ready(&tenant, &id, &["ready.example.com"]).await);
        browser.done(&format!("/console/orders/{ready}/finalize"), &[]).await;
        world.work(None).await;
        assert_eq!(tenant.show_order(&ready).await["status"], "valid");
    }

    async fn a_name_that_is_paused_is_seen_and_lifted(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let id = lookup(&tenant.make_account("anna@example.com").await);
        // As often as it takes.
        while tenant.get("/v1/pause").await.expect(200)["items"].as_array().unwrap().is_empty() {
            world.fail(&tenant, &id, "broken.test").await;
        }
        let page = browser.look("/console/orders").await;
        assert!(page.contains("Paused names") && page.contains("nobody answers"), "{page}");
        let pause = page.split("/console/pauses/").nth(1).unwrap().split('/').next().unwrap();
        let mut stranger = Browser::of(&world, &world.tenant("SOUTH").await).await;
        assert_eq!(stranger.post(&format!("/console/pauses/{pause}/lift"), &[]).await.status, 404);
        browser.done(&format!("/console/pauses/{pause}/lift"), &[]).await;
        assert!(!browser.look("/console/orders").await.contains("Paused names"));
        assert!(browser.look("/console").await.contains("broken.test"), "what has failed is on the overview");
    }

    async fn the_overview_counts_what_there_is(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        issued(&world, &tenant).await;
        let page = browser.look("/console").await;
        assert!(page.contains("<b>1</b><span>valid</span>"), "{page}");
        let calendar = browser.look("/console/calendar").await;
        assert!(calendar.contains("aria-current=\"page\""));
    }
}

/// A certificate and its order.
async fn issued(world: &World, tenant: &chancery_tests::Tenant) -> (String, String) {
    let id = lookup(&tenant.make_account("anna@example.com").await);
    let order = world.issue(tenant, &id, &["www.example.com"]).await;
    let certificate = order["certificateLookup"].as_str().unwrap_or_else(|| panic!("{order}"));
    (certificate.to_owned(), lookup(&order))
}
