/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Watches the packets of a test (packets.bpf.c): until it is terminated, in all network namespaces
 * whose names begin with PREFIX. Then it prints, one a line, what was wrong with packets, the
 * packets that were dropped, and how many were looked at:
 *
 *	wrong: transport_header is not behind the IP header: 12 packets ...
 *	dropped: TC_EGRESS at tcx_run: 3 packets, the first one at r1 eth0, ...
 *	looked at 123456 packets, 12 with a frag_list were taken apart
 *
 * With "shapes" it also prints what received packets were made of, by interface, in front of that:
 *
 *	shapes: r1 eth0 kmalloc 12 gso 10 frag_list 10
 *
 * It exits with 0, or with 4 if this kernel cannot run it.
 *
 * usage: packets PREFIX [shapes]
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "packets.skel.h"

#include "packets.h"

#define NETNS "/run/netns/"
#define CANNOT 4
#define NAMES_MAX 256
#define SCAN_MS 100

static volatile sig_atomic_t ended;

static struct {
	uint32_t inum;
	char name[64];
} names[NAMES_MAX];
static unsigned int n_names;

/* ---- namespaces -------------------------------------------------------------------------- */

static const char *name_of(uint32_t inum)
{
	for (unsigned int i = n_names; i-- > 0;) {
		if (names[i].inum == inum)
			return names[i].name;
	}
	return "?";
}

static void add_namespace(struct packets_bpf *b, const char *file, const char *name)
{
	char path[sizeof(NETNS) + 256];
	struct stat st, dir;
	uint32_t inum, one = 1;

	snprintf(path, sizeof(path), NETNS "%s", file);
	/* Until it is mounted, it is just a file there. */
	if (stat(path, &st) || stat(NETNS, &dir) || st.st_dev == dir.st_dev)
		return;
	inum = st.st_ino;
	if (!strcmp(name_of(inum), name) || n_names == NAMES_MAX)
		return;
	names[n_names].inum = inum;
	snprintf(names[n_names++].name, sizeof(names[0].name), "%s", name);
	bpf_map__update_elem(b->maps.namespaces, &inum, sizeof(inum), &one, sizeof(one), BPF_ANY);
}

static void scan(struct packets_bpf *b, const char *prefix)
{
	size_t len = strlen(prefix);
	DIR *dir = opendir(NETNS);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (!strncmp(entry->d_name, prefix, len))
			add_namespace(b, entry->d_name, entry->d_name + len);
	}
	closedir(dir);
}

/* ---- what was wrong ---------------------------------------------------------------------- */

static void print_flow(const struct packet_report *r)
{
	char source[INET6_ADDRSTRLEN], dest[INET6_ADDRSTRLEN];
	int family = r->ipv6 ? AF_INET6 : AF_INET;

	inet_ntop(family, r->source, source, sizeof(source));
	inet_ntop(family, r->dest, dest, sizeof(dest));
	printf(" %s:%u > %s:%u seq %u", source, ntohs(r->sport), dest, ntohs(r->dport),
	       ntohl(r->seq));
}

static void print_fields(const struct packet_report *r)
{
	static const char *const summed[] = { "NONE", "UNNECESSARY", "COMPLETE", "PARTIAL" };

	printf(" len %u, paged %u, protocol %04x, ip at %u len %u, tcp at %u len %u, mac_header %d,"
	       " mac_len %u, network_header %d, transport_header %d, gso_size %u segs %u type %x,"
	       " CHECKSUM_%s start %d offset %u value %04x, encapsulation %u, vlan %04x %04x",
	       r->len, r->data_len, ntohs(r->protocol), r->l3, r->ip_len, r->l4, r->hlen,
	       r->mac_header, r->mac_len, r->network_header, r->transport_header, r->gso_size,
	       r->gso_segs, r->gso_type, summed[r->ip_summed & 3], r->csum_start, r->csum_offset,
	       ntohs(r->tcp_check), r->encapsulation, ntohs(r->vlan_proto), r->vlan_tci);
}

static void print_wrong(const struct packet_key *key, const struct packet_report *r)
{
	static const char *const fields[] = {
#define PACKET_FIELD_(NAME, field, text) field " " text,
		PACKET_CHECKS(PACKET_FIELD_)
	};
	static const char *const points[] = {
#define PACKET_POINT_(NAME, text) text,
		PACKET_POINTS(PACKET_POINT_)
	};
	const char *comma = "";

	printf("wrong: ");
	for (unsigned int i = 0; i < PACKET_CHECK_COUNT; i++) {
		if (!(key->wrong & 1u << i))
			continue;
		printf("%s%s", comma, fields[i]);
		comma = "; ";
	}
	printf(": %" PRIu64 " packets %s %s %s with mark %08x; the first:", (uint64_t)r->count,
	       points[key->point], name_of(key->netns), r->ifname, r->mark);
	print_flow(r);
	print_fields(r);
	putchar('\n');
}

static void print_all_wrong(struct packets_bpf *b)
{
	struct packet_key key, *last = NULL;
	struct packet_report r;

	while (!bpf_map__get_next_key(b->maps.reports, last, &key, sizeof(key))) {
		last = &key;
		if (!bpf_map__lookup_elem(b->maps.reports, &key, sizeof(key), &r, sizeof(r), 0))
			print_wrong(&key, &r);
	}
}

