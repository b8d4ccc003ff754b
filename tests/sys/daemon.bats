#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The life of lnetxd: its file, reload, stop, sudden death.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
}

teardown() {
	net_end
}

# ---- configuration -----------------------------------------------------------------

# checks NODE STATUS: run -t on the node's file
checks() {
	run "-$2" on "$1" "$LNETX_BIN/lnetxd" -t -c "$DIR/$1.yaml"
	echo "$output"
}

@test "-t accepts a good file; for a bad one it gives line, column and what was expected" {
	net_rails
	nets_yaml tcp eth0 | config a
	checks a 0
	equal "$output" ok

	printf 'net:\n    - net type: tcp\n      local NI(z): 1\n' | config a
	checks a 1
	[[ $output == "$DIR/a.yaml:3:7: "*"local NI(z)"*"did you mean \"local NI(s)\"?"* ]]

	printf 'net:\n    - net type: tcp\n      local NI(s): [\n' | config a
	checks a 1
	[[ $output == "$DIR/a.yaml:"[0-9]*":"[0-9]*": "* ]]

	printf 'tunables:\n    tcp: { sock_timeout: -7 }\n' | config a
	checks a 1
	equal "$output" "$DIR/a.yaml:2:26: tcp: sock_timeout: \"-7\" is out of range; expected: 0..86400"

	run -1 "$LNETX_BIN/lnetxd" -t -c "$DIR/none.yaml"
	[[ $output == *"none.yaml"*"No such file"* ]]

	# What a shell leaves of an export that failed.
	: | config a
	checks a 0
	equal "$output" "ok: configures nothing"
	printf '# none\n---\nnet: []\nroute:\n' | config a
	checks a 0
	equal "$output" "ok: configures nothing"
	for line in 'routing: { enable: 1 }' 'buffers: { large: 10 }' 'global: { retry_count: 2 }' \
		'tunables: { tcp: { sock_timeout: 9 } }' 'selftest: { }'; do
		echo "$line" | config a
		checks a 0
		[ "$output" = ok ] || [[ $line == selftest* ]] || { echo "$line: $output"; false; }
	done
}

@test "-t alone checks the file that the unit starts with" {
	# shellcheck disable=SC2016 # the inner shell expands them
	run -0 unshare -m sh -ec 'mount -t tmpfs none /etc
		"$0" -t || echo "none: $?"
		echo "net: x" >/etc/lnet.conf; "$0" -t || echo "wrong: $?"
		: >/etc/lnet.conf; "$0" -t
		echo "routing: { enable: 1 }" >/etc/lnetx.conf; "$0" -t' "$LNETX_BIN/lnetxd" 3>&-
	equal "$(grep -v level= <<<"$output")" "/etc/lnetx.conf: cannot read it: No such file or directory
none: 1
$(grep /etc/lnet.conf:1 <<<"$output")
wrong: 1
/etc/lnet.conf: ok: configures nothing
/etc/lnetx.conf: ok"
	[[ $output == *"/etc/lnet.conf:1:6: "* ]]
}

