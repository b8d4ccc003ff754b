/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The codec of ping information. Used by discovery, the ping target and probes.
 *
 * The magic shows a foreign byte order; fields are swapped as they are read. Large
 * NIDs are bytes and are never swapped.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include <lnetx/wire.h>

#include "pinginfo.h"

int lx_pinginfo_new(uint32_t n_nis, struct lx_pinginfo **ret_info)
{
	struct lx_pinginfo *info = calloc(1, sizeof(*info) + n_nis * sizeof(info->ni[0]));

	if (!info)
		return -ENOMEM;
	info->pid = LX_PID_LUSTRE;
	*ret_info = info;
	return 0;
}

static uint32_t count_nid4(const struct lx_pinginfo *info)
{
	uint32_t n = 0;

	while (n < info->n_nis && info->ni[n].nid.size == LX_NID_SIZE4)
		n++;
	return n;
}

const struct lx_nid *lx_pinginfo_primary(const struct lx_pinginfo *info)
{
	uint32_t n4 = count_nid4(info);

	if (!info->n_nis)
		return NULL;
	if ((info->features & LX_PING_PRIMARY_LARGE) && n4 < info->n_nis)
		return &info->ni[n4].nid;
	return &info->ni[0].nid;
}

/* Bytes of an entry of the large list: status, NID, padding to 4. */
static size_t large_size(const struct lx_nid *nid)
{
	return (sizeof(uint32_t) + lx_nid_bytes(nid) + 3) & ~(size_t)3;
}

size_t lx_pinginfo_size(const struct lx_pinginfo *info)
{
	uint32_t n4 = count_nid4(info);
	size_t size = sizeof(struct lx_ping_info) + (n4 + 1) * sizeof(struct lx_ping_ni);

	for (uint32_t i = n4; i < info->n_nis; i++)
		size += large_size(&info->ni[i].nid);
	return size;
}

void lx_pinginfo_encode(const struct lx_pinginfo *info, void *buf)
{
	struct lx_ping_info *wire = buf;
	uint32_t n4 = count_nid4(info);
	size_t size = lx_pinginfo_size(info);
	char *p;

	memset(buf, 0, size);
	wire->magic = LX_PING_MAGIC;
	wire->features = info->features & ~(LX_PING_LARGE_ADDR | LX_PING_METADATA);
	wire->pid = info->pid;
	wire->n_nis = n4 + 1;
	wire->ni[0].nid = lx_nid_to_u64(&lx_nid_lo);
	wire->ni[0].status = info->seqno;
	for (uint32_t i = 0; i < n4; i++) {
		wire->ni[i + 1].nid = lx_nid_to_u64(&info->ni[i].nid);
		wire->ni[i + 1].status = info->ni[i].status;
	}
	if (n4 == info->n_nis)
		return;
	wire->features |= LX_PING_LARGE_ADDR;
	wire->ni[0].size = size;
	p = (char *)&wire->ni[n4 + 1];
	for (uint32_t i = n4; i < info->n_nis; i++) {
		memcpy(p, &info->ni[i].status, sizeof(uint32_t));
		memcpy(p + sizeof(uint32_t), &info->ni[i].nid, lx_nid_bytes(&info->ni[i].nid));
		p += large_size(&info->ni[i].nid);
	}
}

static void set_status_large(char *p, const char *end, const struct lx_nid *nid, uint32_t status)
{
	struct lx_nid at;

	while (p < end) {
		memset(&at, 0, sizeof(at));
		at.size = (uint8_t)p[sizeof(status) + offsetof(struct lx_nid, size)];
		memcpy(&at, p + sizeof(status), lx_nid_bytes(&at));
		if (lx_nid_eq(&at, nid))
			memcpy(p, &status, sizeof(status));
		p += large_size(&at);
	}
}

void lx_pinginfo_set_status(void *buf, const struct lx_nid *nid, uint32_t status)
{
	struct lx_ping_info *wire = buf;

	if (!lx_nid_is_nid4(nid)) {
		set_status_large((char *)&wire->ni[wire->n_nis], (char *)buf + wire->ni[0].size,
				 nid, status);
		return;
	}
	for (uint32_t i = 1; i < wire->n_nis; i++) {
		if (wire->ni[i].nid == lx_nid_to_u64(nid))
			wire->ni[i].status = status;
	}
}

