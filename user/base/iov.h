/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scattered memory: slicing and copying. */
#ifndef LX_BASE_IOV_H
#define LX_BASE_IOV_H

#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

/*
 * Takes the first fragment off [@offset, @offset + @length) of @iov and advances all four
 * past it. Returns false if there is none.
 */
static inline bool lx_iov_next(const struct iovec **iov, unsigned int *n, size_t *offset,
			       size_t *length, struct iovec *ret_stretch)
{
	size_t len;

	for (; *n && *offset >= (*iov)->iov_len; ++*iov, --*n)
		*offset -= (*iov)->iov_len;
	if (!*n || !*length)
		return false;
	len = (*iov)->iov_len - *offset;
	if (len > *length)
		len = *length;
	*ret_stretch = (struct iovec){ (char *)(*iov)->iov_base + *offset, len };
	*offset += len;
	*length -= len;
	return true;
}

/**
 * lx_iov_slice - the entries that cover [@offset, @offset + @length) of @iov
 * @max: room in @ret_iov
 * Returns the number of entries; they cover all of @length unless @max is too small.
 * *@ret_length is the length they cover.
 */
static inline unsigned int lx_iov_slice(const struct iovec *iov, unsigned int n, size_t offset,
					size_t length, struct iovec *ret_iov, unsigned int max,
					size_t *ret_length)
{
	unsigned int used = 0;
	size_t left = length;

	while (used < max && lx_iov_next(&iov, &n, &offset, &left, &ret_iov[used]))
		used++;
	*ret_length = length - left;
	return used;
}

/* Copies @length bytes into @iov at @offset; it must have room. */
static inline void lx_iov_put(const struct iovec *iov, size_t offset, const void *data,
			      size_t length)
{
	for (; length; iov++) {
		size_t n = iov->iov_len;

		if (offset >= n) {
			offset -= n;
			continue;
		}
		n -= offset;
		if (n > length)
			n = length;
		memcpy((char *)iov->iov_base + offset, data, n);
		data = (const char *)data + n;
		length -= n;
		offset = 0;
	}
}

/* Copies @length bytes from one to the other; both must be that long. */
static inline void lx_iov_copy(const struct iovec *dst, size_t dst_offset,
			       const struct iovec *src, size_t src_offset, size_t length)
{
	for (; length; src++) {
		size_t n = src->iov_len;

		if (src_offset >= n) {
			src_offset -= n;
			continue;
		}
		n -= src_offset;
		if (n > length)
			n = length;
		lx_iov_put(dst, dst_offset, (const char *)src->iov_base + src_offset, n);
		dst_offset += n;
		length -= n;
		src_offset = 0;
	}
}

#endif
