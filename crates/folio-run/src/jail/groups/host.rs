//! Where this host keeps its control groups, and what the files in them are called.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Controller, Limits};

/// Below the server's own group; all servers on a host share it, each with a directory of its own.
const SUBTREE: &str = "folio";
/// Where the server itself goes in version 2, which wants no process beside a subtree.
const SERVER: &str = "folio-server";
const PERIOD_US: u64 = 100_000;

/// One tree of groups and what it controls.
#[derive(Debug, Clone)]
pub(super) enum Hierarchy {
    /// Version 1: a tree per controller.
    One(Controller, PathBuf),
    /// Version 2: one tree for all.
    Two(Vec<Controller>, PathBuf),
}

impl Hierarchy {
    pub(super) fn version(&self) -> u8 {
        match self {
            Self::One(..) => 1,
            Self::Two(..) => 2,
        }
    }

    /// Where this server's groups are.
    pub(super) fn directory(&self) -> &Path {
        let (Self::One(_, directory) | Self::Two(_, directory)) = self;
        directory
    }

    pub(super) fn has(&self, controller: Controller) -> bool {
        match self {
            Self::One(only, _) => *only == controller,
            Self::Two(all, _) => all.contains(&controller),
        }
    }

    /// Whether a cell with these limits needs it: to enter a group takes time.
    pub(super) fn serves(&self, limits: Limits) -> bool {
        match self {
            Self::One(Controller::Processor, _) => limits.cpu_millis.is_some(),
            Self::One(..) | Self::Two(..) => true,
        }
    }

    pub(super) fn entrance(&self, group: &Path) -> PathBuf {
        match self {
            Self::One(..) => group.join("tasks"),
            Self::Two(..) => group.join("cgroup.procs"),
        }
    }

    pub(super) fn limit(&self, group: &Path, limits: Limits) -> io::Result<()> {
        let set = |file: &str, value: String| fs::write(group.join(file), value);
        let Limits { memory_bytes, processes_max, cpu_millis } = limits;
        let quota_us = cpu_millis.map(|millis| u64::from(millis) * PERIOD_US / 1000);
        if self.has(Controller::Processes) {
            set("pids.max", processes_max.to_string())?;
        }
        match self {
            Self::One(Controller::Memory, _) => {
                set("memory.limit_in_bytes", memory_bytes.to_string())?;
                // Absent where the kernel does not count swap, which is what happens to be off mostly.
                drop(set("memory.memsw.limit_in_bytes", memory_bytes.to_string()));
            }
            Self::One(Controller::Processor, _) => {
                if let Some(quota_us) = quota_us {
                    set("cpu.cfs_period_us", PERIOD_US.to_string())?;
                    set("cpu.cfs_quota_us", quota_us.max(1000).to_string())?;
                }
            }
            Self::One(Controller::Processes, _) => {}
            Self::Two(..) => {
                if self.has(Controller::Memory) {
                    set("memory.max", memory_bytes.to_string())?;
                    drop(set("memory.swap.max", "0".to_owned()));
                }
                if let (Some(quota_us), true) = (quota_us, self.has(Controller::Processor)) {
                    set("cpu.max", format!("{} {PERIOD_US}", quota_us.max(1000)))?;
                }
            }
        }
        Ok(())
    }

    /// How many processes the kernel ended for want of memory.
    pub(super) fn kills(&self, group: &Path) -> Option<u64> {
        let file = match self {
            Self::One(..) => "memory.oom_control",
            Self::Two(..) => "memory.events",
        };
        let text = fs::read_to_string(group.join(file)).ok()?;
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
    }

    pub(super) fn memory_bytes(&self, group: &Path) -> Option<u64> {
        let file = match self {
            Self::One(..) => "memory.usage_in_bytes",
            Self::Two(..) => "memory.current",
        };
        fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
    }
}

