#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Sessions of admins on Lustre's own nodes, repeated on ours: commands and output as recorded
# in build/captures/lnetctl (tests/golden/captures/README.md). Error texts ("descr") are our
# own; names, order, numbers and exit statuses must match. test_cli_golden compares other
# recordings, on a fake node.
bats_require_minimum_version 1.5.0
GUARD=${GUARD:-off}
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

texts=${LNETX_CAPTURES:-build/captures}/lnetctl

# Commands that differ on purpose. A line that no longer applies fails the test.
strict="nonsense is refused, not taken as something else"
declare -gA differs=(
	["lnetctl set"]="help is in our own words"
	["lnetctl set --help"]="help is in our own words"
	["lnetctl set recovery_interval 0"]=$strict
	["lnetctl set max_recovery_ping_interval 0"]="the error has the name of the command"
	["lnetctl set numa_range -1"]=$strict
	["lnetctl set max_interfaces 15"]=$strict
	["lnetctl set drop_asym_route 2"]=$strict
	["lnetctl set discovery 2"]=$strict
	["lnetctl set discovery -1"]=$strict
	["lnetctl set routing 2"]="the complaint is in our own words"
	["lnetctl set lnd_timeout 10"]="the complaint is in our own words"
	["lnetctl set retry_count"]="the complaint is in our own words"
	["lnetctl net set --nid 10.77.0.1@tcp --health 1001"]=$strict
	["lnetctl net set --nid 10.77.0.1@tcp --health -1"]=$strict
	["lnetctl net set --nid 10.77.0.99@tcp --health 5"]=$strict
	["lnetctl net set --health 5"]=$strict
	["lnetctl net set --nid 10.77.0.1@tcp"]=$strict
	["lnetctl net set"]=$strict
	["lnetctl net set --nid 10.77.0.1@tcp --lnd-timeout 30"]="an NI has a timeout of its own"
	["lnetctl net set --net o2ib --lnd-timeout 30"]="another errno"
	["lnetctl peer set --nid 10.77.0.2@tcp --health 2000"]=$strict
	["lnetctl peer set --nid 10.77.0.99@tcp --health 100"]=$strict
	["lnetctl peer set --nid 10.77.0.2@tcp --state 273"]="the peer is still there"
	["lnetctl peer show -v 2 --nid 10.77.0.2@tcp | grep -E 'Multi|peer state'"]="the peer is still there"
	["lnetctl debug"]="help is in our own words"
	["lnetctl debug nidlist bogus"]="the complaint is in our own words"
	["lnetctl service-id"]="the complaint is in our own words"
	["lnetctl service-id extra"]=$strict
	["lnetctl cpt-of-nid --ncpt 4 10.77.0.2@tcp 10.77.0.3@tcp"]=$strict
	["lnetctl cpt-of-nid"]="the complaint is YAML"
	["lnetctl stats"]="help is in our own words"
	["lnetctl global"]="help is in our own words"
	["lnetctl route add --net tcp9 --gateway 10.77.0.1@tcp"]="an own NID is refused"
	["lnetctl route show -v --net tcp9"]="an own NID was refused"
	["lnetctl route add --net lo --gateway 10.77.0.3@tcp"]="another errno"
	["lnetctl route add --net bogus --gateway 10.77.0.3@tcp"]="another errno"
	["lnetctl route add --net tcp9"]="the complaint is YAML"
	["lnetctl route add --gateway 10.77.0.3@tcp"]="the complaint is YAML"
	["lnetctl route add --net tcp9 --gateway 10.77.0.3@tcp --priority x"]=$strict
)
differs+=(["lnetctl net show -v | grep -A30 10.77.0.3 | grep -E 'nid|credits'"]="an option is not ignored"
	["lnetctl net show -v"]="links of tests are faster: conns_per_peer")
