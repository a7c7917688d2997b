//! Control groups: what all processes of a cell may use together. One group per prisoner below the server's own,
//! so that a limit on the server holds for them too. Version 2 where it is delegated, version 1 where it is
//! writable; a host with neither is told so by [`Groups::about`].

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec};

mod host;

use self::host::Hierarchy;

/// What a group counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    Memory,
    Processes,
    Processor,
}

impl Controller {
    const ALL: [Self; 3] = [Self::Memory, Self::Processes, Self::Processor];

    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "pids",
            Self::Processor => "cpu",
        }
    }
}

/// What a cell's processes may use together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) memory_bytes: u64,
    pub(super) processes_max: u64,
    pub(super) cpu_millis: Option<u32>,
}

/// The server's groups.
#[derive(Debug)]
pub(super) struct Groups {
    hierarchies: Vec<Hierarchy>,
    problem: String,
    next: AtomicU64,
    /// Directories whose last process had not quite gone, and the process they wait for.
    leftovers: Mutex<Vec<(PathBuf, Option<Arc<OwnedFd>>)>>,
}

impl Groups {
    /// Finds what this host offers, tries it, and removes what a server left that was killed.
    pub(super) fn find() -> Self {
        let (hierarchies, problem) = match host::find() {
            Ok(hierarchies) => (hierarchies, "this host has no such control group".to_owned()),
            Err(error) => (Vec::new(), error.to_string()),
        };
        Self { hierarchies, problem, next: AtomicU64::new(0), leftovers: Mutex::default() }
    }

    /// A host without any.
    pub(super) fn none() -> Self {
        let problem = "not used".to_owned();
        let (next, leftovers) = (AtomicU64::new(0), Mutex::default());
        Self { hierarchies: Vec::new(), problem, next, leftovers }
    }

    /// How a controller is enforced, or why not.
    pub(super) fn about(&self, controller: Controller) -> Result<String, String> {
        let found = self.hierarchies.iter().find(|hierarchy| hierarchy.has(controller));
        match found {
            Some(hierarchy) => {
                Ok(format!("control group version {} for each worker", hierarchy.version()))
            }
            None => Err(self.problem.clone()),
        }
    }

    /// Makes a group with these limits, as far as the host has them.
    pub(super) fn make(self: &Arc<Self>, limits: Limits) -> io::Result<Group> {
        self.remove_leftovers();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let groups = Arc::clone(self);
        let mut group = Group { directories: Vec::new(), process: None, groups };
        for hierarchy in &self.hierarchies {
            if hierarchy.serves(limits) {
                let directory = hierarchy.directory().join(number.to_string());
                fs::create_dir(&directory)?;
                group.directories.push((hierarchy.clone(), directory.clone()));
                hierarchy.limit(&directory, limits)?;
            }
        }
        Ok(group)
    }

    fn remove_leftovers(&self) {
        let mut leftovers = self.leftovers.lock().unwrap_or_else(PoisonError::into_inner);
        leftovers.retain(|(directory, _)| fs::remove_dir(directory).is_err() && directory.exists());
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        let leftovers = self.leftovers.get_mut().unwrap_or_else(PoisonError::into_inner);
        for process in leftovers.iter().filter_map(|(_, process)| process.as_ref()) {
            let patience = Timespec { tv_sec: 1, tv_nsec: 0 };
            let mut polled = [PollFd::new(process, PollFlags::IN)];
            let _ = rustix::event::poll(&mut polled, Some(&patience));
        }
        self.remove_leftovers();
        for hierarchy in &self.hierarchies {
            drop(fs::remove_dir(hierarchy.directory()));
            drop(hierarchy.directory().parent().map(fs::remove_dir));
        }
    }
}

/// One prisoner's group. Dropping it removes it, if need be when the next one is made.
#[derive(Debug)]
pub(super) struct Group {
    directories: Vec<(Hierarchy, PathBuf)>,
    process: Option<Arc<OwnedFd>>,
    groups: Arc<Groups>,
}

impl Group {
    /// Says which process has to be gone before the group can be removed.
    pub(super) fn belongs_to(&mut self, process: &Arc<OwnedFd>) {
        self.process = Some(Arc::clone(process));
    }

    /// The files through which a process enters.
    pub(super) fn entrances(&self) -> io::Result<Vec<OwnedFd>> {
        let open = |(hierarchy, directory): &(Hierarchy, PathBuf)| {
            let file = fs::OpenOptions::new().write(true).open(hierarchy.entrance(directory))?;
            Ok(OwnedFd::from(file))
        };
        self.directories.iter().map(open).collect()
    }

    /// Whether the kernel ended a process because the group had no memory left.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let kills = self.memory().and_then(|(hierarchy, directory)| hierarchy.kills(directory));
        kills.is_some_and(|kills| kills > 0)
    }

    /// The memory the group's processes hold.
    pub(super) fn memory_bytes(&self) -> Option<u64> {
        self.memory().and_then(|(hierarchy, directory)| hierarchy.memory_bytes(directory))
    }

    fn memory(&self) -> Option<(&Hierarchy, &Path)> {
        let mut all = self.directories.iter();
        let found = all.find(|(hierarchy, _)| hierarchy.has(Controller::Memory));
        found.map(|(hierarchy, directory)| (hierarchy, directory.as_path()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let directories = self.directories.drain(..).map(|(_, directory)| directory);
        let mut leftovers = self.groups.leftovers.lock().unwrap_or_else(PoisonError::into_inner);
        let left = directories.filter(|directory| fs::remove_dir(directory).is_err());
        leftovers.extend(left.map(|directory| (directory, self.process.clone())));
    }
}