/// The trees in which this server can make groups; each has been tried.
pub(super) fn find() -> io::Result<Vec<Hierarchy>> {
    let mounts = Mounts::read()?;
    if let Some(second) = mounts.version_two()
        && let Ok(Some(hierarchy)) = prepare_two(&second)
    {
        return Ok(vec![hierarchy]);
    }
    let mut found = Vec::new();
    let mut refused = None;
    for controller in Controller::ALL {
        let Some(own) = mounts.version_one(controller) else {
            continue;
        };
        match prepare(&own, &|directory| try_one(controller, directory)) {
            Ok(directory) => found.push(Hierarchy::One(controller, directory)),
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// Makes this server's directory below its own group, and says where it is.
fn prepare(own: &Path, attempt: &dyn Fn(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
    let subtree = own.join(SUBTREE);
    let about = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot make control groups: {error}"))
    };
    tidy(&subtree);
    let directory = subtree.join(server_name()?);
    // Another server that ends may remove the subtree just now.
    let made = (0..8).map(|_| fs::create_dir_all(&directory)).find(Result::is_ok);
    made.unwrap_or_else(|| fs::create_dir_all(&directory)).map_err(about)?;
    match attempt(&directory) {
        Ok(()) => Ok(directory),
        Err(error) => {
            drop(fs::remove_dir(&directory));
            Err(about(error))
        }
    }
}

fn try_one(controller: Controller, directory: &Path) -> io::Result<()> {
    let group = directory.join("attempt");
    fs::create_dir(&group)?;
    let limits = Limits { memory_bytes: 1 << 30, processes_max: 64, cpu_millis: Some(1000) };
    let tried = Hierarchy::One(controller, directory.to_owned()).limit(&group, limits);
    fs::remove_dir(&group)?;
    tried
}

/// Version 2 hands controllers down one level at a time, and only past groups without processes.
fn prepare_two(own: &Path) -> io::Result<Option<Hierarchy>> {
    let offered = fs::read_to_string(own.join("cgroup.controllers"))?;
    let offered: Vec<_> = offered.split_whitespace().collect();
    let has = |controller: &Controller| offered.contains(&controller.name());
    let controllers: Vec<_> = Controller::ALL.into_iter().filter(has).collect();
    if !controllers.contains(&Controller::Memory) {
        return Ok(None);
    }
    let names: Vec<_> = controllers.iter().map(|one| format!("+{}", one.name())).collect();
    let names = names.join(" ");
    let hand_down = |group: &Path| fs::write(group.join("cgroup.subtree_control"), &names);
    if hand_down(own).is_err() {
        make_room(own)?;
        hand_down(own)?;
    }
    let directory = prepare(own, &|directory| {
        hand_down(&own.join(SUBTREE))?;
        hand_down(directory)
    })?;
    Ok(Some(Hierarchy::Two(controllers, directory)))
}

/// Moves this process one level down, if it is alone.
fn make_room(own: &Path) -> io::Result<()> {
    let me = std::process::id().to_string();
    let inhabitants = fs::read_to_string(own.join("cgroup.procs"))?;
    if inhabitants.lines().any(|pid| pid != me) {
        return Err(io::Error::other("other processes share the server's control group"));
    }
    let server = own.join(SERVER);
    fs::create_dir_all(&server)?;
    fs::write(server.join("cgroup.procs"), me)
}

/// A name no other server has, from which a later one can tell that this one is gone.
fn server_name() -> io::Result<String> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let pid = std::process::id();
    let began = began(pid).ok_or_else(|| io::Error::other("/proc does not say when this began"))?;
    Ok(format!("{pid}-{began}-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// When a process began, in the kernel's own unit; `None` if there is no such process.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything; the 22nd field counts from the pid.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(19)?.parse().ok()
}

/// Removes the groups of servers that are gone.
fn tidy(subtree: &Path) {
    let Ok(servers) = fs::read_dir(subtree) else {
        return;
    };
    for server in servers.flatten() {
        let name = server.file_name();
        let mut parts = name.to_str().unwrap_or_default().split('-');
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (Some(pid), Some(started)) = (number(), number()) else {
            continue;
        };
        let alive = u32::try_from(pid).ok().and_then(began) == Some(started);
        if !alive {
            let groups = fs::read_dir(server.path()).into_iter().flatten().flatten();
            groups.for_each(|group| drop(fs::remove_dir(group.path())));
            drop(fs::remove_dir(server.path()));
        }
    }
}

/// What is mounted where, and in which groups this process is.
struct Mounts {
    mounts: String,
    membership: String,
}

impl Mounts {
    fn read() -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        Ok(Self { mounts, membership: fs::read_to_string("/proc/self/cgroup")? })
    }

    fn version_one(&self, controller: Controller) -> Option<PathBuf> {
        let lists = |list: &str| list.split(',').any(|name| name == controller.name());
        let own = self.membership.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            parts.next().filter(|names| lists(names)).and(parts.next())
        })?;
        self.own_directory(own, |kind, options| kind == "cgroup" && lists(options))
    }

    fn version_two(&self) -> Option<PathBuf> {
        let own = self.membership.lines().find_map(|line| line.strip_prefix("0::"))?;
        self.own_directory(own, |kind, _| kind == "cgroup2")
    }

    /// The directory of a group in the tree whose type and options are wanted.
    fn own_directory(&self, own: &str, wanted: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
        self.mounts.lines().find_map(|line| {
            let (place, kind) = line.split_once(" - ")?;
            let mut kind = kind.split(' ');
            let (name, options) = (kind.next()?, kind.nth(1)?);
            let mut place = place.split(' ').skip(3);
            let (root, mounted) = (place.next()?, place.next()?);
            let below = own.strip_prefix(root.trim_end_matches('/'))?;
            wanted(name, options).then(|| Path::new(mounted).join(below.trim_start_matches('/')))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(membership: &str) -> Mounts {
        let mounts = "30 20 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      32 30 0:28 /docker/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        Mounts { mounts: mounts.to_owned(), membership: membership.to_owned() }
    }

    #[test]
    fn a_group_is_found_below_where_its_tree_is_mounted() {
        let mounts = mounts("4:memory:/docker/a/b\n1:cpu,cpuacct:/x\n0::/y/z\n");
        let memory = mounts.version_one(Controller::Memory);
        assert_eq!(memory, Some(PathBuf::from("/sys/fs/cgroup/memory/b")));
        let processor = mounts.version_one(Controller::Processor);
        assert_eq!(processor, Some(PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/x")));
        assert_eq!(mounts.version_two(), Some(PathBuf::from("/sys/fs/cgroup/unified/y/z")));
    }

    #[test]
    fn a_tree_that_is_not_mounted_is_not_found() {
        assert_eq!(mounts("4:memory:/docker/a\n").version_one(Controller::Processes), None);
    }

    #[test]
    fn a_process_began_when_the_kernel_says() {
        assert!(began(std::process::id()).is_some_and(|ticks| ticks > 0));
        assert_eq!(began(u32::MAX), None);
    }
}
