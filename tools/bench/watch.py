# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes down what nodes and sockets are doing if a run takes much too long."""
import os
import threading
import time

LOOKS = 3 # one a second: what moves, and what stands still
QUESTIONS = ("lane show", "stream show", "conn show", "peer show", "bpf status", "stats show")


class Watch:
    """A block that takes longer than `seconds` has a dump of these namespaces in `path`.

    `routers` are namespaces with an lnetxd.
    """

    def __init__(self, lab, path, seconds, namespaces, routers):
        self.lab, self.path = lab, path
        self.namespaces, self.routers = namespaces, routers
        self.timer = threading.Timer(seconds, self.dump)

    def __enter__(self):
        self.timer.start()

    def __exit__(self, kind, value, trace):
        self.timer.cancel()
        self.timer.join()

    def dump(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "w") as f:
            captures = [(ns, self.capture(ns)) for ns in self.routers]
            for _ in range(LOOKS):
                for ns in self.routers:
                    for question in QUESTIONS:
                        self.ask(f, ns, self.lab.program("bin/lnetx"), "-s", *question.split())
                for ns in self.namespaces:
                    self.ask(f, ns, "ss", "-tinmo")
                time.sleep(1)
            for ns in self.routers:
                self.ask(f, ns, "tail", "-n", "200", self.lab.log(ns, "lnetxd"))
            for ns, packets in captures:
                f.write(f"== {ns}: packets\n{packets.communicate()[0]}")

    def ask(self, f, ns, *args):
        r = self.lab.run(ns, *args, check=False)
        f.write(f"== {time.time():.3f} {ns}: {' '.join(args)}\n{r.stdout}{r.stderr}")

    def capture(self, ns):
        return self.lab.start(ns, "timeout", "5", "tcpdump", "-lnn", "-i", "any", "-s", "128",
                              "-c", "2000", "tcp", pipe=True)
