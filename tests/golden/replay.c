/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. A capture is a script: messages in order. A message of a far host
 * is sent when everything before it is done; a message of our node is waited for.
 * LNet orders nothing, within a connection or between connections, so a message of ours
 * may come before earlier ones.
 *
 * Two scripts, for a router's two sides, advance independently.
 */
#include "../unit/testlib.h"

#include <dirent.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "../../lnd/sock/priv.h"
#include "run.h"

#define GRACE_MS 80
#define PATIENCE_MS 30000
#define KEEPALIVE_PAUSE_MS 10000 /* between two */

/* ---- what the far hosts say ------------------------------------------------ */

/* Acknowledges our node's requests, with its own cookies. */
static void say_acks(struct run *run, struct wire *wire, const struct message *m)
{
	struct lx_sock_msg noop = { .type = LX_SOCK_NOOP };
	struct lx_acked acked;

	assert_int_equal(lx_proto_acked(m->version, &m->msg, &acked), 0);
	if (acked.keepalive)
		wire_write(wire, &m->msg, sizeof(m->msg));
	for (unsigned int i = 0; i < run->mask.n_asked && acked.expected; i++) {
		if (!lx_acked_has(&acked, run->mask.asked[i].captured) ||
		    !run->mask.asked[i].real || !mask_same_peer(run->mask.asked[i].wire, wire))
			continue;
		noop.cookie[1] = run->mask.asked[i].real;
		wire_write(wire, &noop, sizeof(noop));
		run->mask.asked[i].real = 0;
	}
}

static void say(struct run *run, struct script *script, const struct step *step)
{
	struct wire *wire = script->wire[step->stream];
	const struct message *m = step->m;
	const uint8_t *data = m->stream->data + m->offset;
	size_t head = m->version == LX_SOCK_V1 ? 0 : sizeof(struct lx_sock_msg);
	uint8_t *copy;

	if (m->kind == MESSAGE_NOOP) {
		say_acks(run, wire, m);
		return;
	}
	actor_expect(run, script, m);
	copy = malloc(m->len);
	assert_non_null(copy);
	memcpy(copy, data, m->len);
	if (m->kind == MESSAGE_LNET && actor_nid(run, &m->hdr.dst_nid) >= 0 &&
	    (m->hdr.type == LX_MSG_REPLY || m->hdr.type == LX_MSG_ACK)) {
		size_t at = head + lx_sock_hdr_bytes(m->version) - sizeof(union lx_cmd);
		struct lx_wire_handle handle;

		memcpy(&handle, copy + at, sizeof(handle));
		if (!mask_handle(&run->mask, &handle))
			fail_msg("%s: an answer to what our node never asked", m->stream->who);
		memcpy(copy + at, &handle, sizeof(handle));
	}
	if (m->kind == MESSAGE_LNET && m->msg.cookie[1]) {
		uint64_t cookie = mask_cookie(&run->mask, wire, m->msg.cookie[1]);

		memcpy(copy + offsetof(struct lx_sock_msg, cookie[1]), &cookie, sizeof(cookie));
	}
	wire_write(wire, copy, m->len);
	free(copy);
}

/* The last push of a far host so far. */
static const struct message *last_push(const struct script *script)
{
	for (unsigned int i = script->at; i-- > 0;) {
		const struct step *step = &script->step[i];

		if (!step->ours && step->m && step->m->kind == MESSAGE_LNET &&
		    script_is_push(step->m))
			return step->m;
	}
	return NULL;
}

static void answer_ping(const struct run *run, struct wire *wire, const struct message *ping)
{
	struct lx_hdr hdr = {
		.dst_nid = ping->hdr.src_nid,
		.dst_pid = ping->hdr.src_pid,
		.src_nid = ping->hdr.dst_nid,
		.src_pid = ping->hdr.dst_pid,
		.type = LX_MSG_REPLY,
		.payload_length = run->push_payload,
		.cmd.reply.dst_md = ping->hdr.cmd.get.return_md,
	};
	uint8_t copy[sizeof(run->push)];

	memcpy(copy, run->push, run->push_len);
	lx_hdr_nid4_encode(&hdr, (void *)(copy + sizeof(struct lx_sock_msg)));
	wire_write(wire, copy, run->push_len);
}

/* Our node may ask only when the next capture's turn has come. */
static void note_push(struct run *run, const struct message *push)
{
	assert_int_equal(push->version, LX_SOCK_V3);
	assert_true(push->len <= sizeof(run->push));
	memcpy(run->push, push->stream->data + push->offset, push->len);
	run->push_len = push->len;
	run->push_payload = push->hdr.payload_length;
}

