#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# lnetxd in what sites have: a cluster's resource agent, a support report.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	node a
	nets_yaml tcp lo | config a
	PATH=$LNETX_BIN:$PATH
}

teardown() {
	net_end
}

# agent ACTION: as Pacemaker runs it
agent() {
	ip netns exec "${NS}a" env OCF_ROOT=/usr/lib/ocf HA_RSCTMP="$DIR" OCF_RESKEY_config="$DIR/a.yaml" \
		OCF_RESKEY_user=root OCF_RESKEY_drain=1 OCF_RESKEY_nis="${NIS:-}" \
		tools/dist/ocf/lnetxd "$1" 3>&-
}

# Exit statuses of resource agents: 1 failed, 6 not configured, 7 not running.
@test "the OCF agent starts, watches, reloads and stops an lnetxd" {
	run -7 agent monitor
	agent start
	agent start # again
	NIS=127.0.0.1@tcp agent monitor
	NIS="127.0.0.1@tcp 10.9.9.9@tcp" run -1 agent monitor
	[[ $output == *"NI 10.9.9.9@tcp is not up. Next: lnetx -n cluster doctor"* ]]
	nets_yaml tcp lo tcp1 lo | config a
	agent reload
	[[ $(LNETX_INSTANCE=cluster ctl a net show) == *"127.0.0.1@tcp1"* ]]
	echo 'net: 7' | config a
	run ! agent reload
	LNETX_INSTANCE=cluster ctl a lnet unconfigure
	run -1 agent monitor
	agent stop
	agent stop # again
	run -7 agent monitor
	run -6 agent start
	sane "$DIR/lnetxd-cluster.log"
}

@test "the OCF agent tells what it is, in Pacemaker's XML" {
	agent meta-data >"$DIR/agent.xml"
	python3 - "$DIR/agent.xml" <<-'END'
		import sys, xml.etree.ElementTree as xml
		agent = xml.parse(sys.argv[1]).getroot()
		assert {a.get("name") for a in agent.iter("action")} >= {"start", "stop", "monitor", "meta-data"}
		assert {p.get("name") for p in agent.iter("parameter")} >= {"config", "instance", "user", "nis"}
	END
}

# plugin_commands: what the plugin asks sos to run, a line each; of sos itself only names stand in
plugin_commands() {
	PYTHONPATH=tools/dist/sos python3 - <<-'END'
		import sys, types
		class Plugin:
		    def add_copy_spec(self, paths): pass
		    def add_journal(self, units): pass
		    def add_cmd_output(self, commands):
		        print(*([commands] if isinstance(commands, str) else commands), sep="\n")
		kinds = ("DebianPlugin", "IndependentPlugin", "RedHatPlugin", "UbuntuPlugin")
		plugins = types.ModuleType("sos.report.plugins")
		plugins.Plugin = Plugin
		for kind in kinds:
		    setattr(plugins, kind, type(kind, (), {}))
		sys.modules.update({"sos": plugins, "sos.report": plugins, "sos.report.plugins": plugins})
		from lnetx import Lnetx
		Lnetx().setup()
	END
}

@test "sos report asks each lnetxd for what it understands" {
	local command n=0

	start a -n one
	plugin_commands >"$DIR/commands"
	grep -x 'lnetx -n one metrics peers' "$DIR/commands"
	while read -r command; do
		# shellcheck disable=SC2086 # words
		run on a $command 3>&- </dev/null
		[[ $status != 2 && $output != *Try* ]]
		[[ $command != *"net show" || $output == *127.0.0.1@tcp* ]]
		n=$((n + 1))
	done < <(grep '^lnetx ' "$DIR/commands")
	[ $n -gt 10 ]
}