# Not run: the reference crashes there.
declare -gA crashes=(
	['lnetctl net add --ip2net "tcp 10.77.0.[1-9]"']=1
	["lnetctl fault drop show"]=1
	["lnetctl fault delay show"]=1
)
broken="the reference's never works"
words="help is in our own words"
differs+=(
	["lnetctl fault drop reset"]=$broken
	["lnetctl fault delay reset"]=$broken
	["lnetctl fault"]=$words
	["lnetctl fault drop"]=$words
	["lnetctl fault drop add"]=$words
	["lnetctl fault drop del"]=$words
	["lnetctl fault drop list"]="another word for show"
	["lnetctl fault drop add -s 10.77.0.1@tcp -d 10.77.0.2@tcp -r 1 -l 2"]=$strict
	["lnetctl fault drop add -s 10.77.0.1@tcp -d 10.77.0.2@tcp -r 1 --nosuch"]=$strict
	["lnetctl fault delay add -s 10.77.0.1@tcp -d 10.77.0.2@tcp -i 1 -r 1 -l 1"]=$broken
	["lnetctl fault delay add -s *@tcp7 -d 10.77.0.2@tcp -i 3 -l 1"]=$broken
	["lnetctl udsp show --idx 1"]="theirs crashes"
	["lnetctl udsp del"]="the complaint is YAML"
	["lnetctl udsp del --all --idx 0"]="the complaint is YAML"
	["lnetctl udsp add"]="help is in our own words"
	["lnetctl udsp add --priority 1"]="help is in our own words"
	["lnetctl udsp add --nosuch 1"]=$strict
	["lnetctl udsp add --src tcp --priority -1"]="the complaint is YAML"
	["lnetctl udsp add --src tcp --priority x"]="the complaint is YAML"
	["lnetctl udsp add --src tcp --priority 1 --idx -1"]="the complaint is YAML"
	["lnetctl udsp add --src tcp --priority 1 --idx x"]="the complaint is YAML"
	["lnetctl udsp show --idx x"]="the complaint is YAML"
)
# Not compared: routes of one net are in random order.
random="lnetctl route show"

# Recordings that no test compares yet, or that only show one machine's state.
declare -gA waits=(
	[lst]="sys/lst compares it"
)
compared="client router misc gateway ip2nets udsp health fault own-nid"

setup() {
	net_begin
	node a
}

teardown() {
	net_end
}

# Masks what is not compared, and what ours says of words that the reference takes no notice of.
masked() {
	sed 's/descr: .*/descr:/; /^lnetctl: .* is not expected here: ignored/d'
}

# Counters, latencies and credits belong to one run: of listings full of them, only the effects
# of policies are compared.
policies() {
	case $1 in
	*" show "*"-v 4" | "lnetctl export"*) grep -E ' nid: |udsp|idx: |src: |dst: |rte: |priority: ' ;;
	*" show "*"health value"*) sed 's/value: [3-9]00$/value: 300 or more/' ;; # it recovers
	*) cat ;;
	esac
}

