//! The system calls a prisoner is refused: those that look into other processes, change what the kernel is made
//! of, or have been the way out of many a jail. Everything else is allowed, because interpreters and what
//! people install in them use a great deal.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

/// Refused, whatever the arguments.
const REFUSED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Namespaces, roots and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    // Parts of the kernel with a long record.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Types into the terminal of whoever started it.
const TERMINAL_INPUT: u64 = 0x5412;
/// Pastes into the console of the machine.
const CONSOLE: u64 = 0x541c;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The filters, compiled.
pub(super) struct Filter {
    refused: BpfProgram,
    unknown: BpfProgram,
    second: BpfProgram,
}

impl Filter {
    pub(super) fn compile() -> Result<Self, String> {
        let compile = || -> Result<Self, seccompiler::BackendError> {
            let refused = program(rules()?, libc::EPERM)?;
            // Its flags lie in memory, where a filter cannot look; libraries that are told it does not exist
            // use `clone`.
            let unknown = program(Rules::from([(libc::SYS_clone3, vec![])]), libc::ENOSYS)?;
            Ok(Self { refused, unknown, second: second_numbers() })
        };
        compile().map_err(|error| error.to_string())
    }

    /// Puts the filters around this process and everything it starts.
    pub(super) fn apply(&self) -> io::Result<String> {
        seccompiler::apply_filter(&self.second).map_err(io::Error::other)?;
        seccompiler::apply_filter(&self.unknown).map_err(io::Error::other)?;
        seccompiler::apply_filter(&self.refused).map_err(io::Error::other)?;
        Ok(format!("{} system calls refused", REFUSED.len() + REFUSED_HERE.len()))
    }
}

/// On x86-64 every call has a second number, for programs of a kind nobody uses, which a filter on the first
/// would not see. There are none of them here.
fn second_numbers() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const SECOND: u32 = 0x4000_0000;
    let step = |code, jump_false, k| sock_filter { code, jt: 0, jf: jump_false, k };
    vec![
        step(LOAD, 0, 0),
        step(AT_LEAST, 1, SECOND),
        step(RETURN, 0, SeccompAction::Errno(libc::ENOSYS.cast_unsigned()).into()),
        step(RETURN, 0, SeccompAction::Allow.into()),
    ]
}

fn rules() -> Result<Rules, seccompiler::BackendError> {
    let all = REFUSED.iter().chain(REFUSED_HERE);
    let mut rules: Rules = all.map(|call| (*call, Vec::new())).collect();
    let namespaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let mut cloning = Vec::new();
    for flag in namespaces {
        let flag = u64::from(flag.cast_unsigned());
        cloning.push(rule(&[(0, SeccompCmpOp::MaskedEq(flag), flag)])?);
    }
    rules.insert(libc::SYS_clone, cloning);
    let control = [TERMINAL_INPUT, CONSOLE].map(|code| rule(&[(1, SeccompCmpOp::Eq, code)]));
    rules.insert(libc::SYS_ioctl, control.into_iter().collect::<Result<_, _>>()?);
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];
    let other = families.map(|family| (0, SeccompCmpOp::Ne, u64::from(family.cast_unsigned())));
    rules.insert(libc::SYS_socket, vec![rule(&other)?]);
    Ok(rules)
}

/// Applies where all conditions on arguments do.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions.iter().map(|(argument, operation, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operation.clone(), *value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

fn program(rules: Rules, error: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let refuse = SeccompAction::Errno(error.cast_unsigned());
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)?.try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_compiles() {
        assert!(Filter::compile().is_ok());
    }
}
