/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Structs as netlink attributes, by their schemas: the messages between lnetxd and its clients.
 *
 * On the wire: integers are 64 bits in host order, strings (including NIDs and nets)
 * are NUL-terminated, nests and lists are nested attributes.
 */
#ifndef LX_CTL_CODEC_H
#define LX_CTL_CODEC_H

#include <libmnl/libmnl.h>

#include "../schema/schema.h"

/**
 * lx_codec_put - append a struct's fields to a message
 * @size: of the buffer that starts at @nlh
 * @level: which fields (internal/ctl.h)
 * Returns 0, -EMSGSIZE: no room; the message is unchanged.
 */
int lx_codec_put(struct nlmsghdr *nlh, size_t size, const struct lx_schema *schema, const void *obj,
		 unsigned int level);

/**
 * lx_codec_get - fill a struct from untrusted attributes
 * @ret_text: on failure, what is wrong
 *
 * Missing fields get their defaults. Returns 0, -EPROTO malformed, -EINVAL a value
 * that does not fit, -EOPNOTSUPP an attribute that this version does not know.
 */
int lx_codec_get(const void *attrs, size_t len, const struct lx_schema *schema, void *obj,
		 char *ret_text, size_t text_size);

/* The (first) attribute of a number, or NULL. */
const struct nlattr *lx_codec_find(const void *attrs, size_t len, uint8_t attr);

/* A string attribute's value; NULL: not a string. */
const char *lx_codec_text(const struct nlattr *attr);

/**
 * lx_codec_message - the message at the start of a receive buffer
 * @len: bytes received
 * @hdr: bytes of its fixed header
 * Unlike mnl_nlmsg_ok(), this does not take a length of 2 GiB or more for a negative one.
 * Returns NULL unless a complete message with its headers is there.
 */
const struct nlmsghdr *lx_codec_message(const void *buf, size_t len, size_t hdr);

/* A message's attributes, after a fixed header of @hdr bytes. */
const void *lx_codec_attrs(const struct nlmsghdr *nlh, size_t hdr, size_t *ret_len);

#endif