/*
 * A push makes the captured node join two peers; ours first asks both whether they are one
 * (discover.c). They answer what was pushed.
 */
static void answer_pings(struct run *run, const struct script *script)
{
	const struct message *push = last_push(script);

	if (push)
		note_push(run, push);
	for (unsigned int i = 0; run->push_len && i < run->wires.n; i++) {
		struct wire *wire = run->wires.wire[i];

		for (unsigned int j = 0; j < wire->n; j++) {
			struct wire_msg *w = &wire->msg[j];

			if (w->taken || w->m.kind != MESSAGE_LNET || !script_is_ping(&w->m))
				continue;
			answer_ping(run, wire, &w->m);
			w->taken = true;
		}
	}
}

/* ---- what our node says ------------------------------------------------------ */

/* Collects acknowledged cookies as a set, however they were merged. */
static void collect_acks(struct run *run)
{
	for (unsigned int i = 0; i < run->wires.n; i++) {
		struct wire *wire = run->wires.wire[i];

		for (unsigned int j = 0; j < wire->n; j++) {
			struct wire_msg *w = &wire->msg[j];
			struct lx_acked acked;

			if ((w->m.kind != MESSAGE_NOOP && w->m.kind != MESSAGE_LNET) ||
			    w->m.version == LX_SOCK_V1 || !w->m.msg.cookie[1])
				continue;
			assert_int_equal(lx_proto_acked(w->m.version, &w->m.msg, &acked), 0);
			if (acked.keepalive || w->m.msg.cookie[0] == ~0ull)
				continue;
			for (uint64_t c = acked.pair ? acked.last : acked.first;
			     c <= (acked.pair ? acked.first : acked.last); c++) {
				assert_true(run->n_acked < N_OF(run->acked));
				if (lx_acked_has(&acked, c))
					run->acked[run->n_acked++] =
						(struct mask_cookie){ c, c, wire };
			}
			/* Consume it. */
			w->m.msg.cookie[1] = 0;
			w->taken |= w->m.kind == MESSAGE_NOOP;
		}
	}
}

static bool take_ack(struct run *run, uint64_t cookie, const struct wire *wire)
{
	for (unsigned int i = 0; i < run->n_acked; i++) {
		if (run->acked[i].real != cookie || run->acked[i].wire != wire)
			continue;
		run->acked[i] = run->acked[--run->n_acked];
		return true;
	}
	return false;
}

static bool heard_acks(struct run *run, const struct message *m, const struct wire *wire)
{
	struct lx_acked acked;
	uint64_t first, last;

	assert_int_equal(lx_proto_acked(m->version, &m->msg, &acked), 0);
	first = acked.pair ? acked.last : acked.first;
	last = acked.pair ? acked.first : acked.last;
	for (uint64_t c = first; c <= last; c++) {
		bool there = !lx_acked_has(&acked, c);

		for (unsigned int i = 0; i < run->n_acked; i++)
			there |= run->acked[i].real == c && run->acked[i].wire == wire;
		if (!there)
			return false;
	}
	for (uint64_t c = first; c <= last; c++) {
		if (lx_acked_has(&acked, c))
			take_ack(run, c, wire);
	}
	return true;
}

static bool heard_on(struct run *run, const struct message *m, struct wire *wire)
{
	if (m->kind == MESSAGE_NOOP && !script_is_keepalive(m))
		return heard_acks(run, m, wire);
	for (unsigned int i = 0; i < wire->n; i++) {
		struct wire_msg *w = &wire->msg[i];

		if (w->taken || !mask_same(&run->mask, m, &w->m))
			continue;
		w->taken = true;
		mask_learn(&run->mask, m, &w->m, wire);
		actor_heard(run, m);
		return true;
	}
	return false;
}

/* Matches a connection that our node dialled with this one of the script. */
static bool heard_new(struct run *run, struct script *script, const struct step *step)
{
	const struct capture_stream *s = step->m->stream;

	for (unsigned int i = 0; i < run->wires.n; i++) {
		struct wire *wire = run->wires.wire[i];

		if (!wire->theirs || wire->owner >= 0 || strcmp(wire->node, s->src) ||
		    strcmp(wire->far, s->dst) || !heard_on(run, step->m, wire))
			continue;
		dials_own(script, step->stream, wire);
		return true;
	}
	return false;
}

