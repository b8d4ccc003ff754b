/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Judges the rails of a fabric check; see the header. Called by fabric.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/base/text.h"
#include "rail.h"

#define SLOW_BY_US 500 /* smaller differences are noise */

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of two in the middle the lower one: then the slower of two rails stands out. Sorts @us. */
static uint32_t median_of(uint32_t *us, size_t n)
{
	qsort(us, n, sizeof(*us), by_value);
	return n ? us[(n - 1) / 2] : 0;
}

uint32_t lx_rail_median(const struct lx_rail *rail)
{
	uint32_t us[LX_RAIL_PINGS_MAX];

	memcpy(us, rail->rtt_us, rail->answered * sizeof(*us));
	return median_of(us, rail->answered);
}

/* The median of the rails' medians, of one kind. */
static uint32_t usual(const struct lx_rail *rails, size_t n, bool routed)
{
	uint32_t *us = calloc(n + 1, sizeof(*us)), median;
	size_t kept = 0;

	for (size_t i = 0; us && i < n; i++) {
		if (rails[i].answered && !!rails[i].n_gateways == routed)
			us[kept++] = lx_rail_median(&rails[i]);
	}
	median = us ? median_of(us, kept) : 0;
	free(us);
	return median;
}

static enum lx_rail_fault fault_of(const struct lx_rail *rail, double factor)
{
	uint32_t median = lx_rail_median(rail);

	if (!rail->answered)
		return LX_RAIL_DEAD;
	if (rail->answered < rail->sent)
		return LX_RAIL_LOSSY;
	if (rail->passed && rail->passed < rail->mtu)
		return LX_RAIL_MTU;
	if (median > factor * rail->usual_us && median > rail->usual_us + SLOW_BY_US)
		return LX_RAIL_SLOW;
	return LX_RAIL_WELL;
}

size_t lx_rail_judge(struct lx_rail *rails, size_t n, double factor)
{
	uint32_t median[2] = { usual(rails, n, false), usual(rails, n, true) };
	size_t faults = 0;

	for (size_t i = 0; i < n; i++) {
		rails[i].usual_us = median[!!rails[i].n_gateways];
		rails[i].fault = fault_of(&rails[i], factor);
		faults += rails[i].fault != LX_RAIL_WELL;
	}
	return faults;
}

const char *lx_rail_fault_name(enum lx_rail_fault fault)
{
	static const char *const names[] = { "well", "dead", "lossy", "slow", "mtu" };

	return names[fault];
}

/* ---- in words --------------------------------------------------------------------------- */

static void add_ways(const struct lx_rail *rail, const struct lx_text *text)
{
	for (unsigned int i = 0; i < rail->n_gateways; i++)
		lx_text_add(text, "%s%s", i ? " or " : " via ", lx_nid_str(&rail->gateway[i]));
}

/* Whether the peer is at fault as a whole, or this rail alone. */
static void add_siblings(const struct lx_rail *rail, const struct lx_rail *rails, size_t n,
			 const struct lx_text *text)
{
	size_t others = 0, bad = 0;

	for (size_t i = 0; i < n; i++) {
		if (&rails[i] == rail || !lx_nid_eq(&rails[i].primary, &rail->primary))
			continue;
		others++;
		bad += rails[i].fault != LX_RAIL_WELL;
	}
	if (!others)
		return;
	if (!bad)
		lx_text_add(text, "; its other rail%s well", others > 1 ? "s are" : " is");
	else if (bad == others)
		lx_text_add(text, "; so %s its other rail%s", others > 1 ? "are" : "is",
			    others > 1 ? "s" : "");
	else
		lx_text_add(text, "; so are %zu of its other %zu rails", bad, others);
}

void lx_rail_explain(const struct lx_rail *rail, const struct lx_rail *rails, size_t n, char *buf,
		     size_t size)
{
	const struct lx_text text = { buf, size };
	uint32_t median = lx_rail_median(rail);

	snprintf(buf, size, "%s", lx_nid_str(&rail->peer));
	if (!lx_nid_is_any(&rail->own))
		lx_text_add(&text, " from %s", lx_nid_str(&rail->own));
	add_ways(rail, &text);
	switch (rail->fault) {
	case LX_RAIL_WELL:
		lx_text_add(&text, ": well");
		return;
	case LX_RAIL_DEAD:
		lx_text_add(&text, ": %s", rail->why);
		break;
	case LX_RAIL_LOSSY:
		lx_text_add(&text, ": %u of %u pings lost (%s)", rail->sent - rail->answered,
			    rail->sent, rail->why);
		break;
	case LX_RAIL_SLOW:
		lx_text_add(&text, ": %.3f ms, %.0f times the median of %.3f ms of all %s rails",
			    median / 1000.0, (double)median / (rail->usual_us ? rail->usual_us : 1),
			    rail->usual_us / 1000.0, rail->n_gateways ? "routed" : "direct");
		break;
	case LX_RAIL_MTU:
		lx_text_add(&text,
			    ": packets of %u bytes get lost, those of %u arrive; set the MTU of "
			    "all interfaces and switches on this way to %u, or ours lower",
			    rail->mtu, rail->passed, rail->mtu);
		break;
	}
	add_siblings(rail, rails, n, &text);
}
