"""What a process may do no longer: files (Landlock), system calls (seccomp), capabilities, limits; all of it for good.

Nothing here needs root. Where the system has no such means, `confine` says what stays open. Files are written on a file
system of the process's own, in memory and of a fixed size; where the system gives none to ordinary users, none are.
"""

import ctypes
import os
import platform
import struct
import sys
from pathlib import Path

DENIED = {  # numbers on x86_64 and on aarch64: new processes and programs, other processes, the network, …
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281), "socket": (41, 198),
    "socketpair": (53, 199), "io_uring_setup": (425, 425), "ptrace": (101, 117), "kcmp": (312, 272),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "setns": (308, 268), "unshare": (272, 97),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "mount": (165, 40),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "chroot": (161, 51),
    # … memory and messages that outlive a process or are outside its limits
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186),
    "semget": (64, 190), "mq_open": (240, 180),
    # … and what Landlock leaves open: whose turn it is, and what files are called and allow
    "setpriority": (141, 140), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "ioprio_set": (251, 30),
    "migrate_pages": (256, 238), "move_pages": (279, 239), "open_by_handle_at": (304, 265), "chmod": (90, None),
    "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None), "fchown": (93, 55),
    "lchown": (94, None), "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "setxattrat": (463, 463), "utime": (132, None), "utimes": (235, None),
    "utimensat": (280, 88), "futimesat": (261, None),
}  # fmt: skip
# allowed on the process itself
OWN = {
    "kill": (62, 129),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
}
CLONE, CLONE3, FCNTL, PRCTL = (56, 220), (435, 435), (72, 25), (157, 167)
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000

PATIENCE = 6  # times the seconds of computing may pass by the clock
ALL_OPEN = [
    "files outside",
    "the network",
    "other processes",
    "too much memory and too large files",
]
READ_FILE, READ_DIR, WRITE_FILE, REMOVE_FILE, MAKE_REG, TRUNCATE = (
    4,
    8,
    2,
    32,
    256,
    1 << 14,
)
SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/fonts",
    "/dev/urandom",
    # PyTorch asks which instructions there are
    "/proc/cpuinfo",
    "/sys/devices/system/cpu",
)


def confine(
    folder: Path, readable: Path, seconds: int, memory: int, disk: int, files: int
) -> list[str]:
    """Confine this process; what the system could not forbid, in words.

    It reads Python and `readable`, makes files in `folder`, an empty one, and reaches nothing else. It has so many
    seconds of the processor, bytes of memory more than now, and bytes and number of files, deleted ones too.
    """
    if sys.platform != "linux":
        return ALL_OPEN
    import resource  # which Windows lacks

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limits = {"CPU": seconds, "FSIZE": disk, "CORE": 0, "NOFILE": 64, "MEMLOCK": 0}
    limits["AS"] = pages * resource.getpagesize() + memory
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
    libc = ctypes.CDLL(None, use_errno=True)
    writes = _own_disk(libc, folder, disk, files)
    libc.prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG: it does not outlive who waits for it
    # PR_SET_NO_NEW_PRIVS, which both of the following ask for
    libc.prctl(38, 1, 0, 0, 0)
    header, none = struct.pack("<II", 0x20080522, 0), bytes(24)
    # capset
    libc.syscall(
        {"x86_64": 126, "aarch64": 91}.get(platform.machine(), -1), header, none
    )
    open_still = [] if _landlock(libc, folder, readable, writes) else ["files outside"]
    return open_still + ([] if _seccomp(libc) else ["the network", "other processes"])


def places() -> list[str]:
    """What is readable to students' code, beside the library: the system's and Python's own."""
    return [*filter(os.path.exists, (*SYSTEM, sys.prefix, sys.base_prefix))]


def check_out_of_reach(*paths: Path) -> None:
    """Refuse a class, its answers or its grades where students' code could read them."""
    for path in paths:
        for place in places():
            if path.resolve().is_relative_to(Path(place).resolve()):
                raise ValueError(
                    f"expected {path} where students' code cannot read, got it in {place}; "
                    f"move it, to {Path.home() / 'class'} say"
                )


