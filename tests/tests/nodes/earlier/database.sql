--
-- PostgreSQL database dump
--

\restrict trFy9wlGt8sKEIhxFqKyNI2lYtl8O4pk4aDzMfsWhztqeYep8SXtQNsvwJI1sbN

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: audit_is_append_only(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.audit_is_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only';
END;
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: account_groups; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.account_groups (
    id text NOT NULL COLLATE pg_catalog."C",
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    description text COLLATE pg_catalog."C",
    member_count bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    version bigint NOT NULL
);


--
-- Name: account_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.account_keys (
    account_id text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    thumbprint text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: account_number; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.account_number
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.accounts (
    id text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    kid text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    email_key text NOT NULL COLLATE pg_catalog."C",
    external_id text COLLATE pg_catalog."C",
    metadata text NOT NULL COLLATE pg_catalog."C",
    suspended bigint NOT NULL,
    deleted_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    version bigint NOT NULL
);


--
-- Name: acme_accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.acme_accounts (
    id text NOT NULL COLLATE pg_catalog."C",
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    kid text NOT NULL COLLATE pg_catalog."C",
    jwk text NOT NULL COLLATE pg_catalog."C",
    thumbprint text NOT NULL COLLATE pg_catalog."C",
    contacts text NOT NULL COLLATE pg_catalog."C",
    terms_agreed_at bigint,
    state text NOT NULL COLLATE pg_catalog."C",
    state_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    version bigint NOT NULL
);


--
-- Name: acme_nonces; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.acme_nonces (
    nonce text NOT NULL COLLATE pg_catalog."C",
    expires_at bigint NOT NULL
);


--
-- Name: active_until_day; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.active_until_day (
    account_id text NOT NULL COLLATE pg_catalog."C",
    day bigint NOT NULL,
    active bigint NOT NULL
);


--
-- Name: api_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    scopes text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    revoked_at bigint,
    created_at bigint NOT NULL
);


--
-- Name: audit; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit (
    id text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    reseller_id text COLLATE pg_catalog."C",
    actor_kind text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    address text NOT NULL COLLATE pg_catalog."C",
    request_id text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    detail text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: authorizations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.authorizations (
    id text NOT NULL COLLATE pg_catalog."C",
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    order_id text COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    identifier text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    state_at bigint NOT NULL,
    validation text COLLATE pg_catalog."C",
    challenges text NOT NULL COLLATE pg_catalog."C",
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    version bigint NOT NULL,
    acme_account_id text COLLATE pg_catalog."C",
    namespace text COLLATE pg_catalog."C"
);


--
-- Name: blocked_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.blocked_keys (
    key_hash bytea NOT NULL,
    reason text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: certificate_names; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.certificate_names (
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    certificate_id text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: certificates; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.certificates (
    id text NOT NULL COLLATE pg_catalog."C",
    order_id text NOT NULL COLLATE pg_catalog."C",
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    kid text NOT NULL COLLATE pg_catalog."C",
    via text NOT NULL COLLATE pg_catalog."C",
    profile text NOT NULL COLLATE pg_catalog."C",
    identifiers text NOT NULL COLLATE pg_catalog."C",
    external_id text COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    state_at bigint NOT NULL,
    pending_until bigint,
    issuer_id text COLLATE pg_catalog."C",
    serial text COLLATE pg_catalog."C",
    draft bytea,
    der bytea,
    subject text COLLATE pg_catalog."C",
    key_type text COLLATE pg_catalog."C",
    key_hash bytea,
    not_before bigint,
    not_after bigint,
    fingerprint text COLLATE pg_catalog."C",
    issued_at bigint,
    revoked_at bigint,
    revocation_reason bigint,
    revocation_comment text COLLATE pg_catalog."C",
    crl_shard bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    version bigint NOT NULL
);


--
-- Name: client_secrets; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.client_secrets (
    client_id text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    created_at bigint NOT NULL
);


--
-- Name: clients; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.clients (
    id text NOT NULL COLLATE pg_catalog."C",
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    scopes text NOT NULL COLLATE pg_catalog."C",
    disabled bigint NOT NULL,
    expires_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    version bigint NOT NULL
);


--
-- Name: crls; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.crls (
    issuer_id text NOT NULL COLLATE pg_catalog."C",
    shard bigint NOT NULL,
    changes bigint NOT NULL,
    drawn bigint NOT NULL,
    claimed_until bigint NOT NULL,
    number bigint NOT NULL,
    covers bigint NOT NULL,
    der bytea,
    this_update bigint NOT NULL,
    next_update bigint NOT NULL,
    scheduled_at bigint NOT NULL
);


--
-- Name: eab_credentials; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.eab_credentials (
    id text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    kid text NOT NULL COLLATE pg_catalog."C",
    is_root bigint NOT NULL,
    sealed bytea NOT NULL,
    label text COLLATE pg_catalog."C",
    expires_at bigint,
    max_bindings bigint,
    bindings bigint NOT NULL,
    last_used_at bigint,
    revoked_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    version bigint NOT NULL
);


--
-- Name: epochs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.epochs (
    name text NOT NULL COLLATE pg_catalog."C",
    value bigint NOT NULL
);


--
-- Name: group_members; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.group_members (
    group_id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    added_at bigint NOT NULL
);


--
-- Name: group_policies; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.group_policies (
    group_id text NOT NULL COLLATE pg_catalog."C",
    policy_id text NOT NULL COLLATE pg_catalog."C",
    assigned_at bigint NOT NULL
);


--
-- Name: idempotency; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.idempotency (
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    idempotency_key text NOT NULL COLLATE pg_catalog."C",
    fingerprint bytea NOT NULL,
    status bigint NOT NULL,
    sealed bytea NOT NULL,
    created_at bigint NOT NULL
);


--
-- Name: issued_per_day; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.issued_per_day (
    account_id text NOT NULL COLLATE pg_catalog."C",
    day bigint NOT NULL,
    issued bigint NOT NULL
);


--
-- Name: issuer_chains; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.issuer_chains (
    issuer_id text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    pem text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: issuers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.issuers (
    id text NOT NULL COLLATE pg_catalog."C",
    parent_id text COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    certificate bytea NOT NULL,
    sealed bytea NOT NULL,
    created_at bigint NOT NULL
);


--
-- Name: jobs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.jobs (
    kind text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    run_at bigint NOT NULL,
    attempts bigint NOT NULL,
    lease text COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: orders; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.orders (
    id text NOT NULL COLLATE pg_catalog."C",
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    kid text NOT NULL COLLATE pg_catalog."C",
    kid_was_revoked bigint NOT NULL,
    via text NOT NULL COLLATE pg_catalog."C",
    profile text NOT NULL COLLATE pg_catalog."C",
    identifiers text NOT NULL COLLATE pg_catalog."C",
    certificate_id text NOT NULL COLLATE pg_catalog."C",
    csr bytea,
    not_before bigint,
    not_after bigint,
    external_id text COLLATE pg_catalog."C",
    metadata text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    state_at bigint NOT NULL,
    problem text COLLATE pg_catalog."C",
    finalized_at bigint,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    version bigint NOT NULL,
    acme_account_id text COLLATE pg_catalog."C",
    replaces text COLLATE pg_catalog."C"
);


--
-- Name: policies; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.policies (
    id text NOT NULL COLLATE pg_catalog."C",
    reseller_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    description text COLLATE pg_catalog."C",
    rules text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    version bigint NOT NULL
);


--
-- Name: resellers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.resellers (
    id text NOT NULL COLLATE pg_catalog."C",
    code text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    suspended bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    version bigint NOT NULL
);


--
-- Name: schema_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schema_migrations (
    version bigint NOT NULL,
    name text NOT NULL
);


--
-- Name: service_secrets; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.service_secrets (
    name text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    created_at bigint NOT NULL
);


--
-- Name: token_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.token_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    public_key text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    active_from bigint NOT NULL
);


--
-- Data for Name: account_groups; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: account_keys; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: accounts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.accounts VALUES ('acc_01m7fye6vse28s159h13kxyp2e', 1, 'rsl_01m7fye51eep6acgh0ygbf334b', 'e326cb12-aac5-460c-8792-edb97c2f2e5d', 'nodes@example.com', 'nodes@example.com', NULL, '{}', 0, NULL, 1794757827449, 1794757827449, 1);


--
-- Data for Name: acme_accounts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.acme_accounts VALUES ('acme_01m7fye715ecdsygjr1qczvvww', 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'e326cb12-aac5-460c-8792-edb97c2f2e5d', '{"crv":"P-256","kty":"EC","x":"FkKdvDwsnptlDtQ1SMhxHOQaAAw7FNlggHkyLTp6t48","y":"FVdqTRlON5YYeF5GlDCJS7i8788FM5q0R92ut_hK5KY"}', 'RixBgtrk-gy9Xv2Lt9v-T3lHt-AlIrKkIusNzXPqA4M', '[]', 1794757827621, 'active', 1794757827621, 1794757827621, 1794757827621, 1);
INSERT INTO public.acme_accounts VALUES ('acme_01m7fye72eeveberhwmwyby7ct', 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'e326cb12-aac5-460c-8792-edb97c2f2e5d', '{"crv":"P-256","kty":"EC","x":"Tm7YO_3aBUb0XzKeUg6Zdi22bJtrI_v_B0Wuef87ysI","y":"0iuNyKT1rvCZzQhbwMSh5DUAIDpNPWBEnvP5v39YZlY"}', '18SHEuvZv9N8RfamoxIrGJQYPCsQRAsjK_BzaztKDuY', '[]', 1794757827662, 'active', 1794757827662, 1794757827662, 1794757827662, 1);


--
-- Data for Name: acme_nonces; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.acme_nonces VALUES ('AAABod_nHBiqQbGCPi6c-PFENGrjUemlDgbMyzoyXZe0cEzzklpJSw', 1794761427608);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHDodrer8GRhUiJdrbdd5aymn3Pac7fRL85WQV8tW6nP1hw', 1794761427642);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHDQ4Wo43ckTIPBa08_R41sO4CO2BFcigqVroRoj7ZOfy2Q', 1794761427636);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHK71w601uheJdzhd1Agr205os-oM39WjxcMDaZ9wjkh2ZA', 1794761427758);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHMMZPzy43PLubqgNXodi-FuZs-1VhHaW_fw12BiRnEbJpg', 1794761427779);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHUB6HVXuzuPX2qNGxhOrwEKye2mL9I1buPHufU059NyR2Q', 1794761427904);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHVLRiG5xeyGHssYFcAlPpxgOSfdBfjeH4tZ0cVeyvf6HRw', 1794761427922);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHjpGHXgu3auOmkPuDUDbHN5wERVKz3rFD5LbN3ESVDdYJQ', 1794761428154);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHpBG8PGwXYynKfJc01mKeuiTFlywK3POfYqjX4TTT5_9mw', 1794761428240);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHF9iMWjJlUZKCPVXHPOJQnfJKo0qoVsh218zaGV_nTTnkg', 1794761427679);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHxBxQGQVrbBUxqKvccflijVjgvVgn5UGzwAKGR7IdviUXg', 1794761428368);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHxwKOPmiFoMSuH7x8Su_UVOoK9FckVjH_QJnvQZsABnRdg', 1794761428380);
INSERT INTO public.acme_nonces VALUES ('AAABod_nH1InDfPzsbc3rDTOwlaejbpSj8pTPs055Oi5kLm2lGQbuQ', 1794761428434);
INSERT INTO public.acme_nonces VALUES ('AAABod_nH2qFYE4O4TBklT4bvcRTfUXJ4VaeNInpxegHMvgmYxGX7A', 1794761428458);
INSERT INTO public.acme_nonces VALUES ('AAABod_nIHDiVadtvezwNq_Rir1YbWvH_Qh9vNJ-OJD6WfviVsamaA', 1794761428720);
INSERT INTO public.acme_nonces VALUES ('AAABod_nIMYFopQ_hAPteyraJJNjTjVuqhG1ldtKanTv0B-hOjRAUg', 1794761428806);
INSERT INTO public.acme_nonces VALUES ('AAABod_nHsNd8ti4Zy2xfqTLP0dK5-0_350-2tuiBFqTOWmB-bUtiQ', 1794761428291);
INSERT INTO public.acme_nonces VALUES ('AAABod_nIXIuMfhu3F-tDbZ3GRSHNQp5__Is_Wp38KyJxEIeGcmfGQ', 1794761428978);


--
-- Data for Name: active_until_day; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.active_until_day VALUES ('acc_01m7fye6vse28s159h13kxyp2e', 20862, 2);


