/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The section "net" of a configuration: nets, their NIs, and the settings of both.
 * Called by conf.c only; owns no state.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <internal/ni_setting.h>

#include "../base/array.h"
#include "../base/octets.h"
#include "../base/setting.h"
#include "../base/suggest.h"
#include "net.h"
#include "rails.h"

/* An interface of an entry, and its place. */
struct named {
	char ifname[IFNAMSIZ];
	struct lx_conf_place at;
};

/* Argument of the keys' functions. */
struct walk {
	struct lx_conf *conf;
	struct lx_conf_ni net; /* settings of the net, for all its NIs */
	struct lx_conf_ni ni;
	struct named *named; /* of the NI's entry */
	size_t n_named;
	bool has_nis, has_list; /* the net has NIs, has a key for them */
};

#ifdef LX_O2IB
#define LX_KNOWN_NETS "tcp, o2ib"
#define LX_NO_O2IB "no transport for it"
#else
#define LX_KNOWN_NETS "tcp"
#define LX_NO_O2IB "it was built without RDMA; install libibverbs-dev and librdmacm-dev, " \
		   "and build it again without O2IB=0"
#endif

const struct lx_conf_ni_setting *lx_conf_ni_settings(void)
{
#define SETTING_(number, name, min, max) { #name, min, max },
	static const struct lx_conf_ni_setting settings[] = { LX_NI_TUNABLES(SETTING_){ NULL, 0,
											0 } };
#undef SETTING_

	return settings;
}

int lx_conf_net_cpt(const char *text, char *ret_text, size_t size)
{
	const char *item = text + (*text == '['), *end;
	struct lx_span span;
	bool ok;

	do {
		end = item + strcspn(item, ",]");
		ok = !lx_octets_span(item, end - item, UINT32_MAX, &span);
		item = end + 1;
	} while (ok && *end == ',');
	if (ok && !strcmp(end, *text == '[' ? "]" : ""))
		return 0;
	snprintf(ret_text, size, "\"%.40s\"; \"[0]\", \"[0,2-4]\", ... is expected", text);
	return -EINVAL;
}

static int cpt_text(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	const char *text = lx_yaml_text(y, value, "CPT");
	char why[160];

	if (!text)
		return -EINVAL;
	if (!lx_conf_net_cpt(text, why, sizeof(why)))
		return 0;
	return lx_yaml_fail(y, value, -EINVAL, "invalid value for \"CPT\": %s", why);
}

/* CPU partitions have no effect here, but are checked. */
static int cpt(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	if (value->type != YAML_SEQUENCE_NODE)
		return cpt_text(y, value, arg);
	if (value->data.sequence.items.start == value->data.sequence.items.top)
		return lx_yaml_fail(y, value, -EINVAL,
				    "invalid value for \"CPT\": an empty list; [0], [0,2-4], ...");
	return lx_yaml_seq(y, value, "CPT", cpt_text, arg);
}

/* The "lnd tunables" of the reference's versions, of any transport. */
#define LND_SETTINGS(X)                                                                            \
	X("peercredits_hiw")                                                                       \
	X("map_on_demand")                                                                         \
	X("concurrent_sends")                                                                      \
	X("fmr_pool_size")                                                                         \
	X("fmr_flush_trigger")                                                                     \
	X("fmr_cache")                                                                             \
	X("ntx")                                                                                   \
	X("conns_per_peer")                                                                        \
	X("timeout")                                                                               \
	X("tos")                                                                                   \
	X("prov_major_version")                                                                    \
	X("prov_minor_version")                                                                    \
	X("auth_key")                                                                              \
	X("traffic_class")                                                                         \
	X("traffic_class_num")                                                                     \
	X("nqps")

/* 0@lo has none of them; an export shows zeros there. */
int lx_conf_net_ni_tunables(struct lx_yaml *y, yaml_node_t *value, struct lx_conf_ni *ni)
{
#define IGNORED_(name) { name, lx_yaml_ignored },
	static const struct lx_yaml_key keys[] = { { "CPT", cpt },
						   LND_SETTINGS(IGNORED_){ 0 } };
#undef IGNORED_
	static const struct lx_yaml_shape shape = { "tunables", keys, &lx_object_ni_tunables,
						    NULL };

	return lx_net_type(ni->net) == LX_NET_LO ? 0 : lx_yaml_map(y, value, &shape, &ni->tun, ni);
}

