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
)

# Texts that no test compares yet, or that only show state of one machine.
declare -gA waits=(
	[fault]="fault injection"
	[gateway]="what the reference refuses to do with gateways"
	[health]="health: resends and recovery"
	[ip2nets]="ip2nets"
	[lst]="lnet_selftest"
	[own-nid]="connections to own NIDs"
	[udsp]="user-defined selection policies"
)
compared="client router misc"

setup() {
	net_begin
	node a
	address a lo 10.77.0.1/32
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

# golden TEXT FIRST LAST: the commands of a recorded text, from one to another
golden() {
	local line command='' output='' going='' n=0 wrong=0

	while IFS= read -r line; do
		if [[ $line == '$ '* ]]; then
			command=${line#\$ } output=
			[ "$command" != "$2" ] || going=1
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

@test "each recorded text is compared, or waits for something" {
	local file name

	for file in "$texts"/*-2.17.0.txt; do
		name=$(basename "$file" -2.17.0.txt)
		[[ " $compared " != *" $name "* ]] || continue
		[ "${waits[$name]:-}" ] || { echo "$name: who compares it?"; return 1; }
		echo "# not compared: $name-2.17.0.txt: waits for ${waits[$name]}" >&3
	done
}
