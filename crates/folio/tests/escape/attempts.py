"""What a hostile Python function would try. One attempt per start: `attempts.py NAME`.

Prints `escaped` if it could do what it should not, `denied` with the reason otherwise. What could hurt is kept
small, so that it can also be run where nothing stops it.
"""

import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import sqlite3
import stat
import struct
import sys
import threading

TARGETS = json.loads(os.environ["TARGETS"])
LIBC = ctypes.CDLL(None, use_errno=True)
NEW_USER = 0x10000000
NUMBERS = {
    "x86_64": {
        "add_key": 248, "bpf": 321, "clone3": 435, "init_module": 175, "io_uring_setup": 425,
        "kexec_load": 246, "name_to_handle_at": 303, "open_by_handle_at": 304,
        "perf_event_open": 298, "pidfd_getfd": 438, "pidfd_open": 434, "process_vm_readv": 310,
        "reboot": 169, "setns": 308, "settimeofday": 164, "swapon": 167, "syslog": 103,
        "userfaultfd": 323, "ptrace": 101,
    },
    "aarch64": {
        "add_key": 217, "bpf": 280, "clone3": 435, "init_module": 105, "io_uring_setup": 425,
        "kexec_load": 104, "name_to_handle_at": 264, "open_by_handle_at": 265,
        "perf_event_open": 241, "pidfd_getfd": 438, "pidfd_open": 434, "process_vm_readv": 270,
        "reboot": 142, "setns": 268, "settimeofday": 170, "swapon": 224, "syslog": 116,
        "userfaultfd": 282, "ptrace": 117,
    },
}[os.uname().machine]


def call(name, *arguments):
    """Makes a system call, with every argument as wide as a register."""
    wide = [
        ctypes.c_long(one) if isinstance(one, int) else ctypes.cast(one, ctypes.c_void_p)
        for one in arguments
    ]
    result = LIBC.syscall(ctypes.c_long(NUMBERS[name]), *wide)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def allowed(name, *arguments):
    """Whether the kernel got as far as looking at the arguments, which make no sense."""
    try:
        call(name, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, errno.EACCES):
            raise
    return True


def in_child(act):
    """Does it in a child, so that this process stays as it is."""
    child = os.fork()
    if child == 0:
        try:
            act()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 0:
        raise OSError(code, os.strerror(code))
    return True


def reads(path):
    with open(path, "rb") as file:
        return file.read(1) != b""


def opens_to_write(path):
    os.close(os.open(path, os.O_WRONLY))
    return True


# Files.


def read_shadow():
    return reads("/etc/shadow")


def read_users():
    with open("/etc/passwd") as file:
        return "root:" in file.read()


def read_machine_id():
    return reads("/etc/machine-id")


def list_other_code():
    return bool(os.listdir(TARGETS["other_code"]))


def list_code_store():
    return bool(os.listdir("/code"))


def list_other_data():
    return bool(os.listdir(TARGETS["data"]))


def read_token():
    return reads(TARGETS["token"])


def read_database():
    with sqlite3.connect(f"file:{TARGETS['database']}?mode=ro", uri=True) as database:
        return bool(database.execute("select count(*) from sqlite_master").fetchone())


def read_token_through_first_root():
    return reads(f"/proc/1/root{TARGETS['token']}")


def read_token_through_own_root():
    return reads(f"/proc/self/root{TARGETS['token']}")


def read_token_through_link():
    os.symlink(TARGETS["token"], f"/tmp/link-{os.getpid()}")
    try:
        return reads(f"/tmp/link-{os.getpid()}")
    finally:
        os.unlink(f"/tmp/link-{os.getpid()}")


def read_token_upwards():
    return reads("../" * 40 + TARGETS["token"].lstrip("/"))


def hard_link():
    link = f"{os.path.dirname(TARGETS['outside'])}/hard-{os.getpid()}"
    os.link(TARGETS["token"], link)
    os.unlink(link)
    return True


def write_code():
    with open(TARGETS["own_code"], "a") as file:
        file.write("\n")
    return True


def write_own_shim():
    with open("/attempts/planted.py", "w") as file:
        file.write("\n")
    os.unlink("/attempts/planted.py")
    return True


def write_outside():
    path = f"{TARGETS['outside']}/planted-{os.getpid()}"
    with open(path, "w") as file:
        file.write("here")
    os.unlink(path)
    return True


def write_programs():
    path = f"/usr/planted-{os.getpid()}"
    with open(path, "w") as file:
        file.write("here")
    os.unlink(path)
    return True


def change_mode_of_code():
    os.chmod(TARGETS["own_code"], 0o777)
    return True


def open_by_handle():
    handle = ctypes.create_string_buffer(struct.pack("II", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call("name_to_handle_at", -100, b"/", handle, ctypes.byref(mount), 0)
    root = os.open("/", os.O_RDONLY)
    return call("open_by_handle_at", root, handle, os.O_RDONLY) >= 0


def make_device():
    path = f"/tmp/device-{os.getpid()}"
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 1))
    os.unlink(path)
    return True