--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: audit; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.audit VALUES ('aud_01m7fye4n2evrr61jayj7d3f1c', 1794757825186, NULL, 'operator', 'operator', 'local', '', 'issuer.create', 'iss_01m7fye4mqeyrtj7a1h7x3r974', 'done', '{"name":"Chancery Root CA 1"}');
INSERT INTO public.audit VALUES ('aud_01m7fye4n3ek5av666w59wxad2', 1794757825187, NULL, 'operator', 'operator', 'local', '', 'issuer.create', 'iss_01m7fye4mre2bt4wv15w3de7cg', 'done', '{"name":"Chancery Issuing CA E1"}');
INSERT INTO public.audit VALUES ('aud_01m7fye4n4eex82katy37p1crt', 1794757825188, NULL, 'operator', 'operator', 'local', '', 'issuer.create', 'iss_01m7fye4mse7krcqebfen23dx4', 'done', '{"name":"Chancery Issuing CA E2"}');
INSERT INTO public.audit VALUES ('aud_01m7fye4n5e7xadydaq5xvw2z8', 1794757825189, NULL, 'operator', 'operator', 'local', '', 'issuer.create', 'iss_01m7fye4mse7m90rhed669pc1t', 'done', '{"name":"Chancery Issuing CA R1"}');
INSERT INTO public.audit VALUES ('aud_01m7fye51hese99g31q12zc6m9', 1794757825585, 'rsl_01m7fye51eep6acgh0ygbf334b', 'operator', 'operator', 'local', '', 'reseller.create', 'rsl_01m7fye51eep6acgh0ygbf334b', 'done', '{"code":"DEMO","name":"Demo"}');
INSERT INTO public.audit VALUES ('aud_01m7fye5fre76a1tv7tek4vn19', 1794757826040, 'rsl_01m7fye51eep6acgh0ygbf334b', 'operator', 'operator', 'local', '', 'client.create', 'cli_01m7fye5ffer49wqhz5k6zfkz3', 'done', '{"name":"client","scope":"reseller read:order write:order read:authorization write:authorization read:certificate write:certificate read:challenge write:challenge read:account write:account"}');
INSERT INTO public.audit VALUES ('aud_01m7fye6k6e6ztjw7911zjzw8n', 1794757827174, NULL, 'service', '', '', '', 'ocsp.delegate', 'iss_01m7fye4mre2bt4wv15w3de7cg', 'done', '{"not_after":1795362627,"serial":"407debb954967fd17d72e3e1b5efcdddcf6b9c1f"}');
INSERT INTO public.audit VALUES ('aud_01m7fye6ktetkr5tah74zeqyc6', 1794757827194, NULL, 'service', '', '', '', 'ocsp.delegate', 'iss_01m7fye4mse7m90rhed669pc1t', 'done', '{"not_after":1795362627,"serial":"6a5cd25f57733a7ac269dad06736f29d3ad9cbea"}');
INSERT INTO public.audit VALUES ('aud_01m7fye6mdewjsn4fqzfwsjhk6', 1794757827213, NULL, 'service', '', '', '', 'ocsp.delegate', 'iss_01m7fye4mse7krcqebfen23dx4', 'done', '{"not_after":1795362627,"serial":"699c6de952f3f1a0c7b1a4381290c89e1f72cc43"}');
INSERT INTO public.audit VALUES ('aud_01m7fye6pte7kvj002nvstmbmx', 1794757827290, NULL, 'service', '', '', '', 'ocsp.delegate', 'iss_01m7fye4mse7m90rhed669pc1t', 'done', '{"not_after":1795362627,"serial":"543b0c4b6ecf932cfac452091ab4dabba0e94243"}');
INSERT INTO public.audit VALUES ('aud_01m7fye6qrecvadnq1w7y2zdah', 1794757827320, NULL, 'service', '', '', '', 'ocsp.delegate', 'iss_01m7fye4mse7krcqebfen23dx4', 'done', '{"not_after":1795362627,"serial":"7e2ee7656f681f65450f36eace50f981b077847c"}');
INSERT INTO public.audit VALUES ('aud_01m7fye6rre96t4j45g5n2nsd3', 1794757827352, NULL, 'service', '', '', '', 'ocsp.delegate', 'iss_01m7fye4mre2bt4wv15w3de7cg', 'done', '{"not_after":1795362627,"serial":"500814726756015dab5a191f946c5f7219222a72"}');
INSERT INTO public.audit VALUES ('aud_01m7fye6w3eha8qexxcrpzjv6j', 1794757827459, 'rsl_01m7fye51eep6acgh0ygbf334b', 'client', 'cli_01m7fye5ffer49wqhz5k6zfkz3', '127.0.0.1', '01a1dfe7-1b4c-7205-a91f-5b1496e8d011', 'account.create', 'acc_01m7fye6vse28s159h13kxyp2e', 'done', '{"after":{"email":"nodes@example.com","externalId":null,"kid":"e326cb12-aac5-460c-8792-edb97c2f2e5d","metadata":{},"status":"active"},"groups":[]}');
INSERT INTO public.audit VALUES ('aud_01m7fye71ce2hsaqz74wcpdk9f', 1794757827628, 'rsl_01m7fye51eep6acgh0ygbf334b', 'acme', 'acme_01m7fye715ecdsygjr1qczvvww', '127.0.0.1', '01a1dfe7-1c1a-7530-bb3d-6dca8ca5edd0', 'acme_account.create', 'acme_01m7fye715ecdsygjr1qczvvww', 'done', '{"after":{"account":"acc_01m7fye6vse28s159h13kxyp2e","contacts":[],"kid":"e326cb12-aac5-460c-8792-edb97c2f2e5d","status":"valid","termsAgreedAt":"2026-11-15T15:50:27Z","thumbprint":"RixBgtrk-gy9Xv2Lt9v-T3lHt-AlIrKkIusNzXPqA4M"}}');
INSERT INTO public.audit VALUES ('aud_01m7fye72jekhrjffz0qxajrjn', 1794757827666, 'rsl_01m7fye51eep6acgh0ygbf334b', 'acme', 'acme_01m7fye72eeveberhwmwyby7ct', '127.0.0.1', '01a1dfe7-1c3c-7419-afb8-3ecdc073481e', 'acme_account.create', 'acme_01m7fye72eeveberhwmwyby7ct', 'done', '{"after":{"account":"acc_01m7fye6vse28s159h13kxyp2e","contacts":[],"kid":"e326cb12-aac5-460c-8792-edb97c2f2e5d","status":"valid","termsAgreedAt":"2026-11-15T15:50:27Z","thumbprint":"18SHEuvZv9N8RfamoxIrGJQYPCsQRAsjK_BzaztKDuY"}}');
INSERT INTO public.audit VALUES ('aud_01m7fye75bex79kcpk5ebea2n4', 1794757827755, 'rsl_01m7fye51eep6acgh0ygbf334b', 'acme', 'acme_01m7fye715ecdsygjr1qczvvww', '127.0.0.1', '01a1dfe7-1c61-75bc-b76f-7b6bf945beff', 'order.create', 'ord_01m7fye73xevvv18s8cp6qgder', 'done', '{"account":"acc_01m7fye6vse28s159h13kxyp2e","names":["a0-n0.nodes.test"],"profile":"TLS-90d","via":"acme"}');
INSERT INTO public.audit VALUES ('aud_01m7fye787e7qs5thss07m85x2', 1794757827847, 'rsl_01m7fye51eep6acgh0ygbf334b', 'acme', 'acme_01m7fye715ecdsygjr1qczvvww', '127.0.0.1', '01a1dfe7-1cc6-724d-938e-1cab902ca7b8', 'challenge.choose', 'chal_01m7fye73xevwreqgpq454ph1h', 'done', '{"name":"a0-n0.nodes.test"}');
INSERT INTO public.audit VALUES ('aud_01m7fye79aesdsa6erbxgxrkav', 1794757827882, 'rsl_01m7fye51eep6acgh0ygbf334b', 'service', '', '', '', 'challenge.validate', 'chal_01m7fye73xevwreqgpq454ph1h', 'done', '{"name":"a0-n0.nodes.test","shown":true}');
INSERT INTO public.audit VALUES ('aud_01m7fye7d6ekvsdsbqx9d6t5ex', 1794757828006, 'rsl_01m7fye51eep6acgh0ygbf334b', 'acme', 'acme_01m7fye715ecdsygjr1qczvvww', '127.0.0.1', '01a1dfe7-1d54-74bb-a858-40d63b6cd216', 'order.finalize', 'ord_01m7fye73xevvv18s8cp6qgder', 'done', '{"account":"acc_01m7fye6vse28s159h13kxyp2e","names":["a0-n0.nodes.test"],"profile":"TLS-90d","via":"acme"}');
INSERT INTO public.audit VALUES ('aud_01m7fye7h0ehavfpkxkp5qpp4z', 1794757828128, 'rsl_01m7fye51eep6acgh0ygbf334b', 'service', '', '', '', 'certificate.issue', 'ord_01m7fye73xevvv18s8cp6qgder', 'done', '{"certificate":"cert_01m7fye73xevwb8277rfre8ns0","serial":"4a969c0e7ad2e81536f169ede3c7a792839d1756"}');
INSERT INTO public.audit VALUES ('aud_01m7fye7r5efyvfdgznpjfxbsy', 1794757828357, 'rsl_01m7fye51eep6acgh0ygbf334b', 'acme', 'acme_01m7fye72eeveberhwmwyby7ct', '127.0.0.1', '01a1dfe7-1ec5-76cb-9af4-d39566aede65', 'order.create', 'ord_01m7fye7pnesx9zf272fcapyw5', 'done', '{"account":"acc_01m7fye6vse28s159h13kxyp2e","names":["a1-n0.nodes.test"],"profile":"TLS-90d","via":"acme"}');
INSERT INTO public.audit VALUES ('aud_01m7fye7sse3eagxh5qe9g426n', 1794757828409, 'rsl_01m7fye51eep6acgh0ygbf334b', 'acme', 'acme_01m7fye72eeveberhwmwyby7ct', '127.0.0.1', '01a1dfe7-1f1e-7691-bc5e-a4bc60ec271d', 'challenge.choose', 'chal_01m7fye7pnesyb9fp8r9bcmqch', 'done', '{"name":"a1-n0.nodes.test"}');
INSERT INTO public.audit VALUES ('aud_01m7fye7tcempvpa1trmk0fsh3', 1794757828428, 'rsl_01m7fye51eep6acgh0ygbf334b', 'service', '', '', '', 'challenge.validate', 'chal_01m7fye7pnesyb9fp8r9bcmqch', 'done', '{"name":"a1-n0.nodes.test","shown":true}');
INSERT INTO public.audit VALUES ('aud_01m7fye7wzecht35hnpzxb0rr8', 1794757828511, 'rsl_01m7fye51eep6acgh0ygbf334b', 'acme', 'acme_01m7fye72eeveberhwmwyby7ct', '127.0.0.1', '01a1dfe7-1f6c-75b2-a152-9ec95d55fbe1', 'order.finalize', 'ord_01m7fye7pnesx9zf272fcapyw5', 'done', '{"account":"acc_01m7fye6vse28s159h13kxyp2e","names":["a1-n0.nodes.test"],"profile":"TLS-90d","via":"acme"}');
INSERT INTO public.audit VALUES ('aud_01m7fye81pegxbfm7vq87peasq', 1794757828662, 'rsl_01m7fye51eep6acgh0ygbf334b', 'service', '', '', '', 'certificate.issue', 'ord_01m7fye7pnesx9zf272fcapyw5', 'done', '{"certificate":"cert_01m7fye7pnesxtwn42p8x4nvqs","serial":"6cd5c1f5a7f2fe7cee9815ecf93063080e522177"}');
INSERT INTO public.audit VALUES ('aud_01m7fye8b1e5bsbk05nnhamg37', 1794757828961, 'rsl_01m7fye51eep6acgh0ygbf334b', 'acme', 'acme_01m7fye715ecdsygjr1qczvvww', '127.0.0.1', '01a1dfe7-20ff-762b-ae36-593e7bc0dcba', 'order.create', 'ord_01m7fye88zedab7pb6gdmrwg93', 'done', '{"account":"acc_01m7fye6vse28s159h13kxyp2e","names":["a0-n1.nodes.test"],"profile":"TLS-90d","via":"acme"}');


