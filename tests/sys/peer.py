#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A peer of socklnd for the system tests: an old one, a malicious one, or very many.

peer.py serve IP [options]
    Answers pings and takes pushes as a node that knows no version later than its
    own. Prints a line for each connection and message.
peer.py ping FROM TO [options]
    Connects, pings, prints the NIDs of the answer.
peer.py bad KIND FROM TO
    Sends something malformed (see BAD), then waits for the other side to close.
    Prints "closed", or "open" after 15 s.
peer.py stray FROM ROUTER TO [--pid PID] [--name NAME]
    Sends TO, a NID on tcp2, a message through a router, to any pid; or a ping in the name of
    another address.
peer.py idle TO COUNT FROM...
    COUNT peers with three connections each from these addresses, each pings once.
    Prints "ready" and stays until it is killed.
peer.py flood FROM ROUTER TO COUNT [--nobody SIZE]
    COUNT connections from one address, each with an invented NID, send messages to TO,
    a NID on tcp2, through a router; or each of SIZE bytes to another NID, up from TO.
    Prints "ready" when each has sent one, continues slowly, and stays until it is killed.

Addresses are IPv4, NIDs are on tcp (or with --net N on tcpN), ports privileged.
"""
import argparse
import errno
import itertools
import random
import resource
import select
import socket
import struct
import sys
import threading
import time

PORT = 988
ACCEPTOR, GENERIC, OLD_TCP = 0xACCE7100, 0x45726963, 0xEEBC0DED
ANY, CONTROL, BULK_IN, BULK_OUT, NONE = 0, 1, 2, 3, 0xFFFFFFFF
INVERTED = {ANY: ANY, CONTROL: CONTROL, BULK_IN: BULK_OUT, BULK_OUT: BULK_IN}
NOOP, LNET = 0xC0, 0xC1
ACK, PUT, GET, REPLY, HELLO = range(5)
NAMES = ["ACK", "PUT", "GET", "REPLY", "HELLO"]
PID = 12345
PING_BITS = 1 << 63
PING_MAGIC, STATUS_UP = 0x70696E67, 0x15AAC0DE
FEATURES = 2 | 4 | 8  # NI status, no router, Multi-Rail; without discovery
LO = 9 << 48
NO_HANDLE = b"\xff" * 16


net = 0  # tcp0, tcp1, ...


def nid_of(ip, num=None):
    """As an integer; an IPv6 one in its large form, which few of the functions below take."""
    if ":" in ip:
        return (struct.pack(">BBH", 12, 2, net if num is None else num) +
                socket.inet_pton(socket.AF_INET6, ip))
    return 2 << 48 | (net if num is None else num) << 32 | struct.unpack(">I", socket.inet_aton(ip))[0]


def nid_text(nid):
    if nid == LO:
        return "0@lo"
    return "%s@tcp%s" % (socket.inet_ntoa(struct.pack(">I", nid & 0xFFFFFFFF)),
                         nid >> 32 & 0xFFFF or "")


def large(nid):
    """The 20-byte form of a NID."""
    if isinstance(nid, bytes):
        return nid
    return struct.pack(">BBHI12x", 0, nid >> 48, nid >> 32 & 0xFFFF, nid & 0xFFFFFFFF)


def small(data):
    if data[0]:
        return data[:20]  # no small form
    _, net, num, addr = struct.unpack_from(">BBHI", data)
    return net << 48 | num << 32 | addr


class Closed(Exception):
    pass


class Conn:
    """A connection after its HELLO: messages in and out."""

    def __init__(self, sock, me, order="<"):
        self.sock, self.me, self.order = sock, me, order
        self.version = self.peer = self.ctype = None

    def read(self, n):
        data = b""
        while len(data) < n:
            piece = self.sock.recv(n - len(data))
            if not piece:
                raise Closed
            data += piece
        return data

    # ---- HELLO

    def send_hello(self, version, dst, ctype, ips=()):
        order = self.order
        if version == 1:
            data = struct.pack("<IHHQIIII", OLD_TCP, 1, 0, self.me, 0, PID, HELLO, 4 * len(ips))
            data += struct.pack("<QI28x", 7, ctype)
            data += struct.pack("<%dI" % len(ips), *ips)
        elif version < 4:
            data = struct.pack(order + "IIQQIIQQII", GENERIC, version, self.me, dst, PID, 0, 7, 0,
                               ctype, len(ips))
            data += struct.pack(order + "%dI" % len(ips), *ips)
        else:
            data = struct.pack(order + "II", GENERIC, version) + large(self.me) + large(dst)
            data += struct.pack(order + "IIQQII", PID, 0, 7, 0, ctype, 0)
        self.sock.sendall(data)

    def recv_hello(self, known=4):
        """Returns the ctype; None if the version is not known (> known)."""
        magic = self.read(4)
        if magic == struct.pack("<I", OLD_TCP):
            self.version = 1
            _, _, self.peer, _, _, _, length = struct.unpack("<HHQIIII", self.read(28))
            _, self.ctype = struct.unpack("<QI28x", self.read(40))
            self.read(length)
            return self.ctype
        order = "<" if magic == struct.pack("<I", GENERIC) else ">"
        self.version, = struct.unpack(order + "I", self.read(4))
        if self.version > known:
            return None
        if self.version < 4:
            self.peer, _, _, _, _, _, self.ctype, nips = struct.unpack(order + "QQIIQQII",
                                                                       self.read(48))
            self.read(4 * nips)
        else:
            data = self.read(72)
            self.peer = small(data)
            self.ctype, _ = struct.unpack(order + "II", data[64:])
        return self.ctype

    # ---- messages

    def message(self, kind, cmd, payload=b"", pid=PID):
        hdr = struct.pack("<IIII", pid, PID, kind, len(payload)) + cmd.ljust(40, b"\0")
        if self.version < 4:
            hdr = struct.pack("<QQ", self.peer, self.me) + hdr
        else:
            hdr = large(self.peer) + large(self.me) + hdr
        head = b"" if self.version == 1 else struct.pack(self.order + "IIQQ", LNET, 0, 0, 0)
        return head + hdr + payload

    def send(self, kind, cmd, payload=b""):
        self.sock.sendall(self.message(kind, cmd, payload))

    def recv(self):
        """The next message: type, command, payload. Acknowledges zero-copy requests."""
        cookie = 0
        while self.version > 1:
            kind, _, cookie, _ = struct.unpack("<IIQQ", self.read(24))
            if kind == LNET:
                break
        data = self.read(72 if self.version < 4 else 96)
        kind, length = struct.unpack("<II", data[-48:-40])
        payload = self.read(length)
        if cookie:
            self.sock.sendall(struct.pack(self.order + "IIQQ", NOOP, 0, 0, cookie))
        return kind, data[-40:], payload


def ping_info(nid):
    if isinstance(nid, bytes):
        return struct.pack("<IIIIQII", PING_MAGIC, FEATURES, PID, 1, LO, 1, 0)
    return (struct.pack("<IIII", PING_MAGIC, FEATURES, PID, 2) + struct.pack("<QII", LO, 1, 0) +
            struct.pack("<QII", nid, STATUS_UP, 0))


def ping_nids(info):
    n, = struct.unpack_from("<I", info, 12)
    return [nid_text(struct.unpack_from("<Q", info, 16 + 16 * i)[0]) for i in range(n)]


def family_of(ip):
    return socket.AF_INET6 if ":" in ip else socket.AF_INET


def dial(source, to, any_port=False):
    """Connects from a privileged port (or any), trying ports from the top down."""
    ports = [0] if any_port else range(1023, 511, -1)
    for port in ports:
        sock = socket.socket(family_of(source))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((source, port))
            sock.connect((to, PORT))
            sock.settimeout(15)
            return sock
        except OSError as e:
            sock.close()
            if e.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
                raise
    raise OSError("all privileged ports of %s are taken" % source)


def request(to):
    return struct.pack("<IIQ", ACCEPTOR, 1, nid_of(to))


def established(source, to, args, ctype=CONTROL, nid=None):
    """Dials as a peer does, retrying with an older version on request."""
    conn = Conn(dial(source, to, args.any_port), nid or nid_of(source),
                ">" if args.big_endian else "<")
    conn.sock.sendall(request(to))
    conn.send_hello(args.version, nid_of(to), ctype, args.ips)
    answer = conn.recv_hello()
    if answer != INVERTED[ctype] or conn.version != args.version:
        raise SystemExit("HELLO answered with version %d, type %#x" % (conn.version, answer))
    return conn


# ---- roles


def answer(conn, say):
    """Serves one connection until it closes."""
    while True:
        kind, cmd, payload = conn.recv()
        say("%s of %d bytes from %s" % (NAMES[kind], len(payload), nid_text(conn.peer)))
        if kind == GET:
            sink, = struct.unpack_from("<I", cmd, 32)
            conn.send(REPLY, cmd[:16], ping_info(conn.me)[:sink])
        elif kind == PUT and cmd[:16] != NO_HANDLE:
            conn.send(ACK, cmd[:24] + struct.pack("<I", len(payload)))


def taken(sock, args):
    """The passive side of connection setup; then serves."""
    conn = Conn(sock, nid_of(args.ip), ">" if args.big_endian else "<")
    req = conn.read(8)
    conn.read(8 if struct.unpack("<II", req)[1] == 1 else 20)
    ctype = conn.recv_hello(args.version)
    if ctype is None or conn.version != args.version:
        # Answers unknown versions with its own version and no type.
        conn.send_hello(args.version, 0, NONE, args.ips)
        say("refused version %d" % conn.version)
        sock.close()
        return
    conn.send_hello(args.version, conn.peer, INVERTED[ctype], args.ips)
    say("version %d type %d from %s" % (conn.version, ctype, nid_text(conn.peer)))
    answer(conn, say)


def say(text):
    print(text, flush=True)


def serve(args):
    listener = socket.create_server((args.ip, PORT))
    say("ready")

    def one(sock):
        try:
            taken(sock, args)
        except (Closed, OSError):
            say("closed")

    while True:
        sock, _ = listener.accept()
        threading.Thread(target=one, args=(sock,), daemon=True).start()


def ping_cmd(handle):
    return handle + struct.pack("<QIII", PING_BITS, 0, 0, 272)


def pinged(conn):
    """Pings; returns the NIDs of the answer."""
    handle = struct.pack("<QQ", 1, 2)
    conn.send(GET, ping_cmd(handle))
    kind, cmd, payload = conn.recv()
    if kind != REPLY or cmd[:16] != handle:
        raise SystemExit("%s instead of the REPLY" % NAMES[kind])
    return ping_nids(payload)


def ping(args):
    say(" ".join(pinged(established(args.source, args.to, args))))


def stray(args):
    conn = Conn(dial(args.source, args.router), nid_of(args.source))
    router = nid_of(args.router)
    conn.sock.sendall(struct.pack("<IIQ", ACCEPTOR, 1, router))
    conn.send_hello(3, router, CONTROL)
    conn.recv_hello()
    conn.peer = nid_of(args.to, 2)
    me = conn.me
    if args.name:
        conn.me = nid_of(args.name)
        conn.send(GET, ping_cmd(NO_HANDLE))
    else:
        conn.sock.sendall(conn.message(PUT, NO_HANDLE, b"x" * 100, args.pid))
    conn.peer, conn.me = router, me
    pinged(conn)  # so the previous message has been processed


class Bad:
    """Kinds of malformed input, each sent over a new connection."""

    def __init__(self, args):
        self.args = args
        self.sock = dial(args.source, args.to)

    def hello(self, version=3, ctype=CONTROL, ips=(), me=None):
        conn = Conn(self.sock, nid_of(self.args.source) if me is None else me)
        conn.send_hello(version, nid_of(self.args.to), ctype, ips)

    def up(self):
        """A valid connection."""
        conn = Conn(self.sock, nid_of(self.args.source))
        self.sock.sendall(request(self.args.to))
        self.hello()
        conn.recv_hello()
        return conn

    def header(self, kind, length, cmd=b""):
        return (struct.pack("<IIQQ", LNET, 0, 0, 0) +
                struct.pack("<QQIIII", nid_of(self.args.to), nid_of(self.args.source), PID, PID,
                            kind, length) + cmd.ljust(40, b"\0"))

    def garbage(self):
        self.sock.sendall(random.Random(1).randbytes(4096))

    def http(self):
        self.sock.sendall(b"GET / HTTP/1.1\r\nHost: lustre\r\n\r\n")

    def half_request(self):
        self.sock.sendall(request(self.args.to)[:10])

    def silence(self):
        pass

    def wrong_nid(self):
        self.sock.sendall(request("10.99.99.99"))
        self.hello()

    def no_hello(self):
        self.sock.sendall(request(self.args.to))

    def hello_magic(self):
        self.sock.sendall(request(self.args.to) + b"\xde\xad\xbe\xef" * 20)

    def hello_half(self):
        self.sock.sendall(request(self.args.to) + struct.pack("<IIQ", GENERIC, 3, 1))

    def hello_17_ips(self):
        self.sock.sendall(request(self.args.to))
        self.hello(ips=[1] * 17)

    def hello_many_ips(self):
        data = struct.pack("<IIQQIIQQII", GENERIC, 3, nid_of(self.args.source), 0, PID, 0, 7, 0,
                           CONTROL, 0xFFFFFFFF)
        self.sock.sendall(request(self.args.to) + data + b"\1" * 4096)

    def hello_zero_ip(self):
        self.sock.sendall(request(self.args.to))
        self.hello(ips=[0])

    def hello_no_nid(self):
        self.sock.sendall(request(self.args.to))
        self.hello(me=0xFFFFFFFFFFFFFFFF)

    def hello_no_type(self):
        self.sock.sendall(request(self.args.to))
        self.hello(ctype=77)

    def hello_other_net(self):
        self.sock.sendall(request(self.args.to))
        self.hello(me=nid_of(self.args.source, 77))

    def message_type(self):
        self.up().sock.sendall(struct.pack("<IIQQ", 0x77, 0, 0, 0))

    def lnet_type(self):
        self.up().sock.sendall(self.header(9, 0))

    def get_with_payload(self):
        self.up().sock.sendall(self.header(GET, 100) + b"x" * 100)

    def too_long(self):
        self.up().sock.sendall(self.header(PUT, (1 << 20) + 1))

    def longest(self):
        self.up().sock.sendall(self.header(PUT, 0xFFFFFFFF) + b"x" * 65536)

    def half_message(self):
        # To a portal without an MD; on portal 0 it would wait, unread.
        cmd = NO_HANDLE + struct.pack("<QQII", 0, 0, 5, 0)
        self.up().sock.sendall(self.header(PUT, 65536, cmd) + b"x" * 100)
        self.sock.shutdown(socket.SHUT_WR)

    def cookie(self):
        self.up().sock.sendall(struct.pack("<IIQQ", NOOP, 0, 0, 4711))

    def cookies(self):
        self.up().sock.sendall(struct.pack("<IIQQ", NOOP, 0, 2, 1 << 62))


BAD = [name for name in vars(Bad) if not name.startswith("_") and name not in
       ("hello", "up", "header")]


def closes(sock, seconds):
    sock.settimeout(seconds)
    try:
        while sock.recv(65536):
            pass
    except socket.timeout:
        return False
    except OSError:
        pass
    return True


def bad(args):
    if args.kind == "list":
        say("\n".join(BAD))
        return
    it = Bad(args)
    try:
        getattr(it, args.kind)()
    except (Closed, OSError) as e:
        # The other side may have closed already.
        say("closed early: %s" % type(e).__name__)
    say("closed" if closes(it.sock, 15) else "open")


def idle(args):
    resource.setrlimit(resource.RLIMIT_NOFILE, (4 * args.count + 100,) * 2)
    held = []
    for i in range(args.count):
        source = args.source[i % len(args.source)]
        nid = nid_of("10.200.%d.%d" % (i >> 8, i & 255))
        for ctype in (CONTROL, BULK_IN, BULK_OUT):
            held.append(established(source, args.to, args, ctype, nid))
        pinged(held[-3])
    say("ready")
    threading.Event().wait()


def greedy(args):
    """Pings as fast as it can, and never reads an answer."""
    conn = established(args.source, args.to, args)
    data = conn.message(GET, ping_cmd(struct.pack("<QQ", 1, 2))) * 500
    conn.sock.setblocking(False)
    sent = 0
    while sent < args.limit * len(data) // 500:
        if not select.select([], [conn.sock], [], 3)[1]:
            say("stuck")
            break
        sent += conn.sock.send(data[sent % len(data):])
    poll = select.poll()
    poll.register(conn.sock, 0)  # what poll() tells unasked
    poll.poll()
    say("closed")


def flood(args):
    held = []
    for i in range(args.count):
        nid = nid_of("10.201.%d.%d" % (i >> 8, i & 255))
        held.append(established(args.source, args.router, args, BULK_OUT, nid))
        held[-1].peer = nid_of(args.to, 2) + (i if args.nobody else 0)
    for i in itertools.count():
        for conn in held:
            if args.nobody:
                conn.send(PUT, NO_HANDLE, b"x" * args.nobody)
                conn.peer += len(held)
            else:
                conn.send(ACK, NO_HANDLE)  # no MD
        if i == 0:
            say("ready")
        time.sleep(0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", type=int, default=3)
    parser.add_argument("--net", type=int, default=0)
    parser.add_argument("--ips", type=lambda t: [int(x) for x in t.split(",")], default=[])
    parser.add_argument("--big-endian", action="store_true")
    parser.add_argument("--any-port", action="store_true")
    sub = parser.add_subparsers(required=True)
    p = sub.add_parser("serve")
    p.add_argument("ip")
    p.set_defaults(run=serve)
    p = sub.add_parser("ping")
    p.add_argument("source")
    p.add_argument("to")
    p.set_defaults(run=ping)
    p = sub.add_parser("bad")
    p.add_argument("kind", choices=BAD + ["list"])
    p.add_argument("source")
    p.add_argument("to")
    p.set_defaults(run=bad)
    p = sub.add_parser("stray")
    p.add_argument("source")
    p.add_argument("router")
    p.add_argument("to")
    p.add_argument("--pid", type=int, default=PID)
    p.add_argument("--name")
    p.set_defaults(run=stray)
    p = sub.add_parser("idle")
    p.add_argument("to")
    p.add_argument("count", type=int)
    p.add_argument("source", nargs="+")
    p.set_defaults(run=idle)
    p = sub.add_parser("greedy")
    p.add_argument("source")
    p.add_argument("to")
    p.add_argument("--limit", type=int, default=1000000)
    p.set_defaults(run=greedy)
    p = sub.add_parser("flood")
    p.add_argument("source")
    p.add_argument("router")
    p.add_argument("to")
    p.add_argument("count", type=int)
    p.add_argument("--nobody", type=int, default=0)
    p.set_defaults(run=flood)
    args = parser.parse_args()
    global net
    net = args.net
    args.run(args)


if __name__ == "__main__":
    main()