/* Settings of another transport, or of "tunables". */
static bool is_known_setting(const char *name)
{
#define NAME_(name) name,
	static const char *const names[] = { LND_SETTINGS(NAME_) };
#undef NAME_

	for (size_t i = 0; i < LX_ARRAY_LEN(names); i++) {
		if (!strcmp(names[i], name))
			return true;
	}
	return lx_setting_find(lx_conf_ni_settings(), name) >= 0;
}

static int unknown_lnd_tunable(struct lx_yaml *y, yaml_node_t *key, const char *name,
			       const struct lx_conf_ni *ni)
{
	const struct lx_conf_ni_setting *set = lx_conf_lnd_settings(lx_net_type(ni->net));
	struct lx_suggest meant = lx_suggest(name);

	for (; set && set->name; set++)
		lx_suggest_offer(&meant, set->name);
	return lx_yaml_fail(y, key, -EINVAL,
			    "invalid key \"%.40s\" in lnd tunables of net type %s%s%s%s", name,
			    lx_net_str(ni->net), meant.best ? "; did you mean \"" : "",
			    meant.best ? meant.best : "", meant.best ? "\"?" : "");
}

static int lnd_tunable(struct lx_yaml *y, yaml_node_t *key, const char *name, yaml_node_t *value,
		       void *arg)
{
	struct lx_conf_ni *ni = arg;
	const struct lx_conf_ni_setting *set = lx_conf_lnd_settings(lx_net_type(ni->net));
	int i = lx_setting_find(set, name);

	if (i < 0)
		return is_known_setting(name) ? lx_yaml_ignore(y, key)
					      : unknown_lnd_tunable(y, key, name, ni);
	return lx_yaml_int32(y, value, name, LX_UNSET, set[i].max, &ni->lnd_tun.value[i]);
}

int lx_conf_net_ni_lnd_tunables(struct lx_yaml *y, yaml_node_t *value, struct lx_conf_ni *ni)
{
	return lx_yaml_null(value) ? 0 : lx_yaml_pairs(y, value, "lnd tunables", lnd_tunable, ni);
}

static int add_ifname(struct lx_yaml *y, const yaml_node_t *value, struct walk *s,
		      const char name[IFNAMSIZ])
{
	struct named named = { .at = lx_yaml_at(value) };

	memcpy(named.ifname, name, IFNAMSIZ);
	return lx_yaml_append(y, value, &s->named, &s->n_named, LX_YAML_ENTRIES, &named,
			      sizeof(named));
}

int lx_conf_net_ifname(struct lx_yaml *y, yaml_node_t *value, char ret_name[IF_NAMESIZE])
{
	const char *text = lx_yaml_text(y, value, "interfaces");
	size_t len;

	if (!text)
		return -EINVAL;
	len = strcspn(text, "["); /* "eth0[0,1]": CPU partitions of the interface */
	if (!len || len >= IF_NAMESIZE)
		return lx_yaml_fail(
			y, value, -EINVAL,
			"invalid value for \"interfaces\": \"%.40s\" is not an interface name",
			text);
	memset(ret_name, 0, IF_NAMESIZE);
	memcpy(ret_name, text, len);
	return 0;
}

static int ifname(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	char name[IF_NAMESIZE];
	int err = lx_conf_net_ifname(y, value, name);

	return err ? err : add_ifname(y, value, arg, name);
}

static int ni_interfaces(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_values(y, value, "interfaces", ifname, arg);
}

static int ni_nid(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct walk *s = arg;
	int err = lx_yaml_nid(y, value, "nid", &s->ni.nid);

	s->ni.at = lx_yaml_at(value);
	if (!err && lx_nid_net(&s->ni.nid) != s->ni.net)
		err = lx_yaml_fail(y, value, -EINVAL,
				   "invalid value for \"nid\": %s is not on net %s",
				   lx_nid_str(&s->ni.nid), lx_net_str(s->ni.net));
	return err;
}

static int ni_rails(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	const char *text = lx_yaml_text(y, value, "rails");
	struct lx_conf_ni *ni = &((struct walk *)arg)->ni;
	char why[160];

	if (!text)
		return -EINVAL;
	if (lx_net_type(ni->net) != LX_NET_TCP)
		return lx_yaml_fail(
			y, value, -EOPNOTSUPP,
			"\"rails\" of net %s: only NIs of tcp nets have them; leave it out",
			lx_net_str(ni->net));
	if (lx_rails_check(text, why, sizeof(why)))
		return lx_yaml_fail(y, value, -EINVAL, "%s", why);
	snprintf(ni->rails, sizeof(ni->rails), "%s", text);
	ni->rails_at = lx_yaml_at(value);
	return 0;
}

