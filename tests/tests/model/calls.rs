//! What can be called, and how calls are drawn. Things are named by how long ago they were made: 0 is the last one.

use proptest::prelude::*;

/// One call at one of the doors, or something that happens behind them.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    CreateAccount {
        tenant: usize,
        email: usize,
    },
    Suspend {
        account: usize,
        who: Who,
    },
    Resume {
        account: usize,
        who: Who,
    },
    Terminate {
        account: usize,
        who: Who,
        revoke: bool,
    },
    CreateCredential {
        account: usize,
        who: Who,
    },
    RevokeCredential {
        credential: usize,
        who: Who,
    },

    CreateGroup {
        tenant: usize,
        name: usize,
    },
    DeleteGroup {
        group: usize,
        who: Who,
    },
    CreatePolicy {
        tenant: usize,
        name: usize,
        rule: Rule,
    },
    DeletePolicy {
        policy: usize,
        who: Who,
    },
    Assign {
        group: usize,
        policy: usize,
        who: Who,
    },
    Unassign {
        group: usize,
        policy: usize,
        who: Who,
    },
    AddMember {
        group: usize,
        account: usize,
        who: Who,
    },
    RemoveMember {
        group: usize,
        account: usize,
        who: Who,
    },

    Register {
        credential: usize,
        right: bool,
    },
    RegisterAgain {
        client: usize,
    },
    ChangeKey {
        client: usize,
        taken: bool,
    },
    SpeakWithOldKey {
        client: usize,
    },
    DeactivateClient {
        client: usize,
    },

    Order {
        account: usize,
        by_credential: bool,
        names: Names,
        key: usize,
        who: Who,
    },
    Codes {
        authorization: usize,
        who: Who,
    },
    Choose {
        authorization: usize,
        who: Who,
    },
    DeleteChallenge {
        authorization: usize,
        who: Who,
    },
    Finalize {
        order: usize,
        who: Who,
    },
    Cancel {
        order: usize,
        who: Who,
    },
    Show {
        order: usize,
        who: Who,
    },
    Download {
        order: usize,
        who: Who,
    },
    Revoke {
        order: usize,
        reason: Reason,
        who: Who,
    },

    AcmeOrder {
        client: usize,
        names: Names,
    },
    PreAuthorize {
        client: usize,
        name: Name,
    },
    Answer {
        authorization: usize,
        who: Who,
    },
    GiveUp {
        authorization: usize,
        who: Who,
    },
    AcmeFinalize {
        order: usize,
        who: Who,
        key: usize,
        other_names: bool,
    },
    AcmeShow {
        order: usize,
        who: Who,
    },
    AcmeDownload {
        order: usize,
        who: Who,
    },
    AcmeRevoke {
        order: usize,
        reason: Reason,
        who: Who,
    },
    RevokeByKey {
        order: usize,
        reason: Reason,
        right: bool,
    },

    /// What is looked for is not there.
    LookInVain {
        authorization: usize,
    },
    /// Every job is done; what is looked for is there.
    Work,
    Advance(Span),
}

/// Who calls: whose it is, or somebody else of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Owner,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    A,
    B,
}

impl Name {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::A => "a.test",
            Self::B => "b.test",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    A,
    B,
    Both,
}

impl Names {
    pub(crate) const ALL: [Self; 3] = [Self::A, Self::B, Self::Both];

    pub(crate) fn list(self) -> &'static [Name] {
        match self {
            Self::A => &[Name::A],
            Self::B => &[Name::B],
            Self::Both => &[Name::A, Name::B],
        }
    }

    pub(crate) fn texts(self) -> Vec<&'static str> {
        self.list().iter().map(|name| name.text()).collect()
    }

    /// Other names than these.
    pub(crate) fn others(self) -> Self {
        match self {
            Self::A | Self::Both => Self::B,
            Self::B => Self::Both,
        }
    }
}

/// The one rule of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    NothingIsIssued,
    NotB,
    OneName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Superseded,
    KeyCompromise,
}

impl Reason {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Superseded => 4,
            Self::KeyCompromise => 1,
        }
    }
}

/// How far the clock is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    Hours9,
    Days2,
    Days6,
    Days8,
    Days11,
    Days91,
}

