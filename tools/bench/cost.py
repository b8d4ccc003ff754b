# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""CPU time and buffered bytes of a router under load, and the cost of contention.

cpu     CPU of the router, in seconds per GB that it received from clients, after the
        warm-up; the sum of three parts:

            programs  run time of the daemon's BPF programs, from the kernel's bpf_stats
            daemon    its process: user and system time, less the softirqs in it
            softirq   (softirqs and interrupts of the machine, from /proc/stat, less the
                      programs' time) times (packets received by the router, divided by
                      those received by client, router and server)

        Most kernels also charge a softirq to the process that it interrupts. Tracepoints
        (softirq.bpf.c) measure the part that interrupts the daemon, which is subtracted.
        For the sum, tracepoints are not enough: they miss the cost of an interrupt before
        its softirq begins, which the kernel's ticks include. In a virtual machine, a
        process that only read the clock lost 0.50 s of 3 to a TCP stream's packets:
        0.57 s by ticks, 0.25 s by tracepoints.

        All packets count the same, whoever receives them, an ACK as much as 64 KiB. The
        processes of clients and servers do not count. A program that runs when the
        daemon sends, not in a softirq, counts twice, with the programs and with the
        daemon. IP forwarding is softirq only, and so the lower bound.

held    Bytes that the router holds, the maximum of some 20 samples: in its TCP sockets
        (Recv-Q and Send-Q), in those that are lanes, and in its buffers, each counted
        as full as a message can fill it. A lane that the daemon has taken back counts
        as an ordinary socket.

one, all
        Contention: packets received by the router's interfaces are steered to one CPU, or
        to all. Reports the time per run of a program, runs per second, and packets per
        second dropped because another CPU had their stream locked.

shares  Of the streams with large messages (ACKs are not): the percentage of bytes that
        went by lanes.