--
-- Data for Name: authorizations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.authorizations VALUES ('authz_01m7fye73xevwreqgpq454ph1g', 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'ord_01m7fye73xevvv18s8cp6qgder', 0, 'a0-n0.nodes.test', 'valid', 1794757827878, '{"at":1794757827878,"method":"http-01","source":"authz_01m7fye73xevwreqgpq454ph1g","caa_at":1794757827871}', '[{"kind":"http-01","id":"chal_01m7fye73xevwreqgpq454ph1h","token":"UV7AYdzDp2XqidcnYmj7bKDm0t4wD4AfN7wEPHKjG3w","state":"valid","state_at":1794757827878,"attempts":[{"at":1794757827862,"perspective":"primary","addresses_resolved":["127.0.0.1"],"address_used":"127.0.0.1:44319","url":"http://a0-n0.nodes.test:44319/.well-known/acme-challenge/UV7AYdzDp2XqidcnYmj7bKDm0t4wD4AfN7wEPHKjG3w","http_status":200,"dnssec":"unchecked","expected":"UV7AYdzDp2XqidcnYmj7bKDm0t4wD4AfN7wEPHKjG3w.RixBgtrk-gy9Xv2Lt9v-T3lHt-AlIrKkIusNzXPqA4M","actual":"UV7AYdzDp2XqidcnYmj7bKDm0t4wD4AfN7wEPHKjG3w.RixBgtrk-gy9Xv2Lt9v-T3lHt-AlIrKkIusNzXPqA4M"}],"created_at":1794757827709,"updated_at":1794757827878},{"kind":"dns-01","id":"chal_01m7fye73xevwreqgpq454ph1j","token":"e7Iqib0g18b-gFdy_Nyvqv0kzz_9EuMZ8wtHsqXosPI","state":"pending","created_at":1794757827709,"updated_at":1794757827709},{"kind":"tls-alpn-01","id":"chal_01m7fye73xevwreqgpq454ph1k","token":"BEKMxldqY4Ff-64WSTyD-NWzgrM9bRRkKVtJqUp64B8","state":"pending","created_at":1794757827709,"updated_at":1794757827709}]', 1795621827878, 1794757827709, 1794757827878, 3, 'acme_01m7fye715ecdsygjr1qczvvww', NULL);
INSERT INTO public.authorizations VALUES ('authz_01m7fye7pnesyb9fp8r9bcmqcg', 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'ord_01m7fye7pnesx9zf272fcapyw5', 0, 'a1-n0.nodes.test', 'valid', 1794757828424, '{"at":1794757828424,"method":"http-01","source":"authz_01m7fye7pnesyb9fp8r9bcmqcg","caa_at":1794757828421}', '[{"kind":"http-01","id":"chal_01m7fye7pnesyb9fp8r9bcmqch","token":"-J-QIeHZbFGruaXh_UVeA7it_eSNdsF4DkXUwsa3cb4","state":"valid","state_at":1794757828424,"attempts":[{"at":1794757828419,"perspective":"primary","addresses_resolved":["127.0.0.1"],"address_used":"127.0.0.1:44319","url":"http://a1-n0.nodes.test:44319/.well-known/acme-challenge/-J-QIeHZbFGruaXh_UVeA7it_eSNdsF4DkXUwsa3cb4","http_status":200,"dnssec":"unchecked","expected":"-J-QIeHZbFGruaXh_UVeA7it_eSNdsF4DkXUwsa3cb4.18SHEuvZv9N8RfamoxIrGJQYPCsQRAsjK_BzaztKDuY","actual":"-J-QIeHZbFGruaXh_UVeA7it_eSNdsF4DkXUwsa3cb4.18SHEuvZv9N8RfamoxIrGJQYPCsQRAsjK_BzaztKDuY"}],"created_at":1794757828309,"updated_at":1794757828424},{"kind":"dns-01","id":"chal_01m7fye7pnesyb9fp8r9bcmqcj","token":"iu0BpD7nwh72Nq-es0VlGt_Od1ZmnzmvgCQELQrafhc","state":"pending","created_at":1794757828309,"updated_at":1794757828309},{"kind":"tls-alpn-01","id":"chal_01m7fye7pnesyb9fp8r9bcmqck","token":"CLqZawpSlvjspWdLGxlpi_IUNrPdDx1S7FlTT7Cyu88","state":"pending","created_at":1794757828309,"updated_at":1794757828309}]', 1795621828424, 1794757828309, 1794757828424, 3, 'acme_01m7fye72eeveberhwmwyby7ct', NULL);
INSERT INTO public.authorizations VALUES ('authz_01m7fye88zedb8wg6vky6zksx0', 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'ord_01m7fye88zedab7pb6gdmrwg93', 0, 'a0-n1.nodes.test', 'pending', 1794757828895, NULL, '[{"kind":"http-01","id":"chal_01m7fye88zedb8wg6vky6zksx1","token":"9YH4U89-WR-VWJIRmf8Wv6i_LV7i1gG8-isYSAvyo0A","state":"pending","created_at":1794757828895,"updated_at":1794757828895},{"kind":"dns-01","id":"chal_01m7fye88zedb8wg6vky6zksx2","token":"TpWrQ653zQ1q0mo7b8tnREuaXB6FYLPdi38bupqxKuE","state":"pending","created_at":1794757828895,"updated_at":1794757828895},{"kind":"tls-alpn-01","id":"chal_01m7fye88zedb8wg6vky6zksx3","token":"H-nDuu6Vvaz6CgLmsEQwsR4mLMUI9uH_sw6OW4-erHs","state":"pending","created_at":1794757828895,"updated_at":1794757828895}]', 1795362628895, 1794757828895, 1794757828895, 1, 'acme_01m7fye715ecdsygjr1qczvvww', NULL);


--
-- Data for Name: blocked_keys; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: certificate_names; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.certificate_names VALUES ('rsl_01m7fye51eep6acgh0ygbf334b', 'a0-n0.nodes.test', 'cert_01m7fye73xevwb8277rfre8ns0');
INSERT INTO public.certificate_names VALUES ('rsl_01m7fye51eep6acgh0ygbf334b', 'a1-n0.nodes.test', 'cert_01m7fye7pnesxtwn42p8x4nvqs');
INSERT INTO public.certificate_names VALUES ('rsl_01m7fye51eep6acgh0ygbf334b', 'a0-n1.nodes.test', 'cert_01m7fye88zedavqn9wkspjxpem');


--
-- Data for Name: certificates; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.certificates VALUES ('cert_01m7fye73xevwb8277rfre8ns0', 'ord_01m7fye73xevvv18s8cp6qgder', 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'e326cb12-aac5-460c-8792-edb97c2f2e5d', 'acme', 'TLS-90d', '["a0-n0.nodes.test"]', NULL, 'issued', 1794757828100, NULL, 'iss_01m7fye4mre2bt4wv15w3de7cg', '4a969c0e7ad2e81536f169ede3c7a792839d1756', NULL, '\x3082029e30820244a00302010202144a969c0e7ad2e81536f169ede3c7a792839d1756300a06082a8648ce3d0403023041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204531301e170d3236313131353135353032355a170d3237303231333135353032345a30003059301306072a8648ce3d020106082a8648ce3d03010703420004860fb2f36b266e453a291ad5cafe25066865357e94b4e1b4689b6e67d9dc592f403c0a0023c9f460a41b4a6954c56bda050d8fc6ffc7d5544c18a16899d97910a382015930820155300e0603551d0f0101ff04040302078030130603551d25040c300a06082b06010505070301301f0603551d230418301680148055223f5182155344cffc11ee65c6881561d7d830818506082b0601050507010104793077302706082b06010505073001861b687474703a2f2f3132372e302e302e313a32303239302f6f637370304c06082b060105050730028640687474703a2f2f3132372e302e302e313a32303239302f6973737565722f6973735f30316d37667965346d72653262743477763135773364653763672e637274301e0603551d110101ff04143012821061302d6e302e6e6f6465732e7465737430130603551d20040c300a3008060667810c01020130500603551d1f044930473045a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d72653262743477763135773364653763672f362e63726c300a06082a8648ce3d040302034800304502201fe15c09b53df3f901b1d748d607e88a5d163c9dc1bcaec1cb1513aa7638f20a022100b1c98d38d2f35833bff9af4e48f01e34797bb3978d51b132c76dd03df6f0e1fc', '', 'ec-p256', '\x77e769bb562562d0b63ca9e50be3585e8673eaaf8c58a809b8aa289da7657340', 1794757825000, 1802533824000, '485ff3bab776e087e643c3e6ed2552942a024d4be9b3da54224976e5d8d9b4cb', 1794757828100, NULL, NULL, NULL, 6, 1794757827709, 1794757828100, 3);
INSERT INTO public.certificates VALUES ('cert_01m7fye7pnesxtwn42p8x4nvqs', 'ord_01m7fye7pnesx9zf272fcapyw5', 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'e326cb12-aac5-460c-8792-edb97c2f2e5d', 'acme', 'TLS-90d', '["a1-n0.nodes.test"]', NULL, 'issued', 1794757828633, NULL, 'iss_01m7fye4mre2bt4wv15w3de7cg', '6cd5c1f5a7f2fe7cee9815ecf93063080e522177', NULL, '\x3082029d30820244a00302010202146cd5c1f5a7f2fe7cee9815ecf93063080e522177300a06082a8648ce3d0403023041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204531301e170d3236313131353135353032355a170d3237303231333135353032345a30003059301306072a8648ce3d020106082a8648ce3d0301070342000434e26c95b8e080585dcc1b1cf57f18ff1ced0a4df43c88eac7394e397b7465e7610fc4480ce646212c8ab277df77ba71652b40b2a272395aa3c44436f756d0c0a382015930820155300e0603551d0f0101ff04040302078030130603551d25040c300a06082b06010505070301301f0603551d230418301680148055223f5182155344cffc11ee65c6881561d7d830818506082b0601050507010104793077302706082b06010505073001861b687474703a2f2f3132372e302e302e313a32303239302f6f637370304c06082b060105050730028640687474703a2f2f3132372e302e302e313a32303239302f6973737565722f6973735f30316d37667965346d72653262743477763135773364653763672e637274301e0603551d110101ff04143012821061312d6e302e6e6f6465732e7465737430130603551d20040c300a3008060667810c01020130500603551d1f044930473045a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d72653262743477763135773364653763672f372e63726c300a06082a8648ce3d040302034700304402207484fcf81c9038e1b9d5b7770cb7023a55239d8662d2d965615f8ff7dfdef78c022046dd68d9da6f6649c506c2f4cd452a95a09f39d2f73430c5056797c55b777ad5', '', 'ec-p256', '\x084e0e3bf720af83d68e2f93c93bde1fbd58fdd7dd277f87ca255d2e69333884', 1794757825000, 1802533824000, '0bedffbd7d6f37730ed1df80d5787d9d098fbcddbb55965340c27ba02ab45646', 1794757828633, NULL, NULL, NULL, 7, 1794757828309, 1794757828633, 3);
INSERT INTO public.certificates VALUES ('cert_01m7fye88zedavqn9wkspjxpem', 'ord_01m7fye88zedab7pb6gdmrwg93', 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'e326cb12-aac5-460c-8792-edb97c2f2e5d', 'acme', 'TLS-90d', '["a0-n1.nodes.test"]', NULL, 'pending', 1794757828895, 1795362628895, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1794757828895, 1794757828895, 1);


--
-- Data for Name: client_secrets; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.client_secrets VALUES ('cli_01m7fye5ffer49wqhz5k6zfkz3', '\xefce4d18d12494707ffafe1a6727a25f5e806c692017f04df6589cbde4f8ab7b', 1794757826031);


--
-- Data for Name: clients; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.clients VALUES ('cli_01m7fye5ffer49wqhz5k6zfkz3', 'rsl_01m7fye51eep6acgh0ygbf334b', 'client', 'reseller read:order write:order read:authorization write:authorization read:certificate write:certificate read:challenge write:challenge read:account write:account', 0, NULL, 1794757826031, 1794757826031, 1);


