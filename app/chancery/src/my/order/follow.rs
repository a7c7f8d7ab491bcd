//! An order, followed from where it stands to its certificate.

use std::path::PathBuf;
use std::time::Duration;

use chancery_client::wire::{CertificateWithChain, Order};
use chancery_client::{Error, Fetched, StatusCode};
use chancery_domain::{ChallengeType, Identifier};
use clap::Args;
use serde::Serialize;
use tokio::time::Instant;

use super::files::Files;
use super::journal::Journal;
use super::publish::{Pages, Publication, instructions};
use crate::failure::{Failure, Kind};
use crate::my::ask;
use crate::my::credentials::flag;
use crate::my::progress::Progress;
use crate::my::session::Session;
use crate::my::show::OrTrouble;
use crate::my::table::{Cell, details};

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// How control of the names is shown, and how long to wait.
#[derive(Args, Debug)]
pub struct FollowArgs {
    /// Show control of all names in this way: http-01, dns-01 or tls-alpn-01 [default: http-01, dns-01 for wildcards]
    #[arg(long, value_name = "TYPE", value_parser = way)]
    pub challenge: Option<ChallengeType>,
    /// Publish http-01 pages in this folder, which the web server of the names shows, and remove them afterwards
    #[arg(long, value_name = "DIR")]
    pub webroot: Option<PathBuf>,
    /// Do not ask: everything is published
    #[arg(long)]
    pub published: bool,
    /// Give up waiting after so many seconds; the order goes on, and can be resumed
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
}

fn way(text: &str) -> Result<ChallengeType, String> {
    let kind: ChallengeType = text.parse()?;
    match kind.needs_acme_account() {
        true => Err(format!("{kind} is bound to an ACME account, and can be shown through ACME alone")),
        false => Ok(kind),
    }
}

impl FollowArgs {
    /// Asked before anything is made or ordered.
    pub fn require_fit(&self, names: &[Identifier]) -> Result<(), Failure> {
        let Some(kind) = self.challenge else { return Ok(()) };
        match names.iter().find(|name| !kind.fits(name)) {
            None => Ok(()),
            Some(name) => Err(Failure::usage(format!("control of {name} cannot be shown by {kind}"))
                .advise("leave --challenge out, and each name is shown as it can be")),
        }
    }
}

/// What became of it, for scripts.
#[derive(Serialize)]
struct Told<'a> {
    order: &'a Order,
    /// What has to be published before it goes on.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    publish: &'a [Publication],
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<&'a CertificateWithChain>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Saved>,
}

#[derive(Serialize)]
struct Saved {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<PathBuf>,
    certificate: PathBuf,
}

pub struct Follow<'a> {
    pub session: &'a Session,
    pub args: FollowArgs,
    pub files: Files,
}