# Each line has another kind of mistake; each is reported with line and column, and a start
# refuses with the same text as -t.
@test "-t reports all mistakes, and refuses what a start would" {
	net_rails
	cat >"$DIR/a.yaml" <<-'END'
		net:
		    - net type: tcp
		      local NI(s):
		        - interfaces: { 0: eth0, 1: eth7 }
		        - interfaces: { 0: eth0 }
		          CPT: "[4-0]"
		        - nid: 10.2.0.1@tcp
		        - interfaces: { 0: eth1 }
		    - net type: tcp1
		      local NI(s):
		        - nid: 10.9.9.9@tcp1
		route:
		    - { net: tcp1, gateway: 10.1.0.2@tcp }
		    - { net: tcp3, gateway: 10.1.0.2@tcp4 }
		    - { net: tcp3, gateway: 10.1.0.1@tcp }
		buffers: { large: 2000000 }
		global: { transaction_timeout: 3, retry_count: 3 }
		tunables:
		    tcp: { acept: all, min_reconnectms: 70000 }
		    lnet: { portal_rotor: 1, portal_rotor: 2 }
		peer:
		    - { primary nid: 10.1.0.1@tcp, peer ni: [ { nid: 10.1.0.9@tcp } ] }
	END
	checks a 1
	cut -d: -f2- <<<"$output" >"$DIR/told"
	equal "$(cut -d: -f1,2 "$DIR/told" | xargs)" \
		"4:37 5:28 6:16 8:28 11:16 15:29 16:19 17:35 19:12 19:24 20:30 22:22"
	grep '4:37: net tcp on eth7: there is no such interface' "$DIR/told"
	grep '5:28: eth0 is on net tcp twice; first in line 4' "$DIR/told"
	grep '6:16: .*CPT.*4-0' "$DIR/told"
	grep '16:19: .*2000000 is not in' "$DIR/told"
	grep '17:35: lnet: transaction_timeout must be greater than retry_count' "$DIR/told"
	grep '19:12: tcp: no tunable "acept"; did you mean accept?' "$DIR/told"
	grep '19:24: tcp: min_reconnectms is greater than max_reconnectms' "$DIR/told"
	grep '20:30: .*portal_rotor.*twice' "$DIR/told"
	grep "22:22: peer 10.1.0.1@tcp: 10.1.0.1@tcp is this node's own, and 10.1.0.9@tcp is not" "$DIR/told"
	# Some of these are of this machine, and may heal; the others are the file's own.
	run -78 on a "$LNETX_BIN/lnetxd" -c "$DIR/a.yaml"
	equal "${#lines[@]}" "$(wc -l <"$DIR/told")"
	equal "$(sed 's/.*reason="[^:]*://; s/"$//' <<<"$output")" "$(tr '"' "'" <"$DIR/told")"

	# Mistakes across nets are reported once the nets can be parsed.
	sed -i '/CPT/d; s/, 1: eth7//' "$DIR/a.yaml"
	checks a 1
	cut -d: -f2- <<<"$output" >"$DIR/told"
	grep '5:28: eth0 is on net tcp twice; first in line 4' "$DIR/told"
	grep '7:28: 10.2.0.1@tcp is given twice; first in line 6' "$DIR/told"
	grep '10:16: net tcp1 on 10.9.9.9@tcp1: no usable address' "$DIR/told"
	grep '12:14: route to tcp1: the net is local' "$DIR/told"
	# An interface and a NID: which of them is wrong.
	sed -i 's/nid: 10.9.9.9@tcp1/{ nid: 10.9.9.9@tcp1, interfaces: { 0: eth0 } }/' "$DIR/a.yaml"
	checks a 1
	grep 'net tcp1 on eth0 with 10.9.9.9@tcp1: no usable address' <<<"$output"
	grep '13:29: route to tcp3 via 10.1.0.2@tcp4: .*net tcp4 (nets: tcp, tcp1)' "$DIR/told"
	grep '14:29: route to tcp3 via 10.1.0.1@tcp: the gateway is this node itself' "$DIR/told"
}

