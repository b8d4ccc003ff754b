# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A small network in namespaces, with programs in it; removed when the block ends.

Used by the bench and the demo. Names contain the process id, so several labs can run
at once. All of a lab is removed: at the end, after an error, on Ctrl-C.
"""
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time


PATIENCE_S = 60 # on a machine that is busy with other things
LOG_LINES = 10 # of a program that does not do what it should


class LabError(Exception):
    """Something in the lab does not work; the text is shown to the user."""


class Lab:
    def __init__(self, name, programs, keep=False, private=True):
        self.prefix = f"{name}-{os.getpid()}"
        self.programs = os.path.abspath(programs)
        self.keep = keep
        self.namespaces = []
        self.processes = []
        self.dir = tempfile.mkdtemp(prefix=self.prefix + "-")
        # A router's saved state must not affect the next lab, which has the same NIDs.
        self.env = dict(os.environ, STATE_DIRECTORY=self.dir)
        if private: # control sockets in the lab's own directory
            self.env["LNETX_RUNDIR"] = self.dir

    def __enter__(self):
        if os.geteuid():
            raise LabError("network namespaces need root. Next: run it with sudo")
        for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(sig, self._on_signal)
        raise_file_limit()
        return self

    def __exit__(self, kind, value, trace):
        if self.keep and kind is None:
            return
        for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(sig, signal.SIG_IGN)
        for process in reversed(self.processes):
            stop(process)
        for ns in self.namespaces:
            remove_namespace(ns)
        shutil.rmtree(self.dir, ignore_errors=True)

    @staticmethod
    def _on_signal(signum, frame):
        sys.exit(128 + signum)

    # ---- the network --------------------------------------------------------------

    def ns(self, name):
        """Creates a namespace; other methods take its short `name`."""
        self.namespaces.append(self.full(name))
        command("ip", "netns", "add", self.full(name))
        self.ip(name, "link", "set", "lo", "up")

    def full(self, name):
        return f"{self.prefix}-{name}"

    def ip(self, ns, *args):
        command("ip", "-netns", self.full(ns), *args)

    def ip_batch(self, ns, lines):
        subprocess.run(["ip", "-netns", self.full(ns), "-batch", "-"], check=True,
                       input="\n".join(lines), text=True)

    def veth(self, ns, dev, peer_ns, peer_dev):
        """A veth between two namespaces, up at both ends."""
        self.ip(ns, "link", "add", dev, "type", "veth", "peer", "name", peer_dev,
                "netns", self.full(peer_ns))
        for n, d in ((ns, dev), (peer_ns, peer_dev)):
            self.ip(n, "link", "set", d, "up")
            self.steer(n, d)

    def steer(self, ns, dev, cpus=None):
        """Steers received packets to the first CPUs, or to all."""
        # A veth queues packets on the CPU that sends them, so a flow whose sender migrates
        # would be reordered. Steering by flow keeps each flow on one CPU.
        mask = f"{(1 << (cpus or os.cpu_count())) - 1:x}"
        self.run(ns, "sh", "-c", f"echo {mask} > /sys/class/net/{dev}/queues/rx-0/rps_cpus")

    def sysctl(self, ns, name, value):
        path = f"/proc/sys/{name.replace('.', '/')}"
        self.run(ns, "sh", "-c", f"echo {value} > {path}")

    # ---- programs -----------------------------------------------------------------

    def program(self, name):
        return os.path.join(self.programs, name)

    def argv(self, ns, args):
        return ["ip", "netns", "exec", self.full(ns), *args]

    def log(self, ns, program):
        """Where a program's standard error goes."""
        return os.path.join(self.dir, f"{ns}-{os.path.basename(program)}.log")

    def run(self, ns, *args, check=True, timeout=60):
        """Runs a program; returns the CompletedProcess, with its output."""
        what = f"{os.path.basename(args[0])} {' '.join(args[1:])} in {ns}"
        try:
            r = subprocess.run(self.argv(ns, args), env=self.env, text=True, timeout=timeout,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            raise LabError(f"{what} took more than {timeout} s") from None
        if check and r.returncode:
            raise LabError(f"{what} failed: {(r.stderr or r.stdout).strip()}")
        return r

    def start(self, ns, *args, ready=None, pipe=False, seconds=PATIENCE_S):
        """Starts a program; with `ready`, waits until it prints a line with this word.

        With `pipe` the caller reads what it prints, else that goes to its log.
        """
        log = open(self.log(ns, args[0]), "a")
        process = subprocess.Popen(self.argv(ns, args), env=self.env, text=True,
                                   stdin=subprocess.DEVNULL, stderr=log,
                                   stdout=subprocess.PIPE if ready or pipe else log,
                                   start_new_session=True)
        self.processes.append(process)
        process.log = log.name
        if ready and not wait_line(process.stdout, ready, seconds):
            raise LabError(f"{os.path.basename(args[0])} in {ns} does not start: "
                           f"{state_of(process, seconds)}")
        return process

    def daemon(self, ns, config, *args, cpu=()):
        """Starts an lnetxd with this YAML and waits until it answers."""
        path = os.path.join(self.dir, f"{ns}.yaml")
        with open(path, "w") as f:
            f.write(config)
        process = self.start(ns, *cpu, self.program("bin/lnetxd"), "-c", path, "--log-level", "notice",
                             *args)
        until(lambda: self.lnetx(ns, "net", "show", check=False).returncode == 0,
              f"lnetxd in {ns} does not start", process,
              asked=lambda: self.lnetx(ns, "net", "show", check=False))
        return process

    def lnetx(self, ns, *args, check=True):
        return self.run(ns, self.program("bin/lnetx"), *args, check=check)


def remove_namespace(ns):
    """Removes it with its processes, and the control socket of a killed lnetxd."""
    pids = subprocess.run(["ip", "netns", "pids", ns], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.split()
    for sig, seconds in ((signal.SIGTERM, 3), (signal.SIGKILL, 1)):
        for pid in pids:
            try:
                os.kill(int(pid), sig)
            except ProcessLookupError:
                pass
        end = time.monotonic() + seconds
        while any(os.path.exists(f"/proc/{pid}") for pid in pids) and time.monotonic() < end:
            time.sleep(0.02)
    try:
        instance = f"/run/lnetx/net-{os.stat(f'/run/netns/{ns}').st_ino}.sock"
    except FileNotFoundError:
        return
    subprocess.run(["ip", "netns", "del", ns], stderr=subprocess.DEVNULL)
    for path in (instance, instance + ".lock"):
        if os.path.exists(path):
            os.remove(path)


def command(*args):
    r = subprocess.run(args, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if r.returncode:
        raise LabError(f"{' '.join(args)}: {r.stdout.strip()}")


def stop(process, sig=signal.SIGTERM):
    """Stops a program; "ip netns exec" has become it by exec."""
    if process.poll() is None:
        process.send_signal(sig)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout:
        process.stdout.close()


def wait_line(stream, word, seconds):
    """Reads until a line has the word; False if it ends or takes too long."""
    end = time.monotonic() + seconds
    text = b""
    while time.monotonic() < end:
        # Bypass the stream's own buffer, which select() does not see.
        if select.select([stream], [], [], 0.1)[0]:
            more = os.read(stream.fileno(), 4096)
            text += more
            if word.encode() in text:
                return True
            if not more:
                return False
    return False


def state_of(process, seconds):
    """Why a program is not as it should be, with the end of its log."""
    status = process.poll()
    if status is None:
        state = f"it runs, but not as it should, after {seconds} s"
    elif status < 0:
        state = f"it was killed by signal {-status}"
    else:
        state = f"it has ended with status {status}"
    with open(process.log) as log:
        lines = log.read().strip().splitlines()
    return "\n    ".join([state + ("; its log:" if lines else ""), *lines[-LOG_LINES:]])


def until(condition, otherwise, process=None, seconds=PATIENCE_S, asked=None):
    """Waits for a condition; raises LabError with `otherwise` on timeout.

    With a process also when that ends. `asked`: a command whose answer says why.
    """
    end = time.monotonic() + seconds
    while not condition():
        ended = process and process.poll() is not None
        if ended or time.monotonic() > end:
            why = state_of(process, seconds) if process else f"after {seconds} s"
            answer = asked() if asked and not ended else None
            raise LabError(f"{otherwise}: {why}" +
                           (f"\n    {answer.stderr.strip()}" if answer else ""))
        time.sleep(0.02)


def raise_file_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    want = 65536
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (want, max(want, hard)))
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def proc_status_kib(pid, key):
    """A line of /proc/PID/status, such as VmRSS."""
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise LabError(f"/proc/{pid}/status has no {key}")


def cpu_s():
    """Busy seconds of all CPUs, and the part of them spent in interrupts."""
    with open("/proc/stat") as f:
        user, nice, system, idle, iowait, irq, softirq = map(int, f.readline().split()[1:8])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / tick, (irq + softirq) / tick
