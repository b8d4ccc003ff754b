/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Portals: match entries in order, and messages waiting for one (lnet.md 6).
 */
#ifndef LX_CORE_PORTAL_H
#define LX_CORE_PORTAL_H

#include "md.h"

struct lx_core;
struct lx_core_msg;

enum lx_portal_kind {
	LX_PORTAL_OPEN,     /* empty: the first ME decides */
	LX_PORTAL_UNIQUE,   /* its MEs have no ignore bits, and a NID and pid */
	LX_PORTAL_WILDCARD,
};

#define LX_PORTAL_BUCKETS 256

struct lx_portal {
	enum lx_portal_kind kind;
	unsigned int n_mes;
	bool lazy;
	struct lx_list ignoring; /* MEs with ignore bits: tried first, in order */
	struct lx_list *exact;   /* the others: LX_PORTAL_BUCKETS lists, allocated on first use */
	struct lx_list delayed;  /* of lx_core_msg, in order of arrival */
};

void lx_portal_init(struct lx_portal *portal);
/* Retires every ME. */
void lx_portal_clear(struct lx_portal *portal);
void lx_portal_fini(struct lx_portal *portal);

/* As lx_me_attach() of lnetx.h. */
int lx_portal_attach(struct lx_core *core, uint32_t index, const struct lx_id *match,
		     uint64_t match_bits, uint64_t ignore_bits, enum lx_unlink unlink,
		     enum lx_me_pos pos, struct lx_me **ret_me);
struct lx_me *lx_me_lookup(struct lx_core *core, struct lx_handle handle);
/* The ME must not have an MD. */
void lx_me_free(struct lx_me *me);
void lx_me_retire(struct lx_me *me);

/* A PUT or GET is matched by these. */
struct lx_match {
	struct lx_id initiator; /* by primary NID */
	uint32_t portal;
	uint64_t bits;
	enum lx_md_option op;   /* LX_MD_OP_PUT or LX_MD_OP_GET */
	size_t rlength;
	size_t roffset;
};

enum lx_match_result {
	LX_MATCH_NONE,     /* no ME; on a lazy portal a PUT may wait */
	LX_MATCH_TOO_LONG, /* matched, but too long: drop */
	LX_MATCH_OK,
};

/**
 * lx_portal_match - find the MD for a request, and use it
 * @ret_md: the caller gets a reference
 * @ret_offset, @ret_mlength: the part of the MD that is used
 * Advances the MD's offset, decrements its threshold and unlinks it when it is exhausted.
 */
enum lx_match_result lx_portal_match(struct lx_core *core, const struct lx_match *match,
				     struct lx_md **ret_md, size_t *ret_offset,
				     size_t *ret_mlength);

/* Delays a message until an MD for it is attached. */
void lx_portal_delay(struct lx_portal *portal, struct lx_core_msg *msg);
/* Moves all delayed messages to @ret_batch, in order of arrival. */
void lx_portal_take_delayed(struct lx_portal *portal, struct lx_list *ret_batch);

#endif