/* ---- what was dropped -------------------------------------------------------------------- */

/* Numbers of reasons differ between kernels: their names come from the running one. */
static const char *reason_name(const struct btf *btf, uint32_t reason)
{
	static const char prefix[] = "SKB_DROP_REASON_";
	int id = btf__find_by_name_kind(btf, "skb_drop_reason", BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	static char number[16];
	const char *name;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		if ((uint32_t)btf_enum(t)[i].val != reason)
			continue;
		name = btf__name_by_offset(btf, btf_enum(t)[i].name_off);
		return strncmp(name, prefix, strlen(prefix)) ? name : name + strlen(prefix);
	}
	/* Of a module: openvswitch, mac80211. */
	snprintf(number, sizeof(number), "%#x", reason);
	return number;
}

/* Of a call's return address, which may be behind the end of the function that called. */
static void symbol_name(uint64_t address, char ret_name[64])
{
	FILE *f = fopen("/proc/kallsyms", "re");
	uint64_t at, best = 0;
	char name[64];

	snprintf(ret_name, 64, "%#" PRIx64, address);
	while (f && fscanf(f, "%" SCNx64 " %*c %63s%*[^\n]", &at, name) == 2) {
		if (at >= address || at < best)
			continue;
		best = at;
		snprintf(ret_name, 64, "%s", name);
	}
	if (f)
		fclose(f);
}

static void print_dropped(struct packets_bpf *b)
{
	struct btf *btf = NULL;
	struct drop_key key, *last = NULL;
	struct drop_report r;
	char symbol[64];

	while (!bpf_map__get_next_key(b->maps.drops, last, &key, sizeof(key))) {
		last = &key;
		if (bpf_map__lookup_elem(b->maps.drops, &key, sizeof(key), &r, sizeof(r), 0))
			continue;
		if (!btf)
			btf = btf__load_vmlinux_btf();
		symbol_name(key.location, symbol);
		printf("dropped: %s at %s: %" PRIu64 " packets, the first one at %s %s, len %u,"
		       " mark %08x\n",
		       reason_name(btf, key.reason), symbol, (uint64_t)r.count, name_of(key.netns),
		       r.ifname, r.len, r.mark);
	}
	btf__free(btf);
}

/* ---- what packets are made of ------------------------------------------------------------ */

static void print_shapes(struct packets_bpf *b)
{
	static const char *const names[] = {
#define PACKET_SHAPE_(NAME, name) name,
		PACKET_SHAPES(PACKET_SHAPE_)
	};
	struct shape_key key, *last = NULL;
	struct shape_report r;

	while (!bpf_map__get_next_key(b->maps.shapes, last, &key, sizeof(key))) {
		last = &key;
		if (bpf_map__lookup_elem(b->maps.shapes, &key, sizeof(key), &r, sizeof(r), 0))
			continue;
		printf("shapes: %s %s", name_of(key.netns), r.ifname);
		for (int i = 0; i < PACKET_SHAPE_COUNT; i++) {
			if (r.count[i])
				printf(" %s %" PRIu64, names[i], (uint64_t)r.count[i]);
		}
		putchar('\n');
	}
}

/* ---- main -------------------------------------------------------------------------------- */

static void on_signal(int signo)
{
	ended = 1;
}

static int no_log(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

/* Some machines do not allow programs at functions, which costs less to ask than to try. */
static bool may_attach_to_functions(void)
{
	const struct bpf_insn exits[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = 1);

	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "probe", "Dual BSD/GPL", exits, 2, &opts) !=
	       -EPERM;
}

static struct packets_bpf *load(bool entry, bool shapes)
{
	struct packets_bpf *b = packets_bpf__open();

	if (!b)
		return NULL;
	bpf_program__set_autoload(b->progs.packet_entered, entry);
	bpf_program__set_autoload(b->progs.packet_pulled, entry);
	bpf_program__set_autoload(b->progs.packet_received, shapes);
	if (!packets_bpf__load(b) && !packets_bpf__attach(b))
		return b;
	packets_bpf__destroy(b);
	return NULL;
}

static void watch(struct packets_bpf *b, const char *prefix)
{
	const struct timespec pause = { .tv_nsec = SCAN_MS * 1000000L };

	scan(b, prefix);
	puts("ready");
	fflush(stdout);
	while (!ended) {
		nanosleep(&pause, NULL);
		scan(b, prefix);
	}
}

int main(int argc, char **argv)
{
	bool shapes = argc == 3 && !strcmp(argv[2], "shapes");
	struct packets_bpf *b;

	if (argc != 2 + shapes) {
		fprintf(stderr, "usage: packets PREFIX [shapes]\n");
		return 2;
	}
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	libbpf_set_print(no_log);
	b = may_attach_to_functions() ? load(true, shapes) : NULL;
	if (!b)
		b = load(false, shapes);
	if (!b) {
		printf("cannot watch packets on this kernel: %s\n", strerror(errno));
		return CANNOT;
	}
	watch(b, argv[1]);
	print_all_wrong(b);
	print_dropped(b);
	print_shapes(b);
	printf("looked at %" PRIu64 " packets, %" PRIu64 " with a frag_list were taken apart\n",
	       (uint64_t)b->bss->checked, (uint64_t)b->bss->lists);
	packets_bpf__destroy(b);
	return 0;
}