static int ni_tun(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_conf_net_ni_tunables(y, value, &((struct walk *)arg)->ni);
}

static int ni_lnd_tun(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_conf_net_ni_lnd_tunables(y, value, &((struct walk *)arg)->ni);
}

/* The NIs of a net share the tunables of its first one: names what others have instead. */
static int add_ni(struct lx_yaml *y, yaml_node_t *node, struct walk *s)
{
	const int32_t *own = (const int32_t *)&s->ni.tun;
	const struct lx_conf *conf = s->conf;
	char what[120];
	size_t first = 0;

	while (first < conf->n_nis && conf->ni[first].net != s->ni.net)
		first++;
	for (size_t i = 0; first < conf->n_nis && i < sizeof(s->ni.tun) / sizeof(*own); i++) {
		if (own[i] == LX_UNSET || own[i] == ((int32_t *)&conf->ni[first].tun)[i])
			continue;
		snprintf(what, sizeof(what), "\"%s\" of another NI of %s than its first (line",
			 lx_conf_ni_settings()[i].name, lx_net_str(s->ni.net));
		lx_yaml_remark(y, what, s->ni.at.line);
	}
	return lx_yaml_append(y, node, &s->conf->ni, &s->conf->n_nis, LX_YAML_ENTRIES, &s->ni,
			      sizeof(s->ni));
}

/*
 * Adds an NI for the NID, or one per interface. @err: the first mistake in the entry, which is
 * added all the same so that further mistakes are found. Returns that, or the next mistake.
 */
static int add_nis(struct lx_yaml *y, yaml_node_t *node, struct walk *s, int err)
{
	bool has_nid = !lx_nid_eq(&s->ni.nid, &lx_nid_any);
	int more = 0;

	if (lx_net_type(s->ni.net) == LX_NET_LO)
		return err; /* always there */
	if (!s->n_named && !has_nid)
		return err ? err
			   : lx_yaml_fail(y, node, -EINVAL,
					  "an NI of net %s without \"interfaces\" and \"nid\"; "
					  "give one",
					  lx_net_str(s->ni.net));
	if (s->ni.rails[0] && (has_nid || !s->n_named))
		return lx_yaml_fail(y, node, -EINVAL,
				    "\"rails\" are addresses of an interface; give \"interfaces\", "
				    "not \"nid\"");
	if (s->n_named > 1 && has_nid)
		return lx_yaml_fail(y, node, -EINVAL, "one \"nid\" for %zu interfaces", s->n_named);
	if (!s->n_named)
		more = add_ni(y, node, s);
	for (size_t i = 0; !more && i < s->n_named; i++) {
		memcpy(s->ni.ifname, s->named[i].ifname, IFNAMSIZ);
		s->ni.at = s->named[i].at;
		more = add_ni(y, node, s);
	}
	return err ? err : more;
}

/* One NI for each interface that @read finds, or for the NID. */
static int read_nis(struct lx_yaml *y, yaml_node_t *node, struct walk *s,
		    int (*read)(struct lx_yaml *y, yaml_node_t *node, void *arg))
{
	int err;

	s->has_nis = true;
	s->ni = s->net;
	s->n_named = 0;
	err = read(y, node, s);
	if (!lx_conf_is_fatal(err))
		err = add_nis(y, node, s, err);
	free(s->named);
	s->named = NULL;
	return err;
}

static int ni_keys(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "nid", ni_nid },
						   { "interfaces", ni_interfaces },
						   { "rails", ni_rails },
						   { "tunables", ni_tun },
						   { "lnd tunables", ni_lnd_tun },
						   { "CPT", cpt },
						   { "tcp bonding", lx_yaml_ignored },
						   { 0 } };
	static const struct lx_yaml_shape shape = { "local NI(s)", keys, NULL, &lx_object_nets };

	return lx_yaml_map(y, node, &shape, NULL, arg);
}

static int ni_entry(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	return read_nis(y, node, arg, ni_keys);
}

/* Without the net's type the settings of its NIs are unknown. */
static int net_nis(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct walk *s = arg;

	s->has_list = true;
	return s->net.net == LX_NET_U32_ANY ? 0
					    : lx_yaml_seq(y, value, "local NI(s)", ni_entry, arg);
}

/* "interfaces" of the net itself, in old files: one NI each. */
static int net_interfaces(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return ((struct walk *)arg)->net.net == LX_NET_U32_ANY
		       ? 0
		       : read_nis(y, value, arg, ni_interfaces);
}

