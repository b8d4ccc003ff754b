/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The daemon's configuration file, and the default configuration if there is
 * none. Called by main.c, and by change.c for "lnet configure --all".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../io/netif.h"
#include "config.h"
#include "log.h"

#define FILE_MIB 4 /* accepted, at most */
#define FILE_MAX (FILE_MIB << 20)

const char *lx_config_choose(const struct lx_config_files *files)
{
	for (unsigned int i = 0; i < files->n; i++) {
		if (access(files->path[i], F_OK) && errno == ENOENT)
			continue;
		if (i)
			lx_info("config=%s reason=\"there is no %s\"", files->path[i],
				files->path[0]);
		return files->path[i];
	}
	return files->path[0];
}

bool lx_config_is_empty(const struct lx_conf *conf)
{
	struct lx_conf *none;
	bool empty;

	if (conf->n_nis || conf->n_rules || conf->n_routes || conf->n_peers || conf->n_tunables ||
	    conf->n_udsps || lx_conf_new(&none))
		return false;
	empty = conf->routing == none->routing &&
		!memcmp(conf->buffers, none->buffers, sizeof(none->buffers)) &&
		!memcmp(&conf->selftest, &none->selftest, sizeof(none->selftest));
	lx_conf_free(none);
	return empty;
}

void lx_config_log_ignored(const char *path, const struct lx_conf *conf)
{
	char text[1000];

	if (conf->ignored)
		lx_warn("config=%s ignored=\"%s\" reason=\"no meaning in lnetx; see "
			"lnetx.conf(5)\"",
			path, lx_daemon_log_unquoted(conf->ignored, text, sizeof(text)));
	if (lx_config_is_empty(conf))
		lx_warn("config=%s reason=\"it configures nothing\"", path);
}

static int refuse(int err, struct lx_conf_error *ret_why)
{
	if (err == -E2BIG)
		snprintf(ret_why->text, sizeof(ret_why->text),
			 "it is too long; at most %d MiB are accepted", FILE_MIB);
	else
		snprintf(ret_why->text, sizeof(ret_why->text), "cannot read it: %s",
			 strerror(-err));
	return err;
}

int lx_config_read(int fd, char **ret_text, size_t *ret_len, struct lx_conf_error *ret_why)
{
	char *text = malloc(FILE_MAX + 1);
	size_t len = 0;
	ssize_t got;

	if (!text)
		return refuse(-ENOMEM, ret_why);
	while ((got = read(fd, text + len, FILE_MAX + 1 - len)) > 0)
		len += got;
	if (got < 0 || len > FILE_MAX) {
		free(text);
		return refuse(got < 0 ? -errno : -E2BIG, ret_why);
	}
	*ret_text = text;
	*ret_len = len;
	return 0;
}

struct load {
	const char *path;
	lx_config_fn fn;
	void *arg;
};

static void on_mistake(const struct lx_conf_error *err, void *arg)
{
	const struct load *load = arg;
	char text[LX_CONFIG_TEXT];

	load->fn(lx_config_error(load->path, err, text, sizeof(text)), load->arg);
}

static void ignore_mistake(const struct lx_conf_error *err, void *arg)
{
}

/* A start that cannot be lists all mistakes, what is missing included. */
static int check(const char *text, size_t len, bool start, struct load *load)
{
	int err;

	if (start && !lx_node_check_yaml(text, len, LX_CHECK_PART, ignore_mistake, NULL))
		return 0;
	err = lx_node_check_yaml(text, len, 0, on_mistake, load);
	if (!start || err == -ENOMEM)
		return err;
	return lx_node_check_yaml(text, len, LX_CHECK_FILE, ignore_mistake, NULL) ? -EBADMSG : err;
}

int lx_config_load(const char *path, bool start, struct lx_conf **ret_conf, lx_config_fn fn,
		   void *arg)
{
	struct load load = { .path = path, .fn = fn, .arg = arg };
	struct lx_conf_error why = { 0 };
	char *text LX_AUTO_FREE = NULL;
	int fd LX_AUTO_CLOSE = -1;
	size_t len = 0;
	int err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? refuse(-errno, &why) : lx_config_read(fd, &text, &len, &why);
	if (err) {
		on_mistake(&why, &load);
		return err;
	}
	err = check(text, len, start, &load);
	if (err)
		return err;
	err = lx_conf_parse(text, len, ret_conf, &why);
	if (err) /* not the content: that was checked */
		on_mistake(&why, &load);
	return err;
}