# compare COMMAND STATUS OUTPUT
compare() {
	local got status=0 same=1 command=$1

	[ "$1" != "$random" ] && [ ! "${crashes[$1]:-}" ] || return 0
	[[ $1 != ss\ * ]] || return 0 # test links are faster: more connections
	# By default an answer may take a second.
	[ "$2" != 0 ] || [[ $1 == *--timeout* ]] ||
		command=${1/#lnetctl ping /lnetctl ping --timeout 15 }
	# NID patterns are not file name patterns.
	got=$(on a env PATH="$LNETX_TOOLS:$DIR/bin:$PATH" bash -f -c "$command" 2>&1 3>&- | masked
		exit "${PIPESTATUS[0]}") ||
		status=$?
	# The reference may fail silently; ours may give a reason.
	[ "$2" = 0 ] || [ "$3" ] || got=
	[ "$(policies "$1" <<<"$got")" = "$(masked <<<"$3" | policies "$1")" ] && [ "$status" = "$2" ] ||
		same=0
	if [ $same = 1 ] && [ "${differs[$1]:-}" ]; then
		echo "\$ $1: not different any more; listed with: ${differs[$1]}"
		return 1
	fi
	if [ $same = 0 ] && [ ! "${differs[$1]:-}" ]; then
		printf '$ %s\nexpected: status %s\n%s\nis: status %s\n%s\n' "$1" "$2" "$3" "$status" "$got"
		return 1
	fi
}

# golden TEXT FIRST LAST [HEADLINE]: run and compare the commands of a recorded text, from FIRST
# to LAST; with HEADLINE, only after a line that starts with it
golden() {
	local line command='' output='' behind='' going='' n=0 wrong=0

	while IFS= read -r line; do
		[[ $line != "${4:-}"* ]] || behind=1
		if [[ $line == '$ '* ]]; then
			command=${line#\$ } output=
			[ ! $behind ] || [ "$command" != "$2" ] || going=1
		elif [[ $line == '# exit status '* ]] && [ $going ]; then
			compare "$command" "${line##* }" "${output%$'\n'}" || wrong=1
			n=$((n + 1))
			[ "$command" != "$3" ] || break
		else
			output+=$line$'\n'
		fi
	done <"$texts/$1-2.17.0.txt"
	[ "$command" = "$3" ]
	echo "# $n commands of $1" >&3
	[ $wrong = 0 ]
}

@test "lnetctl set: every name, in range and out of it" {
	touch "$DIR/a.yaml"
	start a
	# Its value at that point.
	ctl a set transaction_timeout 10
	ctl a set max_interfaces 200
	golden misc "lnetctl set" "lnetctl set retry_count 1 2"
}

# with_gateway NET IF NET IF: start G as recorded, with a net on its far side
with_gateway() {
	node g far
	link a eth0 10.77.0.1/24 g eth0 10.77.0.3/24
	link g eth1 10.78.0.3/24 far eth0 10.78.0.2/24
	nets_yaml "$@" | config g
	printf 'routing:\n    - enable: 1\n' >>"$DIR/g.yaml"
	start g
	nets_yaml tcp eth0 | config a
}

@test "a gateway cannot become an ordinary peer; refused routes" {
	with_gateway tcp eth0 tcp1 eth1
	cat >>"$DIR/a.yaml" <<-END
		route:
		    - net: tcp1
		      gateway: 10.77.0.2@tcp
		    - net: tcp1
		      gateway: 10.77.0.3@tcp
	END
	# Where the commands move the gateway to: silent, not unreachable, or it is down after 3 s.
	ip -n "${NS}a" neigh add 10.77.0.50 lladdr 02:00:00:00:00:50 dev eth0
	start a
	eventually "$PATIENCE" ctl a peer show --nid 10.78.0.3@tcp1
	golden gateway "lnetctl peer add --prim_nid 10.77.0.3@tcp" \
		"lnetctl route add --net tcp9 --gateway 10.77.0.3@tcp --priority x"
}

@test "a gateway whose primary NID is on the far net" {
	with_gateway tcp1 eth1 tcp eth0
	start a
	golden gateway "lnetctl route add --net tcp1 --gateway 10.77.0.3@tcp" \
		"lnetctl route show" "#A: 10.77.0.1@tcp. G: NIs in the order"
	eventually "$PATIENCE" ctl a peer show --nid 10.78.0.3@tcp1
	golden gateway "lnetctl peer show" "lnetctl route show -v" \
		"#A: 10.77.0.1@tcp. G: NIs in the order"
}

# node_of_ip2nets: start a node like that of the recording
node_of_ip2nets() {
	node b c
	link a eth0 10.77.0.3/24 b eth0 10.77.0.2/24
	link a eth1 10.78.0.3/24 c eth0 10.78.0.2/24
	touch "$DIR/a.yaml"
	start a
}

no_nets() {
	ctl a lnet unconfigure
	ctl a lnet configure
}

@test "net add --ip2net" {
	node_of_ip2nets
	golden ip2nets "lnetctl lnet configure" 'lnetctl net add --ip2net "tcp1 10.78.*.*"'
	# Not recorded, but necessary.
	no_nets
	golden ip2nets 'lnetctl net add --ip2net "tcp 10.77.0.3; tcp1 10.78.0.3"' \
		'lnetctl net add --ip2net "tcp 10.77.0.300"'
	no_nets
	golden ip2nets 'lnetctl net add --ip2net "tcp(eth0) 10.77.0.3" --peer-credits 16' \
		"lnetctl net show"
	# If one interface is missing, none is added.
	no_nets
	run -234 ctl a net add --ip2net "tcp1(eth0),tcp2(nosuch0) 10.77.*.*"
	[[ $output == *"cannot add NI tcp2 on nosuch0: there is no such interface"* ]]
	[[ $(ctl a net show) != *tcp* ]]
}

# each_block TEXT FIRST LAST FUNCTION: call it with command, status and output of each command
# between two lines of the text
each_block() {
	local line command='' output='' wrong=0 n=0

	while IFS= read -r line; do
		if [[ $line == '$ '* ]]; then
			command=${line#\$ } output=
		elif [[ $line == '# exit status '* ]]; then
			"$4" "$command" "${line##* }" "${output%$'\n'}" || wrong=1
			n=$((n + 1))
		else
			output+=$line$'\n'
		fi
	done < <(sed -n "/^$2/,/^$3/p" "$texts/$1-2.17.0.txt" | sed '1d;$d')
	echo "# $n commands of $1" >&3
	[ $n -gt 9 ] && [ $wrong = 0 ]
}

# Each import started without nets, unless it builds on the previous one.
import_block() {
	[[ $1 != *import || $1 == *credits* || $1 == *999* ]] || no_nets
	compare "$@"
}

@test "import of ip2nets" {
	node_of_ip2nets
	each_block ip2nets "#import of an ip2nets section" "#several entries" import_block
}

@test "import of ip2nets: a file with a mistake changes nothing" {
	node_of_ip2nets
	printf 'ip2nets:\n  - net-spec: tcp6\n    ip-range:\n        0: 10.78.*.*\n  - net-spec: tcp8\n    ip-range:\n        0: 10.[77-].*.*\n' >"$DIR/rules"
	run -234 ctl a import "$DIR/rules"
	[[ $output == *"$DIR/rules:7:12: "*'10.[77-].*.*'* ]] || { echo "$output"; return 1; }
	[[ $(ctl a net show) != *tcp6* ]]
	sed -i '5,$d' "$DIR/rules"
	ctl a import "$DIR/rules"
	[[ $(ctl a net show) == *10.78.0.3@tcp6* ]]
	ctl a import --del "$DIR/rules"
	[[ $(ctl a net show) != *tcp6* ]]
}

# with_params ARGUMENT...: write modprobe's arguments as a node's configuration
with_params() {
	local params=$*

	eval "params=($params)" # quotes as in a shell
	stop a
	echo 'tunables: { lnet: {' >"$DIR/a.yaml"
	for params in "${params[@]}"; do
		[[ $params == *_router_buffers=* ]] ||
			printf "%s: '%s',\n" "${params%%=*}" "${params#*=}" >>"$DIR/a.yaml"
	done
	echo '} }' >>"$DIR/a.yaml"
	refused=
	on a "$LNETX_BIN/lnetxd" -t -c "$DIR/a.yaml" >"$DIR/told" 2>&1 3>&- || refused=1
	[ $refused ] || { : >"$DIR/a.log"; spawn a -c "$DIR/a.yaml"; eventually "$PATIENCE" is_running a; }
}

# Errors that the reference reports when it is configured, lnetxd reports for its file.
param_block() {
	case $1 in
	'modprobe lnet ') refused=skip ;; # no parameter: the default for "configure --all"
	'modprobe lnet '*) with_params "${1#modprobe lnet }" ;;
	'lnetctl lnet configure --all')
		[ "$refused" = skip ] || [ "${refused:-0}" = $(($2 != 0)) ] ||
			{ echo "$(cat "$DIR/a.yaml"): status $2, ours: $(cat "$DIR/told")"; return 1; } ;;
	*'routing show'*) ;; # sizes of buffers differ
	*'route show'*)
		[ "$refused" ] || [ "$(ctl a route show -v | grep -vE "down_|state:" | sort)" = "$(grep -v state: <<<"$3" | sort)" ] ||
			{ echo "$(cat "$DIR/a.yaml"): $(ctl a route show -v), not $3"; return 1; } ;;
	*) [ "$refused" ] || compare "$@" ;;
	esac
}

