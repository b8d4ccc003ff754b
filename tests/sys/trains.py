#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Sends messages through a router as no library would, and checks that they arrive.

trains.py take IP
    A node that takes PUTs. Prints a line for each that differs from what was sent, and
    "N messages, N bad, N cut" whenever nothing has arrived for a second. Messages during
    which a connection ended are cut; they do not count as messages.
trains.py send FROM ROUTER TO... [options]
    One connection to the router; messages of random sizes for the nodes TO in turn,
    --train N at a time, all written at once or (--chop) in random small pieces, so that
    headers are split. Prints "sent N" when all are acknowledged, and waits until the
    router has closed the connection, too: otherwise what it still sends would break the
    connections that follow. SIGTERM ends it in the same way.
    --file: from a file, whose pages become part of packets; fails if its bytes change.
    --odd: with destination options, which only IPv6 has.
    --end fin: closes after the last message, without waiting for acknowledgements.
    half: half of one more message follows, of 1 MiB; prints "half", and stays until it is
    killed. half-fin: both, without waiting. Prints "closed" when the router has closed
    the connection, or "open" after --timeout. pause: the other half follows after 5 s.
    --cuts N: first, for each n from 1 to N a GSO packet with a message of two segments and
    n bytes of others: the end of the message before; NOOPs, where that gives n; a message
    behind it, where n is enough for one. With two nodes TO, the router cuts n bytes out.
    Prints how many there were of each; fails if it cannot make the kernel send such a packet.
    get: a GET with a payload, which is illegal. Prints "closed" or "open", as above.