static bool heard(struct run *run, struct script *script, const struct step *step)
{
	struct wire *wire = script->wire[step->stream];

	if (!step->m)
		return wire && (wire->closed || wire->fd < 0);
	if (wire)
		return heard_on(run, step->m, wire);
	return heard_new(run, script, step);
}

/* ---- the play ---------------------------------------------------------------- */

/* Tries to play the next step; true if it did. */
static bool advance(struct run *run, struct script *script)
{
	const struct step *step = &script->step[script->at];
	const struct capture_stream *s;

	if (script->at == script->n)
		return false;
	if (step->ours) {
		bool untimely = step->m && script_is_keepalive(step->m) && !run->replay->keepalive;

		if (!untimely && !heard(run, script, step))
			return false;
	} else if (!step->m) {
		if (script->wire[step->stream])
			wire_close(script->wire[step->stream]);
	} else {
		s = step->m->stream;
		if (!script->wire[step->stream] && s->active)
			dials_own(script, step->stream,
				  wires_dial(&run->wires, s->src, s->sport, s->dst));
		/* A keepalive on a connection that our node has not needed yet: skipped. */
		if (!script->wire[step->stream] && !script_is_keepalive(step->m))
			return false; /* our node has yet to dial */
		if (script->wire[step->stream])
			say(run, script, step);
	}
	script->at++;
	return true;
}

static void describe_wires(const struct run *run)
{
	char text[600];

	for (unsigned int i = 0; i < run->wires.n; i++) {
		const struct wire *wire = run->wires.wire[i];

		for (unsigned int j = 0; j < wire->n; j++) {
			if (wire->msg[j].taken)
				continue;
			message_describe(&wire->msg[j].m, text, sizeof(text));
			print_error("   instead: %s > %s (port %u): %s\n", wire->node, wire->far,
				    wire->far_port, text);
		}
	}
	for (unsigned int i = 0; i < run->n_acked; i++)
		print_error("   instead: acknowledgement of %llu\n",
			    (unsigned long long)run->acked[i].real);
}

static void stuck(const struct run *run)
{
	char text[600];

	for (unsigned int i = 0; i < run->n_scripts; i++) {
		const struct script *script = &run->script[i];
		const struct step *step = &script->step[script->at];

		if (script->at == script->n)
			continue;
		snprintf(text, sizeof(text), "end of connection");
		if (step->m)
			message_describe(step->m, text, sizeof(text));
		print_error("   %s, step %u of %u: expected from %s: %s\n", script->name,
			    script->at + 1, script->n, script->capture.stream[step->stream].who,
			    text);
	}
	describe_wires(run);
	fail_msg("%s: our node does otherwise than the captured one", run->replay->name);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

/* Whether a thread sleeps: its state follows the name, "12 (name) S ...". */
static bool is_asleep(const char *tid)
{
	char path[300], text[512] = "";
	const char *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/stat", tid);
	file = fopen(path, "r");
	if (!file)
		return true; /* it has ended */
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'S';
}

/* Whether no thread of our node has anything to do, however slowly the machine runs them. */
static bool node_is_idle(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	bool idle = true;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != gettid())
			idle = idle && is_asleep(entry->d_name);
	}
	closedir(dir);
	return idle;
}

static bool all_done(const struct run *run)
{
	for (unsigned int i = 0; i < run->n_scripts; i++) {
		if (run->script[i].at < run->script[i].n)
			return false;
	}
	return true;
}

static void look(struct run *run)
{
	collect_acks(run);
	dials_answer(run);
	if (run->replay->asks_pushers)
		answer_pings(run, &run->script[0]);
}

/* The last step may come before our node has dialled all that it dials to begin with. */
static void settle(struct run *run)
{
	bool idle;

	do {
		idle = node_is_idle();
		idle &= !wires_poll(&run->wires, 5);
		look(run);
	} while (!idle);
}