@test "a bad file, or no interface at all: it does not start, and says why in one line" {
	node a
	printf 'nets: {}\n' | config a
	run -78 on a "$LNETX_BIN/lnetxd" -c "$DIR/a.yaml"
	[[ $output == *"a.yaml:1:1"*"nets"* ]]
	equal "${#lines[@]}" 1
	# The service manager tries again, but not with a file that stays as it is.
	grep -x 'RestartPreventExitStatus=2 78' tools/dist/systemd/lnetxd.service
	nets_yaml tcp eth7 | sed 's/eth7/eth7, 1: eth7/' | config a
	run -78 on a "$LNETX_BIN/lnetxd" -c "$DIR/a.yaml"
	# This heals with the address: another node may be its own gateway then.
	{ nets_yaml tcp lo; route_yaml tcp9 127.0.0.1@tcp; } | config a
	run -1 on a "$LNETX_BIN/lnetxd" -c "$DIR/a.yaml"
	[[ $output == *"the gateway is this node itself"* ]]
	run -1 on a "$LNETX_BIN/lnetxd" -c "$DIR"
	run -1 on a "$LNETX_BIN/lnetxd" -c "$DIR/none.yaml"

	nets_yaml tcp eth7 | config a
	run -1 on a "$LNETX_BIN/lnetxd" -c "$DIR/a.yaml"
	[[ $output == *"a.yaml:5:18: net tcp on eth7: there is no such interface"* ]]

	# Only binding shows that a port is taken; the report has the same form.
	nets_yaml tcp lo | config a
	on a python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 988)); time.sleep(60)' 3>&- &
	eventually "$PATIENCE" on a bash -c '</dev/tcp/127.0.0.1/988'
	run -1 on a "$LNETX_BIN/lnetxd" -c "$DIR/a.yaml"
	kill $!
	[[ $output == *"a.yaml:5:18: net tcp on lo: another program listens on its port"* ]]
}

# is_missing NODE TEXT: what lnetxd runs without
is_missing() {
	[[ $(lx "$1" -j daemon show | jq -r '.daemon[0].missing // ""') == "$2"* ]]
	[[ -n $2 || $(lx "$1" -j daemon show) != *missing* ]]
}

@test "a missing interface at the start: the other NIs come up, and this one when it is there" {
	local text="net tcp5 on eth5: there is no such interface"

	net_two
	{ nets_yaml tcp eth0 tcp5 eth5; route_yaml tcp9 10.5.0.2@tcp5; } | config a
	checks a 1
	[[ $output == *"a.yaml:"[0-9]*"$text"* ]]
	start a
	start b
	pings a 10.1.0.2@tcp
	log_has a "level=error config=.*a.yaml:9 action=\"started without this NI\" reason=\"$text"
	[[ $(ctl a route show) != *tcp9* ]]
	is_missing a "$text"
	[[ $(lx a net show 2>&1) == *"runs without NIs of its file: $text"* ]]
	run lx a doctor
	[[ $output == *"problem"*"runs without NIs of its file: $text"* ]]

	# It comes up with its route; neither was set by command, nor is lost with a reload.
	link a eth5 10.5.0.1/24 b eth5 10.5.0.2/24
	eventually "$PATIENCE" log_has a 'interface=eth5 action="brought up the NI that was missing"'
	[[ $(ctl a net show) == *10.5.0.1@tcp5* ]]
	[[ $(ctl a route show) == *"net: tcp9"* ]]
	is_missing a ""
	nets_yaml tcp eth0 | config a
	lx a daemon reload
	log_has a 'reload="NI 10.5.0.1@tcp5 on eth5: removed"$'
	run ! log_has a 'by command'
}

@test "a missing interface at the start, and a reload before it is there: the file counts" {
	net_two
	nets_yaml tcp eth0 tcp5 eth5 | config a
	start a
	run -1 lx a daemon reload
	is_missing a "net tcp5 on eth5: there is no such interface"
	nets_yaml tcp eth0 | config a
	lx a daemon reload
	is_missing a ""
	link a eth5 10.5.0.1/24 b eth5 10.5.0.2/24
	[[ $(ctl a net show) != *tcp5* ]]
}

@test "a file that may be missing: lnetxd waits, and loads it when it is there" {
	net_two
	start b
	spawn a -c "$DIR/a.yaml" --missing-ok
	eventually "$PATIENCE" log_has a 'state="not configured" reason="there is no .*a.yaml"'
	equal "$(lx a -j daemon show | jq '.daemon[0].configured')" false
	nets_yaml tcp eth0 | config a
	kill -HUP "${daemon_pid[a]}"
	eventually "$PATIENCE" log_has a 'action=reloaded'
	ctl a lnet configure --all
	pings a 10.1.0.2@tcp
	stop a
	start a --missing-ok
	pings a 10.1.0.2@tcp
	# If the file is there it must be valid.
	stop a
	echo 'nets: {}' | config a
	run -78 on a "$LNETX_BIN/lnetxd" -c "$DIR/a.yaml" --missing-ok
	[[ $output == *"a.yaml:1:1"*"nets"* ]]
	rm "$DIR/a.yaml"
	run -1 on a "$LNETX_BIN/lnetxd" -c "$DIR/a.yaml"
	[[ $output == *"No such file"* ]]
}

