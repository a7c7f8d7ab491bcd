//! An order, followed from where it stands to its certificate.

use std::path::PathBuf;
use std::time::Duration;

use chancery_client::wire::{CertificateWithChain, Order};
use chancery_client::{Error, Fetched, StatusCode};
use clap::Args;
use serde::Serialize;
use tokio::time::{Instant, sleep};

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
    #[arg(long, value_name = "TYPE")]
    pub challenge: Option<String>,
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
                Err(self.later(Kind::Interrupted, &lookup, "stopped; the order stands where it stood"))
            }
        }
    }

    async fn to_the_end(&self, order: Order) -> Result<(), Failure> {
        let mut pages = Pages::default();
        if order.status == "pending" {
            let publications = self.publications(&order).await?;
            if !self.is_published(&order, &publications, &mut pages).await? {
                self.show_what_to_publish(&order, &publications)?;
                return Err(self.later(Kind::Waiting, &order.lookup, "the order waits until this is published"));
            }
            for publication in &publications {
                self.have_looked_at(publication).await?;
            }
        }
        let certificate = self.wait(&order.lookup).await?;
        drop(pages);
        self.files.finish(&format!("{}{}", certificate.certificate, certificate.chain))?;
        Journal::forget(&order.lookup)?;
        let order = self.session.client.orders().get(&order.lookup).await.or_trouble(&self.session.trouble)?;
        self.tell(&order, &certificate)
    }

    /// What has to be shown still. A name that is being looked at already needs nothing more.
    pub async fn publications(&self, order: &Order) -> Result<Vec<Publication>, Failure> {
        let mut publications = Vec::new();
        for authorization in order.authorizations.iter().filter(|one| one.status == "pending") {
            if authorization.challenges.iter().any(|challenge| challenge.status != "pending") {
                continue;
            }
            let asked = self.session.client.orders().challenges(&authorization.lookup).await;
            let offered = asked.or_trouble(&self.session.trouble)?.challenges;
            publications.push(Publication::choose(authorization, offered, self.args.challenge.as_deref())?);
        }
        Ok(publications)
    }

    async fn is_published(
        &self,
        order: &Order,
        publications: &[Publication],
        pages: &mut Pages,
    ) -> Result<bool, Failure> {
        if publications.is_empty() || self.args.published {
            return Ok(true);
        }
        if let Some(webroot) = &self.args.webroot
            && pages.write(webroot, publications)?
        {
            return Ok(true);
        }
        if self.session.show.json || !ask::somebody_is_there() {
            return Ok(false);
        }
        self.show_what_to_publish(order, publications)?;
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
    async fn wait(&self, lookup: &str) -> Result<Box<CertificateWithChain>, Failure> {
        let (client, trouble) = (&self.session.client, &self.session.trouble);
        let end = Instant::now() + Duration::from_secs(self.args.timeout);
        let mut progress = Progress::begin(self.session.show.json);
        let mut pause = FIRST_PAUSE;
        loop {
            let order = client.orders().get(lookup).await.or_trouble(trouble)?;
            match order.status.as_str() {
                "ready" => {
                    client.orders().finalize(lookup).await.or_trouble(trouble)?;
                    progress.tell("asked for the certificate");
                    continue;
                }
                "valid" => {
                    if let Fetched::Issued(certificate) =
                        client.certificates().get(&order.certificate_lookup).await.or_trouble(trouble)?
                    {
                        return Ok(certificate);
                    }
                }
                "invalid" => return Err(failed(&order)),
                "cancelled" | "expired" => {
                    return Err(Failure::of(Kind::Missing, format!("the order is {}", order.status))
                        .advise("order again: chancery my order create"));
                }
                _ => {}
            }
            if Instant::now() > end {
                return Err(self.later(Kind::Waiting, lookup, &format!("the order is {} still", order.status)));
            }
            progress.tell(&waits_for(&order));
            sleep(pause).await;
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
