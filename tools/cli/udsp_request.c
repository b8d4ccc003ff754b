/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Selection policies as requests to the daemon; see requests.h. */
#include <errno.h>
#include <string.h>

#include "../../user/base/policy.h"
#include "requests.h"

int lx_request_add_udsp(struct lx_session *s, const struct lx_conf_udsp *udsp)
{
	return lx_session_do(s, LX_CTL_ADD, LX_CTL_UDSP, udsp);
}

int lx_request_del_udsp_at(struct lx_session *s, int32_t index)
{
	const struct lx_ctl_udsp req = { .index = index };

	return lx_session_do(s, LX_CTL_DEL, LX_CTL_UDSP, &req);
}

static bool says(const json_t *row, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(row, key));

	return !strcmp(value ? value : "", text);
}

int lx_request_del_udsp(struct lx_session *s, const struct lx_conf_udsp *udsp)
{
	struct lx_conf_udsp as_shown;
	struct lx_policy policy;
	int32_t index = LX_UNSET;
	json_t *list, *row;
	char why[200];
	size_t i;
	int err = lx_policy_parse(udsp, &policy, why, sizeof(why));

	if (err)
		return lx_session_fail(s, err, "%s", why);
	lx_policy_format(&policy, &as_shown);
	err = lx_request_show_all(s, LX_CTL_UDSP, LX_LEVEL_OWN, &list);
	if (err)
		return err;
	json_array_foreach (list, i, row) {
		if (says(row, "src", as_shown.src) && says(row, "dst", as_shown.dst) &&
		    says(row, "rte", as_shown.rte))
			index = i;
	}
	json_decref(list);
	if (index == LX_UNSET)
		return lx_session_fail(s, -ENOENT, "no such policy is there");
	return lx_request_del_udsp_at(s, index);
}
