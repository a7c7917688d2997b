//! What this host can enforce, found out by trying it in a child that starts nothing.

use std::io;
use std::os::fd::AsFd as _;

use folio_core::ports::runtime::Enforcement;
use folio_model::Network;
use rustix::process::{getegid, geteuid};

use super::groups::{Controller, Groups};
use super::interpreters::Interpreters;
use super::kernel::namespace;
use super::open::Opened;
use super::orders::{Birth, Confinement, Identity, Message, Orders, Reach, Step, Work};
use super::system;
use super::warden::Warden;

/// The user who owns nothing on most hosts.
const NOBODY: u32 = 65534;

const ALL: u32 = namespace::MOUNT
    | namespace::HOST_NAME
    | namespace::IPC
    | namespace::USER
    | namespace::PID
    | namespace::NETWORK;

/// What works here.
#[derive(Debug, Clone)]
pub(super) struct Host {
    pub(super) birth: Birth,
    /// What every step of a prisoner's way into its cell said.
    steps: Vec<(Step, Result<String, String>)>,
}

impl Host {
    /// Tries the strongest combination first.
    pub(super) fn probe(warden: &Warden) -> Result<Self, String> {
        let mut first = None;
        for birth in candidates() {
            match attempt(warden, birth) {
                Ok(steps) => return Ok(Self { birth, steps }),
                Err(error) => drop(first.get_or_insert(error)),
            }
        }
        Err(first.map_or_else(String::new, |error| error.to_string()))
    }

    pub(super) fn has(&self, namespace: u32) -> bool {
        self.birth.namespaces & namespace != 0
    }

    /// The steps a prisoner goes without.
    pub(super) fn without(&self) -> Vec<Step> {
        let failed = self.steps.iter().filter(|(_, said)| said.is_err());
        failed.map(|(step, _)| *step).collect()
    }

    fn said(&self, step: Step) -> Result<String, String> {
        let found = self.steps.iter().find(|(one, _)| *one == step);
        found.map_or_else(|| Err("not tried".to_owned()), |(_, said)| said.clone())
    }
}

/// Who a server without a jail runs its prisoners as: itself.
pub(super) fn own_identity() -> Identity {
    Identity { user: geteuid().as_raw(), group: getegid().as_raw(), chosen: false }
}

fn candidates() -> Vec<Birth> {
    let own = own_identity();
    let nobody = Identity { user: NOBODY, group: NOBODY, chosen: true };
    let identities = match geteuid().is_root() {
        true => vec![(nobody, namespace::USER), (own, namespace::USER), (nobody, 0)],
        false => vec![(own, namespace::USER)],
    };
    let mut births = Vec::new();
    for network in [namespace::NETWORK, 0] {
        for (identity, user) in &identities {
            let namespaces = ALL & !namespace::USER & !namespace::NETWORK | user | network;
            births.push(Birth { namespaces, identity: *identity });
        }
    }
    births
}

fn attempt(warden: &Warden, birth: Birth) -> io::Result<Vec<(Step, Result<String, String>)>> {
    let alone = birth.namespaces & namespace::NETWORK != 0;
    let confinement = Confinement {
        identity: birth.identity,
        network: if alone { Reach::Nothing } else { Reach::Outward(None) },
        tmp_bytes: 1 << 20,
        data_bytes_max: None,
        processes_max: 16,
        file_bytes_max: 1 << 20,
        without: Vec::new(),
    };
    let orders = Orders {
        work: Work::Probe,
        root: system::root(Network::None, birth.identity, &Interpreters::default()),
        confinement: Some(confinement),
        groups: 0,
        forward: None,
    };
    // A probe reads and prints nothing, but its baggage is unpacked like that of any other.
    let null = std::fs::File::open("/dev/null")?;
    match Opened::new(warden, birth)?.order(&orders, &[null.as_fd(); 3])? {
        Message::Report(steps) => Ok(steps),
        _ => Err(io::Error::other("the probe gave no answer")),
    }
}

/// The list for people.
pub(super) fn enforcement(host: &Result<Host, String>, groups: &Groups) -> Vec<Enforcement> {
    let mut list = Vec::new();
    let mut add = |name: &str, said: Result<String, String>| {
        let enforced = said.is_ok();
        let detail = said.unwrap_or_else(|reason| reason);
        list.push(Enforcement { name: name.to_owned(), enforced, detail });
    };
    let namespaces = [
        ("user namespace", namespace::USER, "users of the host mean nothing inside"),
        ("process namespace", namespace::PID, "processes outside cannot be named"),
        ("mount namespace", namespace::MOUNT, "a root of its own, read-only but for /tmp"),
        ("network namespace", namespace::NETWORK, "no network unless the environment has one"),
        ("ipc namespace", namespace::IPC, "no shared memory or queues with others"),
    ];
    let steps = [
        ("private /proc", Step::Proc),
        ("host name", Step::HostName),
        ("no privileges", Step::Privileges),
        ("landlock", Step::Landlock),
        ("system call filter", Step::Filter),
        ("file and descriptor limits", Step::Limits),
    ];
    for (name, flag, means) in namespaces {
        add(
            name,
            match host {
                Ok(host) if host.has(flag) => Ok(means.to_owned()),
                Ok(_) => Err("this host refuses it".to_owned()),
                Err(error) => Err(error.clone()),
            },
        );
    }
    add(
        "unprivileged user",
        match host {
            Ok(host) if host.birth.identity.user == 0 => {
                Err("prisoners are root outside".to_owned())
            }
            Ok(host) => Ok(format!("user {} outside", host.birth.identity.user)),
            Err(error) => Err(error.clone()),
        },
    );
    for (name, step) in steps {
        add(name, host.as_ref().map_err(Clone::clone).and_then(|host| host.said(step)));
    }
    add(
        "memory limit",
        match (groups.about(Controller::Memory), host) {
            (Err(reason), Ok(_)) => {
                let instead = "each process is limited by itself, not all of them together";
                Err(format!("{reason}; {instead}"))
            }
            (said, _) => said,
        },
    );
    add(
        "process limit",
        match (groups.about(Controller::Processes), host) {
            (Err(_), Ok(host)) if host.has(namespace::USER) => {
                Ok("counted in each user namespace".to_owned())
            }
            (said, _) => said,
        },
    );
    add("processor limit", groups.about(Controller::Processor));
    list
}