static void play(struct run *run)
{
	uint64_t moved = now_ms(), tried = moved, patience = PATIENCE_MS;

	if (run->replay->keepalive)
		patience += KEEPALIVE_PAUSE_MS;
	for (unsigned int i = 0; i < run->n_scripts; i++)
		dials_prepare(run, &run->script[i]);
	while (!all_done(run)) {
		bool progress = false;

		wires_poll(&run->wires, 5);
		look(run);
		for (unsigned int i = 0; i < run->n_scripts; i++) {
			while (advance(run, &run->script[i]))
				progress = true;
		}
		if (progress) {
			moved = tried = now_ms();
			continue;
		}
		if (now_ms() - tried > GRACE_MS && node_is_idle()) {
			for (unsigned int i = 0; i < run->n_scripts; i++) {
				if (run->script[i].at < run->script[i].n)
					actor_act(run, &run->script[i]);
			}
			tried = now_ms();
		}
		if (now_ms() - moved > patience)
			stuck(run);
	}
	settle(run);
	for (unsigned int i = 0; i < run->n_scripts; i++)
		dials_remember(&run->script[i]);
}

/* Fails if our node sent more than the script has. */
static void expect_silence(struct run *run)
{
	unsigned int n = 0;

	wires_poll(&run->wires, 50);
	collect_acks(run);
	for (unsigned int i = 0; i < run->wires.n; i++) {
		const struct wire *wire = run->wires.wire[i];

		for (unsigned int j = 0; j < wire->n; j++)
			n += !wire->msg[j].taken;
	}
	if (n || run->n_acked) {
		describe_wires(run);
		fail_msg("%s: our node says more than the captured one", run->replay->name);
	}
}

static struct run run;

static void on_log(int level, const char *line, void *arg)
{
	if (getenv("VERBOSE"))
		printf("   <%d> %s\n", level, line);
}

static void unload(void)
{
	for (unsigned int i = 0; i < run.n_scripts; i++)
		script_free(&run.script[i]);
	run.n_scripts = 0;
}

void replay_end(void)
{
	lx_node_free(run.node);
	wires_free(&run.wires);
	unload();
	for (unsigned int i = 0; i < run.n_memory; i++)
		free(run.memory[i]);
	memset(&run, 0, sizeof(run));
	lx_sock_zc_force = false;
	lx_set_log(NULL, NULL);
}

static void load(const struct replay *replay, const char *folder, unsigned int i)
{
	script_load(&run.script[run.n_scripts++], folder, replay->capture[i], replay->us);
	if (replay->also[i])
		script_load(&run.script[run.n_scripts++], folder, replay->also[i], replay->us);
	for (unsigned int j = 0; j < run.n_scripts; j++) {
		struct script *script = &run.script[j];

		if (replay->steps && replay->steps < script->n)
			script->n = replay->steps;
	}
}

void replay_run(const struct replay *replay, const char *folder)
{
	unsigned int steps = 0;

	memset(&run, 0, sizeof(run));
	run.replay = replay;
	run.mask.router = replay->us == 'R';
	run.wires.port = LX_SOCK_PORT;
	lx_set_log(on_log, NULL);
	lx_sock_zc_force = true;
	for (unsigned int i = 0; i < REPLAY_CHAIN && replay->capture[i]; i++) {
		load(replay, folder, i);
		for (unsigned int j = 0; j < run.n_scripts; j++)
			actor_note_nids(&run, &run.script[j]);
		unload();
	}
	actor_start(&run);
	for (unsigned int i = 0; i < REPLAY_CHAIN && replay->capture[i]; i++) {
		load(replay, folder, i);
		for (unsigned int j = 0; j < run.n_scripts; j++)
			actor_add_routes(&run, &run.script[j]);
		play(&run);
		for (unsigned int j = 0; j < run.n_scripts; j++)
			steps += run.script[j].n;
		unload();
	}
	expect_silence(&run);
	assert_int_equal(__atomic_load_n(&run.n_errors, __ATOMIC_SEQ_CST), 0);
	printf("# %s: %u steps\n", replay->name, steps);
}

static bool write_proc(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	bool ok = file && fputs(text, file) >= 0;

	return file && !fclose(file) && ok;
}

/* Inside the namespace a plain user is root. */
static bool own_network(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[40];

	if (!uid)
		return !unshare(CLONE_NEWNET);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) || !write_proc("/proc/self/setgroups", "deny"))
		return false;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	if (!write_proc("/proc/self/gid_map", map))
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	return write_proc("/proc/self/uid_map", map);
}

bool replay_network(void)
{
	char command[200];
	const char *addr;

	if (!own_network() || system("ip link set lo up"))
		return false;
	for (unsigned int i = 0; (addr = script_address(i)); i++) {
		bool v6 = strchr(addr, ':');

		snprintf(command, sizeof(command), "ip addr add %s/%s dev lo %s", addr,
			 v6 ? "128" : "32", v6 ? "nodad" : "");
		if (system(command))
			return false;
	}
	return true;
}
