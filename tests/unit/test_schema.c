/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether a value is good is for its schema to say: a file, liblnetxctl, a message and a command
 * must agree, for every field of every request, and give the same reason. Fields are taken from the
 * tables, so that new ones are covered.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lnetx/conf.h>

#include "../../tools/cli/common/args.h"
#include "../../user/ctl/args.h"
#include "../../user/ctl/codec.h"
#include "../../user/schema/requests.h"
#include "testlib.h"

#define REASON 400

/* ---- one value, by each way ------------------------------------------------------------ */

static void *obj_of(const struct lx_schema *schema)
{
	void *obj = calloc(1, schema->size + 1);

	assert_non_null(obj);
	return obj;
}

/* True if the library takes it; else why. @path: of the field */
static bool library_takes(const struct lx_schema *schema, const char *path, const char *value,
			  void *obj, char *why)
{
	const struct lx_ctl_arg args[] = { { path, value }, { NULL, NULL } };
	struct lx_ctl_args_error error;

	why[0] = '\0';
	if (!lx_ctl_args_take(schema, args, NULL, obj, &error))
		return true;
	if (strstr(error.text, ": missing")) /* another field; this one is good */
		return true;
	assert_string_equal(error.word, path);
	snprintf(why, REASON, "%s", error.text + strlen(path) + 2);
	return false;
}

/* A message with the struct's fields, read back. */
static bool message_takes(const struct lx_schema *schema, const void *obj, void *got)
{
	static char buf[LX_CTL_PACKET] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	const void *attrs;
	char text[REASON];
	size_t len;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct lx_ctl_hdr));
	assert_int_equal(lx_codec_put(nlh, sizeof(buf), schema, obj, LX_LEVEL_OWN), 0);
	attrs = lx_codec_attrs(nlh, sizeof(struct lx_ctl_hdr), &len);
	return !lx_codec_get(attrs, len, schema, got, text, sizeof(text)) ||
	       strstr(text, "missing");
}

/* ---- candidates -------------------------------------------------------------------------- */

#define CANDIDATES 24

struct candidates {
	char text[CANDIDATES][80];
	int n;
};

__attribute__((format(printf, 2, 3))) static void offer(struct candidates *c, const char *fmt, ...)
{
	va_list ap;

	assert_in_range(c->n, 0, CANDIDATES - 1);
	va_start(ap, fmt);
	vsnprintf(c->text[c->n++], sizeof(c->text[0]), fmt, ap);
	va_end(ap);
}

static void candidates_of(const struct lx_field *f, struct candidates *c)
{
	static const char *const all[] = {
		"1",   "x",    "",     "12x",	       "0x10", "010",	    "true",
		"off", "tcp1", "o2ib", "10.0.0.1@tcp", "*",    "1.2@tcp9x", "99999999999999999999"
	};
	int64_t low, high;

	c->n = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		offer(c, "%s", all[i]);
	if (f->type != LX_FIELD_INT)
		return;
	lx_schema_field_range(f, &low, &high);
	offer(c, "%lld", (long long)low);
	offer(c, "%lld", (long long)high);
	if (low > INT64_MIN)
		offer(c, "%lld", (long long)low - 1);
	if (high < INT64_MAX)
		offer(c, "%lld", (long long)high + 1);
}

/* ---- library and messages ------------------------------------------------------------- */

static void check_message(const struct lx_schema *schema, const struct lx_field *f,
			  const char *path, const char *value)
{
	void *obj = obj_of(schema), *got = obj_of(schema);
	char why[REASON];

	if (library_takes(schema, path, value, obj, why)) {
		if (!message_takes(schema, obj, got))
			fail_msg("%s: %s \"%s\" is taken, but not by lnetxd", schema->name, path,
				 value);
		assert_memory_equal((char *)obj + f->offset, (char *)got + f->offset, f->size);
	}
	free(obj);
	free(got);
}

static void check_fields(const struct lx_schema *schema)
{
	struct candidates c;

	for (const struct lx_field *f = schema->field; f->key; f++) {
		if (f->type == LX_FIELD_NEST || f->type == LX_FIELD_LIST)
			continue;
		candidates_of(f, &c);
		for (int i = 0; i < c.n; i++)
			check_message(schema, f, f->key, c.text[i]);
	}
}

static void messages_and_library_agree(void **state)
{
	for (const struct lx_request *r = lx_requests; r->schema; r++)
		check_fields(r->schema);
}

