/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx explain peer": all that lnetxd has of one peer, on one page: its state, how it is reached,
 * what waits for it, what goes there now and what gets lost. Puts together what shows have; it
 * looks twice for what goes on.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../user/base/array.h"
#include "../../../user/base/clock.h"
#include "../common/json.h"
#include "../common/print.h"
#include "lnetx.h"

#define LOOK_MS 400 /* between the two */

/* ---- what lnetxd has --------------------------------------------------------------- */

/* The page, as JSON has it, and where it comes from. */
struct page {
	struct lx_session *session;
	char nid[LX_NID_TEXT];
	json_t *nets;
	json_t *peer; /* NULL: lnetxd does not know it */
	json_t *hops; /* an object: NIDs on nets of ours by which it is reached */
	json_t *map;
};

static json_t *load_peer(struct page *p)
{
	const struct lx_args which = { .v = { [LX_ARG_NID] = p->nid } };

	return lx_request_row(p->session, LX_CTL_PEER, &which);
}

static json_t *nis_of(const struct page *p)
{
	return json_object_get(p->peer, lx_object_peers.rows);
}

/* ---- the way there ----------------------------------------------------------------- */

static json_t *net_of(const struct page *p, const char *nid)
{
	const char *at = strchr(nid, '@');
	json_t *net;
	size_t i;

	json_array_foreach (p->nets, i, net) {
		if (at && !strcmp(lx_json_text(net, "net type"), at + 1))
			return json_object_get(net, lx_object_nets.rows);
	}
	return NULL;
}

static json_t *routes_to(const json_t *routes, const char *nid)
{
	const char *at = strchr(nid, '@');
	json_t *list = json_array(), *route;
	size_t i;

	json_array_foreach ((json_t *)routes, i, route) {
		if (at && !strcmp(lx_json_text(route, "net"), at + 1))
			json_array_append(list, route);
	}
	return list;
}

/* The way to one of its NIDs: NIs of ours on its net, or else routes. */
static void add_way(struct page *p, json_t *ways, const json_t *routes, const char *nid)
{
	json_t *nis = net_of(p, nid), *list = nis ? json_array() : routes_to(routes, nid), *one;
	size_t i;

	json_array_append_new(ways,
			      json_pack("{ss, sO*, so}", "nid", nid, "nis", nis, "routes", list));
	if (nis)
		json_object_set_new(p->hops, nid, json_true());
	json_array_foreach (list, i, one)
		json_object_set_new(p->hops, lx_json_text(one, "gateway"), json_true());
}

static void add_ways(struct page *p)
{
	json_t *ways = json_array(), *routes = lx_request_list(p->session, LX_CTL_ROUTE), *ni;
	size_t i;

	json_array_foreach (nis_of(p), i, ni)
		add_way(p, ways, routes, lx_json_text(ni, "nid"));
	if (!p->peer)
		add_way(p, ways, routes, p->nid);
	json_object_set_new(p->map, "ways", ways);
	json_decref(routes);
}

/* ---- what goes there --------------------------------------------------------------- */

/* Rows about the peer itself, or what stands for it on our nets. @key: of the NID, or an id */
static json_t *rows_of(struct page *p, enum lx_ctl_object object, const char *key)
{
	json_t *all = lx_request_list(p->session, object), *list = json_array(), *row;
	size_t i;

	json_array_foreach (all, i, row) {
		if (json_object_get(p->hops, lx_json_nid(row, key)))
			json_array_append(list, row);
	}
	json_decref(all);
	return list;
}

static int64_t sum(const json_t *rows, const char *nest, const char *key)
{
	const json_t *row;
	int64_t n = 0;
	size_t i;

	json_array_foreach ((json_t *)rows, i, row)
		n += lx_json_int(nest ? json_object_get(row, nest) : row, key);
	return n;
}

struct look {
	int64_t sent, received; /* messages */
	int64_t tcp_sent, tcp_resent; /* bytes */
	int64_t ms;
};

static struct look look(const struct page *p, const json_t *conns)
{
	return (struct look){
		.sent = sum(nis_of(p), "statistics", "send_count"),
		.received = sum(nis_of(p), "statistics", "recv_count"),
		.tcp_sent = sum(conns, NULL, "tcp_sent_bytes"),
		.tcp_resent = sum(conns, NULL, "tcp_resent_bytes"),
		.ms = lx_clock_ms(),
	};
}

/* Connections that have come or gone meanwhile make these numbers useless: 0. */
static json_int_t growth(int64_t from, int64_t to)
{
	return to > from ? to - from : 0;
}

static void add_now(struct page *p, const struct look *a, const struct look *b)
{
	json_object_set_new(p->map, "now",
			    json_pack("{sI, sI, sI, sI, sI}", "ms", (json_int_t)(b->ms - a->ms),
				      "sent_messages", growth(a->sent, b->sent),
				      "received_messages", growth(a->received, b->received),
				      "tcp_sent_bytes", growth(a->tcp_sent, b->tcp_sent),
				      "tcp_resent_bytes", growth(a->tcp_resent, b->tcp_resent)));
}

