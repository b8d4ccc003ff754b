/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: frames before the guard. The first byte chooses the contents of its tables,
 * the rest is the frame. Nothing is read beyond its end, only frames for the acceptor or from
 * banned sources are dropped, and the bytes after a frame do not matter.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../bpf/guard.h"
#include "fuzz.h"

static struct {
	struct lx_guard_ban ban;
	struct lx_guard_rule rule;
	struct lx_guard_source source;
	uint8_t choice;
	bool asked; /* whether the frame is for the acceptor */
	__u32 syns;
} table;

static struct lx_guard_ban *lx_guard_ban_of(const struct lx_packet *p)
{
	return table.choice & 1 ? &table.ban : NULL;
}

static struct lx_guard_rule *lx_guard_rule_of(const struct lx_packet *p)
{
	table.rule.action = table.choice & 2 ? LX_GUARD_ALLOW : LX_GUARD_DENY;
	return table.choice & 4 ? &table.rule : NULL;
}

static struct lx_guard_source *lx_guard_source_of(const struct lx_packet *p)
{
	table.source.paid_ns = table.choice & 8 ? 100 : 0;
	return table.choice & 16 ? &table.source : NULL;
}

static __u32 *lx_guard_listener_of(const struct lx_packet *p)
{
	table.asked = true;
	return table.choice & 32 ? &table.syns : NULL;
}

static bool is_syn(const struct lx_packet *p)
{
	return (p->flags & (LX_TCP_SYN | LX_TCP_ACK)) == LX_TCP_SYN;
}

static void check(const struct lx_guard_config *config, enum lx_packet_kind kind,
		  const struct lx_packet *p, enum lx_guard_verdict verdict)
{
	bool listener = table.choice & 32;

	assert(verdict < LX_GUARD_COUNT);
	switch (verdict) {
	case LX_GUARD_BANNED:
		assert(config->bans && (table.choice & 1) && kind != LX_PACKET_OTHER);
		break;
	case LX_GUARD_UNPRIVILEGED:
		assert(config->secure && lx_be16(p->sport) > 1023);
		/* fallthrough */
	case LX_GUARD_DENIED:
	case LX_GUARD_RATE:
		assert(kind == LX_PACKET_TCP && listener && is_syn(p));
		break;
	case LX_GUARD_FRAGMENT:
		assert(kind == LX_PACKET_TCP_FRAGMENT && listener);
		break;
	case LX_GUARD_ACCEPTED:
		assert(kind == LX_PACKET_TCP && listener);
		assert(table.syns == is_syn(p));
		break;
	default:
		assert(!table.asked || !listener);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lx_guard_config config = { 0 };
	struct lx_packet packet = { 0 }, longer = { 0 };
	enum lx_packet_kind kind;
	uint8_t *frame;

	if (size < 1)
		return 0;
	table.choice = data[0];
	table.asked = false;
	table.syns = 0;
	config.bans = config.secure = !!(data[0] & 64);
	config.interval_ns = data[0] & 128 ? 100 : 0;
	config.burst_ns = 150;
	/* Of exact size, so that a sanitizer detects reads beyond it. */
	frame = malloc(size);
	assert(frame);
	memcpy(frame, data + 1, size - 1);
	frame = realloc(frame, size > 1 ? size - 1 : 1);
	assert(frame);
	kind = lx_packet_parse(frame, frame + size - 1, &packet);
	check(&config, kind, &packet, lx_guard_check(&config, kind, &packet, 0));
	frame = realloc(frame, size + 63);
	assert(frame);
	memset(frame + size - 1, 0xa5, 64);
	if (kind != LX_PACKET_TRUNCATED && kind != LX_PACKET_TCP_FRAGMENT && size > 23) {
		assert(lx_packet_parse(frame, frame + size + 63, &longer) == kind);
		assert(!memcmp(&packet, &longer, sizeof(packet)));
	}
	free(frame);
	return 0;
}
