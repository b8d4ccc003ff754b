#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Segments that somebody else sends in the name of a host, from that host's interface.

forge.py IF KIND BY COUNT
    Waits for segments of LNet's TCP connections over IPv4 that leave by IF. Behind
    COUNT of them, one in ten, it sends another one without data, of KIND:
    rst, syn    a reset, a SYN, whose sequence number is BY more than expected
    ack         an acknowledgement of BY bytes more than arrived
    Prints how many, and of how many connections.
"""
import socket
import struct
import sys

PORT = 988
SYN, RST, ACK = 2, 4, 16
OUTGOING = 4


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def forged(frame, kind, by):
    """The frame that is to follow, and the connection; None if this one is none of ours."""
    if frame[12:15] != b"\x08\x00\x45" or frame[23] != 6:
        return None
    addresses = frame[26:34]
    sport, dport, seq, ack, offset, flags, window = struct.unpack_from("!HHIIBBH", frame, 34)
    if PORT not in (sport, dport) or flags & (SYN | RST):
        return None
    seq += len(frame) - 34 - (offset >> 4) * 4
    if kind == "ack":
        ack += by
    else:
        seq += by
    flags = {"rst": RST, "syn": SYN, "ack": ACK}[kind]
    tcp = struct.pack("!HHIIBBHHH", sport, dport, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 5 << 4,
                      flags, window, 0, 0)
    tcp = tcp[:16] + struct.pack("!H", checksum(addresses + struct.pack("!HH", 6, len(tcp)) + tcp)) + tcp[18:]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0x4000, 64, 6, 0) + addresses
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return frame[:14] + ip + tcp, (addresses, sport, dport)


def main():
    dev, kind, by, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind((dev, 3))
    sock.settimeout(10)
    seen, sent, conns = 0, 0, set()
    while sent < count:
        frame, address = sock.recvfrom(1 << 16)
        segment = forged(frame, kind, by) if address[2] == OUTGOING else None
        if not segment:
            continue
        seen += 1
        if seen % 10 == 0:
            sock.send(segment[0])
            conns.add(segment[1])
            sent += 1
    print("%d of %d connections" % (sent, len(conns)))


main()
