"""Attacks of a program that the kernel alone confines, on everything that it must not reach.

An attack raises, or has the value "nothing"; otherwise it has reached something. Each attacks one
resource as directly as possible, mostly by the system call itself. The host also checks the
effects: see ``host_watch.py``. Attacks are made by ``confined_attacks.py``, one program each, and
by hostile programs that have reached their canary, all in one process (``plain_child.py``).
"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import platform
import threading
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from smolagents_fork.process.restrictions.syscalls import MACHINES

#: Folders that anyone may write to.
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run")
#: System calls by name: number on x86-64, then on arm64; None if it does not exist.
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "vfork": (58, None), "clone": (56, 220), "clone3": (435, 435), "execveat": (322, 281),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190),
    "mq_open": (240, 180), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "mount": (165, 40),
    "umount2": (166, 39), "unshare": (272, 97), "setns": (308, 268), "pivot_root": (155, 41),
    "bpf": (321, 280), "io_uring_setup": (425, 425), "io_setup": (206, 0),
    "perf_event_open": (298, 241), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "userfaultfd": (323, 282), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "inotify_init1": (294, 26), "fanotify_init": (300, 262),
    "ioprio_set": (251, 30), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "fchmodat": (268, 53), "fchmodat2": (452, 452), "fchownat": (260, 54), "futimesat": (261, None),
    "utimensat": (280, 88), "lsetxattr": (189, 6), "setxattrat": (463, 463),
    "removexattrat": (466, 466), "vmsplice": (278, 75), "seccomp": (317, 277),
    "landlock_create_ruleset": (444, 444), "capset": (126, 91), "setuid": (105, 146),
    "setgroups": (116, 159), "setsid": (112, 157), "setpgid": (109, 154), "kcmp": (312, 272),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "mount_setattr": (442, 442),
    "quotactl": (179, 60), "swapon": (167, 224), "reboot": (169, 142), "syslog": (103, 116),
    "personality": (135, 92), "modify_ldt": (154, None), "iopl": (172, None),
    "timer_create": (222, 107), "openat2": (437, 437), "acct": (163, 89),
    "get_robust_list": (274, 100), "mlock": (149, 228), "signalfd4": (289, 74), "sync": (162, 81),
    "syncfs": (306, 267), "listmount": (458, 458), "statmount": (457, 457),
}  # fmt: skip

#: Names that the attacks use, beside ``host``, ``N`` and ``E``.
PREPARED = (
    "import os, ctypes, socket, fcntl, signal, struct, mmap, resource, threading\n"
    "from raw_calls import LIBC, call\n"
    "def nothing_from(status): return 'nothing' if status else 'reached'\n"
)
GROUPS: dict[str, dict[str, str]] = {
    "files": {
    "read a file": "open(host['canary']).read()",
    "read by openat2": "call(N['openat2'], -100, host['canary'].encode(), bytes(24), 24)",
    "write a file": "open(host['canary'], 'w').write('x')",
    "append to a file": "open(host['canary'], 'a').write('x')",
    "truncate a file": "os.truncate(host['canary'], 0)",
    "truncate by opening for reading": "os.open(host['library'], os.O_RDONLY | os.O_TRUNC)",
    "truncate by opening for nothing": "os.open(host['library'], 3 | os.O_TRUNC)",
    "truncate a library": "os.truncate(host['library'], 0)",
    "write to a library": "open(host['library'], 'ab')",
    "remove a file": "os.unlink(host['canary'])",
    "list a folder": "os.listdir(os.path.dirname(host['canary']))",
    "make a file beside": "open(os.path.join(os.path.dirname(host['canary']), 'made'), 'w')",
    "make a folder beside": "os.mkdir(os.path.join(os.path.dirname(host['canary']), 'folder2'))",
    "make a link beside": "os.symlink('/', os.path.join(host['tree'], 'link2'))",
    "make a hard link beside": (
        "open('mine', 'w').close()\nos.link('mine', os.path.join(host['tree'], 'hard'))"
    ),
    **{
        f"make a file in {folder}": (
            f"os.open(os.path.join({folder!r}, host['marker']), os.O_CREAT | os.O_WRONLY)"
        )
        for folder in SHARED_FOLDERS
    },
    "make a file at home": (
        "os.open(os.path.join(host['home'], host['marker']), os.O_CREAT | os.O_WRONLY)"
    ),
    "rename a file": "os.rename(host['file'], host['file'] + '-renamed')",
    "remove a folder": "os.rmdir(os.path.join(host['tree'], 'folder'))",
    "read through a link": (
        "if not os.path.lexists('l'): os.symlink(host['canary'], 'l')\nopen('l').read()"
    ),
    "hard link a file": "os.link(host['canary'], 'hard')",
    "hard link a library": "os.link(host['library'], 'hard')",
    "move a file in": "os.rename(host['canary'], 'moved')",
    "move a library in": "os.rename(host['library'], 'moved')",
    "move a file out": (
        "open('mine', 'w').close()\n"
        "os.rename('mine', os.path.join(os.path.dirname(host['canary']), 'made'))"
    ),
    "exchange with a file": (
        "open('mine', 'w').close()\ncall(E['renameat2'], -100, b'mine', -100, "
        "host['canary'].encode(), 2)"
    ),
    "POSIX memory": (
        "from multiprocessing.shared_memory import SharedMemory\nSharedMemory('x', True, 9)"
    ),
    "unnamed file elsewhere": "os.open(os.path.dirname(host['canary']), os.O_TMPFILE | os.O_RDWR)",
    "disk device": "[open('/dev/' + n, 'rb') for n in ('sda', 'vda', 'mem', 'kmsg', 'port')]",
    "device node": "os.mknod('device', 0o60600, 0)",
    "pipe node": "os.mkfifo('pipe')",
    "terminal": "os.open('/dev/tty', os.O_RDWR)",
    "pseudo terminals": "os.open('/dev/ptmx', os.O_RDWR)",
    "mode of a file": "os.chmod(host['canary'], 0o777)",
    "mode by a path descriptor": (
        "number = os.open(host['canary'], os.O_PATH)\n"
        "try: os.chmod(f'/proc/self/fd/{number}', 0o777)\nfinally: os.close(number)"
    ),
    "mode by fchmodat": "call(N['fchmodat'], -100, host['canary'].encode(), 0o755)",
    "mode by fchmodat2": "call(N['fchmodat2'], -100, host['canary'].encode(), 0o711, 0)",
    "mode of a library": "os.chmod(host['library'], 0o777)",
    "mode of an open library": "os.fchmod(os.open(host['library'], os.O_RDONLY), 0o777)",
    "owner of a file": "os.chown(host['canary'], os.getuid(), os.getgid())",
    "owner by fchownat": (
        "call(N['fchownat'], -100, host['canary'].encode(), os.getuid(), os.getgid(), 0)"
    ),
    "owner of a link": "os.lchown(host['canary'], os.getuid(), os.getgid())",
    "owner of an open library": (
        "os.fchown(os.open(host['library'], os.O_RDONLY), os.getuid(), os.getgid())"
    ),
    "times of a file": "os.utime(host['canary'], (0, 0))",
    "times of an open library": "os.utime(os.open(host['library'], os.O_RDONLY), (0, 0))",
    "attribute of a file": "os.setxattr(host['canary'], 'user.x', b'1')",
    "attribute of a link": "call(N['lsetxattr'], host['canary'].encode(), b'user.x', b'1', 1, 0)",
    "remove an attribute": "os.removexattr(host['canary'], 'user.canary')",
    "read an attribute": "os.getxattr(host['canary'], 'user.canary')",
    "watch a folder": "call(N['inotify_init1'], 0)",
    "watch a folder by dnotify": "fcntl.fcntl(os.open('.', os.O_RDONLY), 1026, 2)",
    "lease on a library": "fcntl.fcntl(os.open(host['library'], os.O_RDONLY), 1024, 0)",
    "lock a library": "fcntl.flock(os.open(host['library'], os.O_RDONLY), fcntl.LOCK_EX)",
    "handle of a file": (
        "call(N['name_to_handle_at'], -100, host['canary'].encode(), bytes(136), bytes(8), 0)"
    ),
    "other root": "os.chroot('.')",
    "load a library": "ctypes.CDLL(host['canary'])",
    "temporary file elsewhere": (
        "import tempfile\ntempfile.mkstemp(dir=os.path.dirname(host['canary']))"
    ),
    },
    "processes": {
    "environment of the host": "open(f\"/proc/{host['pid']}/environ\", 'rb').read()",
    "memory of the host": "open(f\"/proc/{host['pid']}/mem\", 'r+b')",
    "memory of the host, to read": "open(f\"/proc/{host['pid']}/mem\", 'rb')",
    "secret in the host's memory": (
        "found = ctypes.create_string_buffer(8)\n"
        "ours = struct.pack('QQ', ctypes.addressof(found), 8)\n"
        "theirs = struct.pack('QQ', host['address'], 8)\n"
        "call(N['process_vm_readv'], host['pid'], ours, 1, theirs, 1, 0)"
    ),
    "memory map of the host": "open(f\"/proc/{host['pid']}/maps\").read()",
    "descriptors of the host": "os.listdir(f\"/proc/{host['pid']}/fd\")",
    "descriptor of the host": "open(f\"/proc/{host['pid']}/fd/0\", 'rb')",
    "working folder of the host": "os.open(f\"/proc/{host['pid']}/cwd\", os.O_RDONLY)",
    "root of the host": "os.open(f\"/proc/{host['pid']}/root/etc/passwd\", os.O_RDONLY)",
    "environment of the parent": "open(f'/proc/{os.getppid()}/environ', 'rb').read()",
    "memory of the parent": "open(f'/proc/{os.getppid()}/mem', 'r+b')",
    "own memory by a file": "open('/proc/self/mem', 'r+b')",
    "own descriptors by name": "os.listdir('/proc/self/fd')",
    "own map files": "os.listdir('/proc/self/map_files')",
    "score of the neighbour": "open(f\"/proc/{host['neighbour']}/oom_score_adj\", 'w').write('9')",
    "link to the host's program": "os.readlink(f\"/proc/{host['pid']}/exe\")",
    "chdir into the host": "os.chdir(f\"/proc/{host['pid']}/cwd\")",
    "trace the neighbour": "call(N['ptrace'], 16, host['neighbour'], 0, 0)",
    "seize the parent": "call(N['ptrace'], 0x4206, os.getppid(), 0, 0)",
    "read the neighbour's memory": "call(N['process_vm_readv'], host['neighbour'], 0, 0, 0, 0, 0)",
    "write the neighbour's memory": (
        "call(N['process_vm_writev'], host['neighbour'], 0, 0, 0, 0, 0)"
    ),
    "descriptor of the neighbour": "os.pidfd_open(host['neighbour'])",
    "take a descriptor of the host": "call(N['pidfd_getfd'], os.pidfd_open(host['pid']), 0, 0)",
    "compare with the host": "call(N['kcmp'], host['pid'], os.getpid(), 1, 0, 0)",
    "compare with the neighbour": "call(N['kcmp'], os.getpid(), host['neighbour'], 0, 0, 0)",
    "session of the neighbour": "os.getsid(host['neighbour'])",
    "group of the neighbour": "os.getpgid(host['neighbour'])",
    "limits of the neighbour": (
        "resource.prlimit(host['neighbour'], resource.RLIMIT_NOFILE, (5, 5))"
    ),
    "limits of the parent": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)",
    "processors of the neighbour": "os.sched_setaffinity(host['neighbour'], {0})",
    "priority of the neighbour": "os.setpriority(os.PRIO_PROCESS, host['neighbour'], 19)",
    "priority of the user": "os.setpriority(os.PRIO_USER, os.getuid(), 19)",
    "policy of the neighbour": (
        "os.sched_setscheduler(host['neighbour'], os.SCHED_BATCH, os.sched_param(0))"
    ),
    "order of the neighbour": "call(N['ioprio_set'], 1, host['neighbour'], 3 << 13)",
    "pages of the neighbour": "call(N['move_pages'], host['neighbour'], 0, 0, 0, 0, 0)",
    "policy of oneself": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
    },
    "signals": {
    "signal to the host": "os.kill(host['pid'], 0)",
    "signal to the parent": "os.kill(os.getppid(), signal.SIGKILL)",
    "signal by the owner of a pipe": (
        "r, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, host['neighbour'])\n"
        "fcntl.fcntl(r, 10, signal.SIGTERM)\n"
        "fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)\nos.write(w, b'x')"
    ),
    "signal by the owner of a pipe, by F_SETOWN_EX": (
        "r, w = os.pipe()\nfcntl.fcntl(r, 15, struct.pack('ii', 1, host['neighbour']))\n"
        "fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)\nos.write(w, b'x')"
    ),
    "signal to the neighbour": "os.kill(host['neighbour'], signal.SIGKILL)",
    "signal to all": "os.kill(-1, signal.SIGKILL)",
    "signal to the neighbour's group": "os.killpg(host['neighbour'], signal.SIGKILL)",
    "signal to a thread": "call(N['tkill'], host['neighbour'], 9)",
    "signal to a thread of a group": "call(N['tgkill'], host['neighbour'], host['neighbour'], 9)",
    "queued signal": "call(N['rt_sigqueueinfo'], host['neighbour'], 9, bytes(128))",
    "signal by a descriptor": "call(N['pidfd_send_signal'], 0, 9, 0, 0)",
    "signal by F_SETOWN": (
        "a, b = socket.socketpair()\nfcntl.fcntl(a, fcntl.F_SETOWN, host['neighbour'])\n"
    ),
    "signal by F_SETOWN_EX": (
        "a, b = socket.socketpair()\nfcntl.fcntl(a, 15, struct.pack('ii', 1, host['neighbour']))"
    ),
    "signal of another number": "a, b = socket.socketpair()\nfcntl.fcntl(a, 10, signal.SIGKILL)",
    "signal by O_ASYNC": "a, b = socket.socketpair()\nfcntl.fcntl(a, fcntl.F_SETFL, 0o20000)",
    "signal by FIOASYNC": "a, b = socket.socketpair()\nfcntl.ioctl(a, 0x5452, b'\\1\\0\\0\\0')",
    "signal by FIOSETOWN": (
        "a, b = socket.socketpair()\nfcntl.ioctl(a, 0x8901, struct.pack('i', host['neighbour']))"
    ),
    "signal by SIOCSPGRP": (
        "a, b = socket.socketpair()\nfcntl.ioctl(a, 0x8902, struct.pack('i', host['neighbour']))"
    ),
    "keys for a terminal": "fcntl.ioctl(1, 0x5412, b'x')",
    "group of a terminal": "fcntl.ioctl(1, 0x5410, struct.pack('i', 1))",
    "terminal of a session": "fcntl.ioctl(1, 0x540E, 0)",
    "signal at the parent's death": "call(E['prctl'], 1, 0, 0, 0, 0)",
    "reaper of the parent's children": "call(E['prctl'], 36, 1, 0, 0, 0)",
    "tracer of oneself": "call(E['prctl'], 0x59616D61, host['neighbour'], 0, 0, 0)",
    },
    "sockets": {
    **{
        f"socket of family {number}": f"socket.socket({number}, socket.SOCK_{kind})"
        for number in (1, 2, 3, 10, 16, 17, 29, 31, 38, 40, 44)
        for kind in ("STREAM" if number != 17 else "RAW",)
    },
    "datagram socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "raw socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "algorithms of the kernel": "socket.socket(38, socket.SOCK_SEQPACKET)",
    "connection to the host": "socket.create_connection(('127.0.0.1', host['port']), 2)",
    "address by name": (
        "try:\n"
        "    socket.getaddrinfo('localhost', 80, type=socket.SOCK_STREAM)[0][4][0]\n"
        "    socket.create_connection(('localhost', host['port']), 2)\n"
        "except socket.gaierror as error:\n"
        "    raise OSError(*error.args) from None"
    ),
    "connection to a socket file": "socket.socket(socket.AF_UNIX).connect(host['stream'])",
    "connection to an abstract name": (
        "socket.socket(socket.AF_UNIX).connect('\\0' + host['abstract'])"
    ),
    "datagram from a pair": (
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "a.sendto(b'x', host['datagram'])"
    ),
    "listen": "one = socket.socket()\none.bind(('0.0.0.0', 0))\none.listen()",
    "pair of datagram sockets": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "pair of packet sockets": "socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)",
    "datagram to a path": (
        "a, b = socket.socketpair()\na.sendto(b'x', host['datagram'])"
    ),
    "message to a path": (
        "a, b = socket.socketpair()\na.sendmsg([b'x'], [], 0, host['datagram'])"
    ),
    "connect a pair": "a, b = socket.socketpair()\na.connect(host['stream'])",
    "connect a pair by an abstract name": (
        "a, b = socket.socketpair()\na.connect('\\0' + host['abstract'])"
    ),
    "message out of band": "a, b = socket.socketpair()\na.send(b'x', socket.MSG_OOB)",
    "read out of band": "a, b = socket.socketpair()\na.recv(1, socket.MSG_OOB)",
    "bind a pair": "a, b = socket.socketpair()\na.bind('\\0mine')",
    "listen on the connection": "socket.socket(fileno=os.dup(1000)).listen()",
    },
    "programs": {
    "fork": "os.fork()",
    "vfork": "call(N['vfork'])",
    "clone": "call(N['clone'], 17, 0, 0, 0, 0)",
    "clone that shares memory only": "call(N['clone'], 0x100 | 17, 0, 0, 0, 0)",
    "clone with namespaces": "call(N['clone'], 0x10000000 | 17, 0, 0, 0, 0)",
    "thread with descriptors of its own": "call(N['clone'], 0x10B00, 0, 0, 0, 0)",
    "clone3": "call(N['clone3'], struct.pack('8Q', 0, 0, 0, 0, 17, 0, 0, 0), 64)",
    "program": "os.execv('/bin/sh', ['sh', '-c', 'true'])",
    "program by a descriptor": "call(N['execveat'], -100, b'/bin/sh', 0, 0, 0)",
    "program of its own": (
        "open('mine', 'wb').write(open(host['library'], 'rb').read())\nos.execv('mine', ['mine'])"
    ),
    "subprocess": "import subprocess\nsubprocess.run(['true'])",
    "shell": "nothing_from(LIBC.system(b'true'))",
    "posix_spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "pty": "import pty\npty.spawn('/bin/true')",
    "multiprocessing": "import multiprocessing\nmultiprocessing.Process(target=int).start()",
    },
    "kernel": {
    **{
        name.replace("_", " "): f"call(N[{name!r}], {arguments})"
        for name, arguments in {
            "mount": "b'none', b'.', b'tmpfs', 0, 0", "umount2": "b'/', 2",
            "unshare": "0x10000000", "setns": "0, 0", "pivot_root": "b'.', b'.'",
            "bpf": "0, bytes(128), 128", "io_uring_setup": "1, bytes(256)",
            "io_setup": "1, bytes(8)", "perf_event_open": "bytes(128), 0, -1, -1, 0",
            "keyctl": "0, -4, 0, 0, 0", "add_key": "b'user', b'a', b'b', 1, -4",
            "request_key": "b'user', b'a', 0, 0", "userfaultfd": "0",
            "open_by_handle_at": "-100, bytes(136), 0", "fanotify_init": "0, 0",
            "seccomp": "1, 0, 0", "landlock_create_ruleset": "0, 0, 1", "capset": "bytes(8), 0",
            "setuid": "0", "setgroups": "0, 0", "setsid": "", "setpgid": "0, 0",
            "process_madvise": "0, 0, 0, 0, 0", "process_mrelease": "0, 0",
            "open_tree": "-100, b'/', 1", "move_mount": "-100, b'', -100, b'', 0",
            "fsopen": "b'tmpfs', 0", "mount_setattr": "-100, b'/', 0, bytes(32), 32",
            "swapon": "b'x', 0", "reboot": "0, 0, 0", "syslog": "3, bytes(8), 8",
            "personality": "0", "modify_ldt": "0, 0, 0", "iopl": "3",
            "timer_create": "0, 0, bytes(8)", "acct": "0",
            "get_robust_list": "1, bytes(8), bytes(8)",
            "signalfd4": "-1, bytes(8), 8, 0", "sync": "", "syncfs": "1",
            "migrate_pages": "1, 0, 0, 0", "move_pages": "1, 0, 0, 0, 0, 0",
            "ioprio_set": "1, 1, 0", "quotactl": "0, 0, 0, 0",
            "pidfd_getfd": "0, 0, 0", "statmount": "0, 0, 0, 0", "listmount": "0, 0, 0, 0",
            "fchmodat2": "-100, b'.', 0o777, 0", "setxattrat": "-100, b'.', 0, b'user.x', 0, 0",
            "removexattrat": "-100, b'.', 0, b'user.x'",
            "utimensat": "-100, host['canary'].encode(), 0, 0",
            "futimesat": "-100, host['canary'].encode(), 0", "mlock": "0, 4096",
        }.items()
    },
    },
    "memory": {
    "large pages": "mmap.mmap(-1, 1 << 21, mmap.MAP_PRIVATE | 0x20 | 0x40000)",
    "locked memory": "mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | 0x20 | 0x2000)",
    "memory file": "os.memfd_create('x')",
    "secret memory": "call(N['memfd_secret'], 0)",
    "System V memory": "call(N['shmget'], host['key'], 1 << 20, 0o1666)",
    "System V queue": "call(N['msgget'], host['key'], 0o1666)",
    "System V semaphores": "call(N['semget'], host['key'], 1, 0o1666)",
    "POSIX queue": "call(N['mq_open'], host['marker'].encode(), 0x42, 0o666, 0)",
    "pages given to a pipe": "r, w = os.pipe()\ncall(N['vmsplice'], w, bytes(16), 1, 8)",
    "pages moved to a pipe": "r, w = os.pipe()\nos.splice(0, w, 1)",
    "pages of a file": (
        "a, b = socket.socketpair()\n"
        "os.sendfile(a.fileno(), os.open(host['library'], 0), 0, 9)"
    ),
    "table of descriptors of a thread's own": (
        "call(E['close_range'], 3000, 3001, 2)"
    ),
    "space that no limit counts": (
        "with open('space', 'wb') as file: call(E['fallocate'], file.fileno(), 1, 0, 1 << 31)"
    ),
    "larger pipe": "r, w = os.pipe()\nfcntl.fcntl(w, 1031, 1 << 20)",
    "larger socket": "a, b = socket.socketpair()\na.setsockopt(1, 7, 1 << 20)",
    "memory of an inherited descriptor": (
        "found = 'nothing'\nfor number in (*range(256), *range(990, 1010)):\n"
        "    try:\n        os.fstat(number)\n"
        "    except OSError:\n        continue\n    try:\n        os.ftruncate(number, 900 << 20)\n"
        "        found = number\n    except OSError:\n        pass\n"
        "    try:\n        os.pwrite(number, b'x', 800 << 20)\n        found = number\n"
        "    except OSError:\n        pass\nfound"
    ),
    "limits that were taken": (
        "raised = 'nothing'\n"
        "for name in ('AS', 'NOFILE', 'FSIZE', 'CORE', 'SIGPENDING', 'MSGQUEUE', 'MEMLOCK',\n"
        "             'NPROC'):\n"
        "    kind = getattr(resource, 'RLIMIT_' + name, 11)\n"
        "    hard = resource.prlimit(0, kind)[1]\n"
        "    try:\n        resource.prlimit(0, kind, (hard + 4096, hard + 4096))\n"
        "        raised = name\n    except (OSError, ValueError):\n        pass\nraised"
    ),
    },
    "limits": {
    "memory": "x = bytearray(host['limit'] + (1 << 20))",
    "memory by mmap": "mmap.mmap(-1, host['limit'] + (1 << 20))",
    "memory that is private": "mmap.mmap(-1, host['limit'] + 4096, mmap.MAP_PRIVATE | 0x20)",
    "memory that stays after it is given back": (
        "kept = []\nfor n in range(3 * host['limit'] >> 20):\n"
        "    kept.append(mmap.mmap(-1, 1 << 20))\n    kept[-1].write(bytes(1 << 20))\n"
    ),
    "more threads than there may be": (
        "gate = threading.Event()\nmade = []\n"
        "try:\n    for n in range(host['threads'] + 5):\n"
        "        one = threading.Thread(target=gate.wait, daemon=True)\n"
        "        one.start()\n        made.append(one)\n"
        "finally:\n    gate.set()\n    for one in made: one.join()\n"
    ),
    },
    "descriptors": {
    "open files of the host": (
        "reached = 'nothing'\nfor number in range(4096):\n    try:\n"
        "        file = os.fstat(number)\n"
        "        if [file.st_dev, file.st_ino] in host['files']: reached = number\n"
        "    except OSError:\n        pass\nreached"
    ),
    "folder through a descriptor": (
        "reached = 'nothing'\nfor number in range(256):\n    try:\n"
        "        reached = os.open('passwd', 0, dir_fd=number)\n    except OSError:\n"
        "        pass\nreached"
    ),
    "path descriptor": (
        "number = os.open(os.path.dirname(host['canary']), os.O_PATH)\n"
        "os.open(os.path.basename(host['canary']), os.O_RDONLY, dir_fd=number)"
    ),
    "up from its own folder": (
        "number = os.open('.', os.O_RDONLY)\n"
        "os.open('../' * 9 + host['canary'].lstrip('/'), os.O_RDONLY, dir_fd=number)"
    ),
    },
}  # fmt: skip
#: "group: name" -> code.
ATTACKS = {f"{group}: {name}": code for group, few in GROUPS.items() for name, code in few.items()}
#: Printed by a program that has reached its canary, when it has made every attack.
ASSAULT_MADE = "[assault made]"
#: Printed for an attack that was not refused; its name follows.
REACHED = "[reached:"


def numbers() -> dict[str, int]:
    """Return the system call numbers of this machine."""
    column = 0 if platform.machine() == "x86_64" else 1
    return {name: row[column] for name, row in NUMBERS.items() if row[column] is not None}  # type: ignore[misc]


def facts_of_machine() -> dict[str, Any]:
    """Return what attacks are given beside the facts of the host."""
    return {"N": numbers(), "E": MACHINES[platform.machine()].numbers}


@functools.cache
def compiled() -> dict[str, CodeType]:
    """Return the code of each attack, which leaves its value in ``value``.

    Attacks on limits take long, and are left out.
    """
    programs = {}
    for name, code in ATTACKS.items():
        if not name.startswith("limits: "):
            tree = ast.parse(code)
            if isinstance(last := tree.body[-1], ast.Expr):
                tree.body[-1] = ast.Assign([ast.Name("value", ast.Store())], last.value)
            programs[name] = compile(ast.fix_missing_locations(tree), name, "exec")
    return programs


def make_all(host: dict[str, Any], only: Sequence[str] = ()) -> list[str]:
    """Make all attacks in this process, or those in ``only``; return those not refused."""
    prepared: dict[str, Any] = {"host": host, "value": None, **facts_of_machine()}
    exec(PREPARED, prepared)
    reached = []
    for name in only or compiled():
        space = dict(prepared)
        try:
            exec(compiled()[name], space)
        except BaseException:
            continue
        if space["value"] != "nothing":
            reached.append(f"{name} {space['value']!r:.60}")
    return reached


def leave_thread(ask: Callable[[], Any]) -> None:
    """Start a thread that sends requests to the host for as long as it can."""

    def ask_on() -> None:
        while True:
            with contextlib.suppress(BaseException):
                ask()

    with contextlib.suppress(BaseException):
        threading.Thread(target=ask_on, daemon=True).start()


def replace_process() -> None:
    """Replace this process by another program; returns if the kernel refuses."""
    with contextlib.suppress(BaseException):
        os.execv("/bin/sh", ["sh", "-c", f"echo '{REACHED} execve]' >&2"])
