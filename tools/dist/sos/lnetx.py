# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""sos report: the state of all lnetxds of a machine (docs/monitoring.md)."""

from glob import glob
from os import environ
from os.path import basename

from sos.report.plugins import DebianPlugin, IndependentPlugin, Plugin, RedHatPlugin, UbuntuPlugin

RUNDIR = environ.get("LNETX_RUNDIR", "/run/lnetx")
SHOWS = ("daemon show", "net show", "peer show", "route show", "routing show", "conn show",
         "recovery show", "udsp show", "stats show", "tunable show", "guard show", "bpf status",
         "stream show", "lane show", "fault show", "selftest show")


class Lnetx(Plugin, RedHatPlugin, DebianPlugin, UbuntuPlugin, IndependentPlugin):

    short_desc = "LNet node in userspace"
    plugin_name = "lnetx"
    profiles = ("network", "storage")
    packages = ("lnetx",)
    files = ("/usr/sbin/lnetxd", "/etc/lnetx.conf")

    def setup(self):
        self.add_copy_spec(["/etc/lnetx.conf", "/etc/lnet.conf", "/var/lib/lnetx"])
        self.add_journal(units="lnetxd")
        for socket in glob(RUNDIR + "/*.sock"):
            lnetx = "lnetx -n " + basename(socket)[:-len(".sock")]
            self.add_cmd_output([f"{lnetx} -s {show}" for show in SHOWS])
            self.add_cmd_output([f"{lnetx} {words}" for words in ("report", "metrics peers")])
        self.add_cmd_output("find /sys/fs/bpf/lnetx " + RUNDIR + " -ls")
