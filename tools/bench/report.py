# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The bench's tables, and the project's targets."""
import os
import platform

REACH_RELAY = 1.0
REACH_IP_1M = 0.45
REACH_NODE = 0.85
REACH_SELFTEST = 0.9
REACH_PING = 1.6
REACH_PEERS_MIB = 64
REACH_CPU = 6
STALL_US = 1e6
REACH_BUSY_PING = 3
REACH_COST = {65536: 1.5, 1 << 20: 1.3}  # of IP forwarding


def few(lanes, size=1 << 20, **more):
    """Selects rows of case lanes."""
    return {"bench": "lanes", "lanes": lanes, "size": size, "op": "put", "loss": (),
            "slow_clients": 0} | more


# The fast path: rows, the ratio of each, and its target, a minimum (ping: a maximum).
REACH_FASTPATH = (
    ({"bench": "route", "clients": 1, "size": 65536}, "ratio_ip", 0.95),
    ({"bench": "route", "clients": 1, "size": 1 << 20}, "ratio_ip", 0.95),
    ({"bench": "route", "clients": 8, "size": 4096}, "ratio_ip", 0.92),
    ({"bench": "route", "clients": 8, "size": 65536}, "ratio_ip", 0.92),
    ({"bench": "route", "clients": 8, "size": 1 << 20}, "ratio_ip", 0.97),
    ({"bench": "change", "size": 1 << 20}, "ratio_ip", 0.85),
    ({"bench": "change", "train": 16}, "ratio_ip", 0.85),
    ({"bench": "change", "size": 65536, "train": 1}, "ratio_ip", 0.75),
    ({"bench": "change", "size": 4096}, "ratio_slow", 1.0),
    (few(1, 4096), "ratio_ip", 0.85),
    (few(1, 65536), "ratio_ip", 0.90),
    (few(1, clients=8), "ratio_ip", 0.90),
    (few(2, 4096), "ratio_ip", 0.85),
    (few(2, 65536), "ratio_ip", 0.90),
    (few(2), "ratio_ip", 0.95),
    (few(3), "ratio_ip", 0.90),
    (few(2, op="mix", rails=0), "ratio_ip", 0.85),
    (few(2, op="mix", rails=4), "ratio_ip", 0.95),
    (few(1, slow_clients=2), "ratio_alone", 0.90),
    (few(1, loss=("behind", 2000)), "ratio_ip", 0.80),
    (few(1, loss=("behind", 300)), "ratio_ip", 0.50),
    ({"bench": "loss", "loss": ("behind", 2000)}, "ratio_ip", 0.85),
    ({"bench": "loss", "loss": ("behind", 300)}, "ratio_ip", 0.60),
    ({"bench": "loss", "loss": ("front", 2000)}, "ratio_slow", 1.0),
    ({"bench": "loss", "loss": ("front", 300)}, "ratio_slow", 1.0),
    ({"bench": "loss", "loss": ("front", 50)}, "ratio_slow", 1.0),
    ({"bench": "crowd", "slow_clients": 2}, "ratio_alone", 0.90),
    ({"bench": "far"}, "ratio_slow", 1.0),
    ({"bench": "ping"}, "ratio_ip", 1.3),
)


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def verdict(met):
    return "met" if met else "NOT met"


def select(rows, **want):
    return [r for r in rows if all(r[k] == v for k, v in want.items())]


def find(rows, **want):
    return select(rows, **want)[0]


def gbits(row):
    return f"{row['mbps'] / 1e3:5.1f}"


def spread_text(row, name):
    return "{:4.2f} ({:.2f}-{:.2f})".format(row[name], *row[name + "_spread"])


def range_text(row, name, form):
    return "-".join(format(v, form) for v in row[name + "_spread"])


def what_text(row):
    """What distinguishes a row within its bench."""
    text = f"{row['clients']} to {row['servers']}, {size_text(row['size'])}"
    if row["bench"] == "change":
        text += f", {row['train']} to each in turn"
    if row["op"] == "mix":
        text += ", written, read"
    if row["bench"] == "lanes":
        text += f", {row['lanes']} lane{'s' * (row['lanes'] > 1)}"
    if row["rails"]:
        text += f", {row['rails']} rails"
    if row["loss"]:
        text += f", 1/{row['loss'][1]} lost {row['loss'][0]}"
    if row["bench"] == "crowd" or row["slow_clients"]:
        text += f", {row['slow_clients']} slow ones beside them"
    if row["bench"] == "far":
        text += ", 20 ms away"
    return text