@test "one lnetxd for each namespace; leftovers of a dead one do not matter" {
	net_two
	start a
	run -1 on a "$LNETX_BIN/lnetxd" -c "$DIR/a.yaml"
	[[ $output == *"runs already"* ]]
	start b
	stop a KILL
	start a
	pings a 10.1.0.2@tcp
}

# nice_of NODE: class and nice value of all threads, a line for each that there is
nice_of() {
	ps -L -o cls=,ni= -p "${daemon_pid[$1]}" | sed 's/  */ /g;s/^ //' | sort -u
}

@test "lnetxd comes before other processes, unless it shall not, or may not" {
	net_two
	nets_yaml tcp eth0 | config a
	renice -n 0 -p $BASHPID # whatever the tests run at
	start a
	equal "$(nice_of a)" "TS -15"
	jq -e '.daemon[0] | .priority and .cpu_ms > 0 and has("waited_ms")' <<<"$(lx a -j daemon show)"
	stop a
	start a --no-priority
	equal "$(nice_of a)" "TS 0"
	jq -e '.daemon[0].priority == false' <<<"$(lx a -j daemon show)"
	stop a
	LAUNCH='chrt -b 0' start a
	equal "$(nice_of a)" "B 0" # as the service manager wanted
	stop a
	LAUNCH='nice -n 3' start a
	equal "$(nice_of a)" "TS 3"
	jq -e '.daemon[0].priority == false' <<<"$(lx a -j daemon show)"
	stop a
	LAUNCH='prlimit --nice=0 setpriv --bounding-set -sys_nice' start a
	equal "$(nice_of a)" "TS 0"
	log_has a 'level=info nice=0 reason="Permission denied"'
	stop a
	# Raising it takes CAP_SYS_RESOURCE. As the unit has it:
	prlimit --nice=35 true 2>/dev/null || return 0
	LAUNCH='prlimit --nice=35 setpriv --bounding-set -sys_nice' start a
	equal "$(nice_of a)" "TS -15"
}

# told NODE TEXT COMMAND...: the command fails with this text
told() {
	local out

	! out=$(lx "$1" "${@:3}" 2>&1) && [[ $out == *"$2"* ]]
}

@test "while lnetxd loads its BPF programs, commands are told so" {
	net_two
	nets_yaml tcp eth0 | config a
	# The first use of BPF takes a minute, or until strace ends.
	LAUNCH="strace -D -f -o /dev/null -e trace=bpf -e inject=bpf:delay_enter=60000000:when=1" \
		spawn a -c "$DIR/a.yaml"
	eventually "$PATIENCE" told a "starting: loading BPF programs" net show
	told a "starting: loading BPF programs" bpf status
	told a "starting: loading BPF programs" guard show
	told a "starting: loading BPF programs" ping 10.1.0.2@tcp
	equal "$(lx a -j daemon show | jq '.daemon[0].configured')" false
	run ! log_has a 'not configured'
	# Without strace it goes on.
	kill -KILL "$(sed -n 's/^TracerPid:[[:space:]]*//p' "/proc/${daemon_pid[a]}/status")"
	eventually "$PATIENCE" is_running a
	[[ $(ctl a net show) == *10.1.0.1@tcp* ]]
	equal "$(lx a -j bpf status | jq '.bpf.sets[0].loaded')" true
}

# ---- reload -------------------------------------------------------------------------

