#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What admins did on Lustre's own nodes, once more on one of ours: commands and their
# output as recorded in build/captures/lnetctl (tests/golden/captures/README.md). Texts of
# errors ("descr") are our own; names, order, numbers and exit statuses are not. Other
# texts are compared by test_cli_golden, on a node of tables.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

texts=${LNETX_CAPTURES:-build/captures}/lnetctl

# Commands that answer otherwise on purpose. A line that is no longer true fails the test.
strict="nonsense is refused, not taken as something else"
declare -gA differs=(
	["lnetctl set"]="help is in our own words"
	["lnetctl set --help"]="help is in our own words"
	["lnetctl set recovery_interval 0"]=$strict
	["lnetctl set max_recovery_ping_interval 0"]="the error has the name of the command"
	["lnetctl set numa_range -1"]=$strict
	["lnetctl set max_interfaces 15"]=$strict
	["lnetctl set drop_asym_route 2"]=$strict
	["lnetctl set routing 2"]=$strict
	["lnetctl set tiny_buffers 0"]=$strict
	["lnetctl set large_buffers -1"]=$strict
	["lnetctl set lnd_timeout 10"]="the complaint is in our own words"
	["lnetctl set retry_count"]="the complaint is in our own words"
	["lnetctl set retry_count 1 2"]=$strict
	["lnetctl peer show --nid 10.77.0.3@tcp"]="nobody has watched it under its new name"
	["lnetctl route add --net tcp9 --gateway 10.77.0.1@tcp"]="an own NID is refused"
	["lnetctl route show -v --net tcp9"]="an own NID was refused"
	["lnetctl route add --net lo --gateway 10.77.0.3@tcp"]="another errno"
	["lnetctl route add --net bogus --gateway 10.77.0.3@tcp"]="another errno"
	["lnetctl route add --net tcp9"]="the complaint is YAML"
	["lnetctl route add --gateway 10.77.0.3@tcp"]="the complaint is YAML"
	["lnetctl route add --net tcp9 --gateway 10.77.0.3@tcp --priority -1"]=$strict
	["lnetctl route add --net tcp9 --gateway 10.77.0.3@tcp --priority x"]=$strict
)
# Not compared: routes of one net are in random order.
random="lnetctl route show"

# Texts that no test compares yet, or that only show state of one machine.
declare -gA waits=(
	[fault]="fault injection"
	[health]="health: resends and recovery"
	[ip2nets]="ip2nets"
	[lst]="lnet_selftest"
	[own-nid]="connections to own NIDs"
	[udsp]="user-defined selection policies"
)
compared="client router misc gateway"

setup() {
	net_begin
	node a
}

teardown() {
	net_end
}

# As an answer is compared.
masked() {
	sed 's/descr: .*/descr:/'
}

# compare COMMAND STATUS OUTPUT
compare() {
	local got status=0 same=1

	[ "$1" != "$random" ] || return 0
	got=$(on a env PATH="$LNETX_BIN:$PATH" bash -c "$1" 2>&1 3>&- | masked; exit "${PIPESTATUS[0]}") ||
		status=$?
	# Where the reference fails without a word, ours may say why.
	[ "$2" = 0 ] || [ "$3" ] || got=
	[ "$got" = "$(masked <<<"$3")" ] && [ "$status" = "$2" ] || same=0
	if [ $same = 1 ] && [ "${differs[$1]:-}" ]; then
		echo "\$ $1: not different any more; listed with: ${differs[$1]}"
		return 1
	fi
	if [ $same = 0 ] && [ ! "${differs[$1]:-}" ]; then
		printf '$ %s\nexpected: status %s\n%s\nis: status %s\n%s\n' "$1" "$2" "$3" "$status" "$got"
		return 1
	fi
}

# golden TEXT FIRST LAST [HEADLINE]: the commands of a recorded text, from one to another;
# behind a line that begins so
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
	# As it was there by then.
	ctl a set transaction_timeout 10
	ctl a set max_interfaces 200
	golden misc "lnetctl set" "lnetctl set retry_count 1 2"
}

# with_gateway NET IF NET IF: G as it was there, with a net on its far side
with_gateway() {
	node g far
	link a eth0 10.77.0.1/24 g eth0 10.77.0.3/24
	link g eth1 10.78.0.3/24 far eth0 10.78.0.2/24
	nets_yaml "$@" | config g
	printf 'routing:\n    - enable: 1\n' >>"$DIR/g.yaml"
	start g
	nets_yaml tcp eth0 | config a
}

@test "a gateway cannot be made an ordinary peer, and which routes are refused" {
	with_gateway tcp eth0 tcp1 eth1
	cat >>"$DIR/a.yaml" <<-END
		route:
		    - net: tcp1
		      gateway: 10.77.0.2@tcp
		    - net: tcp1
		      gateway: 10.77.0.3@tcp
	END
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

@test "each recorded text is compared, or waits for something" {
	local file name

	for file in "$texts"/*-2.17.0.txt; do
		name=$(basename "$file" -2.17.0.txt)
		[[ " $compared " != *" $name "* ]] || continue
		[ "${waits[$name]:-}" ] || { echo "$name: who compares it?"; return 1; }
		echo "# not compared: $name-2.17.0.txt: waits for ${waits[$name]}" >&3
	done
}