def print_route(rows):
    print("\nRouted PUTs: client - router - server. Gbit/s of payload; router CPU in s per GB.\n")
    print("  size    clients |    ip  relay   slow   fast | slow/relay       reach 1.0 | "
          "slow/ip  reach 0.45 |  CPU ip relay  slow  fast | p50/p99 us slow")
    for slow in select(rows, bench="route", path="slow"):
        same = {"bench": "route", "size": slow["size"], "clients": slow["clients"]}
        ip, relay, fast = (find(rows, path=p, **same) for p in ("ip", "relay", "fast"))
        reach_ip = verdict(slow["ratio_ip"] >= REACH_IP_1M) if slow["size"] == 1 << 20 else "-"
        cpu = "  ".join(f"{r['cpu_s_per_gb']:5.2f}" for r in (ip, relay, slow, fast))
        print(f"  {size_text(slow['size']):8}{slow['clients']:6}  | "
              f"{'  '.join(map(gbits, (ip, relay, slow, fast)))} | "
              f"{spread_text(slow, 'ratio_relay')}  "
              f"{verdict(slow['ratio_relay'] >= REACH_RELAY):>7} | "
              f"   {slow['ratio_ip']:4.2f}     {reach_ip:>7} | {cpu} | "
              f"{slow['p50_us']:.0f} / {slow['p99_us']:.0f}")


def print_fastpath(rows):
    done = [(row, name, bar) for want, name, bar in REACH_FASTPATH
            for row in select(rows, path="fast", **want) if row.get(name) is not None]
    if not done:
        return
    print("\nThe fast path. Gbit/s of payload (ping: median, us).\n")
    print(f"  {'':47} |    ip   slow   fast |   fast/ip           fast/slow         | "
          "by lanes | reach")
    for row, name, bar in done:
        ping = row["bench"] == "ping"
        same = {k: row[k] for k in ("bench", "size", "clients", "op", "servers", "train", "loss",
                                    "slow_clients", "lanes", "rails")}
        cells = {r["path"]: f"{r['p50_us']:5.1f}" if ping else gbits(r)
                 for r in select(rows, **same)}
        ratios = [spread_text(row, n) if row.get(n) else "-" for n in ("ratio_ip", "ratio_slow")]
        met = row[name] <= bar if ping else row[name] >= bar
        shares = f"{row['lane_percent']:4.0f} %" if "lane_percent" in row else ""
        alone = f" {spread_text(row, name)}" if name == "ratio_alone" else ""
        print(f"  {('ping, routed' if ping else what_text(row)):47} | "
              f"{'  '.join(cells.get(p, '    -') for p in ('ip', 'slow', 'fast'))} | "
              f"{ratios[0]:17} {ratios[1]:17} | {shares:8} | {name[6:]} {bar}: "
              f"{verdict(met)}{alone}")
    print_fastpath_limits(rows)


def print_fastpath_limits(rows):
    fast = select(rows, path="fast")
    worst = max((r for r in fast if r["worst_us"]), key=lambda r: r["worst_us"])
    print(f"\n  longest message: {worst['worst_us'] / 1e3:.1f} ms ({worst['bench']}, "
          f"{what_text(worst)})   reach 1 s: {verdict(worst['worst_us'] < STALL_US)}")
    for row in select(fast, bench="route", clients=8):
        if row["size"] == 4096 or row["cpu_s_per_gb"] is None:
            continue
        slow = find(rows, path="slow", bench="route", clients=8, size=row["size"])
        print(f"  router CPU, 8 to 1, {size_text(row['size'])}: slow {slow['cpu_s_per_gb']:.3f}, "
              f"fast {row['cpu_s_per_gb']:.3f} s per GB   reach 1/{REACH_CPU}: "
              f"{verdict(row['cpu_s_per_gb'] * REACH_CPU <= slow['cpu_s_per_gb'])}")


def print_node(rows):
    yard = find(rows, bench="node", path="iperf3")
    print(f"\nNode to node, 1 MiB messages; iperf3: {yard['mbps'] / 1e3:.1f} Gbit/s.\n")
    for op in ("put", "get"):
        row = find(rows, bench="node", path="slow", op=op)
        print(f"  {op.upper()}  {gbits(row)} Gbit/s   lnetx/iperf3 "
              f"{spread_text(row, 'ratio_iperf3')}   reach {REACH_NODE}: "
              f"{verdict(row['ratio_iperf3'] >= REACH_NODE)}")


def print_selftest(rows):
    print("\nLNet selftest between two lnetxd, 1 MiB, 16 in flight, next to lxload's PUT and GET.\n")
    for row in select(rows, bench="selftest", path="selftest"):
        lxload = find(rows, bench="selftest", path="lxload", op=row["op"])
        print(f"  {row['op']:5}  {gbits(row)} Gbit/s   lxload {gbits(lxload)}   ratio "
              f"{spread_text(row, 'ratio_lxload')}   reach {REACH_SELFTEST}: "
              f"{verdict(row['ratio_lxload'] >= REACH_SELFTEST)}")


def print_ping(rows):
    yard = find(rows, bench="ping", path="tcp")
    print(f"\nOne empty message and its answer; the same bytes over raw TCP: "
          f"p50 {yard['p50_us']:.1f} us, p99 {yard['p99_us']:.1f} us.\n")
    for op in ("get", "put"):
        row = find(rows, bench="ping", path="slow", op=op)
        name = {"get": "GET + REPLY", "put": "PUT + ACK"}[op]
        print(f"  {name:12}  p50 {row['p50_us']:5.1f} us  p99 {row['p99_us']:6.1f} us   "
              f"lnetx/tcp {spread_text(row, 'ratio_tcp')}   reach {REACH_PING}: "
              f"{verdict(row['ratio_tcp'] <= REACH_PING)}")