@test "a memory limit below what the fast path's programs take while they load is named" {
	local limit

	[ "$LNETX_BPF" = on ] || skip "no programs"
	net_two
	{ nets_yaml tcp eth0; echo 'routing: { enable: 1 }'; } | config a
	# The limit of a cgroup above counts as well.
	cat >"$DIR/limited" <<-'EOF'
		path=$(sed -n 's/^0:://p' /proc/self/cgroup)
		mount -t tmpfs none /sys/fs/cgroup
		mkdir -p "/sys/fs/cgroup$path"
		echo max >"/sys/fs/cgroup$path/memory.max"
		echo "$1" >/sys/fs/cgroup/memory.max
		shift
		exec "$@"
	EOF
	for limit in max 104857600 33554432; do
		LAUNCH="unshare -m sh -e $DIR/limited $limit" start a
		stop a
		[ "$limit" = 33554432 ] || run ! grep memory_max "$DIR/a.log"
	done
	grep 'level=warning bpf=fastpath memory_max=33554432 cgroup=/.* reason="its programs take up to 40 MiB while they load' "$DIR/a.log"
	# A node that loads no fast path needs no such memory.
	nets_yaml tcp eth0 | config a
	LAUNCH="unshare -m sh -e $DIR/limited 33554432" start a
	stop a
	[ "$(grep -c memory_max "$DIR/a.log")" = 1 ]
}

@test "SIGHUP: what changed is applied, what did not keeps its connections" {
	local before

	net_rails
	nets_yaml tcp eth0 | config a
	nets_yaml tcp eth0 tcp1 eth1 | config b
	start a
	start b
	pings a 10.1.0.2@tcp
	eventually "$PATIENCE" has_bulk a
	before=$(conns a)

	{ nets_yaml tcp eth0 tcp1 eth1; route_yaml tcp9 10.1.0.2@tcp
		echo 'global: { retry_count: 1 }'; } | config a
	reload a
	pings a 10.2.0.2@tcp1
	[[ $(ctl a route show) == *"net: tcp9"* ]]
	[[ $(ctl a global show) == *"retry_count: 1"* ]]
	equal "$(conns a | grep -F 10.1.0)" "$before"

	nets_yaml tcp eth0 | config a
	reload a
	[[ $(ctl a net show) != *tcp1* ]]
	[[ $(ctl a route show) != *tcp9* ]]
	equal "$(conns a)" "$before"
}

has_bulk() {
	[[ $(conns "$1") == *bulk_in*bulk_out* ]]
}

# reload NODE: reload its file; wait until the log says so
reload() {
	local done_before

	done_before=$(grep -c 'action=reloaded' "$DIR/$1.log" || true)
	kill -HUP "${daemon_pid[$1]}"
	eventually "$PATIENCE" log_has "$1" 'action=reloaded' $((done_before + 1))
}

@test "the log of a reload: what changed, and what was set by command" {
	net_rails
	{ nets_yaml tcp eth0; route_yaml tcp9 10.1.0.2@tcp; } | config a
	start a
	ctl a net add --net tcp1 --if eth1
	ctl a set retry_count 3
	ctl a peer add --prim_nid 10.1.0.7@tcp
	{ nets_yaml tcp eth0; route_yaml tcp8 10.1.0.2@tcp; } | config a
	reload a
	log_has a 'level=warning reload="NI 10.2.0.1@tcp1 on eth1: removed" reason="it was added by command, and is lost" next='
	log_has a 'level=warning reload="peer 10.1.0.7@tcp: removed" reason="it was added by command, and is lost"'
	log_has a 'level=warning reload="tunable lnet lnet_retry_count: 3 -> 2" reason="3 was set by command, and is lost"'
	log_has a 'level=info reload="route to tcp8 through 10.1.0.2@tcp: added"$'
	log_has a 'level=info reload="route to tcp9 through 10.1.0.2@tcp: removed"$'
	equal "$(grep -c ' reload=' "$DIR/a.log")" 5

	# The file has not changed: nothing to say.
	reload a
	equal "$(grep -c ' reload=' "$DIR/a.log")" 5
}

