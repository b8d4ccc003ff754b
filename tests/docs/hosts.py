# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Hosts for the commands of a page: on each, lnetx is installed as by "make install".

A host is a network namespace with interfaces eth0, eth1, ..., and a mount namespace with its own
/etc, /run, /var and home; interfaces with addresses in one /24 are on one bridge. /usr is that of
the machine, with what "make install" installs, and stand-ins for systemctl, journalctl and sudo.
Each has one shell, so directories, variables and background jobs last. With $DOCS_ENTER they are
there already, and not removed.
"""
import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# $1: the host's name, $2: its directory, $3: what is installed, $4: the tree
SET_UP = r"""
set -e
hostname "$1"
mount --bind "$2/etc" /etc
echo "$1" >/etc/hostname
mount -t overlay -o "lowerdir=$3/usr:/usr" overlay /usr
mount -t bpf bpf /sys/fs/bpf
mkdir -p "$2/home/lnetx"
mount --bind "$4" "$2/home/lnetx"
mount -o remount,bind,ro "$2/home/lnetx"
mount -t tmpfs -o mode=755 tmpfs /run
mount --bind "$2/var" /var
mkdir -p /var/lib /var/log /var/tmp /run/lock
systemd-sysusers lnetx.conf >/dev/null 2>&1
cd "$2/home"
set +e -m
unset BASH_ENV ENV
"""


class HostError(Exception):
    pass


def command(*args):
    r = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, check=False)
    if r.returncode:
        raise HostError(f"{' '.join(args)}: {r.stdout.strip()}")


class Hosts:
    """Those of one page: {name: [address, ...]}; removed when the block ends."""

    def __init__(self, hosts):
        self.prefix = f"lx-{os.environ.get('LNETX_TEST_TAG', f't{os.getpid()}')}-"
        self.wanted = hosts
        self.shells = {}
        self.namespaces = []
        self.enter = shlex.split(os.environ.get("DOCS_ENTER", ""))

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="lnetx-docs-")
        try:
            if not self.enter:
                self._install()
                self._wire()
            for name in self.wanted:
                self.shells[name] = Shell(self, name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for ns in self.namespaces:
            r = subprocess.run(["ip", "netns", "pids", ns], stdout=subprocess.PIPE, text=True,
                               check=False)
            for pid in r.stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        for shell in self.shells.values():
            shell.process.stdin.close()
            if self.enter:
                shell.process.kill()
            shell.process.wait()
        for ns in self.namespaces:
            subprocess.run(["ip", "netns", "del", ns], check=False)
        shutil.rmtree(self.dir, ignore_errors=True)

    def _install(self):
        self.installed = os.path.join(self.dir, "installed")
        command("make", "-s", "-C", TREE, "install", f"DESTDIR={self.installed}")
        shutil.copytree(os.path.join(HERE, "bin"),
                        os.path.join(self.installed, "usr/local/bin"))

    def _namespace(self, name):
        ns = self.prefix + name
        command("ip", "netns", "add", ns)
        self.namespaces.append(ns)
        command("ip", "-n", ns, "link", "set", "lo", "up")
        return ns

    def _wire(self):
        lans = {}
        for name, addresses in self.wanted.items():
            ns = self._namespace(name)
            for i, address in enumerate(addresses):
                subnet = address.rpartition(".")[0]
                if subnet not in lans:
                    lans[subnet] = self._namespace(f"lan{len(lans)}")
                    command("ip", "-n", lans[subnet], "link", "add", "br0", "type", "bridge")
                    command("ip", "-n", lans[subnet], "link", "set", "br0", "up")
                lan, port = lans[subnet], f"{name[:10]}-{i}"
                command("ip", "link", "add", f"eth{i}", "netns", ns, "type", "veth",
                        "peer", "name", port, "netns", lan)
                command("ip", "-n", lan, "link", "set", port, "master", "br0", "up")
                command("ip", "-n", ns, "addr", "add", f"{address}/24", "dev", f"eth{i}")
                command("ip", "-n", ns, "link", "set", f"eth{i}", "up")
                for n, dev in ((ns, f"eth{i}"), (lan, port)):
                    # As a card does: each flow on one CPU, in order.
                    command("ip", "netns", "exec", n, "sh", "-c",
                            f"echo 1 >/sys/class/net/{dev}/queues/rx-0/rps_cpus")

    def write(self, host, path, text):
        self.shells[host].write(path, text)

    def run(self, host, text, seconds):
        return self.shells[host].run(text, seconds)

    def watch(self, host, text, until, seconds):
        return self.shells[host].watch(text, until, seconds)


class Shell:
    def __init__(self, hosts, name):
        if hosts.enter:
            self._open([*hosts.enter, name, "bash", "--norc", "-s"], None)
            set_up = "cd; set -m\n"
        else:
            self._open_namespaces(hosts, name)
            set_up = SET_UP
        self.text = ""
        self.count = 0
        self.stuck = False # a command has not ended
        self.process.stdin.write(set_up.encode())
        out = self.run("true", 30)
        if out is None:
            raise HostError(f"{name} does not start: {self.text.strip()}")

    def _open_namespaces(self, hosts, name):
        directory = os.path.join(hosts.dir, name)
        for part in ("var", "home"):
            os.makedirs(os.path.join(directory, part))
        shutil.copytree("/etc", os.path.join(directory, "etc"), symlinks=True,
                        ignore=lambda d, _: ["lnetx.conf", "lnet.conf"] if d == "/etc" else [])
        env = {"PATH": PATH, "HOME": os.path.join(directory, "home"), "LC_ALL": "C.UTF-8",
               "USER": "root", "TERM": "dumb"}
        self._open(["ip", "netns", "exec", hosts.prefix + name, "unshare", "--uts", "bash",
                    "--norc", "-s", "--", name, directory, hosts.installed, TREE], env)

    def _open(self, argv, env):
        self.process = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)

    def _tell(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def _read(self, seconds, enough):
        """Reads until enough(text) is true; False if that takes too long, or the shell ends."""
        end = time.monotonic() + seconds
        while not enough(self.text):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return False
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                return False
            self.text += more.decode(errors="replace")
        return True

    def _take(self, mark):
        out, _, self.text = self.text.partition(mark)
        return out[:-1] if out.endswith("\n") else out

    def run(self, text, seconds):
        """What a command prints; None if it takes too long."""
        self.count += 1
        mark = f"\x01end {self.count}\n"
        self._tell(f"eval {shlex.quote(text)} </dev/null; printf '\\n\\001end {self.count}\\n'")
        self.stuck = self.stuck or not self._read(seconds, lambda t: mark in t)
        if self.stuck:
            return None
        return self._take(mark).removesuffix("\n")

    def watch(self, text, until, seconds):
        """What a command prints until until(lines) is true; then Ctrl-C ends it."""
        self.count += 1
        pid, mark = f"/run/docs-{self.count}", f"\x01end {self.count}\n"
        self._tell(f"eval {shlex.quote(text)} </dev/null & echo $! >{pid}; wait $!; "
                   f"printf '\\n\\001end {self.count}\\n'")
        self._read(seconds, lambda t: mark in t or until(t.splitlines()))
        if mark not in self.text:
            with open(f"/proc/{self.process.pid}/root{pid}", encoding="ascii") as f:
                group = int(f.read())
            # bash may overlook it, in a loop; then as one does: again.
            for sig in (signal.SIGINT, signal.SIGINT, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, sig)
                if self._read(3, lambda t: mark in t):
                    break
        return self._take(mark).removesuffix("\n")

    def write(self, path, text):
        if not self.run(f"mkdir -p $(dirname {shlex.quote(path)}); "
                        f"printf %s {shlex.quote(text)} >{shlex.quote(path)}", 10) == "":
            raise HostError(f"cannot write {path}")