int lx_conf_net_type(struct lx_yaml *y, yaml_node_t *value, const char *key, uint32_t *ret_net)
{
	uint32_t net = LX_NET_U32_ANY;
	int err = lx_yaml_net(y, value, key, &net);
	uint8_t type = lx_net_type(net);

	if (err)
		return err;
	if (type == LX_NET_LO || lx_conf_lnd_settings(type)) {
		*ret_net = net;
		return 0;
	}
	return lx_yaml_fail(y, value, -EOPNOTSUPP,
			    "net type %s: this version has no transport for it%s", lx_net_str(net),
			    type == LX_NET_O2IB ? "; " LX_NO_O2IB : " (known: " LX_KNOWN_NETS ")");
}

static int net_type(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_conf_net_type(y, value, "net type", &((struct walk *)arg)->net.net);
}

const char *lx_conf_net_why(uint32_t net, int err)
{
	bool o2ib = lx_net_type(net) == LX_NET_O2IB;

	switch (err) {
	case -ENODEV:
		return "there is no such interface; see \"ip link\"";
	case -EADDRNOTAVAIL:
		return "no usable address, or IPv6 still checks it for duplicates (\"tentative\"); "
		       "see \"ip address\"";
	case -EADDRINUSE:
		return o2ib ? "another program, or ko2iblnd, has its service; see \"rdma resource "
			      "show cm_id\", or set tunable service of o2ib" :
			      "another program listens on its port (\"ss -ltnp\"), or is a node "
			      "with this NID, as lnetxd may be; each needs an address of its own";
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
	return lx_conf_net_ni_tunables(y, value, &((struct walk *)arg)->net);
}

static int net_lnd_tun(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct lx_conf_ni *net = &((struct walk *)arg)->net;

	return net->net == LX_NET_U32_ANY ? 0 : lx_conf_net_ni_lnd_tunables(y, value, net);
}

void lx_conf_net_ni_init(struct lx_conf_ni *ni)
{
	memset(ni, 0, sizeof(*ni));
	ni->nid = lx_nid_any;
	ni->net = LX_NET_U32_ANY;
	memset(&ni->tun, 0xff, sizeof(ni->tun)); /* -1 is LX_UNSET */
	memset(&ni->lnd_tun, 0xff, sizeof(ni->lnd_tun));
}

/* A net alone, as lnet_legacy2yaml writes "networks=tcp": its NI is on the first interface up. */
static int add_first_up(struct lx_yaml *y, const yaml_node_t *node, struct walk *s)
{
	struct lx_conf_rule rule = { .ni = s->net, .always = true, .at = lx_yaml_at(node) };

	if (lx_net_type(s->net.net) == LX_NET_LO)
		return 0; /* always there */
	return lx_yaml_append(y, node, &s->conf->rule, &s->conf->n_rules, LX_YAML_ENTRIES, &rule,
			      sizeof(rule));
}

static int net_entry(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	/* The NIs inherit the net's own settings, which depend on its type. */
	static const struct lx_yaml_key keys[] = { { "net type", net_type },
						   { "net", net_type },
						   { "tunables", net_tun },
						   { "lnd tunables", net_lnd_tun },
						   { "CPT", cpt },
						   { "local NI(s)", net_nis },
						   { "interfaces", net_interfaces },
						   { "seq_no", lx_yaml_ignored },
						   { "detail", lx_yaml_ignored },
						   { 0 } };
	static const struct lx_yaml_shape shape = { "net", keys, NULL, &lx_object_nets };
	struct walk *s = arg;
	int err;

	lx_conf_net_ni_init(&s->net);
	s->has_nis = s->has_list = false;
	err = lx_yaml_map(y, node, &shape, NULL, s);
	if (err)
		return err;
	if (s->net.net == LX_NET_U32_ANY)
		return lx_yaml_fail(y, node, -EINVAL, "no value for \"net type\" in net");
	if (!s->has_nis && !s->has_list)
		return add_first_up(y, node, s);
	return s->has_nis ? 0
			  : lx_yaml_fail(y, node, -EINVAL, "no value for \"local NI(s)\" of net %s",
					 lx_net_str(s->net.net));
}

int lx_conf_net(struct lx_yaml *y, yaml_node_t *value, struct lx_conf *conf)
{
	struct walk s = { .conf = conf };

	return lx_yaml_seq(y, value, "net", net_entry, &s);
}

bool lx_conf_net_is_local(const struct lx_conf *conf, uint32_t net)
{
	for (size_t i = 0; i < conf->n_nis; i++) {
		if (conf->ni[i].net == net)
			return true;
	}
	return false;
}