@test "SIGHUP with a bad file: the error is logged, nothing changes" {
	net_two
	start a
	start b
	printf 'net: [1, 2\n' | config a
	kill -HUP "${daemon_pid[a]}"
	eventually "$PATIENCE" log_has a 'configuration unchanged.*a.yaml:'
	pings a 10.1.0.2@tcp

	# Also for a file that parses, but cannot be applied.
	nets_yaml tcp eth0 tcp5 eth5 | config a
	kill -HUP "${daemon_pid[a]}"
	eventually "$PATIENCE" log_has a 'level=err.*eth5'
	pings a 10.1.0.2@tcp
	pings b 10.1.0.1@tcp
}

# reload_fails NODE TEXT: by command; nothing has changed but the log
reload_fails() {
	local told

	if told=$(lx "$1" daemon reload 2>&1); then
		return 1
	fi
	[[ $told == *"$2"* && $told != *"is applied"* ]]
	[[ $(ctl "$1" route show) == *"net: tcp9"* ]]
	equal "$(selftest_of "$1")" 1
}

@test "a reload is all or nothing: a missing interface is a mistake like others" {
	net_two
	{ nets_yaml tcp eth0; route_yaml tcp9 10.1.0.2@tcp
		echo 'selftest: { enable: 1, consoles: any }'; } | config a
	start a
	[[ $(ctl a route show) == *"net: tcp9"* ]]
	equal "$(selftest_of a)" 1

	{ nets_yaml tcp eth0 tcp5 eth5; echo 'selftest: { enable: 0 }'; } | config a
	reload_fails a "a.yaml:9:18: net tcp5 on eth5: there is no such interface"
	kill -HUP "${daemon_pid[a]}"
	eventually "$PATIENCE" log_has a 'action="configuration unchanged" reason=".*eth5: there is no such'
	reload_fails a "a.yaml:9:18: net tcp5 on eth5: there is no such interface"
	echo 'route: [ { net: tcp5, gateway: 10.1.0.2@tcp } ]' >>"$DIR/a.yaml"
	reload_fails a "the first of 2 mistakes"
	sed -i '$d' "$DIR/a.yaml"

	# When it is there, the same file is taken.
	link a eth5 10.5.0.1/24 b eth5 10.5.0.2/24
	on a "$LNETX_BIN/lnetx" daemon reload
	[[ $(ctl a net show) == *10.5.0.1@tcp5* ]]
	[[ $(ctl a route show) != *tcp9* ]]
	equal "$(selftest_of a)" 0
}

# Only binding shows that a port is taken.
@test "a reload that meets a port in use: all the rest is applied, and everybody is told so" {
	local holder

	net_two
	link a eth5 10.5.0.1/24 b eth5 10.5.0.2/24
	{ nets_yaml tcp eth0; route_yaml tcp9 10.1.0.2@tcp
		echo 'selftest: { enable: 1, consoles: any }'; } | config a
	start a
	ip netns exec "${NS}a" python3 -c 'import socket, time
s = socket.create_server(("10.5.0.1", 988)); time.sleep(60)' 3>&- &
	holder=$!
	eventually "$PATIENCE" on a bash -c '</dev/tcp/10.5.0.1/988'

	{ nets_yaml tcp eth0 tcp5 eth5; echo 'selftest: { enable: 0 }'; } | config a
	kill -HUP "${daemon_pid[a]}"
	eventually "$PATIENCE" log_has a 'action="reloaded in part" reason=".*eth5: another program'
	run ! log_has a 'configuration unchanged'
	[[ $(ctl a route show) != *tcp9* ]]
	equal "$(selftest_of a)" 0

	run -1 on a "$LNETX_BIN/lnetx" daemon reload
	[[ $output == *"a.yaml:"*"net tcp5 on eth5: another program listens"*"(the rest is applied"* ]]
	log_has a 'command="config reload" client_uid=.* action="reloaded in part" reason=".*eth5'

	# This is the configuration from now on.
	ctl a lnet unconfigure
	kill "$holder"
	wait "$holder" || true
	ctl a lnet configure --all
	[[ $(ctl a net show) == *10.5.0.1@tcp5* ]]
	[[ $(ctl a route show) != *tcp9* ]]
	equal "$(selftest_of a)" 0
}