def _own_disk(libc: ctypes.CDLL, folder: Path, size: int, files: int) -> bool:
    """Mount a file system in memory on the folder, seen by this process alone, and gone with it."""
    user, group = os.getuid(), os.getgid()
    said = {
        "setgroups": "deny",
        "uid_map": f"{user} {user} 1",
        "gid_map": f"{group} {group} 1",
    }
    if libc.unshare(0x10020000):  # CLONE_NEWUSER and CLONE_NEWNS
        return False
    try:
        for name, text in said.items():
            Path("/proc/self", name).write_text(text)
    except OSError:
        return False
    how = f"size={size},nr_inodes={files},mode=700".encode()
    # nothing runs as another user
    return libc.mount(b"task", os.fsencode(folder), b"tmpfs", 6, how) == 0


def _landlock(libc: ctypes.CDLL, folder: Path, readable: Path, writes: bool) -> bool:
    """Files: read-only, or the process's own; with the kernel's help also TCP, signals and abstract sockets."""
    abi = libc.syscall(444, None, ctypes.c_size_t(0), 1)
    if abi < 1:
        return False
    files = (1 << 13) - 1 | (abi >= 2) << 13 | (abi >= 3) << 14 | (abi >= 5) << 15
    attributes = struct.pack("<QQQ", files, 3, 3)[: 8 + 8 * (abi >= 4) + 8 * (abi >= 6)]
    rules = libc.syscall(444, attributes, ctypes.c_size_t(len(attributes)), 0)
    own = (
        READ_FILE | READ_DIR | writes * (WRITE_FILE | REMOVE_FILE | MAKE_REG | TRUNCATE)
    )
    allowed = dict.fromkeys([*places(), readable], READ_FILE | READ_DIR)
    for path, rights in (
        allowed | {folder: own, "/dev/null": READ_FILE | WRITE_FILE}
    ).items():
        place = os.open(path, os.O_PATH)
        rights &= files & (
            ~0 if os.path.isdir(path) else ~(READ_DIR | REMOVE_FILE | MAKE_REG)
        )
        libc.syscall(445, rules, 1, struct.pack("<Qi", rights, place), 0)
        os.close(place)
    done = rules >= 0 and libc.syscall(446, rules, 0) == 0
    os.close(rules)
    return done


def _seccomp(libc: ctypes.CDLL) -> bool:
    """A program that the kernel asks before each system call."""
    machine = MACHINES.get(platform.machine())
    if machine is None:
        return False
    column, arch = machine
    load = lambda at: (0x20, 0, 0, at)  # of {int nr, u32 arch, u64 ip, u64 args[6]}
    end = lambda what: (0x06, 0, 0, what)
    code = [
        load(4),
        (0x15, 1, 0, arch),
        end(KILL),
        load(0),
        (0x35, 0, 1, 0x40000000),
        end(EPERM),
    ]
    for numbers in DENIED.values():
        if numbers[column] is not None:
            code += [(0x15, 0, 1, numbers[column]), end(EPERM)]
    # libraries then take clone, whose flags can be read
    code += [
        (0x15, 0, 1, CLONE3[column]),
        end(ENOSYS),
    ]
    # threads
    code += [
        (0x15, 0, 4, CLONE[column]),
        load(16),
        (0x45, 0, 1, 0x10000),
        end(ALLOW),
        end(EPERM),
    ]
    for numbers in OWN.values():
        code += [
            (0x15, 0, 5, numbers[column]),
            load(16),
            (0x15, 2, 0, 0),
            (0x15, 1, 0, os.getpid()),
        ]
        code += [end(EPERM), end(ALLOW)]
    # PR_SET_PDEATHSIG, without which it would outlive who waits for it
    code += [
        (0x15, 0, 4, PRCTL[column]),
        load(16),
        (0x15, 0, 1, 1),
        end(EPERM),
        end(ALLOW),
    ]
    # F_SETOWN and F_SETOWN_EX, by which files send signals
    code += [
        (0x15, 0, 5, FCNTL[column]),
        load(24),
        (0x15, 1, 0, 8),
        (0x15, 0, 1, 15),
        end(EPERM),
        end(ALLOW),
    ]
    code.append(end(ALLOW))
    program = ctypes.create_string_buffer(
        b"".join(struct.pack("<HBBI", *line) for line in code)
    )
    whole = struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(program))
    return libc.prctl(22, 2, whole, 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
