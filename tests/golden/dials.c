/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include "../unit/testlib.h"

#include "run.h"

void dials_own(struct script *script, unsigned int stream, struct wire *wire)
{
	int reverse = script->capture.stream[stream].reverse;

	wire->owner = stream;
	script->wire[stream] = wire;
	if (reverse >= 0)
		script->wire[reverse] = wire;
}

/* The type of a connection older than its capture, by port: dialled in order of types. */
static uint32_t type_of_port(uint16_t port)
{
	return LX_CTYPE_CONTROL + LX_SOCK_PRIVILEGED_PORT_MAX - port;
}

/* The incarnation of a far host throughout a script, if it is constant. */
static uint64_t incarnation_of(const struct script *script, const char *far)
{
	for (unsigned int i = 0; i < script->all.n; i++) {
		const struct message *m = &script->all.message[i];

		if (m->kind == MESSAGE_HELLO && !strcmp(m->stream->src, far))
			return m->hello.src_incarnation;
	}
	return 0x1234567812345678;
}

static struct lx_hello make_hello(const struct script *script, unsigned int version,
				  const char *far, const char *node, uint32_t ctype)
{
	struct lx_hello hello = {
		.version = version,
		.src_nid = script_nid_of(script, far),
		.dst_nid = script_nid_of(script, node),
		.src_pid = LX_PID_LUSTRE,
		.src_incarnation = incarnation_of(script, far),
		.ctype = ctype,
	};

	return hello;
}

/* Opens a far host's connection that existed before the capture. */
static struct wire *dial_before(struct run *run, const struct script *script,
				const struct capture_stream *s, uint16_t port)
{
	struct lx_hello hello = make_hello(script, messages_version(script->name, s), s->src,
					   s->dst, type_of_port(port));
	struct wire *wire = wires_dial(&run->wires, s->src, port, s->dst);
	uint8_t buf[LX_ACC_REQ_MAX + LX_HELLO_MAX];
	size_t len = lx_proto_acc_encode(&hello.dst_nid, buf);

	len += lx_proto_hello_encode(&hello, buf + len);
	wire_write(wire, buf, len);
	for (int i = 0; i < 1500 && !wire->n; i++)
		wires_poll(&run->wires, 20);
	assert_int_equal(wire->n, 1);
	assert_int_equal(wire->msg[0].m.hello.ctype, lx_proto_ctype_invert(hello.ctype));
	wire->msg[0].taken = true;
	return wire;
}

/* A connection that continues from the previous capture. */
static struct wire *existing(const struct run *run, const struct capture_stream *s)
{
	bool theirs = script_host_has(run->replay->us, s->src);

	for (unsigned int i = 0; i < run->wires.n; i++) {
		struct wire *w = run->wires.wire[i];

		if (w->fd >= 0 && w->theirs == theirs &&
		    !strcmp(theirs ? w->node : w->far, s->src) &&
		    !strcmp(theirs ? w->far : w->node, s->dst) &&
		    (theirs ? w->owner == s->sport : w->far_port == s->sport))
			return w;
	}
	return NULL;
}

/* On a connection that our node dialled, the far host sends first, and not a keepalive. */
static bool far_speaks_first(const struct script *script, const struct capture_stream *s)
{
	for (unsigned int i = 0; i < script->n; i++) {
		const struct step *step = &script->step[i];

		if (script_dialled(script, step->stream) == s &&
		    !(step->m && script_is_keepalive(step->m)))
			return step->m && !step->ours;
	}
	return false;
}

/* Removes the ping that our node sent in order to connect; it is not in the script. */
static bool take_ping(struct run *run, const struct capture_stream *s)
{
	for (unsigned int i = 0; i < run->wires.n; i++) {
		struct wire *w = run->wires.wire[i];

		for (unsigned int j = 0; j < w->n; j++) {
			if (strcmp(w->node, s->src) || strcmp(w->far, s->dst) || w->msg[j].taken ||
			    w->msg[j].m.kind != MESSAGE_LNET)
				continue;
			assert_true(script_is_ping(&w->msg[j].m));
			return w->msg[j].taken = true;
		}
	}
	return false;
}

