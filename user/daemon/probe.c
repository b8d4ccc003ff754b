/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pings and discoveries: started on the main thread, completed by the node on one of its
 * threads; the result comes back through a list and uv_async. If the client leaves
 * meanwhile, the probe still completes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../ctl/codec.h"
#include "change.h"
#include "probe.h"
#include "results.h"

#define TIMEOUT_MAX_MS 3600000

struct probe {
	struct lx_result result;
	struct lx_results *results;
	struct lx_client *client;
	struct lx_nid nid, source;
	bool discover;
	unsigned int level;
	int status;
	struct lx_peer_info *info; /* a copy, one allocation */
};

static struct lx_peer_info *copy_info(const struct lx_peer_info *info)
{
	struct lx_peer_info *copy =
		malloc(sizeof(*copy) + info->n_nis * sizeof(struct lx_peer_ni_info));

	if (!copy)
		return NULL;
	*copy = *info;
	copy->ni = (struct lx_peer_ni_info *)(copy + 1);
	memcpy(copy->ni, info->ni, info->n_nis * sizeof(struct lx_peer_ni_info));
	return copy;
}

/* On a thread of the node. */
static void on_result(int status, const struct lx_peer_info *info, void *arg)
{
	struct probe *p = arg;

	p->status = status;
	if (!status) {
		p->info = copy_info(info);
		if (!p->info)
			p->status = -ENOMEM;
	}
	lx_results_put(p->results, &p->result);
}

static void refuse(struct lx_client *client, const struct lx_nid *nid, bool discover, int err)
{
	char why[200] = "";

	if (err == -ENETDOWN)
		lx_change_no_node(client->daemon, why, sizeof(why));
	lx_client_reply(client, err, discover ? "discover" : "ping", "failed to %s %s: %s%s%s",
			discover ? "discover" : "ping", lx_nid_str(nid), strerror(-err),
			*why ? ": " : "", why);
}

/* "No route to host" may come from our routes, a gateway or a neighbour: explain which. */
static void refuse_with_hop(struct probe *p, int err)
{
	struct lx_node *node = p->client->daemon->node;
	const char *what = p->discover ? "discover" : "ping";
	char hop[LX_REACH_TEXT] = "";

	if (node)
		lx_reach_explain(node, &p->nid, &p->source, hop, sizeof(hop));
	lx_client_reply(p->client, err, what, "failed to %s %s: %s%s%s", what, lx_nid_str(&p->nid),
			strerror(err == -ETIME ? ETIMEDOUT : -err), *hop ? ": " : "", hop);
}

static void answer(struct probe *p)
{
	struct lx_dump *dump;
	int err = p->status;

	if (!p->client)
		return;
	if (!err) {
		err = lx_dump_new(&lx_object_pings, p->level, &(struct lx_rows){ p->info, 1 },
				  &dump);
		p->info = NULL;
	}
	if (err)
		refuse_with_hop(p, err);
	else
		lx_client_dump(p->client, dump);
}

static void deliver(struct lx_result *result)
{
	struct probe *p = lx_container_of(result, struct probe, result);

	answer(p);
	free(p->info);
	free(p);
}

/*
 * A discovery is a "do" by its flags, but its result is shown: so both are answered
 * like dumps.
 */
void lx_probe_request(struct lx_client *client, const void *attrs, size_t len)
{
	struct lx_daemon *d = client->daemon;
	bool discover = client->flags & NLM_F_CREATE;
	bool force = discover && client->flags & NLM_F_EXCL;
	struct lx_ctl_ping req;
	char text[200];
	struct probe *p;
	int err;

	client->flags |= NLM_F_DUMP;
	err = lx_codec_get(attrs, len, &lx_object_ping_schema, &req, text, sizeof(text));
	if (!err && lx_nid_eq(&req.nid, &lx_nid_any))
		err = -EINVAL, strcpy(text, "give a NID");
	if (err) {
		lx_client_reply(client, err, discover ? "discover" : "ping", "%s", text);
		return;
	}
	p = calloc(1, sizeof(*p));
	if (!p || !d->node) {
		refuse(client, &req.nid, discover, p ? -ENETDOWN : -ENOMEM);
		free(p);
		return;
	}
	p->results = d->results;
	p->result.deliver = deliver;
	p->nid = req.nid;
	p->source = req.source;
	p->discover = discover;
	p->level = 0;
	if (req.timeout_ms > TIMEOUT_MAX_MS)
		req.timeout_ms = 0;
	lx_client_wait(client, &p->client);
	if (discover)
		err = lx_discover(d->node, &req.nid, force, on_result, p);
	else
		err = lx_ping(d->node, &(struct lx_id){ req.nid, LX_PID_LUSTRE },
			      lx_nid_eq(&req.source, &lx_nid_any) ? NULL : &req.source,
			      req.timeout_ms, on_result, p);
	if (err) {
		client->waiting = NULL;
		refuse(client, &req.nid, discover, err);
		free(p);
	}
}
