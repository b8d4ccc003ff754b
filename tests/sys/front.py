#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# An agent's program of traffic control, with tcx, in front of all others: "r0 = VERDICT; exit".
# With 0 no other program sees a packet, with -1 all do. Says "ready" and the program's ID, and
# stays until it is killed. With --again it goes to the front again whenever another one is there.
#
# usage: front.py INTERFACE ingress|egress VERDICT [--again]
import ctypes, os, socket, struct, sys, time

NR = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
PROG_LOAD, GET_INFO, QUERY, LINK_CREATE = 5, 15, 16, 28
SCHED_CLS, TCX, BEFORE = 3, {"ingress": 46, "egress": 47}, 8
libc = ctypes.CDLL(None, use_errno=True)

def bpf(command, attr):
    buf = ctypes.create_string_buffer(attr, len(attr))
    r = libc.syscall(NR, command, buf, len(attr))
    if r < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return r, buf.raw

def load(verdict):
    code = struct.pack("<BBhi", 0xb7, 0, 0, verdict) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    code = ctypes.create_string_buffer(code, len(code))
    licence = ctypes.create_string_buffer(b"GPL")
    return bpf(PROG_LOAD, struct.pack("<IIQQIIQII16s", SCHED_CLS, 2, ctypes.addressof(code),
               ctypes.addressof(licence), 0, 0, 0, 0, 0, b"agent"))[0]

def id_of(prog):
    info = ctypes.create_string_buffer(64)
    bpf(GET_INFO, struct.pack("<IIQ", prog, len(info), ctypes.addressof(info)))
    return struct.unpack_from("<II", info)[1]

def first(ifindex, hook):
    ids = ctypes.create_string_buffer(4 * 64)
    bpf(QUERY, struct.pack("<IIIIQIIQQQQ", ifindex, TCX[hook], 0, 0, ctypes.addressof(ids), 64, 0,
        0, 0, 0, 0))
    return struct.unpack_from("<I", ids)[0]

def attach(ifindex, hook, verdict):
    prog = load(verdict)
    link = bpf(LINK_CREATE, struct.pack("<IIIIIIQ", prog, ifindex, TCX[hook], BEFORE, 0, 0, 0))[0]
    return prog, link

ifindex = socket.if_nametoindex(sys.argv[1])
hook, verdict = sys.argv[2], int(sys.argv[3])
prog, link = attach(ifindex, hook, verdict)
print("ready", id_of(prog), flush=True)
while True:
    time.sleep(0.1 if "--again" in sys.argv else 1000)
    if first(ifindex, hook) != id_of(prog):
        again = attach(ifindex, hook, verdict)
        os.close(link)
        os.close(prog)
        prog, link = again