/* A number that no client of ours sends is refused, with the same words. */
static void lnetxd_checks_ranges_itself(void **state)
{
	for (const struct lx_request *r = lx_requests; r->schema; r++) {
		for (const struct lx_field *f = r->schema->field; f->key; f++) {
			char buf[512] __attribute__((aligned(8))), text[REASON], want[REASON],
				number[24];
			struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
			void *obj = obj_of(r->schema);
			int64_t low, high;

			lx_schema_field_range(f, &low, &high);
			if (f->type == LX_FIELD_INT && high < INT64_MAX) {
				mnl_attr_put_u64(nlh, f->attr, high + 1);
				assert_int_equal(lx_codec_get(mnl_nlmsg_get_payload(nlh),
							      mnl_nlmsg_get_payload_len(nlh),
							      r->schema, obj, text, sizeof(text)),
						 -EINVAL);
				snprintf(number, sizeof(number), "%lld", (long long)high + 1);
				if (!f->n_names) {
					assert_false(library_takes(r->schema, f->key, number, obj,
								   want));
					assert_string_equal(text + strlen(f->key) + 2, want);
				}
			}
			free(obj);
		}
	}
}

/* ---- files ------------------------------------------------------------------------------- */

/* Sections whose entries are a request's fields; the other ones make an entry complete. */
static const struct section {
	const char *before, *after;
	const struct lx_schema *schema;
	const char *key; /* only this one; NULL: all but those in @rest */
	const char *rest;
} sections[] = {
	{ "route:\n- {gateway: 10.0.0.1@tcp, net: tcp9, ", "}\n", &lx_object_route_schema, NULL,
	  "gateway net" },
	{ "route:\n- {gateway: 10.0.0.1@tcp, ", "}\n", &lx_object_route_schema, "net", "" },
	{ "buffers: {", "}\n", &lx_object_buffers_schema, NULL, "" },
	{ "selftest: {", "}\n", &lx_object_selftest_schema, NULL, "enable consoles" },
	{ "peer:\n- {primary nid: 10.0.0.9@tcp, ", "}\n", &lx_object_peer_schema, NULL,
	  "primary nid peer ni" },
	{ "peer:\n- {", "}\n", &lx_object_peer_schema, "primary nid", "" },
	{ "net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n    tunables: {",
	  "}\n", &lx_object_ni_tunables, NULL, "" },
};

static bool file_takes(const struct section *s, const char *key, const char *value, char *why)
{
	struct lx_conf_error error;
	struct lx_conf *conf;
	char yaml[500];

	/* Quoted, or the text would be another type of YAML. */
	snprintf(yaml, sizeof(yaml), "%s%s: \"%s\"%s", s->before, key, value, s->after);
	if (!lx_conf_parse(yaml, strlen(yaml), &conf, &error)) {
		lx_conf_free(conf);
		return true;
	}
	snprintf(why, REASON, "%s", error.text);
	return false;
}

static void check_in_file(const struct section *s, const struct lx_field *f, const char *value)
{
	char in_file[REASON] = "", by_library[REASON] = "", key[80];
	void *obj = obj_of(s->schema);
	bool file = file_takes(s, f->key, value, in_file);
	bool library = library_takes(s->schema, f->key, value, obj, by_library);

	if (file != library)
		fail_msg("%s \"%s\": file: %s; library: %s", f->key, value,
			 file ? "taken" : in_file, library ? "taken" : by_library);
	if (!file && !strncmp(in_file, "invalid value", 13)) {
		snprintf(key, sizeof(key), "invalid value for \"%s\": ", f->key);
		assert_memory_equal(in_file, key, strlen(key));
		assert_string_equal(in_file + strlen(key), by_library);
	}
	free(obj);
}

static void files_and_library_agree(void **state)
{
	unsigned int n = 0;
	struct candidates c;

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		const struct section *s = &sections[i];

		for (const struct lx_field *f = s->schema->field; f->key; f++) {
			if (f->command || (s->key ? strcmp(s->key, f->key) != 0
						  : strstr(s->rest, f->key) != NULL))
				continue;
			candidates_of(f, &c);
			for (int j = 0; j < c.n; j++, n++)
				check_in_file(s, f, c.text[j]);
		}
	}
	assert_true(n > 200);
}