@test "module parameters networks, ip2nets, routes, forwarding" {
	node_of_ip2nets
	each_block ip2nets "# --- module parameters" "END" param_block
}

@test "a router by the module parameter routes" {
	node_of_ip2nets
	with_params 'networks="tcp(eth0),tcp1(eth1)"' 'routes="tcp9 10.77.0.3@tcp; tcp8 10.99.0.3@tcp5"'
	[ "$(lx a -j routing show | jq .routing.enable)" = 1 ]
	[ "$(lx a -j route show)" = '{"route":[]}' ]
	grep 'net=tcp8 gateway=10.99.0.3@tcp5 reason=' "$DIR/a.log"
}

# two_rails NETS...: start A and B as recorded, with a NID on each of two links
two_rails() {
	node b
	link a eth0 10.77.0.1/24 b eth0 10.77.0.2/24
	link a eth1 10.78.0.1/24 b eth1 10.78.0.2/24
	nets_yaml "$@" | config a
	nets_yaml "$@" | config b
	start b
	start a
}

@test "selection policies: the list, spellings and errors, and their effects as shown" {
	local list="lnetctl udsp show"

	two_rails tcp eth0 tcp1 eth1
	golden udsp "lnetctl discover 10.77.0.2@tcp" "lnetctl export --backup"
	ctl a udsp del --all
	golden udsp "lnetctl udsp add --src tcp0 --priority 1" \
		"lnetctl udsp add --src fd77::1@tcp --priority 2"
	# A plain scalar cannot start with a bracket; and the reference loses one item of the
	# list "[0,1-4/2]".
	run -0 ctl a udsp show
	[[ $output == *'src: "[0-255].[0-255].[0-255].[0-255]@tcp1"'* ]]
	[[ $output == *'src: 10.77.[0,1-4/2].[0-255]@tcp[0-9/3]'* ]]
	ctl a udsp del --all
	golden udsp "lnetctl udsp add" "$list" "#errors"
	golden udsp "lnetctl udsp del --idx -1" "$list" "#errors"
	golden udsp "lnetctl udsp add --src tcp" "$list" "#no priority given"
	golden udsp "lnetctl udsp add --dst tcp1" "$list" "#no priority given"
	ctl a udsp del --all
	golden udsp "lnetctl udsp add --src tcp --priority 2147483647" "$list" "#the largest"
	ctl a udsp del --all
	golden udsp "lnetctl udsp add --src 10.77.0.1@tcp --dst 10.77.0.2@tcp --priority 3" "$list"
}

