#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# lnetxd as another user than root: it can do the same with the capabilities it keeps, and takes over
# what an lnetxd of root left. LNETX_USER=daemon runs any other file like that.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

SERVER=10.2.0.1@tcp2
USER=daemon # the system's, which has no rights

setup() {
	net_begin
	let_in
}

teardown() {
	net_end
}

# field NODE NAME: of its lnetxd's status in /proc
field() {
	awk -v name="$2:" '$1 == name { print $2 }' "/proc/${daemon_pid[$1]}/status"
}

# mask CAPABILITY...: as in /proc
mask() {
	local name bits=0

	for name in "$@"; do
		bits=$((bits | 1 << $(awk -v name="$name" '$1 == "#define" && $2 == name { print $3 }' \
			/usr/include/linux/capability.h)))
	done
	printf '%016x' $bits
}

# inside NODE COMMAND...: in its lnetxd's mount namespace
inside() {
	nsenter -m -t "${daemon_pid[$1]}" "${@:2}"
}

traced() {
	on "$1" timeout 1 "$LNETX_BIN/lnetx" trace >"$DIR/trace" 3>&- || true
	grep ' put ' "$DIR/trace"
}

# refused_nothing NODE: nobody has refused it anything, but a limit that root could not lift here either
refused_nothing() {
	! grep -E 'Permission denied|not permitted' "$DIR/$1.log" | grep -v ' limit=memlock '
}

# reserved NODE ADDRESS: it has dialled this address from a port below 1024
reserved() {
	conns "$1" | awk -v to="$2:988" '$3 == to { sub(/.*:/, "", $2); print $2 }' | grep -xE '[0-9]{3}|10[01].|102[0-3]'
}

@test "a router of another user has all of the fast path, guard and trace, and no right beyond those of the unit" {
	net_routed
	LNETX_USER=$USER start_routers
	equal "$(field r1 Uid)" "$(id -u $USER)"
	# shellcheck disable=SC2046 # words
	equal "$(field r1 CapPrm)" "$(mask $(sed -n 's/^CapabilityBoundingSet=//p' tools/dist/systemd/lnetxd.service))"
	equal "$(field r1 CapEff) $(field r1 CapBnd)" "$(field r1 CapPrm) $(mask)"
	equal "$(field r1 NoNewPrivs)" 1
	log_has r1 "user=$USER uid="

	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	begin_load client 10.1.0.1@tcp1 put $SERVER -r tcp2=10.1.0.11@tcp1 -s 65536 -t 60
	eventually "$PATIENCE" traced r1
	fastpath_used r1
	end_load client
	lx r1 guard ban 10.1.0.99@tcp1
	jq -e '.bpf.sets[] | select(.set == "guard").loaded' <<<"$(lx r1 -j bpf status)"
	jq -e '.bpf.memory > 0' <<<"$(lx r1 -j bpf status)"
	refused_nothing r1
}

@test "an upgrade: the next lnetxd, of another user, takes over what one of root left; and back" {
	local pins old

	net_two
	start b
	start_here a
	pins=$(lx a -j bpf status | jq -r .bpf.pins)
	old=$(ls "$LNETX_RUNDIR"/*.lock)
	echo "10.1.0.2@tcp $(date +%s)" >"$LNETX_RUNDIR/10.1.0.1@tcp.neighbours"
	lx a guard ban 10.1.0.9@tcp
	[ -e "$pins/guard/bans" ]
	stop a KILL
	equal "$(stat -c %U "$pins/guard/bans" "$old" | sort -u)" root

	LNETX_USER=$USER start_here a -g $USER
	log_has a 'guard="taken over" bans=1'
	equal "$(stat -c %U "$pins/guard/bans" "$LNETX_RUNDIR"/* | sort -u)" $USER
	pings a 10.1.0.2@tcp
	reserved a 10.1.0.2
	# The rest of the bpffs is not there for it; the socket serves as before.
	equal "$(inside a ls /sys/fs/bpf)" lnetx
	refused_nothing a
	on a setpriv --reuid=65534 --regid=$USER --clear-groups "$LNETX_BIN/lnetctl" net show 3>&-
	stop a KILL

	start_here a
	log_has a 'guard="taken over" bans=1'
	lx a guard unban 10.1.0.9@tcp
	stop a
	[ ! -e "$pins" ]
}

@test "a user that there is not, or that only root can become, is refused" {
	node a
	run -1 on a "$LNETX_BIN/lnetxd" -C --user nobody-here
	[[ $output == *'user=nobody-here action=exit reason="there is no such user" next="useradd --system nobody-here"'* ]]
	run -1 on a setpriv --reuid=$USER --regid=$USER --clear-groups "$LNETX_BIN/lnetxd" -C --user root
	[[ $output == *"only root can become another user"* ]]
}
