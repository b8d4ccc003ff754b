/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The section "net" of a configuration: nets, their NIs, and the settings of both.
 * Called by conf.c only; owns no state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

/* What the functions of the keys are given. */
struct walk {
	struct lx_conf *conf;
	struct lx_conf_ni net; /* what a net says for all its NIs */
	struct lx_conf_ni ni;
	char (*ifname)[IFNAMSIZ]; /* of the NI's entry */
	size_t n_ifnames;
	bool has_nis;
};

#ifdef LX_O2IB
#define LX_KNOWN_NETS "tcp, o2ib"
#define LX_NO_O2IB "no transport for it"
#else
#define LX_KNOWN_NETS "tcp"
#define LX_NO_O2IB "it was built without RDMA; install libibverbs-dev and librdmacm-dev, " \
		   "and build it again without O2IB=0"
#endif

const struct lx_conf_lnd_setting *lx_conf_lnd_settings(uint8_t net_type)
{
	static const struct lx_conf_lnd_setting tcp[] = { { "conns_per_peer", 0, 127 },
							  { "timeout", 0, INT32_MAX },
							  { "tos", 0, 255 },
							  { NULL, 0, 0 } };

#ifdef LX_O2IB
	static const struct lx_conf_lnd_setting o2ib[] = {
		{ "peercredits_hiw", 0, 253 },	   { "concurrent_sends", 0, 508 },
		{ "conns_per_peer", 1, 16 },	   { "map_on_demand", 0, 256 },
		{ "fmr_pool_size", 0, INT32_MAX }, { "fmr_flush_trigger", 0, INT32_MAX },
		{ "fmr_cache", 0, 1 },		   { "ntx", 1, INT32_MAX },
		{ "timeout", 1, 86400 },	   { "tos", 0, 255 },
		{ NULL, 0, 0 }
	};

	if (net_type == LX_NET_O2IB)
		return o2ib;
#endif
	return net_type == LX_NET_TCP ? tcp : NULL;
}

#define NI_TUNABLE(name)                                                                           \
	static int tun_##name(struct lx_yaml *y, yaml_node_t *value, void *arg)                    \
	{                                                                                          \
		struct lx_conf_ni *ni = arg;                                                       \
		return lx_yaml_int32(y, value, #name, LX_UNSET, INT32_MAX, &ni->tun.name);         \
	}
NI_TUNABLE(peer_timeout)
NI_TUNABLE(peer_credits)
NI_TUNABLE(peer_buffer_credits)
NI_TUNABLE(credits)

static int ni_tunables(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "peer_timeout", tun_peer_timeout },
						   { "peer_credits", tun_peer_credits },
						   { "peer_buffer_credits",
						     tun_peer_buffer_credits },
						   { "credits", tun_credits },
						   { NULL, NULL } };

	return lx_yaml_map(y, value, "tunables", keys, arg);
}

static int lnd_tunable(struct lx_yaml *y, yaml_node_t *key, const char *name, yaml_node_t *value,
		       void *arg)
{
	struct lx_conf_ni *ni = arg;
	const struct lx_conf_lnd_setting *set = lx_conf_lnd_settings(lx_net_type(ni->net));
	int i = 0;

	while (set && set[i].name && strcmp(set[i].name, name))
		i++;
	if (!set || !set[i].name)
		return lx_yaml_fail(y, key, -EINVAL,
				    "invalid key \"%.40s\" in lnd tunables of net type %s", name,
				    lx_net_str(ni->net));
	return lx_yaml_int32(y, value, name, LX_UNSET, set[i].max, &ni->lnd_tun.value[i]);
}

static int lnd_tunables(struct lx_yaml *y, yaml_node_t *value, struct lx_conf_ni *ni)
{
	return lx_yaml_pairs(y, value, "lnd tunables", lnd_tunable, ni);
}