@test "selection policies: an export can be imported unchanged" {
	two_rails tcp eth0,eth1
	ctl a udsp add --src tcp --priority 0
	ctl a udsp add --src 10.77.0.1@tcp --dst '10.77.0.*@tcp'
	ctl a udsp add --dst '*.*.*.*@tcp1' --rte 10.77.0.3@tcp --idx 0
	ctl a udsp add --rte 10.77.0.4@tcp
	ctl a udsp show >"$DIR/udsp"
	ctl a export --backup >"$DIR/export"
	[ "$(grep -c -e '- idx' "$DIR/export")" = 4 ]
	sed -n '/^udsp/,$p' "$DIR/export" | diff - "$DIR/udsp"
	# The reference deletes by index, which shifts; ours by the policy itself.
	run -0 ctl a import --del "$DIR/udsp"
	run -0 --separate-stderr ctl a udsp show
	[ ! "$output" ]
	run -0 ctl a import "$DIR/udsp"
	ctl a udsp show | diff - "$DIR/udsp"
	ctl a import --show "$DIR/udsp" | diff - "$DIR/udsp"
	# The same file as a configuration: at start, and at reload.
	cat "$DIR/export" >"$DIR/a.yaml"
	ctl a udsp del --all
	lx a daemon reload
	ctl a udsp show | diff - "$DIR/udsp"
	# Without an index it is appended; without an action a pair stays a pair.
	run -0 ctl a import <<<$'udsp:\n    - src: tcp7\n      dst: tcp8\n'
	run -0 ctl a udsp show --idx 4
	[ "$output" = $'udsp:\n    - idx: 4\n      src: tcp7\n      dst: tcp8' ]
	run -234 ctl a import <<<$'udsp:\n    - src: bogus\n'
	[[ $output == *'src \"bogus\" is neither a net'* ]]
	run -234 ctl a import <<<$'udsp:\n    - src: tcp\n      rte: tcp\n'
	run -234 ctl a import <<<$'udsp:\n    - idx: 0\n      action:\n          priority: 1\n'
	run -234 ctl a import <<<$'udsp:\n    - src: tcp\n      action: { nosuch: 1 }\n'
}

