/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include "../base/log.h"
#include "answer.h"
#include "core.h"
#include "msg.h"
#include "parse.h"

/* The payload is memory of the application, or of the node, whether it is sent or not. */
#define WEIGHT sizeof(struct lx_core_msg)

void lx_answers_init(struct lx_core *core)
{
	core->answers.peer_max = LX_ANSWERS_PEER;
	core->answers.total_max = LX_ANSWERS_TOTAL;
	core->answers.few = LX_ANSWERS_FEW;
}

static bool has_room(const struct lx_core *core, const struct lx_peer_ni *asker)
{
	const struct lx_answers *answers = &core->answers;
	uint64_t its = asker->answer_bytes + WEIGHT;

	return its <= answers->few || (its <= answers->peer_max &&
				       core->stats.answer_bytes + WEIGHT <= answers->total_max);
}

/* Messages to ourselves without a transport are answered at once. */
static bool wants_answer(const struct lx_core_msg *request)
{
	const struct lx_hdr *hdr = &request->m.hdr;

	if (request->rxni->ni.lnd->no_credits)
		return false;
	return hdr->type == LX_MSG_GET || (hdr->type == LX_MSG_PUT && lx_msg_asks_ack(hdr));
}

static void report_full(struct lx_core *core, const struct lx_peer_ni *asker, bool waits)
{
	unsigned int missed;

	if (!lx_ratelimit(&core->answers.full, lx_nid_hash(&asker->nid), lx_core_now(core),
			  LX_RATELIMIT_MINUTE, &missed))
		return;
	lx_warn("peer=%s answers=%llu bytes=%llu all=%llu missed=%u reason=\"it asks for more than "
		"it reads: too many answers to it wait\" action=\"its next requests %s\"",
		lx_nid_str(&asker->nid), (unsigned long long)(asker->answer_bytes / WEIGHT),
		(unsigned long long)asker->answer_bytes,
		(unsigned long long)core->stats.answer_bytes, missed,
		waits ? "wait" : "are dropped, as we wait for answers from it");
}

enum lx_answer_room lx_answer_room(struct lx_core_msg *request)
{
	struct lx_peer_ni *asker = request->rxpeer;
	struct lx_core *core = request->core;
	bool waits = !asker->awaited;

	if (!wants_answer(request) || has_room(core, asker))
		return LX_ANSWER_ROOM;
	report_full(core, asker, waits);
	if (!waits)
		return LX_ANSWER_NO_ROOM;
	core->stats.answer_waits++;
	request->phase = LX_PHASE_ANSWER_WAIT;
	lx_list_append(&asker->request_queue, &request->link);
	return LX_ANSWER_WAITS;
}

void lx_answer_begin(struct lx_core_msg *answer, struct lx_peer_ni *asker)
{
	answer->asker = asker;
	lx_peer_ni_get(asker);
	asker->answer_bytes += WEIGHT;
	answer->core->stats.answer_bytes += WEIGHT;
}

void lx_answer_end(struct lx_core_msg *answer)
{
	struct lx_peer_ni *asker = answer->asker;
	struct lx_core *core = answer->core;
	struct lx_core_msg *request;

	if (!asker)
		return;
	answer->asker = NULL;
	asker->answer_bytes -= WEIGHT;
	core->stats.answer_bytes -= WEIGHT;
	while (has_room(core, asker) &&
	       (request = lx_list_pop(&asker->request_queue, struct lx_core_msg, link))) {
		lx_parse_again(request);
	}
	lx_peer_ni_put(core, asker);
}
