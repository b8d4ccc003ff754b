# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Library of suites whose router has two cards of the kind $CARD, one of those that the machine has
# ($VMTEST_CARD: KIND+KIND...), or of the only one (source after lib.bash):
#
#	cards                     client, r1 and server, with addresses but for r1
#	no_lro CARD...            of r1; some drivers begin with it
#	addresses                 of r1, without LRO; ready CARD CABLE: of one of its cards
#	rebind CARD CABLE         of r1: its driver lets go of it, and a second later takes it again
#	cards_stop                what waits for a card that goes, or stops for a change, is dropped
#	router                    with two NIs and one connection to each peer, and a load's server
#	lanes N                   that many connections to each peer, of the next load
#	loads CLIENTS VERB SIZE SECONDS
#	                          in the background
#	loaded                    wait for its end; all of it must have arrived
#	ended_well                nothing was lost, and some went by lanes
#	which_card_stands_still   after a failure: what all four cards say
#
#	client (virtio) ── 10.1.0 ── eth0 (card) r1 (card) eth1 ── 10.2.0 ── (virtio) server

KIND=${CARD:-${VMTEST_CARD%%,*}}
KIND=${KIND:-veth}
SERVER=10.2.0.1@tcp2
back=0

# Drivers free what they have sent in the way of what is dropped.
DROPS_EXPECTED+=('NOT_SPECIFIED at (vmxnet3|e1000e?|igb|cp)_.*')

cards() {
	on_test_machine
	node client r1 server
	modprobe "$(driver)"
	modprobe virtio_net
	card r1 eth0 00 1
	card r1 eth1 00 2
	card client eth0 01 1 10.1.0.{1..8}/24
	card server eth0 01 2 10.2.0.{1,2}/24
}

# driver: the kernel's module for the card
driver() {
	case $KIND in
	virtio*) echo virtio_net ;;
	rtl8139) echo 8139cp ;;
	*) echo "$KIND" ;;
	esac
}

# card NODE INTERFACE END CABLE [ADDRESS...]: moves a card of this machine to a node (CARD_MAC in run)
card() {
	local name before=${VMTEST_CARD%%"$KIND"*} mac

	before=${before//[^+]/}
	mac=$(printf '52:54:00:78:%s:%02x' "$3" $((2 * ${#before} + $4)))
	eventually "$PATIENCE" interface_of "$mac"
	name=$(interface_of "$mac")
	ip link set "$name" down
	ip link set "$name" name "x$BASHPID"
	ip link set "x$BASHPID" netns "$NS$1" name "$2"
	[ $# = 4 ] || address "$1" "$2" "${@:5}"
}

# A namespace lives on, with its cards, while TCP has something to repeat in it: for minutes, if the
# other end is gone. The next test needs them now.
before_del() {
	local card

	for card in $(ip netns exec "$1" sh -c 'ls -d /sys/class/net/*/device' 2>/dev/null); do
		card=${card%/device} card=${card##*/}
		ip -n "$1" link set "$card" down
		ip -n "$1" link set "$card" netns 1 name "y$BASHPID-$((back += 1))"
	done
}

interface_of() {
	ip -j link | jq -er --arg mac "$1" '.[] | select(.address == $mac).ifname'
}

no_lro() {
	local card

	for card; do
		on r1 ethtool -k "$card" | grep '^large-receive-offload: off' ||
			on r1 ethtool -K "$card" lro off
	done
}

ready() {
	no_lro "$1"
	address r1 "$1" "10.$2.0.11/24"
	# Cards keep the order of a flow by themselves.
	rps r1 "$1" 0
}

addresses() {
	ready eth0 1
	ready eth1 2
}

rebind() {
	local device driver

	device=$(on r1 readlink -f "/sys/class/net/$1/device")
	driver=$(readlink -f "$device/driver")
	echo "${device##*/}" >"$driver/unbind"
	sleep 1
	echo "${device##*/}" >"$driver/bind"
	card r1 "$1" 00 "$2"
	ready "$1" "$2"
}

# Linux 6.1 has no reason QUEUE_PURGE yet.
cards_stop() {
	links_change
	DROPS_EXPECTED+=('QDISC_DROP at kfree_skb_list_reason' 'NOT_SPECIFIED at __rtnl_unlock'
		'(QUEUE_PURGE|NOT_SPECIFIED) at (qdisc_reset|pfifo_fast_reset|neigh_destroy)')
}

router() {
	start_routers 1 'conns_per_peer: 1'
	server 1
}

server() {
	QUICK="$QUICK --set tcp.conns_per_peer=$1"
	load_server server "$SERVER" -r tcp1=10.2.0.11@tcp2
}

# A peer that the router has dialled keeps the number of connections until it has had none for a
# minute, so this is another one.
lanes() {
	end_load server
	SERVER=10.2.0.2@tcp2
	lx r1 net set nid 10.1.0.11@tcp1 conns_per_peer "$1"
	lx r1 net set nid 10.2.0.11@tcp2 conns_per_peer "$1"
	server "$1"
}

loads() {
	begin_load client "10.1.0.[1-$1]@tcp1" "$2" "$SERVER" -r tcp2=10.1.0.11@tcp1 \
		-s "$3" -t "$4" --timeout 120
}

# loaded [SECONDS]: that the load takes
# shellcheck disable=SC2154 # of lib.bash
loaded() {
	eventually "$((${1:-$CELL} + PATIENCE))" gone "${load_pid[client]}"
	end_load client
	all_arrived "$DIR/client.json"
}

ended_well() {
	fastpath_used r1
	equal "$(fastpath_sum r1 lost)" 0
	packets_are_true
	echo "# $KIND: $(lists_apart) packets with a frag_list and parts for several next" \
		"hops" >&3
}

# Whose counters, interrupts and neighbours change with two packets and answers, and whose do not.
# A test machine may have no ping.
which_card_stands_still() {
	local at node card

	for at in before after; do
		for card in 'client eth0' 'r1 eth0' 'r1 eth1' 'server eth0'; do
			node=${card% *} card=${card#* }
			echo "# $at two knocks, $node:"
			on "$node" ip -s -s link show "$card" | sed -n '3,$p'
			on "$node" tc -s qdisc show dev "$card"
			on "$node" ip neigh show dev "$card"
			on "$node" ethtool -S "$card" | grep -v ': 0$' | head -n 60
		done
		grep -E 'eth|virtio|x[0-9]' /proc/interrupts
		[ $at = before ] || break
		knock r1 10.1.0.1 9 || :
		knock server 10.2.0.11 9 || :
	done
	return 0
}