--
-- Data for Name: crls; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.crls VALUES ('iss_01m7fye4mre2bt4wv15w3de7cg', 5, 0, 1794757826772, 0, 1794757826772, 0, '\x308201573081fe020101300a06082a8648ce3d0403023041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204531170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d230418301680148055223f5182155344cffc11ee65c6881561d7d8300f0603551d140408020601a1dfe718d430540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d72653262743477763135773364653763672f352e63726c8101ff300a06082a8648ce3d0403020348003045022100a22f118b19452551e2af25aaac8bc257e46191f84e1d855edb3e2fdeebd6820a02202a6180202bcdee37fec14e77955262f30bffb4b5056d4d95509ccee2ea49fcb5', 1794757826000, 1795362626000, 1794757826772);
INSERT INTO public.crls VALUES ('iss_01m7fye4mqeyrtj7a1h7x3r974', -1, 0, 1794757826590, 0, 1794757826590, 0, '\x3082011b3081a2020101300a06082a8648ce3d040303303d310b30090603550406130258583111300f060355040a0c084368616e63657279311b301906035504030c124368616e6365727920526f6f742043412031170d3236313131353135353032365a170d3236313132323135353032365aa0343032301f0603551d23041830168014ffb15c529c3584a267e4fafe93852b1bcd9878c2300f0603551d140408020601a1dfe7181e300a06082a8648ce3d040303036800306502310097c5dd2ed1b7714c9fab5523d704f25eed766920d4947673e4d83c63c5f769182f4c88a55c5c787b8e67f70b760f42ea0230726d9e2917c8d4489c1672ef10b147a1d76c16c1db3137b64f30e012b0bf02f59b965a5df256141e8811b22425b412a7', 1794757826000, 1795362626000, 1794757826590);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7krcqebfen23dx4', 0, 0, 1794757826816, 0, 1794757826816, 0, '\x308201763081fe020101300a06082a8648ce3d0403033041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204532170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014a9b8c76461ccb99bf0ef12ecc3280b59722a35fb300f0603551d140408020601a1dfe7190030540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376b726371656266656e32336478342f302e63726c8101ff300a06082a8648ce3d040303036700306402306a99851432610ef4527a129692074146c7f40393a9bd2ad96e313a32dbf6989606b3a5248c8c48d5ce1a5326ac4d53d502301c100db3761304953bab116d417947577812729885f0e53dcdf3c865ecae6d923ef26351a27969e2b1076217b7a833ad', 1794757826000, 1795362626000, 1794757826816);
INSERT INTO public.crls VALUES ('iss_01m7fye4mre2bt4wv15w3de7cg', 0, 0, 1794757826620, 0, 1794757826620, 0, '\x308201573081fe020101300a06082a8648ce3d0403023041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204531170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d230418301680148055223f5182155344cffc11ee65c6881561d7d8300f0603551d140408020601a1dfe7183c30540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d72653262743477763135773364653763672f302e63726c8101ff300a06082a8648ce3d0403020348003045022100d4eaa7d7e676155dd63212f2e4afa39216aec440b024118baeced38c9887e13b02203010127f553a330df2f69922baf328b5483435a5999a9a52f4121cacbce272eb', 1794757826000, 1795362626000, 1794757826620);
INSERT INTO public.crls VALUES ('iss_01m7fye4mre2bt4wv15w3de7cg', 7, 0, 1794757826795, 0, 1794757826795, 0, '\x308201573081fe020101300a06082a8648ce3d0403023041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204531170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d230418301680148055223f5182155344cffc11ee65c6881561d7d8300f0603551d140408020601a1dfe718eb30540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d72653262743477763135773364653763672f372e63726c8101ff300a06082a8648ce3d040302034800304502206b8388e7f3c7fdb440bb152d8f414f757e070e4fb059321222424634c6430dcc022100fd346a32bec19f3866344953273bc05241d036f039a2419c0c1030613f551648', 1794757826000, 1795362626000, 1794757826795);
INSERT INTO public.crls VALUES ('iss_01m7fye4mre2bt4wv15w3de7cg', 1, 0, 1794757826671, 0, 1794757826671, 0, '\x308201583081fe020101300a06082a8648ce3d0403023041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204531170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d230418301680148055223f5182155344cffc11ee65c6881561d7d8300f0603551d140408020601a1dfe7186f30540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d72653262743477763135773364653763672f312e63726c8101ff300a06082a8648ce3d04030203490030460221008004bd65adf2da2153854476d70c1efbafe327e829ebffc7b5e6c9dc0feb3fe8022100d03af76368734f0896f5e1d9e70a96f925ca9ed3a5e6674a0127c0604223e607', 1794757826000, 1795362626000, 1794757826671);
INSERT INTO public.crls VALUES ('iss_01m7fye4mre2bt4wv15w3de7cg', 6, 0, 1794757826778, 0, 1794757826778, 0, '\x308201573081fe020101300a06082a8648ce3d0403023041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204531170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d230418301680148055223f5182155344cffc11ee65c6881561d7d8300f0603551d140408020601a1dfe718da30540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d72653262743477763135773364653763672f362e63726c8101ff300a06082a8648ce3d0403020348003045022100b5496cd8ed1c210631c15888a32cd5558675052021ae14cfde84b8e93a6575c802203f46ea42d33abc7331cc00b0bd545e585c80ba67850cac52467c11966e394879', 1794757826000, 1795362626000, 1794757826778);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7krcqebfen23dx4', 4, 0, 1794757826887, 0, 1794757826887, 0, '\x308201773081fe020101300a06082a8648ce3d0403033041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204532170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014a9b8c76461ccb99bf0ef12ecc3280b59722a35fb300f0603551d140408020601a1dfe7194730540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376b726371656266656e32336478342f342e63726c8101ff300a06082a8648ce3d0403030368003065023100b92d4c66250fcc774c4ed4fb6d5f0b3837b85cd98fe9dd8d65e0f3a48b473c07332b97f9c3a14983ee169a62d6a1180c02306059b604d527fe8a8593705bb6fea2908a769dce09bc64add938404b85767d1e26480c68e1ebb92faf7509f2438a8581', 1794757826000, 1795362626000, 1794757826887);
INSERT INTO public.crls VALUES ('iss_01m7fye4mre2bt4wv15w3de7cg', 2, 0, 1794757826691, 0, 1794757826691, 0, '\x308201583081fe020101300a06082a8648ce3d0403023041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204531170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d230418301680148055223f5182155344cffc11ee65c6881561d7d8300f0603551d140408020601a1dfe7188330540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d72653262743477763135773364653763672f322e63726c8101ff300a06082a8648ce3d0403020349003046022100bff2e5ceb290c08e737f34a6e9616f2aa78132e0c460c3cea9d8e15c864ed0d70221009a10b6800435269a7eb675589bcfb654a3b70a6aca3ba3b8ab1226fb58e5fbe3', 1794757826000, 1795362626000, 1794757826691);
INSERT INTO public.crls VALUES ('iss_01m7fye4mre2bt4wv15w3de7cg', 3, 0, 1794757826721, 0, 1794757826721, 0, '\x308201563081fe020101300a06082a8648ce3d0403023041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204531170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d230418301680148055223f5182155344cffc11ee65c6881561d7d8300f0603551d140408020601a1dfe718a130540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d72653262743477763135773364653763672f332e63726c8101ff300a06082a8648ce3d040302034700304402200252596d51a8397b17a6204cad1a63754311c247d6362531ddd57709bd15ae2802205a650e0afa4002ba754f071b7811f820606c38d782fca925536a7842cf803b5e', 1794757826000, 1795362626000, 1794757826721);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7krcqebfen23dx4', 3, 0, 1794757826877, 0, 1794757826877, 0, '\x308201773081fe020101300a06082a8648ce3d0403033041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204532170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014a9b8c76461ccb99bf0ef12ecc3280b59722a35fb300f0603551d140408020601a1dfe7193d30540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376b726371656266656e32336478342f332e63726c8101ff300a06082a8648ce3d04030303680030650230121e5b99551262e2204ad15260531d495ff79722bec9f394277d844abea7add8a87ca9bd76d86692d82a10c409a959ed023100a56aa5b89c46d4bd5a88be5b3d7efb59d58abd8999104176d37a7875fc1f3efe66d1a2d248adc88a6ef5d4db71191901', 1794757826000, 1795362626000, 1794757826877);
INSERT INTO public.crls VALUES ('iss_01m7fye4mre2bt4wv15w3de7cg', 4, 0, 1794757826757, 0, 1794757826757, 0, '\x308201583081fe020101300a06082a8648ce3d0403023041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204531170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d230418301680148055223f5182155344cffc11ee65c6881561d7d8300f0603551d140408020601a1dfe718c530540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d72653262743477763135773364653763672f342e63726c8101ff300a06082a8648ce3d0403020349003046022100f6d4aa96205d2f8cfb71322f38ec05002fda3e7777582a292f0cd381069a518e022100bb7b4b92463b8e04ff384da7aa0b425e4012b8bf5ed4865892c5ef6ef34c1cbc', 1794757826000, 1795362626000, 1794757826757);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7krcqebfen23dx4', 1, 0, 1794757826846, 0, 1794757826846, 0, '\x308201763081fe020101300a06082a8648ce3d0403033041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204532170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014a9b8c76461ccb99bf0ef12ecc3280b59722a35fb300f0603551d140408020601a1dfe7191e30540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376b726371656266656e32336478342f312e63726c8101ff300a06082a8648ce3d040303036700306402301c1672bee1dd055a816170aa06c46f63b05977c529d5b51aaa49fc1440cff9017e74655be11b411391e8d351fb56a3c902301224d4280462758fe1ef40e1c2a2bfd43b55d58ab221612093a39799508b5be4b525c22b3c4c01521828071f11ea9660', 1794757826000, 1795362626000, 1794757826846);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7m90rhed669pc1t', 2, 0, 1794757826964, 0, 1794757826964, 0, '\x3082029930820101020101300d06092a864886f70d01010b05003041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341205231170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014463cea9cacd9767a84a5c392b3568be8ac0e27a9300f0603551d140408020601a1dfe7199430540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376d393072686564363639706331742f322e63726c8101ff300d06092a864886f70d01010b05000382018100bcce0745add9fb72dbbbb1317cb7836b67a75f46743303c361cf0c9241394b4d5f735407b36e78f52d709fbb8f703f9d49617970f092d292875166b83b88575508cde2473dfe322bb6ba314e4169ced8c56b301a671b98ab9404d4eb82bb2aa507f0485522db07a93368ea8772e1c46e4da33acd96de7cfa829ff01c06ca2621072bf17a67a78d6e7af3ba7bc056bdaaf4641ac6c7625aa6aad576b46e163c25d28c16536c096ff4448de567e1150af2f7f051c92bdd78f3fdc66faa7356f9bb1cfd83bf7ed9e8f3e124ead199f85ca152407b72cd2746adcac77423608802bf3c0982fb78d0107ccf83435cce2fa107ad6117a3f7631ca4e7283c680d80c1f854ae84fe70938b287ffd886e4b45ee05a84e07fcc74ec537235c0ee384de993f13d28d19b0bd66f6a7d1ee27cd9485599a438c85f35bfe222daf0938ee2b506f72f0c3b0c7c48b1258429c3c468c9e90fdc8e88216249dd29f967c4547a4c914ea9877569cf1e52826eee6c35c7c43ad4fd8ef693f2479d63ca490f484e16c38', 1794757826000, 1795362626000, 1794757826964);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7krcqebfen23dx4', 2, 0, 1794757826859, 0, 1794757826859, 0, '\x308201763081fe020101300a06082a8648ce3d0403033041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204532170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014a9b8c76461ccb99bf0ef12ecc3280b59722a35fb300f0603551d140408020601a1dfe7192b30540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376b726371656266656e32336478342f322e63726c8101ff300a06082a8648ce3d0403030367003064023056ea83fedfffd3f620b31a621efe308f204ef07cc77244d6987a0d6bafbbeffe00c9ba81f8d1718613d5d09f9508b4cc023055d793da57392f74c0f7730bc931cb2be423d3467e248586ad2243ccc9b5af122ee8e328d31631610a4e3e4802d080a2', 1794757826000, 1795362626000, 1794757826854);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7krcqebfen23dx4', 6, 0, 1794757826916, 0, 1794757826916, 0, '\x308201783081fe020101300a06082a8648ce3d0403033041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204532170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014a9b8c76461ccb99bf0ef12ecc3280b59722a35fb300f0603551d140408020601a1dfe7196430540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376b726371656266656e32336478342f362e63726c8101ff300a06082a8648ce3d0403030369003066023100ddd8427d0a9b2f03251a1a6b9c7da81c1702940919f36e11b641e85d76a93509b6624eb215f25fde4a595f7360eadcd6023100cde207a6691a33b23c0a00c68c45c828f094194c2269b9c859ad68b02e2edf76be603abd3da77d0a1ce5f8f479ccc0f5', 1794757826000, 1795362626000, 1794757826916);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7krcqebfen23dx4', 7, 0, 1794757826921, 0, 1794757826921, 0, '\x308201773081fe020101300a06082a8648ce3d0403033041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204532170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014a9b8c76461ccb99bf0ef12ecc3280b59722a35fb300f0603551d140408020601a1dfe7196930540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376b726371656266656e32336478342f372e63726c8101ff300a06082a8648ce3d0403030368003065023100bf09f37df331735fc4d2b550e8d7d735ec74589fee6211482888ac51f653b234fa6bf535bd92eccd787b3899645774e802301a8b9483ff8b63ca8534504f933923c77031e4d72c4aa5d88fe535ccef8efc7112f1ef6f18e878aa3f7dd6cd2191e427', 1794757826000, 1795362626000, 1794757826921);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7krcqebfen23dx4', 5, 0, 1794757826903, 0, 1794757826903, 0, '\x308201773081fe020101300a06082a8648ce3d0403033041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341204532170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014a9b8c76461ccb99bf0ef12ecc3280b59722a35fb300f0603551d140408020601a1dfe7195730540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376b726371656266656e32336478342f352e63726c8101ff300a06082a8648ce3d0403030368003065023100c9353387a40a62febe856bc1c7103799901932589e8811f1bddb889679f91da307186ad7af7963b23daeea3caaf8ef5402304ce795fd044805f6ed36dbd836932d7859ca15150303156598a3812bedf76615c8c8501b666a890aa721864716240d8f', 1794757826000, 1795362626000, 1794757826903);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7m90rhed669pc1t', 0, 0, 1794757826936, 0, 1794757826936, 0, '\x3082029930820101020101300d06092a864886f70d01010b05003041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341205231170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014463cea9cacd9767a84a5c392b3568be8ac0e27a9300f0603551d140408020601a1dfe7197830540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376d393072686564363639706331742f302e63726c8101ff300d06092a864886f70d01010b05000382018100830caf7713aacab11ee6678c327c9b317fb0e3f536f8071adb7efa9cd1986e032e816449a07118cc7d31421555a19f125f787dcb1d3eb76320544bcc2d531b31d19be1a21527f9b2428607172f5196a16ffa71f2af6d380d44da7b56e09f7eb89cf1535f1e697e804fde0acac800903b051b6af8f139b146c1af1d9a8fa628ee2dffec6e691177e966f40d16106a94e3631eacaab83a84e80af673212d72936e93fcfc78b7596cf0bb4e9bc3574d9fb46a7d809afd119ec97510590d7b5f8311561288146a1bd7eb0054965d2b056135cefa4540b228d3c4d49d7f1ca4796c76f2e783514e35c3b6774ed7aa3eea82b8625a5c7b840cd52075a0a9f7227cd4909fe5068612a30f451c062b7fec030d247bad25be1bd96cad69057724d8d98e3f77dd645f4ce33c8f39e7e5b8a62a164d5c04425027687af4df74103516bf91fb3bc7f314f42eefc8af6f5b88114f8f818e389ba1f3cafbddb6df9d7b01bfad6c1aa1a13deffe63c95b0b11e766493e490adf66636f56d9092c3e3d8fdb72a070', 1794757826000, 1795362626000, 1794757826936);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7m90rhed669pc1t', 1, 0, 1794757826954, 0, 1794757826954, 0, '\x3082029930820101020101300d06092a864886f70d01010b05003041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341205231170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014463cea9cacd9767a84a5c392b3568be8ac0e27a9300f0603551d140408020601a1dfe7198a30540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376d393072686564363639706331742f312e63726c8101ff300d06092a864886f70d01010b050003820181007334134015a78319c0557df87a5bb56384f2bc316a8421d28ab809281c42a613c2488dacb16abbef3412afe8a36223220395366720eaa07c51e39a2bb3b335dda9c46a1d43b5bb7f06137adc9435e694a1bd1b5a1018348e9d7f7abc44d7a9619eaa0399a94891ab8fb74d16bdca47b020d01bac79cd828368b32a5d05c864d24a9a0bbfa0711c20513a3433f1f08c5c19b563cd17b548d743edb6641c66f8614406efb46556f3a8f972e5bcf711c8dfc860eb4473b6be03d839d9cd5baf8c43d7c42a7c8c6affab5c841574224d45a2e566e293f34fb589d1b63b8cc4c6555231112749e9da36bf1cde0d48d5a929da06de7927dd7517e6a5d151b932ae65685d02322a2046f85b13249126a4661e16f3b3b3fc669ec8bd015c636449104fffeae4ae6f871b3ea7df6000e4cfdc1f9e7efc4e80028007a3b31c30054b8c1200993cfc989abf2d4513aa12d3149ef18339c8c73b997ba01d95e6627b73ca40276ca50043cddfb9e0e17793902e13dc5675bce60a36b0e2907c01e0b68a9ecd2d', 1794757826000, 1795362626000, 1794757826954);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7m90rhed669pc1t', 3, 0, 1794757826986, 0, 1794757826986, 0, '\x3082029930820101020101300d06092a864886f70d01010b05003041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341205231170d3236313131353135353032365a170d3236313132323135353032365aa0818b308188301f0603551d23041830168014463cea9cacd9767a84a5c392b3568be8ac0e27a9300f0603551d140408020601a1dfe719aa30540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376d393072686564363639706331742f332e63726c8101ff300d06092a864886f70d01010b05000382018100271055f306bcfaec570847eac0c13f9c986edb0815891509d1f4afee276af98c055e169486186a8d0350f1c82f6fd0d209e76f35388b5ce51c2bdcd1833e50bc10a2ec61849bfe9f7c0a581f6300fc2ef09ac0f97ad07d3aaf01cf68c2189d3a31dcd2e49c79dce922453f701704cdcda934dde7ddba2ea3373912af3b4bf86d4cc973f2cce2d37e4fe5a020b744889d78cc6e6ed4807c22ca16501a165e856f325f8d57e1392b92b379848ebbe68ddad15d51678c777b05c4e7bf596f8467db73e614f93fd6c682053058f13481ddc11aa259c1fe875bce0d0bea345a2f70c4d06bfd265d23de993c338065a0d2abed565cdca61fdc443d27af46607176f06b37c510e642c8de31d2619e629c31d1aa13f228b1be703240c2f7d1b49d5ea6ec5b3703926b3496a9dae7556cf47e10a66f39124f2fa55165175e178b3ee9d6a607ee18ba6e414cc49e9884fac68c716ac02f484551b8ffe50718cbe39501445bbe523d17fc32f15101033311a378ed2780bf8fefa9388bea5b93ee7a54203ced', 1794757826000, 1795362626000, 1794757826986);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7m90rhed669pc1t', 4, 0, 1794757827011, 0, 1794757827011, 0, '\x3082029930820101020101300d06092a864886f70d01010b05003041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341205231170d3236313131353135353032375a170d3236313132323135353032375aa0818b308188301f0603551d23041830168014463cea9cacd9767a84a5c392b3568be8ac0e27a9300f0603551d140408020601a1dfe719c330540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376d393072686564363639706331742f342e63726c8101ff300d06092a864886f70d01010b05000382018100581bff19b60f244187952ea8a2e543d0e7647bfc521047fc4f5e950fc9ae66ccd2b4d9be1331f016a7cfe9d15ff3a2a74959def89488d41aeeb07add83e4e17756be71930aaa524e3569ebaff75ab1a7fe72c9077ee1e12a319a28b6545d409f97b350243d89db50391c70a0fd789657cc7e0aefd3d5322a1c2ab865e4179feed9c99e8c38fb826b54f653288b4134fcb3b0ef85362cb45b221bb475a956e20a85c90a09c0af3476f002cf975298b35f1bad1bc7ec243cc154b1a69df24675ee3e2fc52874215ebb057161c003b9eb916feb0333115eb1e2e311f564ad1fb2da83fa908822fe787e7460dcf404780dc7620c007c576f9a17a71e838e79ba63ceabd398dee5cda73e8ca20fc82428f9c37cb00d0cd7d409e0cf3ed53ba1a41c50d26cae831cd3e4898d1c7cc5c99a71692c3043d8e8ea8d8dca196860bcca1b6c5043d5c6eb33edbb3733e08f82b228043e2baa77e33d22d86f3d404735579700a7d9bf3ff6d69fe8fb2b822b255597ec55e06a7db93051cf805e529fffdf916a', 1794757827000, 1795362627000, 1794757827011);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7m90rhed669pc1t', 5, 0, 1794757827023, 0, 1794757827023, 0, '\x3082029930820101020101300d06092a864886f70d01010b05003041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341205231170d3236313131353135353032375a170d3236313132323135353032375aa0818b308188301f0603551d23041830168014463cea9cacd9767a84a5c392b3568be8ac0e27a9300f0603551d140408020601a1dfe719cf30540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376d393072686564363639706331742f352e63726c8101ff300d06092a864886f70d01010b05000382018100504bb8d29eba8f90bdddf8c1291b8ad0b71e1c708356bcd389105211b19f2341380d0bc069a5c11093f6b3de8b88e99e0283f58260554e95a7c3b833ad33227b6572a90c1211bd11fef5f7dbe4f218f5a79e36471ebf27c6d6f71f7002244478643e0992d52945c542f3a201be2cba3541e2b46c0b988d6c26dd0654e6cdedbef5d1236cf7b008dd48b3b45b71be3e93fa667560b7f15601015353c6cd38969a8e31b22d81005c7dbc650b1e25e6414f8247bd471377ea9f6c70d2f7414dfe9d8cd43faaceb64038dfb0a0254ac45b236efcd989de5c49f41dd34d215882a7db4659c540ef680af30fdd7b65ac20e76760edee8ba27b750a6c07e1ddfac4d81d1107a6ab888d79baacbb04d3f1e4b480511ba920873db8f61b3ce9e2c5a4c3ff1bd1623edbd4e3f9aec9d205de5c75236e6d426ff3d25bf40d85becc138bd51bdeb3cf5a4e24b00a93325ad552b327b1857e1dd6d2f9afd012e0802c781a4abe2d709f16dc52695c1776e555b1d159a8b175c71837a2a79b0f2dff71a9d2cc92', 1794757827000, 1795362627000, 1794757827023);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7m90rhed669pc1t', 6, 0, 1794757827030, 0, 1794757827030, 0, '\x3082029930820101020101300d06092a864886f70d01010b05003041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341205231170d3236313131353135353032375a170d3236313132323135353032375aa0818b308188301f0603551d23041830168014463cea9cacd9767a84a5c392b3568be8ac0e27a9300f0603551d140408020601a1dfe719d630540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376d393072686564363639706331742f362e63726c8101ff300d06092a864886f70d01010b050003820181007b7ae28385deaa9aba1f8e3a481460d1f39510753941c3783a10cd5dba63940a65c3e0376e59d7406ebed428a15c49e20ce596817d3ab4dca10db1733ee141a60c9484683b1e98686eed436306567a3586b793033aeebfe37c33090caa677ddac8b4ba7454cfd046242f45607d5d7de4eb4430bfc5189741fda38c676e3153598607e26dd8f7a2a588e615225cef686817b35b57bea272795f4be83cbbc35a05725c3ed23472c83dcb08462d55308664ba03ea5f48d6415bffeed87bb047e2169a7917f5b75fb938440fc95d80597fd8689d256f4cfc040945f1fbe3c722b38fbaba53f207b4e7984cda1ab52d11ac54f1ca5c74d46e117fa9b602fe42a0fa98059a426c9974bc25a7f82d4060f078fcfdbf7cf6ace065fc26d2927359b4ce29560f1c223098f5657f01fc9e92e1d01d9eb3041cfed5f7a165fd7b71846ed63715825c8b9db4e3fe7bc6b5f9aa9fb610c61d0008e72484779a758fca5fdef21388f1579c1d1a7f7eef33cf2ade0c33efd65fe193080d77eabc9afce2ff39e778', 1794757827000, 1795362627000, 1794757827030);
INSERT INTO public.crls VALUES ('iss_01m7fye4mse7m90rhed669pc1t', 7, 0, 1794757827049, 0, 1794757827049, 0, '\x3082029930820101020101300d06092a864886f70d01010b05003041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341205231170d3236313131353135353032375a170d3236313132323135353032375aa0818b308188301f0603551d23041830168014463cea9cacd9767a84a5c392b3568be8ac0e27a9300f0603551d140408020601a1dfe719e930540603551d1c0101ff044a3048a043a041863f687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d7365376d393072686564363639706331742f372e63726c8101ff300d06092a864886f70d01010b05000382018100bb92f2cffb5492f2adcfb3c2b2e997dd85067c895796128e2c5951a6b5dad9549570fd93a69a05e0a68b6fa8a8396e24f43c37ae67e0e82df35c160bd579ae0db0efcc984d18d3f53b0126b8e9d7db416149f0067c2d9575a77026bbf2b6cb6a6ae6568a7598b5fb4a1322c0693126fe9b4cc24fe7e0049821684564f5b8176619bb78e3b6ba7c3bbaeda6649f24f583019539e615c2a2759cc0f3f93b9104ef2734c6f9a22aa6ac0d7d620e66cb255a45f245c72f3ed4e9e70afe5cec34637f1bbfc0f8d98da2c03c17eb960f68011d2a5c01999a051ac8d1086c5666d788f46930e41588a481667e3a53be9f5ab9c793144c002bbf62e2a6146dc83e998e74dee0f6d22c8bea4531c89917cdf36786475bbf3319460d5d24700d8154ce4deac043a903209032c3225372f7da9dbb0e5d900fc4fc7c516346facbce913825ead676163f059da13c051a2127c2b3fee3e7fcd690156528c7b93b96a18e5908a8dca83da984422efdfee8c660dea60d919eaa4e8fcbab0059286fe649397319ce', 1794757827000, 1795362627000, 1794757827049);


