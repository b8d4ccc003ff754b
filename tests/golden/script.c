/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include "../unit/testlib.h"

#include "script.h"

/* ---- who is who ----------------------------------------------------------- */

/* The hosts of the captures and their addresses; R and G are one machine. */
static const struct {
	char name;
	const char *addr[5]; /* terminated by NULL */
} hosts[] = {
	{ 'A', { "10.77.0.1", "10.77.0.11", "10.78.0.1", "fd77::1" } },
	{ 'B', { "10.77.0.2", "10.78.0.2", "fd77::2" } },
	{ 'R', { "10.77.0.3", "10.77.1.3" } },
	{ 'G', { "10.77.0.3", "10.78.0.3" } },
	{ 'S', { "10.77.1.2" } },
	{ 'H', { "10.77.0.254" } },
};

bool script_host_has(char host, const char *addr)
{
	for (unsigned int i = 0; i < N_OF(hosts); i++) {
		for (unsigned int j = 0; hosts[i].name == host && hosts[i].addr[j]; j++) {
			if (!strcmp(hosts[i].addr[j], addr))
				return true;
		}
	}
	return false;
}

/* The first host that has an address. */
static char first_with(const char *addr)
{
	unsigned int i = 0;

	while (!script_host_has(hosts[i].name, addr))
		i++;
	return hosts[i].name;
}

const char *script_address(unsigned int i)
{
	for (unsigned int j = 0; j < N_OF(hosts); j++) {
		for (unsigned int k = 0; hosts[j].addr[k]; k++) {
			if (first_with(hosts[j].addr[k]) == hosts[j].name && !i--)
				return hosts[j].addr[k];
		}
	}
	return NULL;
}

void script_nid_addr(const struct lx_nid *nid, char addr[LX_NID_TEXT])
{
	lx_nid_format(nid, addr, LX_NID_TEXT);
	addr[strcspn(addr, "@")] = '\0';
}

bool script_find_nid(const struct script *script, const char *addr, struct lx_nid *nid)
{
	char text[LX_NID_TEXT];

	for (unsigned int i = 0; i < script->all.n; i++) {
		const struct message *m = &script->all.message[i];
		const struct lx_nid *nids[] = { &m->target, &m->hello.src_nid, &m->hello.dst_nid,
						&m->hdr.src_nid, &m->hdr.dst_nid };

		for (unsigned int j = 0; j < N_OF(nids); j++) {
			script_nid_addr(nids[j], text);
			if (strcmp(text, addr) || nids[j]->type != LX_NET_TCP)
				continue;
			*nid = *nids[j];
			return true;
		}
	}
	return false;
}

struct lx_nid script_nid_of(const struct script *script, const char *addr)
{
	struct lx_nid nid;

	if (!script_find_nid(script, addr, &nid) && lx_nid_parse(addr, &nid))
		fail_msg("%s: which NID has %s?", script->name, addr);
	return nid;
}

/* ---- loading -------------------------------------------------------------- */

unsigned int script_stream(const struct script *script, const struct capture_stream *stream)
{
	return stream - script->capture.stream;
}

static unsigned int order_of(const struct capture *capture, unsigned int stream, size_t offset)
{
	for (unsigned int i = 0; i < capture->n_events; i++) {
		const struct capture_event *e = &capture->event[i];

		if (e->what == CAPTURE_DATA && e->stream == stream && offset >= e->offset &&
		    offset < e->offset + e->len)
			return i;
	}
	fail_msg("no event for %s +%zu", capture->stream[stream].who, offset);
	return 0;
}

static void add_step(struct script *script, char us, const struct message *m, unsigned int stream,
		     unsigned int order)
{
	script->step[script->n++] = (struct step){
		.m = m,
		.stream = stream,
		.order = order,
		.ours = script_host_has(us, script->capture.stream[stream].src),
	};
}

static int by_order(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (!x->m || !y->m)
		return !x->m - !y->m;
	return x->m->offset < y->m->offset ? -1 : 1;
}

/* Removes messages between other hosts. */
static void drop_others(struct script *script)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < script->all.n; i++) {
		const struct message *m = &script->all.message[i];

		if (script_concerns_us(script, script_stream(script, m->stream)))
			script->all.message[n++] = *m;
	}
	script->all.n = n;
}

void script_load(struct script *script, const char *folder, const char *name, char us)
{
	bool ended[SCRIPT_STREAMS] = { 0 };

	memset(script, 0, sizeof(*script));
	script->name = name;
	script->us = us;
	messages_load(folder, name, &script->capture, &script->all);
	assert_true(script->capture.n_streams <= SCRIPT_STREAMS);
	drop_others(script);
	script->step = calloc(script->all.n + script->capture.n_events, sizeof(*script->step));
	for (unsigned int i = 0; i < script->all.n; i++) {
		const struct message *m = &script->all.message[i];
		unsigned int stream = script_stream(script, m->stream);

		add_step(script, us, m, stream, order_of(&script->capture, stream, m->offset));
	}
	for (unsigned int i = 0; i < script->capture.n_events; i++) {
		const struct capture_event *e = &script->capture.event[i];

		if ((e->what == CAPTURE_FIN || e->what == CAPTURE_RST) && !ended[e->stream] &&
		    script_concerns_us(script, e->stream)) {
			ended[e->stream] = true;
			add_step(script, us, NULL, e->stream, i);
		}
	}
	qsort(script->step, script->n, sizeof(*script->step), by_order);
}

void script_free(struct script *script)
{
	free(script->step);
	free(script->all.message);
	capture_free(&script->capture);
}

/* ---- asking --------------------------------------------------------------- */

const struct capture_stream *script_dialled(const struct script *script, unsigned int stream)
{
	const struct capture_stream *s = &script->capture.stream[stream];

	return s->active || s->reverse < 0 ? s : &script->capture.stream[s->reverse];
}

bool script_concerns_us(const struct script *script, unsigned int stream)
{
	const struct capture_stream *s = &script->capture.stream[stream];

	return script_host_has(script->us, s->src) || script_host_has(script->us, s->dst);
}

bool script_in_middle(const struct capture_stream *s)
{
	return !s->begun;
}

bool script_is_ping(const struct message *m)
{
	return m->hdr.type == LX_MSG_GET && lx_le32(m->hdr.cmd.get.portal) == LX_PORTAL_RESERVED;
}

bool script_is_push(const struct message *m)
{
	return m->hdr.type == LX_MSG_PUT && lx_le32(m->hdr.cmd.put.portal) == LX_PORTAL_RESERVED;
}

bool script_is_keepalive(const struct message *m)
{
	return m->kind == MESSAGE_NOOP && m->version >= LX_SOCK_V3 && !m->msg.cookie[0] &&
	       m->msg.cookie[1] == LX_SOCK_COOKIE_KEEPALIVE;
}

bool script_has_lnet(const struct script *script)
{
	for (unsigned int i = 0; i < script->all.n; i++) {
		if (script->all.message[i].kind == MESSAGE_LNET)
			return true;
	}
	return false;
}
