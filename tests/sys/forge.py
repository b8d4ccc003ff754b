#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Forges segments in the name of a host.

forge.py IF KIND BY COUNT [--print]
    Waits for segments of LNet's TCP connections over IPv4 that leave by IF. After COUNT of
    them, one in ten, it sends a forged one, of KIND:
    rst, syn    a reset, a SYN, whose sequence number is BY more than expected
    ack         an ACK of BY bytes more than arrived
    window      an ACK with the largest possible window, BY bytes more than expected
    data        one byte, BY bytes beyond what is expected
    old         500 bytes, just what is expected, but with a timestamp BY ms old
    Prints how many, and of how many connections. With --print it prints them instead
    of sending them, for
forge.py IF send MAC
    which sends what it reads to a MAC address, through IF.
"""
import errno
import socket
import struct
import sys
import time

PORT = 988
SYN, RST, ACK = 2, 4, 16
OUTGOING = 4
STAMP = b"\x01\x01\x08\x0a"  # NOP NOP, timestamps


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(addresses, tcp, options, data):
    """An IP packet; @tcp: the header up to the window."""
    tcp += b"\0" * 4 + options + data
    tcp = tcp[:12] + bytes([(20 + len(options)) // 4 << 4]) + tcp[13:]
    pseudo = addresses + struct.pack("!HH", 6, len(tcp))
    tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + addresses
    return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + tcp


def forged(frame, kind, by):
    """The forged frame that fits this one, and the connection; None if it is of no use."""
    if frame[12:15] != b"\x08\x00\x45" or frame[23] != 6:
        return None
    addresses = frame[26:34]
    sport, dport, seq, ack, offset, flags, window = struct.unpack_from("!HHIIBBH", frame, 34)
    if PORT not in (sport, dport) or flags & (SYN | RST):
        return None
    seq += struct.unpack_from("!H", frame, 16)[0] - 20 - (offset >> 4) * 4
    options, data = b"", b""
    if kind == "ack":
        ack += by
    elif kind == "old":
        if frame[54:58] != STAMP:
            raise SystemExit("these connections have no timestamps")
        stamp, echo = struct.unpack_from("!II", frame, 58)
        options = STAMP + struct.pack("!II", (stamp - by) & 0xFFFFFFFF, echo)
        data = b"\x5a" * 500
    else:
        seq += by
        data = b"\x5a" if kind == "data" else b""
    if kind == "window":
        window = 0xFFFF
    flags = {"rst": RST, "syn": SYN}.get(kind, ACK)
    tcp = struct.pack("!HHIIBBH", sport, dport, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0, flags, window)
    return frame[:14] + packet(addresses, tcp, options, data), (addresses, sport, dport)


def send(dev, mac):
    """Reads the other side's output: a frame per line, without Ethernet addresses."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.bind((dev, 0))
    own = sock.getsockname()[4]
    count = 0
    for line in sys.stdin:
        frame = bytes.fromhex(mac.replace(":", "")) + own + bytes.fromhex(line.strip())[12:]
        while True:
            try:
                sock.send(frame)
                break
            except OSError as e:
                if e.errno != errno.ENOBUFS:  # on a busy machine
                    raise
                time.sleep(0.01)
        count += 1
    if not count:
        raise SystemExit("nothing to send")


def main():
    dev, kind, by = sys.argv[1:4]
    if kind == "send":
        send(dev, by)
        return
    by, count, show = int(by), int(sys.argv[4]), "--print" in sys.argv
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind((dev, 3))
    sock.settimeout(10)
    seen, sent, conns = 0, 0, set()
    while sent < count:
        frame, address = sock.recvfrom(1 << 18)
        segment = forged(frame, kind, by) if address[2] == OUTGOING else None
        if not segment:
            continue
        seen += 1
        if seen % 10:
            continue
        if show:
            print(segment[0].hex(), flush=True)
        else:
            sock.send(segment[0])
        conns.add(segment[1])
        sent += 1
    print("%d of %d connections" % (sent, len(conns)), file=sys.stderr if show else sys.stdout)


if __name__ == "__main__":
    main()