def print_busy(rows):
    print("\nPings of the router, ten times a second from each of 16 clients that load it.\n")
    for row in select(rows, bench="busy"):
        met = ""
        if row["path"] == "fast":
            met = (f"   p99 to the slow path's {spread_text(row, 'ratio_slow_ping')}   reach "
                   f"{REACH_BUSY_PING}: {verdict(row['ratio_slow_ping'] <= REACH_BUSY_PING)}")
        print(f"  {size_text(row['size']):8}{row['path']:5} {gbits(row)} Gbit/s   "
              f"p50 {row['ping_p50_us'] / 1e3:6.2f} ms  p99 {row['ping_p99_us'] / 1e3:6.2f} ms  "
              f"longest {row['ping_max_us'] / 1e3:6.2f} ms  failed {row['pings_failed']:g}{met}")


def print_cost(rows):
    rows = select(rows, bench="cost")
    print("\nCPU of the router by parts (cost.py), s per GB, 8 to 1, 2 lanes.\n")
    print("  size     path | programs  daemon  softirq |   sum                  to slow           | "
          "to IP             reach")
    for row in select(rows, op="cpu"):
        parts = "  ".join(f"{row[p + '_s_per_gb']:7.3f}" for p in ("programs", "daemon", "softirq"))
        reach = "-"
        if row["path"] == "fast":
            bar = REACH_COST[row["size"]]
            reach = f"{bar}: {verdict(row['ratio_ip_cpu'] <= bar)}"
        print(f"  {size_text(row['size']):8} {row['path']:4} | {parts} | "
              f"{row['router_s_per_gb']:.3f} ({range_text(row, 'router_s_per_gb', '.3f')})  "
              f"{spread_text(row, 'ratio_slow_cpu'):17} | {spread_text(row, 'ratio_ip_cpu'):17} "
              f"{reach}")
    print("\nBytes that the router holds, the most in a run, 8 to 1.\n")
    print("  size     path |         in sockets            | in lanes' sockets       reach 0 | "
          "in buffers, at most")
    for row in select(rows, op="held"):
        fast = row["path"] == "fast"
        met = verdict(row["lanes"] and row["lane_socket_bytes_spread"][1] == 0) if fast else "-"
        print(f"  {size_text(row['size']):8} {row['path']:4} | {row['socket_bytes']:9.0f} "
              f"({range_text(row, 'socket_bytes', '.0f'):17}) | "
              f"{row['lane_socket_bytes']:5.0f} ({range_text(row, 'lane_socket_bytes', '.0f'):5}) "
              f"of {row['lanes']:3.0f} {met:>8} | {row['buffer_bytes']:9.0f} in {row['buffers']:g}")
    print("\nPackets that the router receives steered to one CPU and to all, path fast.\n")
    print("  size    to  | Gbit/s  to one            | ingress ns  runs/s | egress ns  runs/s | "
          "dropped: stream taken")
    for row in (r for op in ("one", "all") for r in select(rows, op=op)):
        ratio = spread_text(row, "ratio_one") if "ratio_one" in row else "-"
        print(f"  {size_text(row['size']):7} {row['op']:3} |  {gbits(row)}  {ratio:17} | "
              f"{row['ingress_ns']:10.0f} {row['ingress_per_s']:7.0f} | {row['egress_ns']:9.0f} "
              f"{row['egress_per_s']:7.0f} | {row['taken_per_s']:.0f}/s "
              f"({range_text(row, 'taken_per_s', '.0f')})")


def print_memory(rows):
    print("\nResident memory of lnetxd.\n")
    for row in rows:
        line = f"  {row['what']:30} {row['rss_kib'] / 1024:7.1f} MiB"
        if "pools_kib" in row:
            line += f"   its pools may take {row['pools_kib'] / 1024:.0f} MiB"
        if "connections" in row:
            met = verdict(row["rss_kib"] <= REACH_PEERS_MIB * 1024)
            line += (f"   {row['connections']} connections, {row['bytes_per_connection']} bytes "
                     f"each   reach {REACH_PEERS_MIB} MiB: {met}")
        print(line)


def kernel():
    """Its full version: a distribution's release says little (6.1.0-56-amd64)."""
    return f"Linux {platform.release()} {platform.version()}"


def print_all(rows, memory, rounds, seconds):
    print(f"Medians of {rounds} rounds of {seconds:g} s a run (smallest-largest), "
          f"{os.cpu_count()} CPUs, veth.\n{kernel()}")
    benches = {r["bench"] for r in rows}
    for name, fn in (("route", print_route), ("node", print_node),
                     ("selftest", print_selftest), ("ping", print_ping),
                     ("busy", print_busy), ("cost", print_cost)):
        if name in benches:
            fn(rows)
    print_fastpath(rows)
    if memory:
        print_memory(memory)