/* "0", "0-3" or "0-6/2"; moves *text behind it. */
static bool cpt_item(const char **text)
{
	unsigned long lo, hi, stride;
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	lo = hi = strtoul(*text, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		hi = strtoul(end + 1, &end, 10);
	if (*end == '/' && end[1] >= '0' && end[1] <= '9') {
		stride = strtoul(end + 1, &end, 10);
		if (!stride)
			return false;
	}
	*text = end;
	return lo <= hi;
}

static int cpt_text(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	const char *text = lx_yaml_text(y, value, "CPT"), *p = text;
	bool bracket, ok;

	if (!text)
		return -EINVAL;
	bracket = *p == '[';
	p += bracket;
	ok = cpt_item(&p);
	while (ok && *p == ',') {
		p++;
		ok = cpt_item(&p);
	}
	if (ok && bracket)
		ok = *p++ == ']';
	if (!ok || *p)
		return lx_yaml_fail(
			y, value, -EINVAL,
			"invalid value for \"CPT\": \"%.40s\"; \"[0]\", \"[0,2-4]\", ...", text);
	return 0;
}

/* CPU partitions have no meaning here; a file that has them is still checked. */
static int cpt(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	if (value->type != YAML_SEQUENCE_NODE)
		return cpt_text(y, value, arg);
	if (value->data.sequence.items.start == value->data.sequence.items.top)
		return lx_yaml_fail(y, value, -EINVAL,
				    "invalid value for \"CPT\": an empty list; [0], [0,2-4], ...");
	return lx_yaml_seq(y, value, "CPT", cpt_text, arg);
}

static int ifname(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct walk *s = arg;
	const char *text = lx_yaml_text(y, value, "interfaces");
	char name[IFNAMSIZ] = "";
	size_t len;

	if (!text)
		return -EINVAL;
	len = strcspn(text, "["); /* "eth0[0,1]": CPU partitions of the interface */
	if (!len || len >= sizeof(name))
		return lx_yaml_fail(
			y, value, -EINVAL,
			"invalid value for \"interfaces\": \"%.40s\" is no interface name", text);
	memcpy(name, text, len);
	return lx_yaml_append(y, value, &s->ifname, &s->n_ifnames, LX_YAML_ENTRIES, name,
			      sizeof(name));
}

static int ni_interfaces(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_values(y, value, "interfaces", ifname, arg);
}

static int ni_nid(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct walk *s = arg;
	int err = lx_yaml_nid(y, value, "nid", &s->ni.nid);

	if (!err && lx_nid_net(&s->ni.nid) != s->ni.net)
		err = lx_yaml_fail(y, value, -EINVAL,
				   "invalid value for \"nid\": %s is not on net %s",
				   lx_nid_str(&s->ni.nid), lx_net_str(s->ni.net));
	return err;
}

static int ni_tun(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return ni_tunables(y, value, &((struct walk *)arg)->ni);
}

static int ni_lnd_tun(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lnd_tunables(y, value, &((struct walk *)arg)->ni);
}

/* One NI for the NID, or one for each interface. */
static int add_nis(struct lx_yaml *y, yaml_node_t *node, struct walk *s)
{
	bool has_nid = !lx_nid_eq(&s->ni.nid, &lx_nid_any);
	int err = 0;

	s->ni.line = (int)node->start_mark.line + 1;
	if (lx_net_type(s->ni.net) == LX_NET_LO)
		return 0; /* always there */
	if (!s->n_ifnames && !has_nid)
		return lx_yaml_fail(y, node, -EINVAL,
				    "an NI of net %s without \"interfaces\" and \"nid\"; give one",
				    lx_net_str(s->ni.net));
	if (s->n_ifnames > 1 && has_nid)
		return lx_yaml_fail(y, node, -EINVAL, "one \"nid\" for %zu interfaces",
				    s->n_ifnames);
	if (!s->n_ifnames)
		return lx_yaml_append(y, node, &s->conf->ni, &s->conf->n_nis, LX_YAML_ENTRIES,
				      &s->ni, sizeof(s->ni));
	for (size_t i = 0; !err && i < s->n_ifnames; i++) {
		memcpy(s->ni.ifname, s->ifname[i], IFNAMSIZ);
		err = lx_yaml_append(y, node, &s->conf->ni, &s->conf->n_nis, LX_YAML_ENTRIES,
				     &s->ni, sizeof(s->ni));
	}
	return err;
}

static int ni_entry(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "nid", ni_nid },
						   { "interfaces", ni_interfaces },
						   { "tunables", ni_tun },
						   { "lnd tunables", ni_lnd_tun },
						   { "CPT", cpt },
						   { "status", NULL },
						   { "statistics", NULL },
						   { "sent_stats", NULL },
						   { "received_stats", NULL },
						   { "dropped_stats", NULL },
						   { "health stats", NULL },
						   { "udsp info", NULL },
						   { "dev cpt", NULL },
						   { NULL, NULL } };
	struct walk *s = arg;
	int err;

	s->has_nis = true;
	s->ni = s->net;
	s->n_ifnames = 0;
	err = lx_yaml_map(y, node, "local NI(s)", keys, s);
	if (!err)
		err = add_nis(y, node, s);
	free(s->ifname);
	s->ifname = NULL;
	return err;
}

static int net_nis(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_seq(y, value, "local NI(s)", ni_entry, arg);
}