selftest_of() {
	lx "$1" -j selftest show | jq '.selftest[0].enable'
}

# ---- stop and death ---------------------------------------------------------------------

sends_much() {
	[ "$(on a cat /sys/class/net/eth0/statistics/tx_bytes)" -gt 20000000 ]
}

# unread_log NODE: start lnetxd with a log that is a pipe of one page, which nobody reads
unread_log() {
	mkfifo "$DIR/unread"
	exec {unread}<>"$DIR/unread"
	python3 -c "import fcntl; fcntl.fcntl($unread, fcntl.F_SETPIPE_SZ, 4096)"
	ip netns exec "$NS$1" "$LNETX_BIN/lnetxd" --no-bpf -c "$DIR/$1.yaml" \
		>"$DIR/$1.log" 2>"$DIR/unread" 3>&- &
	daemon_pid[$1]=$!
	eventually "$PATIENCE" lx "$1" daemon show
}

@test "a log that nobody reads stops nothing" {
	local i

	net_two
	nets_yaml tcp eth0 | config a
	unread_log a
	# Each is logged; some 20 lines fill the pipe.
	for i in {1..40}; do
		lx a tunable set lnet lnet_retry_count $((i % 3))
	done
	start b
	pings b 10.1.0.1@tcp
	pings a 10.1.0.2@tcp
	stop a
	exec {unread}<&-
}

@test "an lnetxd that hangs is named, in time" {
	local began

	net_two
	start a
	kill -STOP "${daemon_pid[a]}"
	began=$SECONDS
	run -1 lx a -w 1 net show
	[[ $output == *"(pid ${daemon_pid[a]}) has given no sign of life within 1000 ms"* ]]
	run ! ctl a --wait 1 net show
	[[ $output == *"(pid ${daemon_pid[a]}) has given no sign of life"* ]]
	run -1 lx a --wait=1 metrics
	[[ $output == *"lnetx_up 0"* ]]
	[ $((SECONDS - began)) -lt 10 ]
	kill -CONT "${daemon_pid[a]}"
	# A slow request is not given up.
	ip -n "${NS}a" neigh replace 10.1.0.7 lladdr 02:00:00:00:00:07 dev eth0
	began=$SECONDS
	run ! lx a -w 3 ping 10.1.0.7@tcp timeout 6
	[[ $output != *"sign of life"* ]]
	[ $((SECONDS - began)) -ge 5 ]
}

@test "SIGTERM with a silent peer: lnetxd still exits, and soon" {
	net_two
	{ nets_yaml tcp eth0; quick_yaml; } | config a
	start a
	start b
	pings a 10.1.0.2@tcp
	kill -STOP "${daemon_pid[b]}"
	run ! ctl a ping --timeout 1 10.1.0.2@tcp
	stop a # fails after PATIENCE
	kill -CONT "${daemon_pid[b]}"
}

@test "kill -9 in the middle of a transfer: each of the peer's operations ends in time" {
	local begin pid

	net_two
	load_server b 10.1.0.2@tcp
	load a 10.1.0.1@tcp put 10.1.0.2@tcp -s 1m -t 60 --timeout 12 \
		>"$DIR/put.json" 2>"$DIR/put.err" 3>&- &
	pid=$!
	eventually "$PATIENCE" sends_much
	kill -9 "${load_pid[b]}"
	begin=$SECONDS
	unset 'load_pid[b]'
	ends "$pid" 1
	# transaction timeout 10 s, the tool waits 12 s
	[ $((SECONDS - begin)) -lt 40 ]
	jq -e '.ok == false' "$DIR/put.json"
	sane "$DIR/put.err"
}