Each message has its sender, its number and the seed of its payload in its command area,
so that the other side can check every byte, and that none arrives twice.
"""
import argparse
import fcntl
import os
import random
import select
import selectors
import signal
import socket
import struct
import termios
import threading
import time

import peer

CMD = "<16sQIIQ"  # handle (none), who, number, length, seed
MAX = 1 << 20
# Payloads are parts of it, which is faster than new numbers for each.
BYTES = random.Random(0).randbytes(4 << 20)


def payload_of(seed, length):
    start = seed % (len(BYTES) - length)
    return BYTES[start:start + length]


# ---- taking


class Taker:
    """A connection from the router; parses what has arrived, never waits."""

    def __init__(self, sock, ip, seen):
        conn = peer.Conn(sock, peer.nid_of(ip))
        conn.read(20 if struct.unpack("<II", conn.read(8))[1] > 1 else 8)
        ctype = conn.recv_hello()
        conn.send_hello(conn.version, conn.peer, peer.INVERTED[ctype])
        self.conn, self.sock, self.data, self.seen = conn, sock, bytearray(), seen

    def messages(self):
        """Complete messages: cookie, type, command, payload."""
        header = 24 + (72 if self.conn.version < 4 else 96)
        while len(self.data) >= 24:
            kind, csum, cookie, _ = struct.unpack_from("<IIQQ", self.data)
            if kind == peer.NOOP:
                del self.data[:24]
                continue
            if kind != peer.LNET or csum:
                raise SystemExit("framing is lost: %s" % bytes(self.data[:24]).hex())
            if len(self.data) < header:
                return
            kind, length = struct.unpack_from("<II", self.data, header - 48)
            if length > (MAX if kind in (peer.PUT, peer.REPLY) else 0):
                raise SystemExit("type %d, length %d" % (kind, length))
            # A NID's type is in bytes 6 and 7 of its small form, in byte 1 of its large form.
            if self.data[38 if self.conn.version < 4 else 45] == 0xFF:
                raise SystemExit("a message without a source")
            if len(self.data) < header + length:
                return
            message = bytes(self.data[:header + length])
            del self.data[:header + length]
            if cookie:
                self.sock.sendall(struct.pack("<IIQQ", peer.NOOP, 0, 0, cookie))
            yield kind, message[header - 40:header], message[header:]

    def judge(self, cmd, payload):
        """What is wrong with a message, or None."""
        _, who, number, length, seed = struct.unpack(CMD, cmd)
        text = "message %d of %d bytes: " % (number, length)
        if (who, seed) in self.seen:
            return text + "twice"
        self.seen.add((who, seed))
        if length != len(payload):
            return text + "has %d" % len(payload)
        sent = payload_of(seed, length)
        if sent == payload:
            return None
        wrong = [i for i in range(length) if sent[i] != payload[i]]
        return text + "%d wrong from %d on" % (len(wrong), wrong[0])

    def take(self, counts):
        piece = self.sock.recv(1 << 20)
        self.data += piece
        for kind, cmd, payload in self.messages():
            if kind == peer.GET:
                self.conn.send(peer.REPLY, cmd[:16], peer.ping_info(self.conn.me))
            elif kind == peer.PUT:
                counts[0] += 1
                wrong = self.judge(cmd, payload)
                if wrong:
                    counts[1] += 1
                    peer.say("bad: " + wrong)
        return bool(piece)


def take(args):
    events = selectors.DefaultSelector()
    listener = socket.create_server((args.ip, peer.PORT), family=peer.family_of(args.ip),
                                    backlog=128)
    events.register(listener, selectors.EVENT_READ)
    counts, seen = [0, 0, 0], set()
    peer.say("ready")
    while True:
        ready = events.select(1)
        if not ready:
            peer.say("%d messages, %d bad, %d cut" % tuple(counts))
        for key, _ in ready:
            if key.fileobj is listener:
                taker = Taker(listener.accept()[0], args.ip, seen)
                events.register(taker.sock, selectors.EVENT_READ, taker)
                continue
            try:
                alive = key.data.take(counts)
            except OSError:
                alive = False
            if not alive:
                counts[2] += len(key.data.data) > 0
                events.unregister(key.fileobj)
                key.fileobj.close()


# ---- sending


class Watch:
    """The packets that leave by a connection, before they are segmented."""

    def __init__(self, sock):
        self.port = struct.pack(">H", sock.getsockname()[1])
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self.sock.setblocking(False)

    def saw(self, length):
        """True if one has had that payload since the last call."""
        seen = False
        while True:
            try:
                packet, address = self.sock.recvfrom(1 << 17)
            except BlockingIOError:
                return seen
            at = 40 if packet[0] >> 4 == 6 else 20
            if address[2] == socket.PACKET_OUTGOING and packet[at:at + 2] == self.port:
                seen |= len(packet) - at - (packet[at + 12] >> 4) * 4 == length


class Sender:
    def __init__(self, args):
        router = peer.nid_of(args.router)
        self.rnd = random.Random(args.seed)
        self.args, self.number, self.due = args, 0, set()
        signal.signal(signal.SIGTERM, self.enough)
        self.conn = peer.Conn(peer.dial(args.source, args.router), peer.nid_of(args.source))
        self.conn.sock.sendall(struct.pack("<IIQ", peer.ACCEPTOR, 1, router) if args.version < 4
                               else struct.pack("<II", peer.ACCEPTOR, 2) + peer.large(router))
        self.conn.send_hello(args.version, router, peer.BULK_OUT)
        self.conn.recv_hello()
        if self.conn.version != args.version:
            raise SystemExit("the router answers with version %d" % self.conn.version)
        self.conn.sock.settimeout(args.timeout)
        if args.odd:  # 6 bytes of padding
            self.conn.sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_DSTOPTS,
                                      bytes((0, 0, 1, 4, 0, 0, 0, 0)))

    def enough(self, *_):
        self.args.count = self.number

    def size(self):
        """Of a message's payload."""
        if self.args.min:
            return self.rnd.randrange(self.args.min, self.args.max + 1)
        kind = self.rnd.randrange(8)
        return self.rnd.randrange(200 if kind < 3 else 5000 if kind < 6 else self.args.max + 1)

    def message(self, length, kind=peer.PUT):
        to = self.args.to[self.number // self.args.train % len(self.args.to)]
        seed = self.rnd.getrandbits(64)
        cookie = 0
        if self.rnd.randrange(2):
            cookie = self.number + 2  # 1 is no cookie
            self.due.add(cookie)
        me = self.conn.me
        who = me if isinstance(me, int) else int.from_bytes(me[-8:], "big")
        cmd = struct.pack(CMD, peer.NO_HANDLE, who, self.number, length, seed)
        hdr = struct.pack("<IIII", peer.PID, peer.PID, kind, length) + cmd
        dst = peer.nid_of(to, self.args.to_net)
        if self.args.version < 4:
            dst, src = struct.pack("<Q", dst), struct.pack("<Q", self.conn.me)
        else:
            dst, src = peer.large(dst), peer.large(self.conn.me)
        self.number += 1
        msg = struct.pack("<IIQQ", peer.LNET, 0, cookie, 0) + dst + src + hdr
        return msg + payload_of(seed, length)

    def write(self, data):
        if self.args.file:
            return self.write_file(data)
        if not self.args.chop:
            self.conn.sock.sendall(data)
            return
        self.conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        at = 0
        while at < len(data):
            n = self.rnd.randrange(1, 60 if self.rnd.randrange(2) else 9000)
            self.conn.sock.sendall(data[at:at + n])
            at += n

    def write_file(self, data):
        self.file, self.data = os.memfd_create("train"), data
        os.pwrite(self.file, data, 0)
        at = 0
        while at < len(data):
            select.select([], [self.conn.sock], [])
            at += os.sendfile(self.conn.sock.fileno(), self.file, at, len(data) - at)

    def file_is_unchanged(self):
        if os.pread(self.file, len(self.data), 0) != self.data:
            raise SystemExit("the file that was sent has been written to")
        os.close(self.file)

    def acknowledged(self):
        """Waits until each cookie has returned, once."""
        while self.due:
            kind, _, first, last = struct.unpack("<IIQQ", self.conn.read(24))
            if kind != peer.NOOP:
                raise SystemExit("a message instead of an acknowledgement")
            if last < 2:
                continue
            first = first or last
            for cookie in range(first, last + 1) if first <= last else (first, last):
                if cookie not in self.due:
                    raise SystemExit("cookie %d was not sent, or returned twice" % cookie)
                self.due.discard(cookie)

    def run(self):
        if self.args.cuts:
            self.cuts()
        while self.number < self.args.count:
            n = min(self.args.batch, self.args.count - self.number)
            self.write(b"".join(self.message(self.size()) for _ in range(n)))
            if self.args.end == "fin" and self.number == self.args.count:
                return self.fin()
            self.acknowledged()
            if self.args.file:
                self.file_is_unchanged()
            time.sleep(self.args.pause)
        peer.say("sent %d" % self.number)
        if self.args.end == "get":
            self.illegal()
        elif self.args.end:
            self.half()
        elif not self.closed():
            raise SystemExit("the router did not close the connection")

    def cuts(self):
        """See --cuts."""
        header = 24 + (72 if self.args.version < 4 else 96)
        noop = struct.pack("<IIQQ", peer.NOOP, 0, 0, 0)
        self.conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        watch = Watch(self.conn.sock)
        mss = self.conn.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        large = 2 * mss - self.args.cuts - header

        def before(n):
            message = self.message(300)
            # At once, and so in a packet of its own.
            self.conn.sock.sendall(message[:-n])
            return message[-n:] + self.message(large)

        def noops(n):
            return noop * (n // len(noop)) + self.message(large) if n % len(noop) == 0 else b""

        def behind(n):
            return self.message(large) + self.message(n - header) if n >= header else b""

        for form in before, noops, behind:
            done = sum(self.in_one_packet(form, n, watch) for n in range(1, self.args.cuts + 1))
            peer.say("%d %s" % (done, form.__name__))

    def in_one_packet(self, form, n, watch):
        """
        Sends what form(n) returns, until it left in one packet: a router may end the window with the
        message being sent, for up to half a second. False if form(n) returns nothing.
        """
        deadline = time.monotonic() + self.args.timeout
        wait = self.args.pause
        while time.monotonic() < deadline:
            data = form(n)
            if not data:
                return False
            self.all_sent(data)
            self.acknowledged()
            if watch.saw(len(data)):
                return True
            time.sleep(wait)
            wait = min(wait + 0.1, 1)
        raise SystemExit("no packet of %d bytes, %s %d" % (len(data), form.__name__, n))

    def all_sent(self, data):
        """Sends it, and waits until it is acknowledged, so that what follows gets its own packet."""
        self.conn.sock.sendall(data)
        deadline = time.monotonic() + self.args.timeout
        while struct.unpack("I", fcntl.ioctl(self.conn.sock, termios.TIOCOUTQ, b"    "))[0]:
            if time.monotonic() > deadline:
                raise SystemExit("not acknowledged: the end of message %d" % self.number)
            time.sleep(0.001)

    def half(self):
        time.sleep(0.3)  # all is quiet, so it may take another path than those before
        message = self.message(MAX)
        self.write(message[:len(message) // 2])
        if self.args.end == "half-fin":
            return self.fin()
        peer.say("half")
        if self.args.end == "half":
            threading.Event().wait()
        time.sleep(5)
        self.write(message[len(message) // 2:])
        self.acknowledged()

    def illegal(self):
        time.sleep(0.3)
        self.write(self.message(100, peer.GET) + self.message(100))
        peer.say("closed" if peer.closes(self.conn.sock, self.args.timeout) else "open")

    def closed(self):
        self.conn.sock.shutdown(socket.SHUT_WR)
        return peer.closes(self.conn.sock, self.args.timeout)

    def fin(self):
        peer.say("closed" if self.closed() else "open")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", type=int, default=1, help="of the sender, and of take")
    sub = parser.add_subparsers(required=True)
    p = sub.add_parser("take")
    p.add_argument("ip")
    p.set_defaults(run=take)
    p = sub.add_parser("send")
    p.add_argument("source")
    p.add_argument("router")
    p.add_argument("to", nargs="+")
    p.add_argument("--to-net", type=int, default=2)
    p.add_argument("--version", type=int, default=3)
    p.add_argument("--count", type=int, default=1000)
    p.add_argument("--batch", type=int, default=100, help="messages until all are acknowledged")
    p.add_argument("--pause", type=float, default=0.02, help="seconds, then")
    p.add_argument("--train", type=int, default=1)
    p.add_argument("--min", type=int, default=0, help="0: many are small")
    p.add_argument("--max", type=int, default=100000)
    p.add_argument("--cuts", type=int, default=0, metavar="N")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--timeout", type=float, default=20)
    p.add_argument("--chop", action="store_true")
    p.add_argument("--file", action="store_true")
    p.add_argument("--odd", action="store_true")
    p.add_argument("--end", choices=["fin", "half", "half-fin", "pause", "get"])
    p.set_defaults(run=lambda args: Sender(args).run())
    args = parser.parse_args()
    peer.net = args.net
    args.run(args)


if __name__ == "__main__":
    main()
