/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the tables of fields are written. OF is the struct that the next ones describe:
 *
 *	#define OF struct lx_ctl_ban
 *	static const struct lx_field ban_fields[] = {
 *		{ FIELD(1, "nid", NID, nid), UNSET },
 *		END
 *	};
 *	static LX_SCHEMA(ban, "ban", OF);
 *	#undef OF
 */
#ifndef LX_SCHEMA_TABLE_H
#define LX_SCHEMA_TABLE_H

#include "schema.h"

#define FIELD(n, k, kind, m) LX_FIELD(n, k, kind, OF, m)
#define NUMBER(n, k, m) LX_FIELD_NUM(n, k, OF, m)
#define UNSET .omit = LX_OMIT_UNSET
#define END                                                                                        \
	{                                                                                          \
		0                                                                                  \
	}

#endif