impl Span {
    pub(crate) fn seconds(self) -> u64 {
        match self {
            Self::Hours9 => 9 * 3600,
            Self::Days2 => 2 * 86_400,
            Self::Days6 => 6 * 86_400,
            Self::Days8 => 8 * 86_400,
            Self::Days11 => 11 * 86_400,
            Self::Days91 => 91 * 86_400,
        }
    }
}

/// A sequence of calls: by themselves, and in stories that lead to a certificate when nothing comes in between.
pub(crate) fn sequences(longest: usize) -> BoxedStrategy<Vec<Call>> {
    let phrase = prop_oneof![3 => call().prop_map(|call| vec![call]), 1 => interrupted()];
    proptest::collection::vec(phrase, 1..=longest).prop_map(|phrases| phrases.concat()).boxed()
}

/// A story that may end early, and into which another call may come.
fn interrupted() -> BoxedStrategy<Vec<Call>> {
    (prop_oneof![acme_story(), reseller_story()], 3..20usize, call(), 0..20usize)
        .prop_map(|(mut story, end, call, place)| {
            story.truncate(end);
            if place <= story.len() {
                story.insert(place, call);
            }
            story
        })
        .boxed()
}

fn acme_story() -> BoxedStrategy<Vec<Call>> {
    (back(), names(), 0..3usize)
        .prop_map(|(client, names, key)| {
            let who = Who::Owner;
            let mut story = vec![Call::AcmeOrder { client, names }];
            story.extend((0..names.list().len()).map(|authorization| Call::Answer { authorization, who }));
            story.push(Call::Work);
            story.push(Call::AcmeFinalize { order: 0, who, key, other_names: false });
            story.push(Call::Work);
            story
        })
        .boxed()
}

fn reseller_story() -> BoxedStrategy<Vec<Call>> {
    (back(), any::<bool>(), names(), 0..3usize)
        .prop_map(|(account, by_credential, names, key)| {
            let who = Who::Owner;
            let mut story = vec![Call::Order { account, by_credential, names, key, who }];
            for authorization in 0..names.list().len() {
                story.extend([Call::Codes { authorization, who }, Call::Choose { authorization, who }]);
            }
            story.extend([Call::Work, Call::Finalize { order: 0, who }, Call::Work]);
            story
        })
        .boxed()
}

fn call() -> BoxedStrategy<Call> {
    prop_oneof![
        3 => parties(),
        2 => rules(),
        2 => clients(),
        6 => reseller(),
        6 => acme(),
        1 => back().prop_map(|authorization| Call::LookInVain { authorization }),
        4 => Just(Call::Work),
        1 => span().prop_map(Call::Advance),
    ]
    .boxed()
}

fn parties() -> BoxedStrategy<Call> {
    prop_oneof![
        3 => (0..2usize, 0..3usize).prop_map(|(tenant, email)| Call::CreateAccount { tenant, email }),
        2 => (back(), who()).prop_map(|(account, who)| Call::Suspend { account, who }),
        3 => (back(), who()).prop_map(|(account, who)| Call::Resume { account, who }),
        1 => (back(), who(), any::<bool>())
            .prop_map(|(account, who, revoke)| Call::Terminate { account, who, revoke }),
        2 => (back(), who()).prop_map(|(account, who)| Call::CreateCredential { account, who }),
        1 => (back(), who()).prop_map(|(credential, who)| Call::RevokeCredential { credential, who }),
    ]
    .boxed()
}

fn rules() -> BoxedStrategy<Call> {
    let rule = prop_oneof![Just(Rule::NotB), Just(Rule::OneName), Just(Rule::NothingIsIssued)];
    prop_oneof![
        2 => (0..2usize, 0..3usize).prop_map(|(tenant, name)| Call::CreateGroup { tenant, name }),
        1 => (back(), who()).prop_map(|(group, who)| Call::DeleteGroup { group, who }),
        2 => (0..2usize, 0..3usize, rule).prop_map(|(tenant, name, rule)| Call::CreatePolicy { tenant, name, rule }),
        2 => (back(), who()).prop_map(|(policy, who)| Call::DeletePolicy { policy, who }),
        3 => (back(), back(), who()).prop_map(|(group, policy, who)| Call::Assign { group, policy, who }),
        1 => (back(), back(), who()).prop_map(|(group, policy, who)| Call::Unassign { group, policy, who }),
        3 => (back(), back(), who()).prop_map(|(group, account, who)| Call::AddMember { group, account, who }),
        1 => (back(), back(), who()).prop_map(|(group, account, who)| Call::RemoveMember { group, account, who }),
    ]
    .boxed()
}