--
-- Data for Name: eab_credentials; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.eab_credentials VALUES ('eab_01m7fye6vte3w9fhx648mwa5ka', 1, 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'e326cb12-aac5-460c-8792-edb97c2f2e5d', 1, '\x01126b2d393832636331303234623330393838616c633c1c1ec80a9e0d7421addf0ddd07ad96bad6bb07b4ab3f31e8c6885e8e6a1ddb36e4c66cb227fbd006876f90d83cc6dde01f6fcf56a995a4ed21f70f37e72c4ca228d4145673dc8fd8c4', NULL, NULL, NULL, 2, 1794757827662, NULL, 1794757827450, 1794757827662, 3);


--
-- Data for Name: epochs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.epochs VALUES ('identity', 1);


--
-- Data for Name: group_members; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: group_policies; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: idempotency; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: issued_per_day; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.issued_per_day VALUES ('acc_01m7fye6vse28s159h13kxyp2e', 20772, 2);


--
-- Data for Name: issuer_chains; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: issuers; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.issuers VALUES ('iss_01m7fye4mqeyrtj7a1h7x3r974', NULL, 'Chancery Root CA 1', 'root', 'active', '\x3082021b308201a2a00302010202145df2a8540b90ed763e90149f8a9639b80fdaaf5b300a06082a8648ce3d040303303d310b30090603550406130258583111300f060355040a0c084368616e63657279311b301906035504030c124368616e6365727920526f6f742043412031301e170d3236313131353135353032355a170d3436313131303135353032345a303d310b30090603550406130258583111300f060355040a0c084368616e63657279311b301906035504030c124368616e6365727920526f6f7420434120313076301006072a8648ce3d020106052b810400220362000454f7dc26b71898503034485dfe3e179836934d02ceaa471542e036bc081d98640b812cfe850b71596282382225ab5aabb7702127090819d802fb2a750cc231d9572b43c3bde1bd749c9fcab856b210c775531305994603857384d863c59414eca3633061300f0603551d130101ff040530030101ff300e0603551d0f0101ff040403020106301d0603551d0e04160414ffb15c529c3584a267e4fafe93852b1bcd9878c2301f0603551d23041830168014ffb15c529c3584a267e4fafe93852b1bcd9878c2300a06082a8648ce3d040303036700306402303b378cb63df5b848f60ac81c8b6d450747053ad176535f88fb9498bf342a731617da5669546bb319f3b30307c8ce4aad02301b43b593c89f923d725558f3bf571eea021a495d10095fa428b93a5f3c5273931b393244a9228521f37c11d6ac4c002e', '\x01126b2d39383263633130323462333039383861d48a6b02278a8b7fa40cf66a6148a4331a5c1106a7d3206cc636e515b72925e4e0dfca93ada314cc986830a532b7c567e4927182c128647db3bed1098fcd96c02fffdb4b933371a3c6759e0ab1b9ffd4413d6102aea1a1345a0b4c84e65f602f3e78b3db5f92196e2fdf5870e6339f79fbc7e16c1e04d962865fb4f2ca68cc01d20608e920f6a7b7df36627a463cb7f8e85a9a3c78372bba626ebfe75281f4c4fd5fa8c7f7fb179f4bfa61006790bcb085ce9aad9fd90beffc070411acff4498ce7ef06cf9bbc980ccb009239cac01a5e342b6c74c', 1794757825175);
INSERT INTO public.issuers VALUES ('iss_01m7fye4mre2bt4wv15w3de7cg', 'iss_01m7fye4mqeyrtj7a1h7x3r974', 'Chancery Issuing CA E1', 'issuing', 'active', '\x308202e73082026da00302010202145c50f19757c52a8504d00344ee9f421d56e2777c300a06082a8648ce3d040303303d310b30090603550406130258583111300f060355040a0c084368616e63657279311b301906035504030c124368616e6365727920526f6f742043412031301e170d3236313131353135353032355a170d3331313131343135353032345a3041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e672043412045313059301306072a8648ce3d020106082a8648ce3d0301070342000488cbd9f5af809497e2d00c837ded2b31cb941fcbc24753c161d0157cc177429141df80d80ba1a141390a1f45c243c38ecd72b65163e327ae661f6fe896f34e51a38201453082014130120603551d130101ff040830060101ff020100300e0603551d0f0101ff04040302010630130603551d25040c300a06082b06010505070301301d0603551d0e041604148055223f5182155344cffc11ee65c6881561d7d8301f0603551d23041830168014ffb15c529c3584a267e4fafe93852b1bcd9878c230130603551d20040c300a3008060667810c010201305c06082b060105050701010450304e304c06082b060105050730028640687474703a2f2f3132372e302e302e313a32303239302f6973737565722f6973735f30316d37667965346d71657972746a37613168377833723937342e63727430530603551d1f044c304a3048a046a0448642687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d71657972746a37613168377833723937342f726f6f742e63726c300a06082a8648ce3d040303036800306502310092e92f89492078ba76c59ff1d6f694bf3bc23af7393c5856553695cad29bb4aff42c4c4ee9d3624d71ded792a7df474e023015b9de32c48f7252a84606429f5755c2e39901763f8ed31339e9a05632991556c246bbff4448a748ecf0b0d3289ad2d4', '\x01126b2d39383263633130323462333039383861b246e6a5c4a02387f240cb9c6844b821f073498e19b447594531a5afc5746add1c1e130911aaf9573e038f7b6f9443e5359cb2f7c2780a8e7e705b9d558961089ba5900d129ecc3b405d43c1b0eaa50905a859c8fccf4d7a503a8e5647287a3879823d1b3dba73bdcf5e7478f48fec6d4446598aeec2bbcee4a135a62c80d2bcac157f4aa00f5cb1fe19617b58fbe7e03161993d9bf5062866ac3151f9d86028be35f7495272', 1794757825176);
INSERT INTO public.issuers VALUES ('iss_01m7fye4mse7krcqebfen23dx4', 'iss_01m7fye4mqeyrtj7a1h7x3r974', 'Chancery Issuing CA E2', 'issuing', 'active', '\x308203033082028aa00302010202147e0124ae5197af6c376e2e294c604d208a2c2ad3300a06082a8648ce3d040303303d310b30090603550406130258583111300f060355040a0c084368616e63657279311b301906035504030c124368616e6365727920526f6f742043412031301e170d3236313131353135353032355a170d3331313131343135353032345a3041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e672043412045323076301006072a8648ce3d020106052b81040022036200046346fc4517f19560f8cde600fe11d45c3188f81bd3042ef56ed4adb7eb1b0d473110813b438e5563f0798b9e56c139d561054487b7089acbf924f29bf6a2bf33584d149dc264a134cc08c0f90cb4d247852cdb6787eccb2135498e5a8aea8429a38201453082014130120603551d130101ff040830060101ff020100300e0603551d0f0101ff04040302010630130603551d25040c300a06082b06010505070301301d0603551d0e04160414a9b8c76461ccb99bf0ef12ecc3280b59722a35fb301f0603551d23041830168014ffb15c529c3584a267e4fafe93852b1bcd9878c230130603551d20040c300a3008060667810c010201305c06082b060105050701010450304e304c06082b060105050730028640687474703a2f2f3132372e302e302e313a32303239302f6973737565722f6973735f30316d37667965346d71657972746a37613168377833723937342e63727430530603551d1f044c304a3048a046a0448642687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d71657972746a37613168377833723937342f726f6f742e63726c300a06082a8648ce3d0403030367003064023016946676cedd1edfda611cdab8965d8af57a2138706ec829bb7d0954d672b5574f526e9b6506eda15741c28d46785363023005c1c91e9680f3ee56ee7eca55a70019c068924f9450055e45281970bfa34f3d7e6ab82501acad9b324e49b723e838f4', '\x01126b2d39383263633130323462333039383861844ce46339ef627285658d6a6b41a4f062669fd1c26157ebe12853873cd44070b86f38d8ed93b0b39ef1bc02a986aaeeac0edc5ce7bc58839a5ba22aa9ee16f40338f2cc7b1960dabd24a4162321754b79480a5df29f2b107c43653327ffc88af4d0fab0bc0e222be11a1fc96a81c381b4085e56e570d39b727197d66dba2a51205e746f522e75b8cd6842fea64924fb6f2a6edcf17bbc4a7947ed979116a8650b597eb3345e29440c4e5ac1f17fed79c5447d4fd44bf1600aeda9800fc9c672800f5e3312decf5e2b64c34cc83e7cdcc9652108ad', 1794757825177);
INSERT INTO public.issuers VALUES ('iss_01m7fye4mse7m90rhed669pc1t', 'iss_01m7fye4mqeyrtj7a1h7x3r974', 'Chancery Issuing CA R1', 'issuing', 'active', '\x30820431308203b8a00302010202145fa6b3e5f721ce6b28ff789e067be7da0b35b40b300a06082a8648ce3d040303303d310b30090603550406130258583111300f060355040a0c084368616e63657279311b301906035504030c124368616e6365727920526f6f742043412031301e170d3236313131353135353032355a170d3331313131343135353032345a3041310b30090603550406130258583111300f060355040a0c084368616e63657279311f301d06035504030c164368616e636572792049737375696e67204341205231308201a2300d06092a864886f70d01010105000382018f003082018a0282018100c4fbff0b54d7f99eb9981366192041800dfaf9aa34e5f783df363ccc02955115149c67f55625bf8a3d6eed0dc46e0d9227e56eccb989765ecb82c103ceb6969a0df84d5ea91ad261f98615b52ab35ae95e660c570f496a831481105954cb0e8bf670a775a0665145ae50bbd9f4ce132a9712b052ad6f6e7ad48077f0ad9bbd4d9da28cdfb4c79e28243e717bc902ecec3197383ae4f01705a45207c99104fe9d4b66c245efc8bcf7fad01335627da3a633bdb23a4125c4b9050de1fdc2e3dd8f1352ba1414b1b6b8723a0a0081c3db7a65db25a2339eeec1312531987be8fd0ad56a483ce2e2a5489a4532956798a71c96e5095e3140ba3ff119d97697292a3a670e00cdc48ff04157fcb15d96759acd4042875b0fc40f9c5cdf2b53498edb33879364c09ae22e4aa30dddf8009fc10296585d863de91cea20be8c2e96cfb8bb7d577070f4d9e38795ddc7fbfe5550a8b0a369f20ea10dfcc22188f962b685d49eae982df09eb725aeea31ccba8e2dbcfa428230814d92c5aec46fd891681c570203010001a38201453082014130120603551d130101ff040830060101ff020100300e0603551d0f0101ff04040302010630130603551d25040c300a06082b06010505070301301d0603551d0e04160414463cea9cacd9767a84a5c392b3568be8ac0e27a9301f0603551d23041830168014ffb15c529c3584a267e4fafe93852b1bcd9878c230130603551d20040c300a3008060667810c010201305c06082b060105050701010450304e304c06082b060105050730028640687474703a2f2f3132372e302e302e313a32303239302f6973737565722f6973735f30316d37667965346d71657972746a37613168377833723937342e63727430530603551d1f044c304a3048a046a0448642687474703a2f2f3132372e302e302e313a32303239302f63726c2f6973735f30316d37667965346d71657972746a37613168377833723937342f726f6f742e63726c300a06082a8648ce3d040303036700306402303a2bb58ac0195454aebbe9b6c6bf4d3f86caa6a5ff4f3279e3d0962bb0e4b4be63ba5133fe0c16fffe053bfe00e7c69e023050db32179fd61879bfa2bd5d6eba485ffacbdf5eb4da573add170be8c508de8e4489dce8efb096667c4dcb943f902196', '\x01126b2d39383263633130323462333039383861feff2696cc359791045a00ede82252cd064726dc231c6ca644c4241af8aea7ef0945d3c1acad4473abf683e77a53bde8d2e083233ffc3f227e503582535fdc355494041ee2e393aa6f44c923c03435a705dc6880665470d2b5c1c9280284d3ae85900f8bd00a0138ee5f662cd192906853661d8e3b01622a368ff7849c12a3700a40abdb97d64ff8bba1a20df26154407b379613e975cda148e2e70cf8d85681dcd6c6a142b50bca3c791dcdca9e46c9db3905ec7ced8d42b982a0ae738ac6848c4e0fba1babd09e18f1f90c6e981d4e38fc5c594f644078ab5683a83592ab1987f1a76a18446fd5b1756bfed90ca2d484c7db8ef7464bd5121cd029bfaf2989114a0b4907d9febbdd297a193b41a2c6f3c27217be83cfcd303cc4b0c868e7ec6359c8dd8fcc5b5c0b479715986321111ae86410fd8629c51910b39df5d8ec9c34302fe6d4c5e4066a486647af846e85f76ee89b249fe270be0c9ee00b8608d46c4e01a667a9f9ac25cb26715f3411098a9534f121527af0d6a01ffb7972c79d357a227fbeaa3b4852e61de616f870bc1a5f95e5e844c9dc105723aa06abfa48763f8d24f10689654c295cb632d5239c57f115e230c1d9cff3377250c9af574d5c68f14916eeede194cf2dc9c7a44af8e3e7837db1b52ce33426f4b4e884adb197d101126fd97b6a40ef9f597904f4af7edfdab61c1aac31e1b1efaf7df6284451967d5b755ccb84a35487bb8f023908ec18d169876166c750082f56a729fc284b26669c0543bb2546a6b62edd0421f6288b1b0c2cd2683d0a7f4c96ceaba59ea29a181d472c00261079a8053c0102d2d37b665f24f987c17363854e9e8a38d788f4fd5b7249abaf7cda5b9d9f638c43667a5a540d98bba8f00fc76fd8fb9b3e38ded63ad211e5f91d9aabce080485760c597d4370c64fb194ccc9143b044fd23bc7d4c65dfe8405374de2f614203ef74e93c50ce399c577b39436c81d25d22932150fc4e85a028984bc52cb274f879bfd71593167b64dbb22999807dcfe02351f04a5a9107b4c13d283f700b9adc4cd73e6fd5857beb9ea5ddb5407ba7ddda6bc8b7d07da2bc5bd428d1437efd320547426ba880ea61998157c914b8ccfaada18f990853bc5c3632afe1cc6cd5f3efdf23fd195bcf9438f84bbec7298067b998ef84ffaf37b2e03ae25e9ede5af4edd7702c331e22b32f33879d3b9d1cf6cb5ec6b269189c281d4c474cad165b62ef6c0a517e78ec4f2fd187efa1090f2881fd59d31995a2a132a426c66d85980e88dc6ed9e7111c7e958afd5c2cf769fb5b388effd756d00677c6c018cca2fd92d0a4f178f3df6a28203dcee9d4f603af9b3661830bd24379522f9f383ad6e66f300378d2229beaa53eea809a84aab2ee2a61fa15713d211055c0120edc5a3fbfc7490755f78c02f5c025f68da0083cd178ea2fb4af70dbe585c42c07f8347d8d9e03449a433216b52b0f869f594c73b8351a7bc1c41903ca2deae1a32de4637a863add6df6715c5b43a33d4b39297d5cdabb30955ba6ea5abc87369c91ec1b49b4230604aecbcecc0339f3493acff65e72ae8f17b4c9c7b3e32dd78d83505ff737ffe15fd81ba59fd0e8e4c4e973cc059a8c397252efd762fc552afe79a74ac8e92447831e3096a1c6f353d789d049e3823ce7f1a160ddd62551b528c0eb67b33e22793394550d872e45a259f170dce2f843e6872a14b02106467c75aa6293856721245be3057e48d93c0cb257e0b7d9638e73140a6a4892b5ef073bff6db8b697aeca240f3b16c631020edf068558a337110dd507cd4b541e44783d9afbaf4d310aa453598ff8f80725c9da13cb1f4c37b1f8113c666619ba5e8f20f33edae92a65a08e402492e849db1b62c5d8c417826b22dbe02f230c1067d2e275593c5314e1dcc7e316cad8628c6b4fb698f6323b6d8ee4afeee20301a0e970284ef319d2a19db2ee022b5e686d945821d5e7426d383bddca876f2d21d481b82e20c818ec7ee273211308e1b1506821839a8b67996a13cf16820169cd67dd9f0689a93eec3ef20336790a3a7a3b82b6640c7afa91842fcdf2def2ddde14fcb750fa7040685e27d52970b23ea2c97655b4d035f61dd5ce52c4bbbde8758361de48f08a8a05a9a5f80d37015c22c1d2914c399e91a0693e3f28913c9bebd89a288eeb57609caa708f47a9ac2add5ca5ce629b904e8ae4b1d70252a466487822310685b9ef0add7c2b4b9a63e915f5834f15e4ae4a42e727b8daa68cc92aadbb9a6442d02d1576269ce1bf0f1a9b869297d4b8d6d06af26bd7c944a220e7d5525163b6fc697682b60c4971de731673661302f5852b63928a02de345fcd50a69f9f07b42ddac3f671f08c38c72228efd3c80cd951ab285e8239316950d0083ee15eaad5212876d76d26d6c45e4a2af2b2d38f3a1adb3b6f86ae3ecf2ead108a3973da6d5d39254b03b9af2a2953c599e7ab7ea7262c075f10f1c7bfa3b372c928a16b4725a5d44251dd6c35c68ee7d4111382b092e72872f31b0b32faf51c2f5285c7d2da1c9dffb689fc70f72405ef8f92190', 1794757825177);