def open_disk():
    path = f"/tmp/disk-{os.getpid()}"
    os.mknod(path, stat.S_IFBLK | 0o600, os.stat(TARGETS["token"]).st_dev)
    os.unlink(path)
    return True


# Other processes.


def read_first_environment():
    return reads("/proc/1/environ")


def read_other_environment():
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if TARGETS["secret"].encode() in file.read():
                        return True
            except OSError:
                pass
    raise OSError(errno.ENOENT, "nobody has the secret")


def read_secret_files_of_another():
    places = ["/secrets", "/configs"]
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            places.append(f"/proc/{entry}/root/secrets")
            places.append(f"/proc/{entry}/cwd/../secrets")
    for place in places:
        for directory, _, names in os.walk(place):
            for name in names:
                with open(os.path.join(directory, name), "rb") as file:
                    if TARGETS["secret"].encode() in file.read():
                        return True
    raise OSError(errno.ENOENT, "nobody's secret is to be seen")


def see_other_processes():
    return os.path.exists(f"/proc/{TARGETS['decoy']}/stat")


def trace_other():
    call("ptrace", 16, TARGETS["decoy"], 0, 0)
    os.waitpid(TARGETS["decoy"], 0x40000000)
    call("ptrace", 17, TARGETS["decoy"], 0, 0)
    return True


def trace_own_child():
    return in_child(lambda: call("ptrace", 0, 0, 0, 0))


def read_other_memory():
    address = None
    with open(f"/proc/{TARGETS['decoy']}/maps") as maps:
        address = int(maps.readline().split("-")[0], 16)
    buffer = ctypes.create_string_buffer(16)
    here = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 16)
    there = (ctypes.c_size_t * 2)(address, 16)
    return call("process_vm_readv", TARGETS["decoy"], here, 1, there, 1, 0) == 16


def open_other_memory():
    os.close(os.open(f"/proc/{TARGETS['decoy']}/mem", os.O_RDWR))
    return True


def steal_descriptor():
    process = call("pidfd_open", TARGETS["decoy"], 0)
    return call("pidfd_getfd", process, 0, 0) >= 0


def signal_other():
    os.kill(TARGETS["decoy"], signal.SIGCONT)
    return True


def signal_server():
    os.kill(TARGETS["server"], 0)
    return True


def signal_everyone():
    os.kill(-1, 0)
    return True


def enter_other_namespace():
    namespace = os.open(f"/proc/{TARGETS['decoy']}/ns/net", os.O_RDONLY)
    return call("setns", namespace, 0) == 0


def raise_priority():
    os.setpriority(os.PRIO_PROCESS, 0, -10)
    return True


def run_in_real_time():
    return in_child(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))


def inherited_descriptors():
    open_ones = []
    for number in range(3, 256):
        try:
            os.fstat(number)
            open_ones.append(number)
        except OSError:
            pass
    if not open_ones:
        raise OSError(errno.EBADF, "none")
    return True


# The network.


def tcp(address):
    with socket.create_connection(address, timeout=2) as connection:
        return connection.recv(7) == b"control"


def control_port():
    return tcp(("127.0.0.1", TARGETS["port"]))


def control_port_by_host_address():
    return tcp((TARGETS["address"], TARGETS["port"]))


def control_port_in_mapped_form():
    with socket.socket(socket.AF_INET6) as connection:
        connection.settimeout(2)
        connection.connect(("::ffff:127.0.0.1", TARGETS["port"]))
        return connection.recv(7) == b"control"


def send_udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(2)
        sender.sendto(b"ask", ("127.0.0.1", TARGETS["udp"]))
        return sender.recv(16) == b"answer"


def route_to_metadata():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("169.254.169.254", 80))
        return True


def connect_to_metadata():
    with socket.create_connection(("169.254.169.254", 80), timeout=1):
        return True


def ask_name_server():
    with open("/etc/resolv.conf") as file:
        servers = [line.split()[1] for line in file if line.startswith("nameserver")]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"\0" * 12, (servers[0], 53))
        return True


def abstract_socket():
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect("\0" + TARGETS["abstract"])
        return True


def named_socket():
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(TARGETS["socket"])
        return True


def raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    return True


def packet_socket():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    return True


def netlink_socket():
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()
    return True


def vsock_socket():
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    return True


# The kernel.


def mount_something():
    directory = f"/tmp/mount-{os.getpid()}"
    os.mkdir(directory)
    try:
        if LIBC.mount(b"none", directory.encode(), b"tmpfs", 0, None) != 0:
            raise OSError(ctypes.get_errno(), "mount")
        LIBC.umount2(directory.encode(), 2)
        return True
    finally:
        os.rmdir(directory)


def unmount_code():
    return in_child(lambda: LIBC.umount2(b"/code", 2) and fail())


def fail():
    raise OSError(ctypes.get_errno(), "refused")


def new_user_namespace():
    return in_child(lambda: LIBC.unshare(NEW_USER) and fail())


def new_user_namespace_by_newer_clone():
    arguments = (ctypes.c_uint64 * 11)()
    arguments[0] = NEW_USER
    arguments[4] = signal.SIGCHLD
    child = call("clone3", arguments, ctypes.sizeof(arguments))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def change_root():
    return in_child(lambda: os.chroot("/tmp"))


