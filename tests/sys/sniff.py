#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A sniffer: what it has of a packet that an interface received must not change later.

sniff.py INTERFACE ADDRESS...
    Prints "ready", then "other ADDRESS" for each TCP packet received for none of these.
    Reads late, so that others have had time to write to the packets.
"""
import socket
import sys
import time

ETH_P_ALL = 3


def main(ifname, *addresses):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
    sock.bind((ifname, ETH_P_ALL))
    print("ready", flush=True)
    while True:
        packet, where = sock.recvfrom(64)
        if where[2] != socket.PACKET_HOST:
            continue
        v6 = packet[0] >> 4 == 6
        if packet[6 if v6 else 9] != socket.IPPROTO_TCP:
            continue
        to = socket.inet_ntop(socket.AF_INET6 if v6 else socket.AF_INET,
                              packet[24:40] if v6 else packet[16:20])
        if to not in addresses:
            print("other", to, flush=True)
        time.sleep(0.0001)


main(*sys.argv[1:])