fn clients() -> BoxedStrategy<Call> {
    prop_oneof![
        4 => (back(), mostly()).prop_map(|(credential, right)| Call::Register { credential, right }),
        1 => back().prop_map(|client| Call::RegisterAgain { client }),
        2 => (back(), mostly()).prop_map(|(client, new)| Call::ChangeKey { client, taken: !new }),
        1 => back().prop_map(|client| Call::SpeakWithOldKey { client }),
        1 => back().prop_map(|client| Call::DeactivateClient { client }),
    ]
    .boxed()
}

fn reseller() -> BoxedStrategy<Call> {
    prop_oneof![
        5 => (back(), any::<bool>(), names(), 0..3usize, who()).prop_map(
            |(account, by_credential, names, key, who)| Call::Order { account, by_credential, names, key, who }
        ),
        4 => (back(), who()).prop_map(|(authorization, who)| Call::Codes { authorization, who }),
        5 => (back(), who()).prop_map(|(authorization, who)| Call::Choose { authorization, who }),
        1 => (back(), who()).prop_map(|(authorization, who)| Call::DeleteChallenge { authorization, who }),
        5 => (back(), who()).prop_map(|(order, who)| Call::Finalize { order, who }),
        1 => (back(), who()).prop_map(|(order, who)| Call::Cancel { order, who }),
        1 => (back(), who()).prop_map(|(order, who)| Call::Show { order, who }),
        1 => (back(), who()).prop_map(|(order, who)| Call::Download { order, who }),
        2 => (back(), reason(), who()).prop_map(|(order, reason, who)| Call::Revoke { order, reason, who }),
    ]
    .boxed()
}

fn acme() -> BoxedStrategy<Call> {
    prop_oneof![
        5 => (back(), names()).prop_map(|(client, names)| Call::AcmeOrder { client, names }),
        1 => (back(), any::<bool>()).prop_map(|(client, b)| {
            Call::PreAuthorize { client, name: if b { Name::B } else { Name::A } }
        }),
        6 => (back(), who()).prop_map(|(authorization, who)| Call::Answer { authorization, who }),
        1 => (back(), who()).prop_map(|(authorization, who)| Call::GiveUp { authorization, who }),
        6 => (back(), who(), 0..3usize, mostly()).prop_map(|(order, who, key, right)| {
            Call::AcmeFinalize { order, who, key, other_names: !right }
        }),
        1 => (back(), who()).prop_map(|(order, who)| Call::AcmeShow { order, who }),
        1 => (back(), who()).prop_map(|(order, who)| Call::AcmeDownload { order, who }),
        2 => (back(), reason(), who()).prop_map(|(order, reason, who)| Call::AcmeRevoke { order, reason, who }),
        1 => (back(), reason(), mostly()).prop_map(|(order, reason, right)| Call::RevokeByKey { order, reason, right }),
    ]
    .boxed()
}

/// How many of its kind were made since.
fn back() -> impl Strategy<Value = usize> {
    prop_oneof![5 => Just(0usize), 3 => Just(1usize), 3 => 2..8usize]
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![12 => Just(Who::Owner), 1 => Just(Who::Other)]
}

fn mostly() -> impl Strategy<Value = bool> {
    prop_oneof![6 => Just(true), 1 => Just(false)]
}

fn names() -> impl Strategy<Value = Names> {
    prop_oneof![3 => Just(Names::A), 1 => Just(Names::B), 1 => Just(Names::Both)]
}

fn reason() -> impl Strategy<Value = Reason> {
    prop_oneof![3 => Just(Reason::Superseded), 1 => Just(Reason::KeyCompromise)]
}

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        4 => Just(Span::Hours9),
        4 => Just(Span::Days2),
        3 => Just(Span::Days6),
        2 => Just(Span::Days8),
        2 => Just(Span::Days11),
        1 => Just(Span::Days91),
    ]
}