# test_core_health covers its sampled values; simulated faults need fault injection.
@test "a lone NID that cannot be reached keeps its health" {
	two_rails tcp eth0,eth1
	golden health "lnetctl ping --timeout 19 10.77.0.250@tcp" \
		"lnetctl net show --net tcp -v 3 | grep -E 'nid:|health value'" "#one NID only"
}

# known NODE NID: true if discovered, with both NIDs
known() {
	ctl "$1" ping "$2" >/dev/null && [ "$(peer_nids "$1" "$2" | wc -l)" = 2 ]
}

@test "health and state set by hand, and the NIDs in recovery" {
	two_rails tcp eth0,eth1
	ctl a set transaction_timeout 10
	ctl a set retry_count 1
	ctl a discover 10.77.0.2@tcp
	eventually "$PATIENCE" known a 10.77.0.2@tcp
	# Skip what is between: with all at 0, B hears of it at once, and its message restores
	# health.
	golden misc "lnetctl net set --nid 10.77.0.1@tcp --health 500" "lnetctl debug recovery"
	# Health comes back once a second: on a slow machine it may be back at once.
	eventually "$PATIENCE" golden misc "lnetctl net set --all --health 1000" \
		"lnetctl peer show -v 3 --nid 10.77.0.2@tcp | grep -E 'nid|state|health value'"
	golden misc "lnetctl peer set --all --health 1000" "lnetctl debug peer --nid bogus"
}

@test "debug nidlist, service-id, cpt-of-nid, stats, global" {
	touch "$DIR/a.yaml"
	start a
	golden misc "lnetctl debug nidlist 10.77.0.[1-3]@tcp" "lnetctl cpt-of-nid"
	golden misc "lnetctl stats reset" "lnetctl global"
}

@test "large NIDs: lnet configure --large and --all" {
	node b c
	link a eth0 10.77.0.1/24 b eth0 10.77.0.2/24
	address a eth0 fd77::1/64
	link a eth1 10.78.0.1/24 c eth0 10.78.0.2/24
	spawn a
	eventually "$PATIENCE" log_has a 'not configured'
	golden misc "lnetctl lnet configure --all --large" "lnetctl net show" "# --- large NIDs"
	golden misc "lctl list_nids" "lnetctl ping fd77::1@tcp" "# --- large NIDs"
	golden misc "lnetctl lnet configure --all" "lnetctl net show" "# --- large NIDs"
	golden misc "lnetctl lnet configure --large" "lnetctl net show" "#eth1 has no global IPv6"
}

# node_of_faults: start nodes like those of the recording
node_of_faults() {
	node b
	link a eth0 10.77.0.1/24 b eth0 10.77.0.2/24
	link a eth1 10.78.0.1/24 b eth1 10.78.0.2/24
	nets_yaml tcp eth0,eth1 | tee "$DIR/a.yaml" >"$DIR/b.yaml"
	start a
	start b
	# A recovery ping one second after a dropped answer would be counted, too.
	ctl a set health_sensitivity 0
	mkdir "$DIR/bin"
	ln -s "$LNETX_TOOLS/lnetx" "$DIR/bin/lctl"
}

# The reference ignores options that it does not know, and then adds the rule; and it lacks one
# that it should know, and then adds none.
fault_block() {
	[[ $1 != *strace* ]] || return 0
	compare "$@" || return 1
	case $1 in
	*'drop add'*'-r 1 -l 2' | *--nosuch) ctl a fault drop add -s 10.77.0.1@tcp -d 10.77.0.2@tcp -r 1 ;;
	*'-i 3 -l 1') ctl a fault delay del -s '*@tcp7' -d 10.77.0.2@tcp ;;
	*'-i 1 -r 1 -l 1') ctl a fault delay add -s 10.77.0.1@tcp -d 10.77.0.2@tcp -r 1 -l 1 ;;
	esac
}

@test "fault drop: what is received and what is sent" {
	node_of_faults
	ctl a discover 10.77.0.2@tcp
	each_block fault "#a rule without health error" "#delay: each GET" compare
}

# seconds COMMAND...: print how long it takes
seconds() {
	local from=$EPOCHREALTIME

	"$@" >/dev/null || return 1
	echo $(((${EPOCHREALTIME/./} - ${from/./}) / 1000000))
}