--
-- Data for Name: jobs; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: orders; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.orders VALUES ('ord_01m7fye73xevvv18s8cp6qgder', 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'e326cb12-aac5-460c-8792-edb97c2f2e5d', 0, 'acme', 'TLS-90d', '["a0-n0.nodes.test"]', 'cert_01m7fye73xevwb8277rfre8ns0', '\x3081e930819002010030003059301306072a8648ce3d020106082a8648ce3d03010703420004860fb2f36b266e453a291ad5cafe25066865357e94b4e1b4689b6e67d9dc592f403c0a0023c9f460a41b4a6954c56bda050d8fc6ffc7d5544c18a16899d97910a02e302c06092a864886f70d01090e311f301d301b0603551d1104143012821061302d6e302e6e6f6465732e74657374300a06082a8648ce3d0403020348003045022100f9b6f2e686ffafa1a7ce1c1a4a80f82e6d26d88df8162dc458dd62dd82236785022045cda69a5f80e17b5c6209a1b124971ffb42e46902b8c7e75cf8d50f55c4bd11', NULL, NULL, NULL, '{}', 'valid', 1794757828100, NULL, 1794757827978, 1795362627709, 1794757827709, 1794757828100, 4, 'acme_01m7fye715ecdsygjr1qczvvww', NULL);
INSERT INTO public.orders VALUES ('ord_01m7fye7pnesx9zf272fcapyw5', 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'e326cb12-aac5-460c-8792-edb97c2f2e5d', 0, 'acme', 'TLS-90d', '["a1-n0.nodes.test"]', 'cert_01m7fye7pnesxtwn42p8x4nvqs', '\x3081e930819002010030003059301306072a8648ce3d020106082a8648ce3d0301070342000434e26c95b8e080585dcc1b1cf57f18ff1ced0a4df43c88eac7394e397b7465e7610fc4480ce646212c8ab277df77ba71652b40b2a272395aa3c44436f756d0c0a02e302c06092a864886f70d01090e311f301d301b0603551d1104143012821061312d6e302e6e6f6465732e74657374300a06082a8648ce3d04030203480030450220742a6507ee7f60c3deb0e96ba3ff8cae59eb17d0eb38330b64b8294e14e0a128022100e7144d2da47bf964d727b9bb37ca16b6cf24b21472521af963935870d8f87d6a', NULL, NULL, NULL, '{}', 'valid', 1794757828633, NULL, 1794757828502, 1795362628309, 1794757828309, 1794757828633, 4, 'acme_01m7fye72eeveberhwmwyby7ct', NULL);
INSERT INTO public.orders VALUES ('ord_01m7fye88zedab7pb6gdmrwg93', 'rsl_01m7fye51eep6acgh0ygbf334b', 'acc_01m7fye6vse28s159h13kxyp2e', 'e326cb12-aac5-460c-8792-edb97c2f2e5d', 0, 'acme', 'TLS-90d', '["a0-n1.nodes.test"]', 'cert_01m7fye88zedavqn9wkspjxpem', NULL, NULL, NULL, NULL, '{}', 'pending', 1794757828895, NULL, NULL, 1795362628895, 1794757828895, 1794757828895, 1, 'acme_01m7fye715ecdsygjr1qczvvww', NULL);


