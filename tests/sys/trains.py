#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Messages through a router as no library would send them, and whether they arrive.

trains.py take IP
    A node that takes PUTs. Prints a line for each that is not what was sent, and a
    line "N messages, N bad" whenever nothing has come for a second.
trains.py send FROM ROUTER TO... [options]
    One connection to the router; messages of random sizes for the nodes TO in turn,
    --train N at a time, all of it written at once or (--chop) in random small pieces,
    so that headers are cut. Prints "sent N" once each was acknowledged.

Each message tells in its command area who sent it, its number and the seed of its
payload, so that the other side can check every byte, and that none comes twice.
"""
import argparse
import random
import selectors
import socket
import struct
import time

import peer

CMD = "<16sQIIQ"  # handle (none), who, number, length, seed
MAX = 1 << 20


def payload_of(seed, length):
    return random.Random(seed).randbytes(length)


# ---- taking


class Taker:
    """One connection of the router's; parses what there is, never waits."""

    def __init__(self, sock, ip, seen):
        conn = peer.Conn(sock, peer.nid_of(ip))
        conn.read(20 if struct.unpack("<II", conn.read(8))[1] > 1 else 8)
        ctype = conn.recv_hello()
        conn.send_hello(conn.version, conn.peer, peer.INVERTED[ctype])
        self.conn, self.sock, self.data, self.seen = conn, sock, bytearray(), seen

    def messages(self):
        """Complete ones: cookie, type, command, payload."""
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
            if length > MAX:
                raise SystemExit("length %d" % length)
            if len(self.data) < header + length:
                return
            message = bytes(self.data[:header + length])
            del self.data[:header + length]
            if cookie:
                self.sock.sendall(struct.pack("<IIQQ", peer.NOOP, 0, 0, cookie))
            yield kind, message[header - 40:header], message[header:]

    def judge(self, cmd, payload):
        """None, or what is wrong with a message."""
        _, who, number, length, seed = struct.unpack(CMD, cmd)
        text = "message %d of %d bytes: " % (number, length)
        if (who, seed) in self.seen:
            return text + "twice"
        self.seen.add((who, seed))
        if length != len(payload):
            return text + "has %d" % len(payload)
        sent = payload_of(seed, length)
        wrong = [i for i in range(length) if sent[i] != payload[i]]
        return text + "%d wrong from %d on" % (len(wrong), wrong[0]) if wrong else None

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
    listener = socket.create_server((args.ip, peer.PORT), backlog=128)
    events.register(listener, selectors.EVENT_READ)
    counts, seen = [0, 0], set()
    peer.say("ready")
    while True:
        ready = events.select(1)
        if not ready:
            peer.say("%d messages, %d bad" % tuple(counts))
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
                events.unregister(key.fileobj)
                key.fileobj.close()


# ---- sending


class Sender:
    def __init__(self, args):
        router = peer.nid_of(args.router)
        self.rnd = random.Random(args.seed)
        self.args, self.number, self.due = args, 0, set()
        self.conn = peer.Conn(peer.dial(args.source, args.router), peer.nid_of(args.source))
        self.conn.sock.sendall(struct.pack("<IIQ", peer.ACCEPTOR, 1, router) if args.version < 4
                               else struct.pack("<II", peer.ACCEPTOR, 2) + peer.large(router))
        self.conn.send_hello(args.version, router, peer.BULK_OUT)
        self.conn.recv_hello()
        if self.conn.version != args.version:
            raise SystemExit("the router answers with version %d" % self.conn.version)
        self.conn.sock.settimeout(args.timeout)

    def size(self):
        kind = self.rnd.randrange(8)
        return self.rnd.randrange(200 if kind < 3 else 5000 if kind < 6 else self.args.max + 1)

    def message(self):
        to = self.args.to[self.number // self.args.train % len(self.args.to)]
        length, seed = self.size(), self.rnd.getrandbits(64)
        cookie = 0
        if self.rnd.randrange(2):
            cookie = self.number + 2  # 1 is no cookie
            self.due.add(cookie)
        cmd = struct.pack(CMD, peer.NO_HANDLE, self.conn.me, self.number, length, seed)
        hdr = struct.pack("<IIII", peer.PID, peer.PID, peer.PUT, length) + cmd
        dst = peer.nid_of(to, self.args.to_net)
        if self.args.version < 4:
            nids = struct.pack("<QQ", dst, self.conn.me)
        else:
            nids = peer.large(dst) + peer.large(self.conn.me)
        self.number += 1
        return struct.pack("<IIQQ", peer.LNET, 0, cookie, 0) + nids + hdr + payload_of(seed, length)

    def write(self, data):
        if not self.args.chop:
            self.conn.sock.sendall(data)
            return
        self.conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        at = 0
        while at < len(data):
            n = self.rnd.randrange(1, 60 if self.rnd.randrange(2) else 9000)
            self.conn.sock.sendall(data[at:at + n])
            at += n

    def acknowledged(self):
        """Waits until each cookie has come back, once."""
        while self.due:
            kind, _, first, last = struct.unpack("<IIQQ", self.conn.read(24))
            if kind != peer.NOOP:
                raise SystemExit("a message instead of an acknowledgement")
            if last < 2:
                continue
            first = first or last
            for cookie in range(first, last + 1) if first <= last else (first, last):
                if cookie not in self.due:
                    raise SystemExit("cookie %d was not sent, or is back twice" % cookie)
                self.due.discard(cookie)

    def run(self):
        while self.number < self.args.count:
            n = min(self.args.batch, self.args.count - self.number)
            self.write(b"".join(self.message() for _ in range(n)))
            self.acknowledged()
            time.sleep(self.args.pause)
        peer.say("sent %d" % self.number)


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
    p.add_argument("--max", type=int, default=100000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--timeout", type=float, default=20)
    p.add_argument("--chop", action="store_true")
    p.set_defaults(run=lambda args: Sender(args).run())
    args = parser.parse_args()
    peer.net = args.net
    args.run(args)


if __name__ == "__main__":
    main()