@test "fault delay: a REPLY, a GET, and a rule deleted while it holds a message" {
	node_of_faults
	ctl a discover 10.77.0.2@tcp
	ctl a fault delay add -s '*@tcp' -d '*@tcp' -m REPLY -r 1 -l 2
	[ "$(seconds ctl a ping --timeout 9 10.77.0.2@tcp)" -ge 2 ]
	ctl a fault delay add -s '*@tcp' -d '*' -m GET -r 1 -l 1
	[ "$(seconds ctl a ping --timeout 9 10.77.0.2@tcp)" -ge 3 ]
	ctl a fault delay del --all
	ctl a fault delay add -s '*@tcp' -d '*@tcp' -m REPLY -r 1 -l 30
	ctl a ping --timeout 40 10.77.0.2@tcp >"$DIR/answer" 3>&- &
	eventually "$PATIENCE" is_held
	ctl a fault delay del --all
	wait $!
	grep 'primary nid: 10.77.0.2@tcp' "$DIR/answer"
}

is_held() {
	[ "$(lx a -j fault show | jq .fault[0].held)" = 1 ]
}

@test "lnetx fault: logged as a warning, and expires" {
	node_of_faults
	lx a fault add drop from '*@tcp' to '*' msg reply for 12s
	run lx a net show
	[[ $output == *"1 rule of fault injection is active"* ]]
	run ! ctl a ping --timeout 1 10.77.0.2@tcp
	eventually $((3 * PATIENCE)) ctl a ping --timeout 5 10.77.0.2@tcp
	[ "$(lx a -j fault show)" = '{"fault":[]}' ]
	run lx a net show
	[[ $output != *"fault injection"* ]]
	grep 'fault=drop .*its time is over' "$DIR/a.log"
}

@test "fault drop, fault delay, and lctl's names for them" {
	node_of_faults
	each_block fault "#empty lists" "#A: .*transaction_timeout 10" fault_block
	ctl a fault delay show
}

@test "our own NIDs are a peer: pings by the transport, discovery, sources" {
	local shown="lnetctl peer show"

	node b
	link a eth0 10.77.0.3/24 b eth0 10.77.0.2/24
	link a eth1 10.78.0.3/24 b eth1 10.78.0.2/24
	nets_yaml tcp eth0 tcp1 eth1 | config a
	nets_yaml tcp eth0,eth1 | config b
	start b
	start a
	golden own-nid "lnetctl net show" "lnetctl discover 0@lo"
	[ "$(on a ss -tnH src 10.77.0.3 dst 10.77.0.3 | wc -l)" -ge 4 ]
	golden own-nid "lnetctl discover 0@lo" "$shown"
	golden own-nid "lnetctl discover 10.77.0.3@tcp" "lnetctl discover 10.77.0.3@tcp"
	golden own-nid "lnetctl discover 10.78.0.3@tcp1" "$shown"
	golden own-nid "lnetctl ping --source 10.77.0.3@tcp 10.77.0.3@tcp" "$shown"
	golden own-nid "lctl ping 10.77.0.3@tcp" "lctl list_nids"
	golden own-nid "lnetctl peer add --prim_nid 10.77.0.3@tcp" \
		"lnetctl peer add --prim_nid 10.77.0.98@tcp --nid 0@lo"
	# Where one NID is refused, the reference deletes the peer; ours is as before.
	ctl a peer del --prim_nid 10.77.0.3@tcp
	golden own-nid "$shown" "lnetctl debug peer --nid 10.77.0.3@tcp" "#peer add with own NIDs"
	# An export of it can be imported.
	ctl a discover 0@lo
	ctl a export | sed -n '/^peer:/,$p' >"$DIR/export"
	grep 'nid: 0@lo' "$DIR/export"
	run -0 ctl a import "$DIR/export"
}

@test "each recording is compared, or waits for something" {
	local file name

	for file in "$texts"/*-2.17.0.txt; do
		name=$(basename "$file" -2.17.0.txt)
		[[ " $compared " != *" $name "* ]] || continue
		[ "${waits[$name]:-}" ] || { echo "$name: no test compares it"; return 1; }
		echo "# not compared: $name-2.17.0.txt: waits for ${waits[$name]}" >&3
	done
}