--
-- Data for Name: policies; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: resellers; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.resellers VALUES ('rsl_01m7fye51eep6acgh0ygbf334b', 'DEMO', 'Demo', 0, 1794757825582, 1794757825582, 1);


--
-- Data for Name: schema_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.schema_migrations VALUES (1, '0001_identity');
INSERT INTO public.schema_migrations VALUES (2, '0002_accounts');
INSERT INTO public.schema_migrations VALUES (3, '0003_groups_and_policies');
INSERT INTO public.schema_migrations VALUES (4, '0004_audit_and_idempotency');
INSERT INTO public.schema_migrations VALUES (5, '0005_orders');
INSERT INTO public.schema_migrations VALUES (6, '0006_acme');
INSERT INTO public.schema_migrations VALUES (7, '0007_acme_extensions');


--
-- Data for Name: service_secrets; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.service_secrets VALUES ('cursor', '\x01126b2d39383263633130323462333039383861abda96485584bc6ce5b9d809a27cc14356d1abe9ff254ea35133f246c7528c2c9cae3d9934bf53f6c278bc5b103c0eff3d4165012d35ddd9f7b75d93', 1794757824613);
INSERT INTO public.service_secrets VALUES ('nonce', '\x01126b2d3938326363313032346233303938386164a6d5f9f66e353899a1c9edd4b7d5ec03051823052b27e27d18441cbd813b79a96f97749ae7171810b1dc3b3fc5f6a9bd3fd5882e493130e54aef6f', 1794757824655);


--
-- Data for Name: token_keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.token_keys VALUES ('tok_01m7fye44wevxskq4qk0dpn0sp', '\x01126b2d3938326363313032346233303938386193d751976075abd69211e9bb4ec1164143cfb9d06d204828645c403959b714b9fe04795901734530deef356d4ecb82c597f459efa9f56c76b36d4b696ab16ae08ca2061a06c8f58931502d5ec2279acce3c02fe28e4bd096207d87cd745c11e499831d7807e2fe96e2207840edc72426df419c4978990ca11d1243e653b4e6b5c4f0a35da4d79db6a162f46520211e10ae74ed125f8c4affce135cc690f8b8fb3d0dfe6e5aee', '{"crv":"P-256","kty":"EC","x":"nHEAowCq9lFX2gstbP3QyMfavbhuaXCwrzcNWkARc-s","y":"0L9eS-hPzeKF_0iO9S64w6F2g0NNN0ft-0WaklQON3c"}', 1794757824668, 1794757824668);


--
-- Name: account_number; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.account_number', 1, true);


--
-- Name: account_groups account_groups_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.account_groups
    ADD CONSTRAINT account_groups_pkey PRIMARY KEY (id);


--
-- Name: account_groups account_groups_reseller_id_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.account_groups
    ADD CONSTRAINT account_groups_reseller_id_name_key UNIQUE (reseller_id, name);


--
-- Name: account_keys account_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.account_keys
    ADD CONSTRAINT account_keys_pkey PRIMARY KEY (account_id);


--
-- Name: accounts accounts_kid_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_kid_key UNIQUE (kid);


--
-- Name: accounts accounts_number_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_number_key UNIQUE (number);


--
-- Name: accounts accounts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);


--
-- Name: acme_accounts acme_accounts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.acme_accounts
    ADD CONSTRAINT acme_accounts_pkey PRIMARY KEY (id);


--
-- Name: acme_accounts acme_accounts_thumbprint_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.acme_accounts
    ADD CONSTRAINT acme_accounts_thumbprint_key UNIQUE (thumbprint);


--
-- Name: acme_nonces acme_nonces_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.acme_nonces
    ADD CONSTRAINT acme_nonces_pkey PRIMARY KEY (nonce);


--
-- Name: active_until_day active_until_day_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.active_until_day
    ADD CONSTRAINT active_until_day_pkey PRIMARY KEY (account_id, day);


--
-- Name: api_keys api_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);


--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);


--
-- Name: authorizations authorizations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authorizations
    ADD CONSTRAINT authorizations_pkey PRIMARY KEY (id);


--
-- Name: blocked_keys blocked_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.blocked_keys
    ADD CONSTRAINT blocked_keys_pkey PRIMARY KEY (key_hash);


--
-- Name: certificate_names certificate_names_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.certificate_names
    ADD CONSTRAINT certificate_names_pkey PRIMARY KEY (reseller_id, name, certificate_id);


--
-- Name: certificates certificates_order_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.certificates
    ADD CONSTRAINT certificates_order_id_key UNIQUE (order_id);


--
-- Name: certificates certificates_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.certificates
    ADD CONSTRAINT certificates_pkey PRIMARY KEY (id);


--
-- Name: certificates certificates_serial_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.certificates
    ADD CONSTRAINT certificates_serial_key UNIQUE (serial);


--
-- Name: client_secrets client_secrets_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.client_secrets
    ADD CONSTRAINT client_secrets_pkey PRIMARY KEY (client_id, hash);


--
-- Name: clients clients_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_pkey PRIMARY KEY (id);


--
-- Name: crls crls_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.crls
    ADD CONSTRAINT crls_pkey PRIMARY KEY (issuer_id, shard);


--
-- Name: eab_credentials eab_credentials_kid_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.eab_credentials
    ADD CONSTRAINT eab_credentials_kid_key UNIQUE (kid);


--
-- Name: eab_credentials eab_credentials_number_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.eab_credentials
    ADD CONSTRAINT eab_credentials_number_key UNIQUE (number);


--
-- Name: eab_credentials eab_credentials_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.eab_credentials
    ADD CONSTRAINT eab_credentials_pkey PRIMARY KEY (id);


--
-- Name: epochs epochs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.epochs
    ADD CONSTRAINT epochs_pkey PRIMARY KEY (name);


--
-- Name: group_policies group_policies_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_policies
    ADD CONSTRAINT group_policies_pkey PRIMARY KEY (group_id, policy_id);


--
-- Name: idempotency idempotency_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (reseller_id, idempotency_key);


--
-- Name: issued_per_day issued_per_day_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issued_per_day
    ADD CONSTRAINT issued_per_day_pkey PRIMARY KEY (account_id, day);


--
-- Name: issuer_chains issuer_chains_issuer_id_fingerprint_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issuer_chains
    ADD CONSTRAINT issuer_chains_issuer_id_fingerprint_key UNIQUE (issuer_id, fingerprint);