/* ---- reading -------------------------------------------------------------- */

struct reader {
	const char *buf;
	size_t len;
	bool swap;
};

static uint32_t get32(const struct reader *r, size_t at)
{
	uint32_t v;

	memcpy(&v, r->buf + at, sizeof(v));
	return r->swap ? __builtin_bswap32(v) : v;
}

static uint64_t get64(const struct reader *r, size_t at)
{
	uint64_t v;

	memcpy(&v, r->buf + at, sizeof(v));
	return r->swap ? __builtin_bswap64(v) : v;
}

/*
 * Walks the large list from @at to @end. Adds to @info, or only counts if it is NULL.
 * Skips entries of unknown form.
 */
static int read_large(const struct reader *r, size_t at, size_t end, uint32_t max,
		      struct lx_pinginfo *info, uint32_t *ret_n)
{
	const size_t head = sizeof(uint32_t) + 1;
	uint32_t n = 0;

	while (at + head <= end) {
		struct lx_nid nid = { .size = (uint8_t)r->buf[at + sizeof(uint32_t)] };
		size_t step = large_size(&nid);

		if (at + step > end)
			return -EPROTO;
		if (lx_nid_bytes(&nid) <= sizeof(nid))
			memcpy(&nid, r->buf + at + sizeof(uint32_t), lx_nid_bytes(&nid));
		if (lx_nid_is_valid(&nid)) {
			if (n == max)
				return -ERANGE;
			if (info) {
				info->ni[info->n_nis].nid = nid;
				info->ni[info->n_nis++].status = get32(r, at);
			}
			n++;
		}
		at += step;
	}
	*ret_n = n;
	return 0;
}

int lx_pinginfo_decode(const void *buf, size_t len, uint32_t max_nis, size_t *ret_need,
		       struct lx_pinginfo **ret_info)
{
	struct reader r = { .buf = buf, .len = len };
	const size_t nis = offsetof(struct lx_ping_info, ni);
	struct lx_pinginfo *info;
	uint32_t features, n, n_large = 0;
	size_t end;
	int err;

	*ret_need = 0;
	if (len < nis + sizeof(struct lx_ping_ni))
		return -EPROTO;
	r.swap = get32(&r, 0) == __builtin_bswap32(LX_PING_MAGIC);
	if (get32(&r, 0) != LX_PING_MAGIC)
		return -EPROTO;
	features = get32(&r, offsetof(struct lx_ping_info, features));
	n = get32(&r, offsetof(struct lx_ping_info, n_nis));
	if (!(features & LX_PING_NI_STATUS) ||
	    get64(&r, nis) != lx_nid_to_u64(&lx_nid_lo))
		return -EPROTO;
	if (n < 1 || n > max_nis)
		return -ERANGE;
	end = nis + n * sizeof(struct lx_ping_ni);
	*ret_need = end;
	if (features & LX_PING_LARGE_ADDR) {
		size_t size = get32(&r, nis + offsetof(struct lx_ping_ni, size));

		if (size < end || size > end + (size_t)max_nis * sizeof(struct lx_ping_large_ni))
			return -EPROTO;
		*ret_need = size;
	}
	if (len < *ret_need)
		return -EMSGSIZE;

	err = read_large(&r, end, *ret_need, max_nis, NULL, &n_large);
	if (err)
		return err;
	err = lx_pinginfo_new(n - 1 + n_large, &info);
	if (err)
		return err;
	info->features = features;
	info->pid = get32(&r, offsetof(struct lx_ping_info, pid));
	info->seqno = get32(&r, nis + offsetof(struct lx_ping_ni, status));
	for (uint32_t i = 1; i < n; i++) {
		size_t at = nis + i * sizeof(struct lx_ping_ni);

		lx_nid_from_u64(get64(&r, at), &info->ni[info->n_nis].nid);
		info->ni[info->n_nis++].status =
			get32(&r, at + offsetof(struct lx_ping_ni, status));
	}
	read_large(&r, end, *ret_need, max_nis, info, &n_large);
	*ret_info = info;
	return 0;
}