def become_root():
    return in_child(lambda: os.setuid(0))


def drop_groups():
    return in_child(lambda: os.setgroups([0]))


def add_key():
    return call("add_key", b"user", b"folio", b"x", 1, -2) > 0


def load_bpf():
    attributes = struct.pack("IIII", 2, 4, 4, 1) + bytes(112)
    return call("bpf", 0, ctypes.create_string_buffer(attributes), len(attributes)) >= 0


def set_up_io_uring():
    return call("io_uring_setup", 1, ctypes.create_string_buffer(120)) >= 0


def measure_performance():
    attributes = struct.pack("IIQ", 1, 112, 0) + bytes(96)
    buffer = ctypes.create_string_buffer(attributes)
    return call("perf_event_open", buffer, 0, -1, -1, 0) >= 0


def handle_page_faults():
    return call("userfaultfd", 0) >= 0


def type_into_terminal():
    ours, theirs = os.openpty()
    import fcntl

    fcntl.ioctl(theirs, 0x5412, b"x")
    return True


def set_clock():
    return call("settimeofday", 0, 0) == 0


def reboot():
    return allowed("reboot", 0, 0, 0, 0)


def load_kernel():
    return allowed("kexec_load", 0, 1 << 20, 0, 0)


def load_module():
    return allowed("init_module", 0, 0, 0)


def swap_on():
    return allowed("swapon", b"/nowhere", 0)


def read_kernel_log():
    return call("syslog", 3, ctypes.create_string_buffer(64), 64) >= 0


def change_kernel_setting():
    return opens_to_write("/proc/sys/kernel/core_pattern")


def write_sys():
    return opens_to_write("/sys/kernel/mm/transparent_hugepage/enabled")


def press_sysrq():
    return opens_to_write("/proc/sysrq-trigger")


def leave_control_group():
    for path in ("/sys/fs/cgroup/pids/cgroup.procs", "/sys/fs/cgroup/cgroup.procs"):
        if os.path.exists(path):
            return opens_to_write(path)
    raise OSError(errno.ENOENT, "no control groups in sight")


def change_host_name():
    name = os.uname().nodename.encode()
    return LIBC.sethostname(name, len(name)) == 0 or fail()


# Too much of everything.


def fill_disk():
    paths = [f"/tmp/fill-{os.getpid()}-{number}" for number in range(6)]
    try:
        for path in paths:
            with open(path, "wb") as file:
                file.write(bytes(TARGETS["tmp_bytes"] // 4))
        return True
    finally:
        for path in paths:
            if os.path.exists(path):
                os.unlink(path)


def fill_shared_memory():
    path = f"/dev/shm/fill-{os.getpid()}"
    try:
        for number in range(6):
            with open(f"{path}-{number}", "wb") as file:
                file.write(bytes(TARGETS["tmp_bytes"] // 4))
        return True
    finally:
        for number in range(6):
            if os.path.exists(f"{path}-{number}"):
                os.unlink(f"{path}-{number}")


def huge_file():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    path = f"/tmp/huge-{os.getpid()}"
    try:
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, TARGETS["file_bytes_max"] + 4096)
        return True
    finally:
        os.unlink(path)


def many_files():
    directory = f"/tmp/many-{os.getpid()}"
    os.mkdir(directory)
    try:
        for number in range(70_000):
            os.mknod(f"{directory}/{number}")
        return True
    finally:
        for name in os.listdir(directory):
            os.unlink(f"{directory}/{name}")
        os.rmdir(directory)


def fork_bomb():
    children = []
    try:
        for _ in range(TARGETS["processes_max"] * 3):
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
            children.append(child)
        return True
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def thread_bomb():
    done = threading.Event()
    threading.stack_size(64 * 1024)
    threads = []
    try:
        for _ in range(TARGETS["processes_max"] * 3):
            thread = threading.Thread(target=done.wait, daemon=True)
            thread.start()
            threads.append(thread)
        return True
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, str(error)) from error
    finally:
        done.set()


def memory_bomb():
    memory = b"x" * (TARGETS["memory_bytes"] + (256 << 20))
    return len(memory) > 0


def shared_memory_bomb():
    memory = mmap.mmap(-1, TARGETS["memory_bytes"] + (256 << 20))
    for offset in range(0, len(memory), 4096):
        memory[offset] = 1
    return True


def descriptor_bomb():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(1500)]
    return len(opened) == 1500


def dump_core():
    resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))
    return True


def raise_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if hard == resource.RLIM_INFINITY:
        return True
    resource.setrlimit(resource.RLIMIT_NPROC, (hard + 1000, hard + 1000))
    return True


def lock_memory():
    size = 16 << 20
    memory = mmap.mmap(-1, size)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return LIBC.mlock(ctypes.c_void_p(address), ctypes.c_size_t(size)) == 0 or fail()


def main():
    try:
        said = "escaped" if globals()[sys.argv[1]]() else "denied: nothing there"
    except (OSError, MemoryError, ValueError, sqlite3.Error) as error:
        said = f"denied: {error}"
    print(said, flush=True)
    os._exit(0)


main()