/* Connections that were refused, from an address of the peer. */
static void add_refused(struct page *p)
{
	json_t *status = lx_request_row(p->session, LX_CTL_DAEMON, NULL), *list = json_array(),
	       *row;
	const char *hop;
	size_t i;

	json_array_foreach (json_object_get(status, "refused"), i, row) {
		const char *address = lx_json_text(row, "address");
		size_t len = strlen(address);

		for (void *at = json_object_iter(p->hops); at;
		     at = json_object_iter_next(p->hops, at)) {
			hop = json_object_iter_key(at);
			if (len && !strncmp(hop, address, len) && hop[len] == '@')
				json_array_append(list, row);
		}
	}
	json_object_set_new(p->map, "refused", list);
	json_decref(status);
}

static int load(struct page *p)
{
	struct look from, to;
	json_t *conns;
	int err = lx_request_show_all(p->session, LX_CTL_NET, LX_LEVEL_OWN, &p->nets);

	if (err)
		return err;
	p->peer = load_peer(p);
	add_ways(p);
	conns = rows_of(p, LX_CTL_CONN, "peer");
	from = look(p, conns);
	json_decref(conns);
	usleep(LOOK_MS * 1000);
	json_decref(p->peer);
	p->peer = load_peer(p);
	conns = rows_of(p, LX_CTL_CONN, "peer");
	to = look(p, conns);
	add_now(p, &from, &to);
	add_refused(p);
	if (p->peer)
		json_object_set(p->map, "peer", p->peer);
	json_object_set_new(p->map, "conns", conns);
	json_object_set_new(p->map, "streams", rows_of(p, LX_CTL_STREAM, "peer"));
	json_object_set_new(p->map, "lanes", rows_of(p, LX_CTL_LANE, "next_hop"));
	return 0;
}

/* ---- the page ---------------------------------------------------------------------- */

/* "down since ...: why" */
static void print_state(const char *state, const json_t *row)
{
	const char *since = lx_json_text(row, "down_since"),
		   *why = lx_json_text(row, "down_reason");

	printf("%s%s%s%s%s", state, *since ? " since " : "", since, *why ? ": " : "", why);
}

static void print_way(const json_t *way)
{
	const json_t *nis = json_object_get(way, "nis"), *routes = json_object_get(way, "routes");
	const json_t *one;
	size_t i;

	json_array_foreach ((json_t *)nis, i, one) {
		printf("  way       by %s on %s, ", lx_json_text(one, "nid"),
		       lx_json_text(json_object_get(one, "interfaces"), "0"));
		print_state(lx_json_text(one, "status"), one);
		putchar('\n');
	}
	json_array_foreach ((json_t *)routes, i, one) {
		printf("  way       through %s, ", lx_json_text(one, "gateway"));
		print_state(lx_json_text(one, "state"), one);
		putchar('\n');
	}
	if (!json_array_size(nis) && !json_array_size(routes))
		puts("  way       none: no NI on its net, and no route to it");
}

/* Messages that wait for a credit: it is negative by their number. */
static void print_waiting(const json_t *ni)
{
	json_int_t tx = -lx_json_int(ni, "available_tx_credits");
	json_int_t rtr = -lx_json_int(ni, "available_rtr_credits");
	json_int_t bytes = lx_json_int(ni, "tx_q_num_of_buf");

	printf("  waiting   ");
	if (tx > 0)
		printf("%" JSON_INTEGER_FORMAT
		       " messages to it for transmit credits (%" JSON_INTEGER_FORMAT
		       " bytes), the oldest for %.1f s",
		       tx, bytes, lx_json_int(ni, "tx_oldest_ms") / 1000.0);
	if (rtr > 0)
		printf("%s%" JSON_INTEGER_FORMAT " messages from it for router buffers",
		       tx > 0 ? ", " : "", rtr);
	printf("%s; credits %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
	       ", lowest %" JSON_INTEGER_FORMAT "\n",
	       tx > 0 || rtr > 0 ? "" : "nothing", -tx, lx_json_int(ni, "max_ni_tx_credits"),
	       lx_json_int(ni, "min_tx_credits"));
}

static void print_health(const json_t *ni)
{
	static const char *const failures[] = { "dropped", "timeout", "error", "network timeout" };
	const json_t *health = json_object_get(ni, "health stats");
	const char *sep = "; failures: ";

	printf("  health    %" JSON_INTEGER_FORMAT " of 1000", lx_json_int(health, "health value"));
	for (size_t i = 0; i < LX_ARRAY_LEN(failures); i++) {
		json_int_t n = lx_json_int(health, failures[i]);

		if (n)
			printf("%s%s %" JSON_INTEGER_FORMAT, sep, failures[i], n);
		sep = n ? ", " : sep;
	}
	putchar('\n');
}

