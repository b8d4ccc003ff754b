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

# part NAME: this part of the report, without its heading
part() {
	sed -n "/^==== $1/,/^====/{/^====/!p}" "$DIR/report"
}

# change METRIC: by how much it changed, as the report says
change() {
	part 'what changed' | awk -v name="$1" '$2 ~ "^" name "[{]" { print $1 }'
}

# journal LINE...: journalctl prints this; without lines it has nothing
journal() {
	mkdir -p "$DIR/bin"
	printf '#!/bin/sh\necho "$*" >%s\n' "$DIR/journalctl" >"$DIR/bin/journalctl"
	[ $# = 0 ] || printf "echo '%s'\n" "$@" >>"$DIR/bin/journalctl"
	chmod +x "$DIR/bin/journalctl"
	PATH=$DIR/bin:$PATH
}

@test "a report has each part, and counters by what they changed" {
	node b
	link a eth0 10.1.0.1/24 b eth0 10.1.0.2/24
	nets_yaml tcp eth0 | config b
	{ cat "$DIR/b.yaml"; echo '# for the report'; } >"$DIR/a.yaml"
	start a
	start b
	journal 'level=info event="from the journal"'
	# These are not in the difference.
	lx a ping 10.1.0.2@tcp 10.1.0.2@tcp 10.1.0.2@tcp
	lx a report seconds 8 >"$DIR/report" 3>&- &
	eventually "$PATIENCE" grep '^==== what changed in 8 s' "$DIR/report"
	sleep 2
	lx a ping 10.1.0.2@tcp 10.1.0.2@tcp
	wait $!
	equal "$(change lnetx_ni_received_messages_total)" +2
	equal "$(change lnetx_peer_received_messages_total)" +2
	[[ $(part 'what changed') != *lnetx_ni_up* ]]
	[[ $(part 'lnetx stats show') =~ recv_count\ +3 ]]
	[[ $(part versions) == *"lnetx   "[0-9]*"kernel  Linux $(uname -r) "* ]]
	[[ $(part 'lnetx daemon show') == *"$DIR/a.yaml"* ]]
	[[ $(part 'lnetx export') == *"net type: tcp"* ]]
	part 'the file' | grep -x '# for the report'
	grep -x "==== the file $DIR/a.yaml" "$DIR/report"
	[[ $(part 'lnetx doctor') == *healthy* ]]
	[[ $(part 'lnetx bpf status') == *"kernel "* ]]
	[[ $(part 'the log') == *'event="from the journal"'* ]]
	grep -- '-u lnetxd -n 200' "$DIR/journalctl"
	run -2 lx a report seconds 0

	# Each part is a document. Without the journal: where the log is.
	journal
	lx a -j report seconds 1 >"$DIR/report.json"
	equal "$(jq -sc 'add | [(.versions.lnetx | type), (.daemon[0].pid | type), .file[-1],
		(.doctor.healthy | type), (.changed | type), .log.error.errno]' "$DIR/report.json")" \
		'["string","number","# for the report","boolean","object",-2]'
	stop a
	run -1 lx a report
	[[ $output == *"==== versions"*"==== lnetx daemon show"*"not known: no lnetxd runs"*"==== the log"* ]]
}