/* Makes our node dial a connection that existed before the capture. */
static void dial_ours(struct run *run, struct script *script, const struct capture_stream *s)
{
	struct lx_nid src = script_nid_of(script, s->src), dst = script_nid_of(script, s->dst);
	unsigned int stream = script_stream(script, s);
	bool pinged = false;

	actor_dial(run, &src, &dst);
	for (int i = 0; i < 1500 && (!pinged || !script->wire[stream]); i++) {
		wires_poll(&run->wires, 20);
		dials_answer(run);
		pinged = pinged || take_ping(run, s);
	}
	assert_true(pinged);
	assert_non_null(script->wire[stream]);
}

void dials_prepare(struct run *run, struct script *script)
{
	for (unsigned int i = 0; i < script->capture.n_streams; i++) {
		const struct capture_stream *s = script_dialled(script, i);
		bool ours = script_host_has(run->replay->us, s->src);
		struct wire *wire;

		/* Not active: only one end's TCP ACKs were captured, and no data. */
		if (!script_concerns_us(script, i) || !s->active)
			continue;
		wires_listen(&run->wires, ours ? s->dst : s->src);
		if (!script_in_middle(s) || script->wire[i])
			continue;
		wire = existing(run, s);
		if (!wire && !ours) {
			wire = dial_before(run, script, s, s->sport);
			/* and connections without data */
			for (uint16_t port = 1023; port > 1020; port--) {
				struct capture_stream other = *s;

				other.sport = port;
				if (!existing(run, &other))
					dial_before(run, script, s, port);
			}
		}
		if (wire)
			dials_own(script, script_stream(script, s), wire);
		else if (ours && far_speaks_first(script, s))
			dial_ours(run, script, s);
	}
}

void dials_remember(struct script *script)
{
	for (unsigned int i = 0; i < script->capture.n_streams; i++) {
		const struct capture_stream *s = script_dialled(script, i);

		if (script->wire[i])
			script->wire[i]->owner = s->sport;
	}
}

/* Answers attempts that are in no script: to teach our node a version, or from before. */
static bool answer_before(struct run *run, struct script *script, struct wire *wire)
{
	const struct lx_hello *asked = &wire->msg[1].m.hello;
	struct lx_hello hello;
	uint8_t buf[LX_HELLO_MAX];
	uint32_t type = asked->ctype;
	int found = -1;

	hello = make_hello(script, asked->version, wire->far, wire->node,
			   lx_proto_ctype_invert(type));
	if (run->replay->version && !run->taught) {
		run->taught = true;
		hello.version = run->replay->version;
		hello.ctype = LX_CTYPE_NONE;
		wire_write(wire, buf, lx_proto_hello_encode(&hello, buf));
		wire_close(wire);
		wire->msg[0].taken = wire->msg[1].taken = true;
		wire->closed = true;
		return true;
	}
	for (unsigned int i = 0; i < script->capture.n_streams; i++) {
		const struct capture_stream *s = script_dialled(script, i);

		if (!script_in_middle(s) || strcmp(s->src, wire->node) || strcmp(s->dst, wire->far))
			continue;
		found = SCRIPT_STREAMS;
		if (type_of_port(s->sport) == type) {
			found = script_stream(script, s);
			break;
		}
	}
	if (found < 0)
		return false;
	wire_write(wire, buf, lx_proto_hello_encode(&hello, buf));
	wire->msg[0].taken = wire->msg[1].taken = true;
	wire->owner = SCRIPT_STREAMS;
	if (found < SCRIPT_STREAMS)
		dials_own(script, found, wire);
	return true;
}

void dials_answer(struct run *run)
{
	for (unsigned int i = 0; i < run->wires.n; i++) {
		struct wire *wire = run->wires.wire[i];

		for (unsigned int j = 0; j < run->n_scripts; j++) {
			if (wire->theirs && wire->owner < 0 && !wire->closed && wire->n > 1 &&
			    answer_before(run, &run->script[j], wire))
				break;
		}
	}
}