/* "interfaces" of the net itself, as old files have it: an NI each. */
static int net_interfaces(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct walk *s = arg;
	int err;

	s->has_nis = true;
	s->ni = s->net;
	s->n_ifnames = 0;
	err = ni_interfaces(y, value, s);
	if (!err)
		err = add_nis(y, value, s);
	free(s->ifname);
	s->ifname = NULL;
	return err;
}

static int net_type(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct walk *s = arg;
	int err = lx_yaml_net(y, value, "net type", &s->net.net);
	uint8_t type = lx_net_type(s->net.net);

	if (err || type == LX_NET_LO || lx_conf_lnd_settings(type))
		return err;
	return lx_yaml_fail(y, value, -EOPNOTSUPP,
			    "net type %s: this version has no transport for it%s",
			    lx_net_str(s->net.net),
			    type == LX_NET_O2IB ? "; " LX_NO_O2IB : " (known: " LX_KNOWN_NETS ")");
}

const char *lx_conf_net_why(uint32_t net, int err)
{
	bool o2ib = lx_net_type(net) == LX_NET_O2IB;

	switch (err) {
	case -ENODEV:
		return "there is no such interface; see \"ip link\"";
	case -EADDRNOTAVAIL:
		return "no usable address; see \"ip address\"";
	case -EADDRINUSE:
		return o2ib ? "another program, or ko2iblnd, has its service; see \"rdma resource "
			      "show cm_id\", or set tunable service of o2ib" :
			      "another program listens on its port; see \"ss -ltnp\", or set "
			      "tunable accept_port of tcp";
	case -ENXIO:
		return "its address is on no RDMA device; see \"rdma link\"";
	case -EPROTONOSUPPORT:
		return o2ib ? LX_NO_O2IB : "no transport for this type of net in this version";
	case -EACCES:
		return "ports below 1024 need root or CAP_NET_BIND_SERVICE";
	case -EINVAL:
		return "a setting is out of range";
	}
	return NULL;
}

static int net_tun(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return ni_tunables(y, value, &((struct walk *)arg)->net);
}

static int net_lnd_tun(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lnd_tunables(y, value, &((struct walk *)arg)->net);
}

static int pass(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return 0;
}

static void net_reset(struct walk *s)
{
	memset(&s->net, 0, sizeof(s->net));
	s->net.nid = lx_nid_any;
	s->net.net = LX_NET_U32_ANY;
	memset(&s->net.tun, 0xff, sizeof(s->net.tun)); /* -1 is LX_UNSET */
	memset(&s->net.lnd_tun, 0xff, sizeof(s->net.lnd_tun));
	s->has_nis = false;
}

/*
 * Three walks: keys come in any order, but the NIs need to know the net's type, and
 * inherit from the net's own settings.
 */
static int net_entry(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	static const struct lx_yaml_key first[] = {
		{ "net type", net_type }, { "net", net_type },
		{ "local NI(s)", pass },  { "interfaces", pass },
		{ "tunables", net_tun },  { "lnd tunables", pass },
		{ "CPT", cpt },		  { "status", NULL },
		{ "nid", NULL },	  { NULL, NULL }
	};
	static const struct lx_yaml_key second[] = {
		{ "net type", NULL },	{ "net", NULL },      { "local NI(s)", NULL },
		{ "interfaces", NULL }, { "tunables", NULL }, { "lnd tunables", net_lnd_tun },
		{ "CPT", NULL },	{ "status", NULL },   { "nid", NULL },
		{ NULL, NULL }
	};
	static const struct lx_yaml_key third[] = { { "net type", NULL },
						    { "net", NULL },
						    { "local NI(s)", net_nis },
						    { "interfaces", net_interfaces },
						    { "tunables", NULL },
						    { "lnd tunables", NULL },
						    { "CPT", NULL },
						    { "status", NULL },
						    { "nid", NULL },
						    { NULL, NULL } };
	struct walk *s = arg;
	int err;

	net_reset(s);
	err = lx_yaml_map(y, node, "net", first, s);
	if (!err && s->net.net == LX_NET_U32_ANY)
		err = lx_yaml_fail(y, node, -EINVAL, "no value for \"net type\" in net");
	if (!err)
		err = lx_yaml_map(y, node, "net", second, s);
	if (!err)
		err = lx_yaml_map(y, node, "net", third, s);
	if (!err && !s->has_nis)
		err = lx_yaml_fail(y, node, -EINVAL, "no value for \"local NI(s)\" of net %s",
				   lx_net_str(s->net.net));
	return err;
}

int lx_conf_net(struct lx_yaml *y, yaml_node_t *value, struct lx_conf *conf)
{
	struct walk s = { .conf = conf };

	return lx_yaml_seq(y, value, "net", net_entry, &s);
}