static void print_share(json_int_t sent, json_int_t again)
{
	printf("%" JSON_INTEGER_FORMAT " bytes, of these again %" JSON_INTEGER_FORMAT, sent, again);
	if (sent)
		printf(" (%" JSON_INTEGER_FORMAT " %%)", 100 * again / sent);
}

static void print_ni(const json_t *ni)
{
	const json_t *stats = json_object_get(ni, "statistics");

	/* Only a neighbour has credits. */
	if (lx_json_int(ni, "max_ni_tx_credits"))
		print_waiting(ni);
	print_health(ni);
	printf("  messages  %" JSON_INTEGER_FORMAT " sent, %" JSON_INTEGER_FORMAT " received",
	       lx_json_int(stats, "send_count"), lx_json_int(stats, "recv_count"));
	if (json_object_get(ni, "heard_s"))
		printf(" (the last %" JSON_INTEGER_FORMAT " s ago)", lx_json_int(ni, "heard_s"));
	printf(", %" JSON_INTEGER_FORMAT " dropped\n", lx_json_int(stats, "drop_count"));
	if (lx_json_int(stats, "tcp_sent_bytes")) {
		printf("  TCP sent  ");
		print_share(lx_json_int(stats, "tcp_sent_bytes"),
			    lx_json_int(stats, "tcp_resent_bytes"));
		putchar('\n');
	}
}

static const char *alive_text(const json_t *ni)
{
	const char *state = lx_json_text(ni, "state");

	return !*state		      ? "not known: nothing came from it, or was sent to it"
	       : !strcmp(state, "NA") ? "not watched"
				      : state;
}

static void print_now(const struct page *p)
{
	const json_t *now = json_object_get(p->map, "now");

	printf("in the last %" JSON_INTEGER_FORMAT " ms: %" JSON_INTEGER_FORMAT
	       " messages to it, %" JSON_INTEGER_FORMAT " from it; TCP sent ",
	       lx_json_int(now, "ms"), lx_json_int(now, "sent_messages"),
	       lx_json_int(now, "received_messages"));
	print_share(lx_json_int(now, "tcp_sent_bytes"), lx_json_int(now, "tcp_resent_bytes"));
	putchar('\n');
}

static void print_rows(const struct page *p, const char *key, const struct lx_ctl_shown *shown,
		       bool wide)
{
	const json_t *rows = json_object_get(p->map, key);

	if (!json_array_size(rows))
		return;
	putchar('\n');
	lx_print_table(stdout, rows, shown, wide);
}

static void print_page(const struct page *p)
{
	const json_t *ways = json_object_get(p->map, "ways"), *way, *row;
	const char *primary = lx_json_text(p->peer, "primary nid");
	size_t i;

	json_array_foreach ((json_t *)ways, i, way) {
		const json_t *ni = json_array_get(nis_of(p), i);

		printf("%s is ", lx_json_text(way, "nid"));
		print_state(alive_text(ni), ni);
		putchar('\n');
		if (*primary && strcmp(primary, lx_json_text(way, "nid")))
			printf("  node      %s\n", primary);
		print_way(way);
		if (ni)
			print_ni(ni);
	}
	json_array_foreach (json_object_get(p->map, "refused"), i, row)
		printf("refused since %s: %s\n", lx_json_text(row, "since"),
		       lx_json_text(row, "reason"));
	print_now(p);
	print_rows(p, "conns", &lx_object_conns, true);
	print_rows(p, "streams", &lx_object_streams, lx_lnetx_format()->more);
	print_rows(p, "lanes", &lx_object_lanes, lx_lnetx_format()->more);
}

static int explain_peer(struct lx_session *s, const struct lx_args *a)
{
	struct lx_args named = *a;
	struct page p = { .session = s };
	struct lx_nid nid;
	int err;

	if (a->n_rest != 1)
		return lx_session_fail(s, -EINVAL, "give a NID of a peer");
	named.v[LX_ARG_NID] = a->rest[0];
	err = lx_arg_nid(s, &named, LX_ARG_NID, "nid", &nid);
	if (err)
		return err;
	lx_nid_format(&nid, p.nid, sizeof(p.nid));
	p.hops = json_object();
	p.map = json_pack("{ss}", "nid", p.nid);
	err = load(&p);
	if (!err && lx_lnetx_as_tree())
		lx_lnetx_print("explain", json_incref(p.map));
	else if (!err)
		print_page(&p);
	json_decref(p.nets);
	json_decref(p.peer);
	json_decref(p.hops);
	json_decref(p.map);
	return err;
}

/* clang-format off */
const struct lx_command lx_explain_commands[] = {
	{ "peer", explain_peer, NULL, "NID",
	  .help = "state, way, queue, rates and losses of one peer" },
	{ 0 }
};
/* clang-format on */
