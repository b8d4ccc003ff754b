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

# sos ARGUMENT...: with our plugin, and lnetx where sos looks for commands, in a mount namespace of its own
sos() {
	# shellcheck disable=SC2016 # expanded there
	on a env PYTHONPATH="$DIR" PYTHONDONTWRITEBYTECODE=1 sh -c '
		mount -t tmpfs tmpfs /usr/local/sbin && ln -s "$0" /usr/local/sbin/lnetx &&
		exec /usr/bin/python3 /usr/bin/sos "$@"' "$LNETX_BIN/lnetx" "$@" 3>&-
}

@test "sos report has the state of each lnetxd" {
	local report

	cp -r /usr/lib/python3/dist-packages/sos "$DIR"
	cp tools/dist/sos/lnetx.py "$DIR/sos/report/plugins"
	start a -n one
	mkdir "$DIR/out"
	sos report --batch -o lnetx --tmp-dir "$DIR/out" >"$DIR/sos.log" 2>&1 || { cat "$DIR/sos.log"; false; }
	report=$(tar -xOf "$DIR"/out/*.tar.xz --wildcards '*/lnetx_-n_one_-s_net_show')
	[[ $report == *127.0.0.1@tcp* ]]
	tar -tf "$DIR"/out/*.tar.xz >"$DIR/files"
	grep 'lnetx_-n_one_metrics_peers$' "$DIR/files"
	# Each command was understood.
	run -1 grep -E '^(Try|usage)' <(tar -xOf "$DIR"/out/*.tar.xz --wildcards '*/lnetx_-n_one_*')
}
