//! The memory of a process and everything it started, as the kernel tells it. Zero for what is gone.

/// Resident bytes of a process and all below it.
pub(super) fn resident_bytes(pid: u32) -> u64 {
    let mut waiting = vec![pid];
    let mut bytes = 0;
    while let Some(pid) = waiting.pop() {
        bytes += own_bytes(pid);
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        waiting.extend(children.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    bytes
}

fn own_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_holds_memory_and_none_holds_nothing() {
        assert!(resident_bytes(std::process::id()) > 1024 * 1024);
        assert_eq!(resident_bytes(u32::MAX), 0);
    }
}
