#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Sends malformed control messages to each of the given sockets of lnetxd.

Fails if a daemon crashes, hangs, or accepts one. A refusal is
an error message or a closed connection.
"""
import random
import socket
import struct
import sys

TYPE = 0x6C78
NETS, MONITOR, VERSION = 2, 33, 1
REQUEST, DUMP = 1, 0x300
ERROR, DONE = 2, 3


def message(payload=b"", length=None, kind=TYPE, flags=REQUEST | DUMP, command=NETS,
            version=VERSION):
    body = struct.pack("<BBH", command, version, 0) + payload
    length = 16 + len(body) if length is None else length
    return struct.pack("<IHHII", length, kind, flags, 1, 0) + body


def attribute(number, data, length=None):
    length = 4 + len(data) if length is None else length
    return (struct.pack("<HH", length, number) + data).ljust(4 + len(data) + 3 & ~3, b"\0")


def bad_messages():
    yield "one byte", b"x"
    yield "half a header", message()[:10]
    yield "length of 0", message(length=0)
    yield "longer than it is", message(length=1 << 31)
    yield "shorter than a header", message(length=7)
    yield "another type", message(kind=3)
    yield "unknown command", message(command=200)
    yield "another version", message(version=99)
    yield "attribute beyond the end", message(attribute(1, b"abcd", length=60000))
    yield "attribute of length 0", message(attribute(1, b"abcd", length=0))
    yield "attribute of a wrong size", message(attribute(1, b"a" * 3))
    yield "endless text", message(attribute(2, b"A" * 20000))
    yield "as large as can be", message(b"\xff" * 60000)


def random_messages():
    rnd = random.Random(20)
    for i in range(300):
        data = bytearray(message(rnd.randbytes(rnd.randrange(200)), command=rnd.randrange(1, 40)))
        for _ in range(rnd.randrange(4)):
            data[rnd.randrange(16, len(data))] = rnd.randrange(256)
        if data[16] == MONITOR:
            continue  # may be valid; then nothing comes until something changes
        yield "random %d" % i, bytes(data)


def send(path, data):
    """The first reply: a message type, "closed", or None for nothing in 2 s."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(2)
        sock.connect(path)
        try:
            sock.send(data)
            answer = sock.recv(65536)
        except socket.timeout:
            return None
        except OSError:
            return "closed"
    if len(answer) < 16:
        return "closed"
    return struct.unpack_from("<IH", answer)[1], struct.unpack_from("<i", answer, 16)[0]


def main():
    for path in sys.argv[1:]:
        good = send(path, message())
        if good in (None, "closed") or good[0] == ERROR:
            raise SystemExit("%s: a valid message is refused: %s" % (path, good))
        for what, data in bad_messages():
            answer = send(path, data)
            if answer is None:
                raise SystemExit("%s: %s: no answer" % (path, what))
            if answer != "closed" and (answer[0] not in (ERROR, DONE) or answer[1] >= 0):
                raise SystemExit("%s: %s: taken: %s" % (path, what, answer))
        for what, data in random_messages():
            if send(path, data) is None:
                raise SystemExit("%s: %s: no answer: %s" % (path, what, data.hex()))
        if send(path, message()) != good:
            raise SystemExit("%s: a valid message is refused afterwards" % path)


main()