const char *lx_config_error(const char *path, const struct lx_conf_error *err, char *buf,
			    size_t size)
{
	if (err->line && err->column)
		snprintf(buf, size, "%s:%d:%d: %s", path, err->line, err->column, err->text);
	else if (err->line)
		snprintf(buf, size, "%s:%d: %s", path, err->line, err->text);
	else
		snprintf(buf, size, "%s: %s", path, err->text);
	return buf;
}

/* An NI with default settings. */
static void init_ni(struct lx_conf_ni *ni)
{
	memset(ni, 0, sizeof(*ni));
	memset(&ni->tun, 0xff, sizeof(ni->tun)); /* -1 is LX_UNSET */
	memset(&ni->lnd_tun, 0xff, sizeof(ni->lnd_tun));
	ni->net = LX_NET(LX_NET_TCP, 0);
	ni->nid = lx_nid_any;
}

int lx_config_default(bool large, struct lx_conf **ret_conf)
{
	struct lx_netif netif;
	struct lx_conf *conf;
	int err;

	err = lx_conf_new(&conf);
	if (err)
		return err;
	conf->ni = malloc(sizeof(*conf->ni));
	if (!conf->ni) {
		lx_conf_free(conf);
		return -ENOMEM;
	}
	init_ni(conf->ni);
	err = lx_netif_first(AF_INET, NULL, &netif);
	if (err == -ENODEV && large)
		err = lx_netif_first(AF_INET6, NULL, &netif);
	if (err) {
		lx_conf_free(conf);
		return err;
	}
	strcpy(conf->ni->ifname, netif.name);
	conf->n_nis = 1;
	*ret_conf = conf;
	return 0;
}

/* Only for tcp: other transports do not support IPv6 addresses. */
void lx_config_large_nid(struct lx_conf_ni *ni)
{
	struct lx_netif netif;

	if (lx_net_type(ni->net) == LX_NET_TCP && ni->ifname[0] &&
	    lx_nid_eq(&ni->nid, &lx_nid_any) && !lx_netif_first(AF_INET6, ni->ifname, &netif))
		lx_nid_from_sockaddr(ni->net, &netif.addr.sa, &ni->nid);
}

/* Rails have the family of their first NID, so that must be known before they are resolved. */
static int with_large(const struct lx_conf *conf, struct lx_conf *ret_large)
{
	*ret_large = *conf;
	ret_large->ni = calloc(conf->n_nis + 1, sizeof(*ret_large->ni));
	if (!ret_large->ni)
		return -ENOMEM;
	for (size_t i = 0; i < conf->n_nis; i++) {
		ret_large->ni[i] = conf->ni[i];
		lx_config_large_nid(&ret_large->ni[i]);
	}
	return 0;
}

/* The entries to write instead of rails. */
static void tell_entries(const struct lx_conf_ni *ni, const struct lx_conf *now)
{
	for (size_t i = 0; i < now->n_nis && ni->rails[0]; i++) {
		if (now->ni[i].net == ni->net && !strcmp(now->ni[i].ifname, ni->ifname))
			lx_warn("net=%s rails=%s reason=\"the next version does not know rails\" "
				"action=\"write instead: - { nid: %s, interfaces: { 0: %s } }\"",
				lx_net_str(ni->net), ni->rails, lx_nid_str(&now->ni[i].nid),
				ni->ifname);
	}
}

int lx_config_resolve(const struct lx_conf *conf, bool large, struct lx_conf **ret_conf,
		      struct lx_conf **ret_later, struct lx_conf_error *ret_err)
{
	struct lx_conf from = *conf;
	int err = large ? with_large(conf, &from) : 0;

	if (!err)
		err = ret_later ? lx_conf_part(&from, ret_conf, ret_later, ret_err)
				: lx_conf_resolve(&from, ret_conf, ret_err);
	if (from.ni != conf->ni)
		free(from.ni);
	/* The NIs of rules. */
	for (size_t i = 0; !err && large && i < (*ret_conf)->n_nis; i++)
		lx_config_large_nid(&(*ret_conf)->ni[i]);
	for (size_t i = 0; !err && i < conf->n_nis; i++)
		tell_entries(&conf->ni[i], *ret_conf);
	return err == -ENOENT ? -EINVAL : err;
}

bool lx_config_lacks(const struct lx_conf_ni *ni, bool large, struct lx_conf_error *ret_why)
{
	struct lx_conf_ni copy = *ni;
	struct lx_conf one = { .ni = &copy, .n_nis = 1, .routing = LX_UNSET };

	if (large)
		lx_config_large_nid(&copy);
	return lx_node_check(&one, ret_why);
}