/* An export has whatever is shown, and must be read back. */
static void what_is_shown_is_no_mistake(void **state)
{
	static const struct {
		const char *before;
		const struct lx_ctl_shown *shown;
		const char *read; /* keys with a meaning, which a number is not a value of */
	} entries[] = {
		{ "route:\n- {gateway: 10.0.0.1@tcp, net: tcp9, ", &lx_object_routes,
		  "net gateway health_sensitivity" },
		{ "routing:\n- {enable: 1, ", &lx_object_routing_info, "enable tiny small large" },
		{ "peer:\n- {primary nid: 10.0.0.9@tcp, peer ni: [{nid: 10.0.0.8@tcp, ",
		  &lx_object_peers, "primary nid Multi-Rail lock_prim" },
		{ "net:\n- {net type: tcp, local NI(s): [{interfaces: {0: eth0}, ", &lx_object_nets,
		  "net type interfaces tunables lnd tunables CPT nid" },
	};
	struct lx_conf_error error;
	struct lx_conf *conf;
	char yaml[300];

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		for (const struct lx_field *f = entries[i].shown->row->field; f->key; f++) {
			if (strstr(entries[i].read, f->key))
				continue;
			snprintf(yaml, sizeof(yaml), "%s%s: 1}%s\n", entries[i].before, f->key,
				 strstr(entries[i].before, "[{") ? "]}" : "");
			if (lx_conf_parse(yaml, strlen(yaml), &conf, &error))
				fail_msg("%s%s", yaml, error.text);
			lx_conf_free(conf);
		}
	}
}

/* ---- commands ------------------------------------------------------------------------------ */

/* The tools' arguments: the same value, the same answer, but for NIDs, which may be names of hosts.
 */
static void commands_and_library_agree(void **state)
{
	static const struct {
		enum lx_arg_id id;
		const struct lx_schema *schema;
		const char *key;
		bool unset; /* takes -1 */
	} args[] = { { LX_ARG_HOP, &lx_object_route_schema, "hop", true },
		     { LX_ARG_PRIORITY, &lx_object_route_schema, "priority", true },
		     { LX_ARG_SENSITIVITY, &lx_object_route_schema, "health_sensitivity", false },
		     { LX_ARG_HOP, &lx_object_show_schema, "hop", true },
		     { LX_ARG_INDEX, &lx_object_show_schema, "index", true },
		     { LX_ARG_TINY, &lx_object_buffers_schema, "tiny", true },
		     { LX_ARG_LARGE, &lx_object_buffers_schema, "large", true },
		     { LX_ARG_RATE, &lx_object_guard_schema, "rate", false },
		     { LX_ARG_BURST, &lx_object_guard_schema, "burst", false },
		     { LX_ARG_MODE, &lx_object_guard_schema, "mode", false },
		     { LX_ARG_TYPE, &lx_object_filter_schema, "type", false },
		     { LX_ARG_RPC_TIMEOUT, &lx_object_selftest_schema, "rpc_timeout", false } };
	struct candidates c;

	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		const struct lx_field *f = lx_schema_field(args[i].schema, args[i].key);

		candidates_of(f, &c);
		for (int j = 0; j < c.n; j++) {
			struct lx_args a = { 0 };
			void *by_command = obj_of(args[i].schema),
			     *by_library = obj_of(args[i].schema);
			struct lx_session s = { 0 };
			char why[REASON];
			bool taken =
				library_takes(args[i].schema, f->key, c.text[j], by_library, why);
			int err;

			a.v[args[i].id] = c.text[j];
			err = lx_args_take(&s, &a, args[i].schema, by_command);

			if (!strcmp(c.text[j], "-1")) {
				assert_int_equal(!err, args[i].unset);
			} else if (taken) {
				assert_int_equal(err, 0);
				assert_memory_equal(by_command, by_library, args[i].schema->size);
			} else {
				assert_int_equal(err, -EINVAL);
				assert_memory_equal(s.text, f->key, strlen(f->key));
				assert_string_equal(s.text + strlen(f->key) + 1, why);
			}
			free(by_command);
			free(by_library);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_and_library_agree),
		cmocka_unit_test(lnetxd_checks_ranges_itself),
		cmocka_unit_test(files_and_library_agree),
		cmocka_unit_test(what_is_shown_is_no_mistake),
		cmocka_unit_test(commands_and_library_agree),
	};

	return cmocka_run_group_tests_name("schema: all ways agree", tests, NULL, NULL);
}