"""
import contextlib
import functools
import json
import os
import pathlib
import signal
import time
from concurrent.futures import ThreadPoolExecutor

from lab import LabError, cpu_s, stop

FIELDS = {
    "cpu": ("programs_s_per_gb", "daemon_s_per_gb", "softirq_s_per_gb", "router_s_per_gb"),
    "held": ("socket_bytes", "lane_socket_bytes", "lanes", "buffers", "buffer_bytes", "samples"),
    "one": ("ingress_ns", "ingress_per_s", "egress_ns", "egress_per_s", "taken_per_s"),
}
FIELDS["all"] = FIELDS["one"]
FIELDS["shares"] = ("lane_percent",)

BPF_STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
SAMPLES = 20
LONGER = (1, 2, 4)  # of the seconds of a run
PAGE = 4096


class Cost:
    """Measures a router while a client runs; daemon: None if its kernel forwards packets."""

    def __init__(self, lab, ns, daemon, size, warmup, seconds):
        self.lab = lab
        self.ns, self.daemon = ns, daemon
        self.size = size
        self.warmup, self.seconds = warmup, seconds
        objects = self.show("bpf", "status").get("objects", ()) if self.daemon else ()
        self.ids = {o["id"] for o in objects if o["kind"] == "program"}

    def measure(self, op, run):
        """Runs the client; returns its result, with FIELDS[op]."""
        return {"cpu": self.cpu, "held": self.held, "one": self.one, "all": self.all,
                "shares": self.shares}[op](run)

    # ---- CPU --------------------------------------------------------------------------

    def cpu(self, run):
        with bpf_stats(), self.softirqs() as traced:
            r, (before, after) = self.sampled(run, 2, lambda: self.counters(traced))
        d = {name: after[name] - before[name] for name in after}
        parts = (d["programs"],
                 max(0, d["process"] - d["softirq"] * d["in_process"] / d["all"]),
                 max(0, d["softirq"] - d["programs"]) * d["ours"] / d["packets"])
        return r | {f: s / d["gb"] for f, s in zip(FIELDS["cpu"], (*parts, sum(parts)))}

    def counters(self, traced):
        n = traced() | {"process": process_s(self.daemon.pid) if self.daemon else 0,
                        "softirq": cpu_s()[1]}
        received = {ns: self.received(ns) for ns in (self.ns, "client", "server")}
        return n | {"gb": received[self.ns]["eth0"][0] / 1e9,
                    "ours": sum(packets for _, packets in received[self.ns].values()),
                    "packets": sum(p for devs in received.values() for _, p in devs.values()),
                    "programs": sum(ns for ns, _ in self.programs().values()) / 1e9}

    def received(self, ns):
        """Interface -> (bytes, packets)."""
        lines = self.lab.run(ns, "cat", "/proc/net/dev").stdout.splitlines()[2:]
        devices = ((name.strip(), n.split()) for name, n in (x.split(":") for x in lines))
        return {name: (int(n[0]), int(n[1])) for name, n in devices}

    @contextlib.contextmanager
    def softirqs(self):
        """Returns the seconds of softirqs so far: all, and those that interrupted the daemon."""
        pid = self.daemon.pid if self.daemon else os.getpid()
        process = self.lab.start(self.ns, self.lab.program("bench/softirq"), str(pid),
                                 ready="ready")

        def ask():
            process.send_signal(signal.SIGUSR1)
            return json.loads(process.stdout.readline())
        try:
            yield ask
        finally:
            stop(process)

    def programs(self):
        """The daemon's BPF programs: name -> (ns, runs)."""
        if not self.ids:
            return {}
        loaded = json.loads(self.lab.run(self.ns, "bpftool", "-j", "prog", "show").stdout)
        return {p["name"]: (p.get("run_time_ns", 0), p.get("run_cnt", 0))
                for p in loaded if p["id"] in self.ids}

    # ---- what it holds ------------------------------------------------------------------

    def held(self, run):
        r, samples = self.sampled(run, SAMPLES, self.held_now)
        return r | {f: max(s[f] for s in samples) for f in samples[0]} | {"samples": len(samples)}

    def held_now(self):
        # Only sockets that are lanes before and after count, since lanes change.
        before, queues, after = self.lanes(), self.queues(), self.lanes()
        lanes = before & after & queues.keys()
        pools = self.show("routing", "show")
        used = {p: pools[p]["nbuffers"] - pools[p]["credits"] for p in ("tiny", "small", "large")}
        return {"socket_bytes": sum(queues.values()),
                "lane_socket_bytes": sum(queues[ends] for ends in lanes),
                "lanes": len(lanes),
                "buffers": sum(used.values()),
                "buffer_bytes": sum(n * min(self.size, pools[p]["npages"] * PAGE)
                                    for p, n in used.items())}

    def lanes(self):
        return {(x["local"], x["remote"]) for x in self.show("lane", "show")
                if x["state"] != "socket"}

    def queues(self):
        """(local, remote) -> bytes, of each TCP connection."""
        rows = (x.split() for x in self.lab.run(self.ns, "ss", "-tnH").stdout.splitlines())
        return {(local, remote): int(rx) + int(tx) for _, rx, tx, local, remote, *_ in rows}

    # ---- contention ---------------------------------------------------------------------

    def one(self, run):
        for dev in ("eth0", "eth1"):
            self.lab.steer(self.ns, dev, 1)
        try:
            return self.all(run)
        finally:
            for dev in ("eth0", "eth1"):
                self.lab.steer(self.ns, dev)

    def all(self, run):
        with bpf_stats():
            r, samples = self.sampled(run, 2, self.work_now)
        (t0, programs0, taken0), (t1, programs1, taken1) = samples
        seconds = t1 - t0
        for side in ("ingress", "egress"):
            ns, runs = (b - a for a, b in zip(*(p[f"lnetx_{side}"]
                                                for p in (programs0, programs1))))
            r |= {f"{side}_ns": ns / max(runs, 1), f"{side}_per_s": runs / seconds}
        taken = sum(n - taken0.get(stream, 0) for stream, n in taken1.items())
        return r | {"taken_per_s": taken / seconds}

    def work_now(self):
        streams = {(s["stream"], s["remote"]): s["busy"] for s in self.show("stream", "show")}
        return time.monotonic(), self.programs(), streams

    # ---- lanes and lane 0 -----------------------------------------------------------------

    def shares(self, run):
        r, (before, after) = self.sampled(run, 2, self.streams)
        zero = (0, 0, 0)
        moved = [[b - a for a, b in zip(before.get(key, zero), now)] for key, now in after.items()]
        bulk = [m for m in moved if m[0] >= max(m[2], 1) * self.size / 4]
        total, by_lanes, _ = map(sum, zip(*bulk)) if bulk else zero
        return r | {"lane_percent": 100 * by_lanes / total if total else 0}

    def streams(self):
        """Stream -> bytes, those by lanes, messages."""
        return {(s["stream"], s["remote"]): (s["bytes"], s["lane_bytes"], s["messages"])
                for s in self.show("stream", "show")}

    # ---- how ----------------------------------------------------------------------------

    def show(self, *what):
        answer = json.loads(self.lab.lnetx(self.ns, "-s", "-j", *what).stdout)
        return next(iter(answer.values()))

    def sampled(self, run, n, sample):
        """
        Runs the client, and takes n samples between its warm-up and its end. On a busy machine
        one sample can take longer than a short run: then the client runs again, for longer.
        """
        for seconds in (self.seconds * factor for factor in LONGER):
            r, samples = self.sampled_once(functools.partial(run, seconds=seconds), seconds, n,
                                           sample)
            if len(samples) >= 2:
                return r, samples
        raise LabError("the run ended before it could be sampled. Next: more --seconds")

    def sampled_once(self, run, seconds, n, sample):
        samples = []
        with ThreadPoolExecutor(1) as pool:
            start = time.monotonic() + self.warmup
            running = pool.submit(run)
            for i in range(n):
                time.sleep(max(0, start + 0.9 * seconds * i / (n - 1) - time.monotonic()))
                if running.done():
                    break
                samples.append(sample())
            return running.result(), samples


@contextlib.contextmanager
def bpf_stats():
    """Makes the kernel time BPF programs while the block runs."""
    before = BPF_STATS.read_text()
    BPF_STATS.write_text("1\n")
    try:
        yield
    finally:
        BPF_STATS.write_text(before)


def process_s(pid):
    """User and system time of a process, with all threads."""
    with open(f"/proc/{pid}/stat") as f:
        utime, stime = f.read().rpartition(")")[2].split()[11:13]
    return (int(utime) + int(stime)) / os.sysconf("SC_CLK_TCK")
