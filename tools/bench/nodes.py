# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Six nodes, in network namespaces.

    faulty ─┐                        ┌─ healthy
     other ─┼─ switch ── router ── switch
     third ─┘                        └─ victim
"""
import json
import re
import subprocess
import time

from lab import LabError, stop

ANSWERED = re.compile(r"answered in ([\d.]+) ms")
CLIENTS = {"faulty": 1, "other": 2, "third": 3}
SERVERS = {"healthy": 1, "victim": 2}
ROUTER = """
net:
    - net type: tcp1
      local NI(s):
        - nid: {}@tcp1
    - net type: tcp2
      local NI(s):
        - {}
routing:
    - enable: 1
tunables:
    tcp: {{ accept: all, conns_per_peer: {} }}
"""


class Site:
    def __init__(self, lab, args, conns, fastpath):
        self.lab, self.args, self.conns, self.seconds = lab, args, conns, args.seconds
        for lan, hosts in (("lan1", CLIENTS), ("lan2", SERVERS)):
            lab.ns(lan)
            lab.ip(lan, "link", "add", "br0", "type", "bridge")
            lab.ip(lan, "link", "set", "br0", "up")
            for name, host in hosts.items():
                lab.ns(name)
                self.plug(name, "eth0", [self.address(lan, host)], lan)
        lab.ns("router")
        self.plug("router", "eth0", [self.address("lan1", 9)], "lan1")
        self.plug("router", "eth1", [self.address("lan2", 9 + i) for i in range(args.rails)],
                  "lan2")
        ni = (f"{{ interfaces: {{ 0: eth1 }}, rails: {args.rails} }}" if args.rails > 1 else
              f"nid: {self.address('lan2', 9)}@tcp2")
        lab.daemon("router", ROUTER.format(self.address("lan1", 9), ni, conns),
                   *([] if fastpath else ["--no-bpf"]))
        self.server = {name: lab.start(name, *self.lxload("server", name), ready="ready")
                       for name in SERVERS}

    def address(self, lan, host):
        return (f"fd70:112:{lan[-1]}::{host:x}" if self.args.ipv6 else
                f"10.112.{lan[-1]}.{host}")

    def nid(self, name):
        lan = "lan1" if name in CLIENTS else "lan2"
        return f"{self.address(lan, {**CLIENTS, **SERVERS}[name])}@tcp{lan[-1]}"

    def plug(self, ns, dev, addresses, lan):
        self.lab.veth(ns, dev, lan, ns)
        self.plug_in(ns, lan)
        for address in addresses:
            self.lab.ip(ns, "addr", "add", f"{address}/{64 if self.args.ipv6 else 24}", "dev", dev,
                        *(["nodad"] if self.args.ipv6 else []))

    def lxload(self, verb, name, *args):
        mine, far = (1, 2) if name in CLIENTS else (2, 1)
        routes = [arg for i in range(1 if name in CLIENTS else self.args.rails) for arg in
                  ("--route", f"tcp{far}={self.address(f'lan{mine}', 9 + i)}@tcp{mine}")]
        return [self.lab.program("bin/lxload"), verb, *args, "--nid", self.nid(name), *routes,
                "--json", "--set", "tcp.accept=all", "--set",
                f"tcp.conns_per_peer={self.conns}",
                "--set", "lnet.lnet_transaction_timeout=30"]

    def load(self, name, to, pinged, *args, seconds=None, size="1m", verb="put"):
        """Client `name` sends to some servers, and pings something ten times a second.

        Pings and messages of 1 KiB or less share a connection.
        """
        nid = self.address("lan1", 9) + "@tcp1" if pinged == "router" else self.nid(pinged)
        return self.lab.start(name, *self.lxload(
            verb, name, *map(self.nid, to.split()), *args, "--size", size, "--inflight", "4",
            "--ping", nid, "--seconds", str(seconds or self.seconds), "--timeout", "60"), pipe=True)

    # ---- faults ---------------------------------------------------------------------

    def unplug(self, name, lan):
        self.lab.ip(lan, "link", "set", name, "nomaster")

    def plug_in(self, name, lan):
        self.lab.ip(lan, "link", "set", name, "master", "br0")

    def limit(self, ns, dev, rate):
        self.lab.run(ns, "tc", "qdisc", "add", "dev", dev, "root", "tbf", "rate", rate, "burst",
                     "64k", "latency", "200ms")

    def narrow(self, name, lan):
        """10 Mbit/s to and from a node."""
        self.limit(name, "eth0", "10mbit")
        self.limit(lan, name, "10mbit")


def pings(lab, ns, nid, seconds, pause):
    """How long a node's pings took, ms, one after the other; those that fail, their time-out."""
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        r = lab.lnetx(ns, "ping", nid, "timeout", "20", check=False)
        found = ANSWERED.search(r.stdout)
        times.append(float(found[1]) if found else 20000)
        time.sleep(pause)
    return times


def result(process, seconds):
    """What lxload printed at its end."""
    try:
        out = process.communicate(timeout=seconds)[0]
        return json.loads(out.splitlines()[-1])
    except (ValueError, IndexError):
        raise LabError("lxload: " + open(process.log).read().strip())
    except subprocess.TimeoutExpired:
        stop(process)
        raise LabError(f"lxload does not end within {seconds:.0f} s")
