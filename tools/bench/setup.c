/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lxload's node: a configuration from a file, with options applied to it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define FILE_MAX (4u << 20)

static int complain(const char *option, const char *text, const char *expected)
{
	fprintf(stderr, "lxload: %s \"%s\": %s is expected\n", option, text, expected);
	return -EINVAL;
}

static int read_file(const char *path, struct lx_conf **ret_conf)
{
	char *text = malloc(FILE_MAX);
	FILE *f = fopen(path, "r");
	struct lx_conf_error err = { 0 };
	int r = -ENOMEM;

	if (!f) {
		r = -errno;
		fprintf(stderr, "lxload: %s: %s\n", path, strerror(errno));
	} else if (text) {
		r = lx_conf_parse(text, fread(text, 1, FILE_MAX, f), ret_conf, &err);
		if (r)
			fprintf(stderr, "%s:%d:%d: %s\n", path, err.line, err.column, err.text);
	}
	if (f)
		fclose(f);
	free(text);
	return r;
}

/* One more element for a list of @conf; NULL: out of memory. */
static void *grown(void *list, size_t *n, size_t size)
{
	void *bigger = realloc(list, (*n + 1) * size);

	if (bigger)
		++*n;
	return bigger;
}

#define APPEND(list, n, value)                                                                     \
	({                                                                                         \
		void *list_ = grown(list, &(n), sizeof(*(list)));                                  \
		if (list_) {                                                                       \
			(list) = list_;                                                            \
			(list)[(n)-1] = (value);                                                   \
		}                                                                                  \
		list_ ? 0 : -ENOMEM;                                                               \
	})

static int add_ni(struct lx_conf *conf, uint32_t net, const char *ifname, const struct lx_nid *nid)
{
	struct lx_conf_ni ni = {
		.net = nid ? lx_nid_net(nid) : net,
		.nid = nid ? *nid : lx_nid_any,
		.tun = { LX_UNSET, LX_UNSET, LX_UNSET, LX_UNSET },
	};

	if (!nid && strlen(ifname) >= sizeof(ni.ifname))
		return complain("--if", ifname, "the name of a network interface");
	if (!nid)
		strcpy(ni.ifname, ifname);
	for (int i = 0; i < LX_LND_TUNABLES_MAX; i++)
		ni.lnd_tun.value[i] = LX_UNSET;
	return APPEND(conf->ni, conf->n_nis, ni);
}

/* "tcp2=10.0.0.1@tcp1" */
static int add_route(struct lx_conf *conf, const char *text)
{
	struct lx_conf_route route = {
		.hop = LX_UNSET,
		.priority = LX_UNSET,
		.health_sensitivity = LX_UNSET,
	};
	const char *gateway = strchr(text, '=');
	char net[LX_NET_TEXT];

	if (!gateway || gateway - text >= (int)sizeof(net))
		return complain("--route", text, "NET=GATEWAY, as in tcp2=10.0.0.1@tcp1,");
	snprintf(net, sizeof(net), "%.*s", (int)(gateway - text), text);
	if (lx_net_parse(net, &route.net) || lx_nid_parse(gateway + 1, &route.gateway))
		return complain("--route", text, "NET=GATEWAY, as in tcp2=10.0.0.1@tcp1,");
	return APPEND(conf->route, conf->n_routes, route);
}

/* "tcp.accept=all" */
static int add_setting(struct lx_conf *conf, const char *text)
{
	struct lx_conf_tunable tunable = { 0 };
	int end = 0;

	if (sscanf(text, "%7[^.].%39[^=]=%23s%n", tunable.module, tunable.name, tunable.value,
		   &end) != 3 ||
	    text[end])
		return complain("--set", text, "MODULE.NAME=VALUE, as in tcp.accept=all,");
	return APPEND(conf->tunable, conf->n_tunables, tunable);
}

static int fill(const struct lx_options *opt, const struct lx_nid *nid, size_t n_nids,
		struct lx_conf *conf)
{
	int r = 0;

	for (size_t i = 0; i < n_nids && !r; i++)
		r = add_ni(conf, 0, NULL, &nid[i]);
	if (opt->ifname && !n_nids && !r)
		r = add_ni(conf, opt->net, opt->ifname, NULL);
	for (unsigned int i = 0; i < opt->n_routes && !r; i++)
		r = add_route(conf, opt->route[i]);
	for (unsigned int i = 0; i < opt->n_sets && !r; i++)
		r = add_setting(conf, opt->set[i]);
	return r;
}

static void on_change(const struct lx_change *change, void *arg)
{
	static const char *const name[] = {
#define NAME(NAME, name) name,
		LX_CHANGES(NAME)
#undef NAME
	};

	fprintf(stderr, "%.3f %s %s %s\n", (double)lx_load_now() / 1e9, name[change->type],
		lx_nid_str(&change->nid), change->text);
}

int lx_setup_node(const struct lx_options *opt, const struct lx_nid *nid, size_t n_nids,
		  struct lx_node **ret_node)
{
	struct lx_conf_error err = { 0 };
	struct lx_conf *conf = NULL;
	int r;

	r = opt->file ? read_file(opt->file, &conf) : lx_conf_new(&conf);
	if (r)
		return r;
	r = fill(opt, nid, n_nids, conf);
	if (!r)
		r = lx_node_new(conf, &err, ret_node);
	if (r && err.text[0])
		fprintf(stderr, "lxload: %s\n", err.text);
	else if (r)
		fprintf(stderr, "lxload: the node did not start: %s\n", strerror(-r));
	else if (opt->verbose)
		lx_node_watch(*ret_node, on_change, NULL);
	lx_conf_free(conf);
	return r;
}