@test "kill -9 and restart: a new incarnation, and both sides notice" {
	net_two
	start a
	start b
	for _ in 1 2 3; do
		pings a 10.1.0.2@tcp
		stop b KILL
		start b
		pings b 10.1.0.1@tcp
		pings a 10.1.0.2@tcp
	done
	# The same without a FIN or a reset: a does not notice the death.
	on a tc qdisc replace dev eth0 root tbf rate 1mbit burst 32k latency 1s
	ip -n "${NS}b" link set eth0 address 02:00:00:00:00:02
	pings b 10.1.0.1@tcp
}

@test "the link goes down and up: logged, and used again" {
	net_two
	start a
	start b
	pings a 10.1.0.2@tcp
	ip -n "${NS}b" link set eth0 down
	eventually "$PATIENCE" ni_is a down
	eventually "$PATIENCE" log_has a \
		'level=warning event="ni down" .*nid=10.1.0.1@tcp .*eth0.* next="peers are told, no'
	equal "$(why_down a)" "its interface has no carrier"
	eventually "$PATIENCE" down_because b "its interface is switched off"
	ip -n "${NS}b" link set eth0 up
	eventually "$PATIENCE" ni_is a up
	eventually "$PATIENCE" log_has a 'level=info event="ni up" .*nid=10.1.0.1@tcp '
	eventually "$PATIENCE" down_because a null
	ip -n "${NS}a" addr del 10.1.0.1/24 dev eth0
	eventually "$PATIENCE" log_has a 'level=warning event="ni down" .*nid=10.1.0.1@tcp ' 2
	equal "$(why_down a)" "its interface is gone, or has another address"
	ctl a net show | grep -E '^ *down_since: 20[0-9-]+T[0-9:]+[+-][0-9]{4}$'
	ip -n "${NS}a" addr add 10.1.0.1/24 dev eth0
	eventually "$PATIENCE" log_has a 'level=info event="ni up" .*nid=10.1.0.1@tcp ' 2
	eventually "$PATIENCE" pings a 10.1.0.2@tcp
}

@test "links that are down at the start" {
	net_rails
	nets_yaml tcp eth0 tcp1 eth1 | config a
	nets_yaml tcp eth0 tcp1 eth1 | config b
	ip -n "${NS}b" link set eth1 down
	start a
	start b
	log_has a 'level=warning event="ni down" .*nid=10.2.0.1@tcp1 .*its interface has no carrier'
	log_has b 'level=warning event="ni down" .*nid=10.2.0.2@tcp1 .*its interface is switched off'
	ip -n "${NS}b" link set eth1 up
	eventually "$PATIENCE" log_has a 'level=info event="ni up" .*nid=10.2.0.1@tcp1 '
	eventually "$PATIENCE" pings a 10.2.0.2@tcp1
}

@test "a flood of link events, more than the kernel keeps for us: the next one is still noticed" {
	net_two
	ip -n "${NS}a" link add v0 type veth peer name v1
	start a
	start b
	kill -STOP "${daemon_pid[a]}"
	for _ in {1..1000}; do
		echo link set v0 up
		echo link set v0 down
	done | ip -n "${NS}a" -batch -
	kill -CONT "${daemon_pid[a]}"
	pings b 10.1.0.1@tcp
	ip -n "${NS}b" link set eth0 down
	eventually "$PATIENCE" log_has a 'level=warning event="ni down" .*nid=10.1.0.1@tcp '
	ip -n "${NS}b" link set eth0 up
	eventually "$PATIENCE" log_has a 'level=info event="ni up" .*nid=10.1.0.1@tcp '
}

why_down() {
	lx "$1" -j net show | jq -r '.net[] | .. | objects | select(.interfaces?) | .down_reason'
}

down_because() {
	equal "$(why_down "$1")" "$2"
}

ni_is() {
	lx "$1" -j net show | jq -e ".net[] | .. | objects | select(.interfaces?) | .status == \"$2\""
}