--
-- Name: issuer_chains issuer_chains_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issuer_chains
    ADD CONSTRAINT issuer_chains_pkey PRIMARY KEY (issuer_id, number);


--
-- Name: issuers issuers_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issuers
    ADD CONSTRAINT issuers_name_key UNIQUE (name);


--
-- Name: issuers issuers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issuers
    ADD CONSTRAINT issuers_pkey PRIMARY KEY (id);


--
-- Name: jobs jobs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (kind, subject);


--
-- Name: orders orders_certificate_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_certificate_id_key UNIQUE (certificate_id);


--
-- Name: orders orders_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);


--
-- Name: policies policies_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.policies
    ADD CONSTRAINT policies_pkey PRIMARY KEY (id);


--
-- Name: policies policies_reseller_id_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.policies
    ADD CONSTRAINT policies_reseller_id_name_key UNIQUE (reseller_id, name);


--
-- Name: resellers resellers_code_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resellers
    ADD CONSTRAINT resellers_code_key UNIQUE (code);


--
-- Name: resellers resellers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resellers
    ADD CONSTRAINT resellers_pkey PRIMARY KEY (id);


--
-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);


--
-- Name: service_secrets service_secrets_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.service_secrets
    ADD CONSTRAINT service_secrets_pkey PRIMARY KEY (name);


--
-- Name: token_keys token_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.token_keys
    ADD CONSTRAINT token_keys_pkey PRIMARY KEY (id);


--
-- Name: account_groups_by_reseller; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX account_groups_by_reseller ON public.account_groups USING btree (reseller_id, id DESC NULLS LAST);


--
-- Name: accounts_all; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_all ON public.accounts USING btree (reseller_id, id DESC NULLS LAST);


--
-- Name: accounts_all_suspended; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_all_suspended ON public.accounts USING btree (reseller_id, suspended, id DESC NULLS LAST);


--
-- Name: accounts_by_email; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_by_email ON public.accounts USING btree (reseller_id, email_key, id DESC NULLS LAST);


--
-- Name: accounts_live; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_live ON public.accounts USING btree (reseller_id, id DESC NULLS LAST) WHERE (deleted_at IS NULL);


--
-- Name: accounts_live_email; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX accounts_live_email ON public.accounts USING btree (reseller_id, email_key) WHERE (deleted_at IS NULL);


--
-- Name: accounts_live_external_id; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX accounts_live_external_id ON public.accounts USING btree (reseller_id, external_id) WHERE ((deleted_at IS NULL) AND (external_id IS NOT NULL));


--
-- Name: accounts_live_suspended; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_live_suspended ON public.accounts USING btree (reseller_id, suspended, id DESC NULLS LAST) WHERE (deleted_at IS NULL);


--
-- Name: acme_accounts_by_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX acme_accounts_by_account ON public.acme_accounts USING btree (account_id, id DESC NULLS LAST);


--
-- Name: acme_accounts_by_kid; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX acme_accounts_by_kid ON public.acme_accounts USING btree (kid, id DESC NULLS LAST);


--
-- Name: acme_nonces_old; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX acme_nonces_old ON public.acme_nonces USING btree (expires_at);


--
-- Name: api_keys_by_reseller; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX api_keys_by_reseller ON public.api_keys USING btree (reseller_id, id);


--
-- Name: audit_by_action; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_by_action ON public.audit USING btree (action, id DESC NULLS LAST);


--
-- Name: audit_by_actor; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_by_actor ON public.audit USING btree (actor, id DESC NULLS LAST);


--
-- Name: audit_by_request; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_by_request ON public.audit USING btree (request_id, id DESC NULLS LAST);


--
-- Name: audit_by_reseller; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_by_reseller ON public.audit USING btree (reseller_id, id DESC NULLS LAST);


--
-- Name: audit_by_subject; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_by_subject ON public.audit USING btree (subject, id DESC NULLS LAST);


--
-- Name: audit_refused; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_refused ON public.audit USING btree (id DESC NULLS LAST) WHERE (outcome = 'refused'::text);


--
-- Name: authorizations_by_order; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX authorizations_by_order ON public.authorizations USING btree (order_id, "position");


--
-- Name: authorizations_valid; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX authorizations_valid ON public.authorizations USING btree (account_id, identifier, expires_at) WHERE (state = 'valid'::text);


--
-- Name: authorizations_valid_below; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX authorizations_valid_below ON public.authorizations USING btree (account_id, namespace, expires_at) WHERE ((state = 'valid'::text) AND (namespace IS NOT NULL));


--
-- Name: certificates_by_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX certificates_by_account ON public.certificates USING btree (account_id, id DESC NULLS LAST);


--
-- Name: certificates_by_external_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX certificates_by_external_id ON public.certificates USING btree (reseller_id, external_id) WHERE (external_id IS NOT NULL);


--
-- Name: certificates_by_key_hash; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX certificates_by_key_hash ON public.certificates USING btree (key_hash) WHERE (key_hash IS NOT NULL);


--
-- Name: certificates_by_kid; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX certificates_by_kid ON public.certificates USING btree (kid, id DESC NULLS LAST);


--
-- Name: certificates_by_profile; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX certificates_by_profile ON public.certificates USING btree (reseller_id, profile, id DESC NULLS LAST);


--
-- Name: certificates_by_reseller; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX certificates_by_reseller ON public.certificates USING btree (reseller_id, id DESC NULLS LAST);


--
-- Name: certificates_by_state; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX certificates_by_state ON public.certificates USING btree (reseller_id, state, id DESC NULLS LAST);


--
-- Name: certificates_live; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX certificates_live ON public.certificates USING btree (account_id, not_after) WHERE (state = 'issued'::text);


--
-- Name: certificates_revoked; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX certificates_revoked ON public.certificates USING btree (issuer_id, crl_shard, serial) WHERE (revoked_at IS NOT NULL);


--
-- Name: clients_by_reseller; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX clients_by_reseller ON public.clients USING btree (reseller_id, id);


--
-- Name: eab_credentials_by_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX eab_credentials_by_account ON public.eab_credentials USING btree (account_id, id DESC NULLS LAST);


--
-- Name: eab_credentials_by_reseller; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX eab_credentials_by_reseller ON public.eab_credentials USING btree (reseller_id, id DESC NULLS LAST);


--
-- Name: eab_credentials_root; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX eab_credentials_root ON public.eab_credentials USING btree (account_id) WHERE (is_root = 1);


--
-- Name: group_members_by_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX group_members_by_account ON public.group_members USING btree (account_id, group_id);


--
-- Name: group_members_by_group; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX group_members_by_group ON public.group_members USING btree (group_id, account_id DESC NULLS LAST);


--
-- Name: group_policies_by_policy; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX group_policies_by_policy ON public.group_policies USING btree (policy_id, group_id);


--
-- Name: idempotency_by_age; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idempotency_by_age ON public.idempotency USING btree (created_at);


--
-- Name: jobs_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX jobs_due ON public.jobs USING btree (run_at);


--
-- Name: orders_by_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX orders_by_account ON public.orders USING btree (account_id, id DESC NULLS LAST);


--
-- Name: orders_by_acme_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX orders_by_acme_account ON public.orders USING btree (acme_account_id, id DESC NULLS LAST) WHERE (acme_account_id IS NOT NULL);


--
-- Name: orders_by_reseller; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX orders_by_reseller ON public.orders USING btree (reseller_id, id DESC NULLS LAST);


--
-- Name: orders_by_state; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX orders_by_state ON public.orders USING btree (reseller_id, state, id DESC NULLS LAST);


--
-- Name: orders_external_id; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX orders_external_id ON public.orders USING btree (reseller_id, external_id) WHERE (external_id IS NOT NULL);


--
-- Name: orders_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX orders_open ON public.orders USING btree (account_id, state, expires_at) WHERE (finalized_at IS NULL);


--
-- Name: orders_replacing; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX orders_replacing ON public.orders USING btree (replaces) WHERE (replaces IS NOT NULL);


--
-- Name: policies_by_reseller; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX policies_by_reseller ON public.policies USING btree (reseller_id, id DESC NULLS LAST);


--
-- Name: audit audit_is_never_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER audit_is_never_changed BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit FOR EACH STATEMENT EXECUTE FUNCTION public.audit_is_append_only();


--
-- Name: account_groups account_groups_reseller_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.account_groups
    ADD CONSTRAINT account_groups_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES public.resellers(id);


--
-- Name: account_keys account_keys_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.account_keys
    ADD CONSTRAINT account_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);


--
-- Name: accounts accounts_reseller_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES public.resellers(id);


--
-- Name: acme_accounts acme_accounts_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.acme_accounts
    ADD CONSTRAINT acme_accounts_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);


--
-- Name: acme_accounts acme_accounts_reseller_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.acme_accounts
    ADD CONSTRAINT acme_accounts_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES public.resellers(id);


--
-- Name: active_until_day active_until_day_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.active_until_day
    ADD CONSTRAINT active_until_day_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);


--
-- Name: api_keys api_keys_reseller_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES public.resellers(id);


--
-- Name: authorizations authorizations_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authorizations
    ADD CONSTRAINT authorizations_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);


--
-- Name: authorizations authorizations_acme_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authorizations
    ADD CONSTRAINT authorizations_acme_account_id_fkey FOREIGN KEY (acme_account_id) REFERENCES public.acme_accounts(id);


--
-- Name: authorizations authorizations_order_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authorizations
    ADD CONSTRAINT authorizations_order_id_fkey FOREIGN KEY (order_id) REFERENCES public.orders(id);


--
-- Name: authorizations authorizations_reseller_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authorizations
    ADD CONSTRAINT authorizations_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES public.resellers(id);


--
-- Name: certificate_names certificate_names_certificate_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.certificate_names
    ADD CONSTRAINT certificate_names_certificate_id_fkey FOREIGN KEY (certificate_id) REFERENCES public.certificates(id);


--
-- Name: certificates certificates_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.certificates
    ADD CONSTRAINT certificates_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);


--
-- Name: certificates certificates_issuer_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.certificates
    ADD CONSTRAINT certificates_issuer_id_fkey FOREIGN KEY (issuer_id) REFERENCES public.issuers(id);


--
-- Name: certificates certificates_order_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.certificates
    ADD CONSTRAINT certificates_order_id_fkey FOREIGN KEY (order_id) REFERENCES public.orders(id);


--
-- Name: certificates certificates_reseller_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.certificates
    ADD CONSTRAINT certificates_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES public.resellers(id);


--
-- Name: client_secrets client_secrets_client_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.client_secrets
    ADD CONSTRAINT client_secrets_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.clients(id);


--
-- Name: clients clients_reseller_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES public.resellers(id);


--
-- Name: crls crls_issuer_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.crls
    ADD CONSTRAINT crls_issuer_id_fkey FOREIGN KEY (issuer_id) REFERENCES public.issuers(id);


--
-- Name: eab_credentials eab_credentials_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.eab_credentials
    ADD CONSTRAINT eab_credentials_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);


--
-- Name: eab_credentials eab_credentials_reseller_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.eab_credentials
    ADD CONSTRAINT eab_credentials_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES public.resellers(id);


--
-- Name: group_members group_members_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_members
    ADD CONSTRAINT group_members_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);


--
-- Name: group_members group_members_group_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_members
    ADD CONSTRAINT group_members_group_id_fkey FOREIGN KEY (group_id) REFERENCES public.account_groups(id);


--
-- Name: group_policies group_policies_group_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_policies
    ADD CONSTRAINT group_policies_group_id_fkey FOREIGN KEY (group_id) REFERENCES public.account_groups(id);


--
-- Name: group_policies group_policies_policy_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_policies
    ADD CONSTRAINT group_policies_policy_id_fkey FOREIGN KEY (policy_id) REFERENCES public.policies(id);


--
-- Name: idempotency idempotency_reseller_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES public.resellers(id);


--
-- Name: issued_per_day issued_per_day_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issued_per_day
    ADD CONSTRAINT issued_per_day_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);


--
-- Name: issuer_chains issuer_chains_issuer_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issuer_chains
    ADD CONSTRAINT issuer_chains_issuer_id_fkey FOREIGN KEY (issuer_id) REFERENCES public.issuers(id);


--
-- Name: issuers issuers_parent_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issuers
    ADD CONSTRAINT issuers_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES public.issuers(id);


--
-- Name: orders orders_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);


--
-- Name: orders orders_acme_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_acme_account_id_fkey FOREIGN KEY (acme_account_id) REFERENCES public.acme_accounts(id);


--
-- Name: orders orders_reseller_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES public.resellers(id);


--
-- Name: policies policies_reseller_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.policies
    ADD CONSTRAINT policies_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES public.resellers(id);


--
-- PostgreSQL database dump complete
--

\unrestrict trFy9wlGt8sKEIhxFqKyNI2lYtl8O4pk4aDzMfsWhztqeYep8SXtQNsvwJI1sbN