impl Follow<'_> {
    /// Until Ctrl-C, which only stops the watching.
    pub async fn run(&self, order: Order) -> Result<(), Failure> {
        let lookup = order.lookup.clone();
        tokio::select! {
            done = self.to_the_end(order) => done,
            _ = tokio::signal::ctrl_c() => {
                // Below the ^C of the terminal.
                self.session.show.note("");
                Err(self.later(Kind::Interrupted, &lookup, "stopped; the order stands where it stood"))
            }
        }
    }

    async fn to_the_end(&self, order: Order) -> Result<(), Failure> {
        let mut pages = Pages::default();
        if order.status == "pending" {
            let publications = self.publications(&order).await?;
            let waiting: Vec<_> = publications.iter().filter(|one| !one.looked_at).cloned().collect();
            if !self.is_published(&order, &publications, &mut pages).await? {
                self.show_what_to_publish(&order, &waiting)?;
                return Err(self.later(Kind::Waiting, &order.lookup, "the order waits until this is published"));
            }
            for publication in &waiting {
                self.have_looked_at(publication).await?;
            }
        }
        let certificate = match self.wait(&order.lookup).await {
            Err(Ended::Later(failure)) => return Err(failure),
            Err(Ended::ForGood(failure)) => {
                pages.remove();
                Journal::give_up(&order.lookup)?;
                return Err(failure);
            }
            Ok(certificate) => certificate,
        };
        pages.remove();
        self.files.finish(&format!("{}{}", certificate.certificate, certificate.chain))?;
        Journal::forget(&order.lookup)?;
        let order = self.session.client.orders().get(&order.lookup).await.or_trouble(&self.session.trouble)?;
        self.tell(&order, &certificate)
    }

    /// What has to be shown still, or is being looked at.
    pub async fn publications(&self, order: &Order) -> Result<Vec<Publication>, Failure> {
        let mut publications = Vec::new();
        for authorization in order.authorizations.iter().filter(|one| one.status == "pending") {
            if let Some(publication) = Publication::under_way(authorization) {
                publications.push(publication);
                continue;
            }
            let asked = self.session.client.orders().challenges(&authorization.lookup).await;
            let offered = asked.or_trouble(&self.session.trouble)?.challenges;
            let (wanted, resume) = (self.args.challenge, self.resume_command(&order.lookup));
            publications.push(Publication::choose(authorization, offered, wanted, &resume)?);
        }
        Ok(publications)
    }

    async fn is_published(
        &self,
        order: &Order,
        publications: &[Publication],
        pages: &mut Pages,
    ) -> Result<bool, Failure> {
        let all_pages = match &self.args.webroot {
            Some(webroot) if !publications.is_empty() => pages.write(webroot, publications)?,
            Some(_) | None => false,
        };
        if all_pages || self.args.published || publications.iter().all(|one| one.looked_at) {
            return Ok(true);
        }
        if self.session.show.json || !ask::somebody_is_there() {
            return Ok(false);
        }
        let waiting: Vec<_> = publications.iter().filter(|one| !one.looked_at).cloned().collect();
        self.show_what_to_publish(order, &waiting)?;
        let question = format!(
            "\nPress Enter when it can be seen from outside (or Ctrl-C, and later: {})",
            self.resume_command(&order.lookup)
        );
        // On a thread of its own, so that Ctrl-C is heard.
        let asked = tokio::task::spawn_blocking(move || ask::line(&question)).await;
        asked.map_err(Failure::failed)?.map(|_| true)
    }

    pub fn show_what_to_publish(&self, order: &Order, publish: &[Publication]) -> Result<(), Failure> {
        let told = Told { order, publish, certificate: None, files: None };
        self.session.show.thing(&told, || match publish {
            [] => format!("{} is {}; nothing has to be published.\n", order.lookup, order.status),
            publish => instructions(publish),
        })
    }

    async fn have_looked_at(&self, publication: &Publication) -> Result<(), Failure> {
        match self.session.client.orders().choose(&publication.challenge.lookup).await {
            Ok(_) => Ok(()),
            // It was tried before: the order tells what came of it.
            Err(Error::Api { status: StatusCode::GONE, .. }) => Ok(()),
            Err(error) => Err(self.session.trouble.explain(error)),
        }
    }

    /// Until the certificate is there, asking for it as soon as that can be done.
    async fn wait(&self, lookup: &str) -> Result<Box<CertificateWithChain>, Ended> {
        let (client, trouble) = (&self.session.client, &self.session.trouble);
        let end = Instant::now() + Duration::from_secs(self.args.timeout);
        let mut progress = Progress::begin(self.session.show.json);
        let mut pause = FIRST_PAUSE;
        loop {
            let order = match client.orders().get(lookup).await {
                Err(error @ Error::Api { status: StatusCode::GONE, .. }) => {
                    return Err(Ended::ForGood(trouble.explain(error)));
                }
                seen => seen.or_trouble(trouble)?,
            };
            match order.status.as_str() {
                "ready" => {
                    client.orders().finalize(lookup).await.or_trouble(trouble)?;
                    progress.tell("asked for the certificate");
                    continue;
                }
                "valid" => {
                    let fetched = client.certificates().get(&order.certificate_lookup).await.or_trouble(trouble)?;
                    if let Fetched::Issued(certificate) = fetched {
                        return Ok(certificate);
                    }
                }
                "invalid" => return Err(Ended::ForGood(failed(&order))),
                "cancelled" | "expired" => {
                    let failure = Failure::of(Kind::Missing, format!("the order is {}", order.status));
                    return Err(Ended::ForGood(failure.advise("order again: chancery my order create")));
                }
                _ => {}
            }
            if Instant::now() > end {
                return Err(self.later(Kind::Waiting, lookup, &format!("the order is {} still", order.status)).into());
            }
            progress.pause(pause, &waits_for(&order)).await;
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }

    fn tell(&self, order: &Order, certificate: &CertificateWithChain) -> Result<(), Failure> {
        let key = self.files.key.as_ref().map(|key| key.place.clone());
        let saved = Saved { key, certificate: self.files.certificate.clone() };
        let people = details(&[
            ("certificate", certificate.metadata.lookup.as_str().into()),
            ("names", Cell::list(&certificate.metadata.names)),
            ("issuer", Cell::maybe(certificate.metadata.issuer.as_ref())),
            ("valid until", Cell::maybe(certificate.metadata.not_after.as_ref())),
            ("key", saved.key.as_ref().map_or_else(Cell::default, |path| path.display().to_string().into())),
            ("chain", saved.certificate.display().to_string().into()),
        ]);
        let told = Told { order, publish: &[], certificate: Some(certificate), files: Some(saved) };
        self.session.show.thing(&told, || people)
    }

    /// It is not over: how to go on.
    fn later(&self, kind: Kind, lookup: &str, what: &str) -> Failure {
        Failure::of(kind, what).advise(format!("go on with: {}", self.resume_command(lookup)))
    }

    fn resume_command(&self, lookup: &str) -> String {
        format!("chancery my order resume {lookup}{}", flag(&self.session.trouble.profile))
    }
}

/// How waiting ended without a certificate.
enum Ended {
    /// The order stands, and can be gone on with.
    Later(Failure),
    /// There will be none.
    ForGood(Failure),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Later(failure)
    }
}

/// What the order itself says it waits for.
fn waits_for(order: &Order) -> String {
    let step = order.progress.iter().find(|step| step.status == "waiting");
    match step.map(|step| (step.step.as_str(), step.detail.as_deref())) {
        Some((step, Some(detail))) => format!("{step}: {detail}"),
        Some((step, None)) => format!("waiting for {step}"),
        None => format!("the order is {}", order.status),
    }
}

/// Why there will be no certificate: what was seen of each name says more than the order alone.
fn failed(order: &Order) -> Failure {
    let challenges = order.authorizations.iter().flat_map(|one| one.challenges.iter().map(move |each| (one, each)));
    let seen: Vec<_> = challenges
        .filter_map(|(one, challenge)| {
            let error = challenge.error.as_ref()?;
            Some(format!("{} by {}: {}", super::name(one), challenge.kind, error.detail))
        })
        .collect();
    let why = match (seen.is_empty(), &order.error) {
        (false, _) => seen.join("; "),
        (true, Some(error)) => error.detail.clone(),
        (true, None) => "the service does not say why".to_owned(),
    };
    Failure::failed(format!("the order failed: {why}")).advise(format!(
        "mend that and order again; chancery my order show {} --json shows everything that was seen",
        order.lookup
    ))
}
