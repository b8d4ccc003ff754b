/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The daemon's log about changes: it is written some time after them, so that what went
 * down may be up again.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/daemon/report.h"
#include "testlib.h"

static struct lx_ni_info nis[2];
static struct lx_route_info routes[2];
static unsigned int lists; /* of routes that were asked for */
static char line[512];

int lx_ni_list(struct lx_node *node, struct lx_ni_info **ret_list, size_t *ret_n)
{
	*ret_list = malloc(sizeof(nis));
	memcpy(*ret_list, nis, sizeof(nis));
	*ret_n = N_OF(nis);
	return 0;
}

int lx_route_list(struct lx_node *node, struct lx_route_info **ret_list, size_t *ret_n)
{
	*ret_list = malloc(sizeof(routes));
	memcpy(*ret_list, routes, sizeof(routes));
	*ret_n = N_OF(routes);
	lists++;
	return 0;
}

void lx_routing_get(struct lx_node *node, struct lx_routing_info *ret_info)
{
}

static void take(int level, const char *text, void *arg)
{
	snprintf(line, sizeof(line), "%s", text);
}

static struct lx_nid nid_of(const char *text)
{
	struct lx_nid nid;

	assert_int_equal(lx_nid_parse(text, &nid), 0);
	return nid;
}

/* Twice at a time, of which all routes are listed once: thousands go down with their gateway. */
static void down(enum lx_change_type type, const char *nid_text, const char *net)
{
	struct lx_daemon d = { .node = (struct lx_node *)&d };
	struct lx_change change = { .type = type, .nid = nid_of(nid_text) };
	struct lx_report_batch batch = { 0 };

	assert_int_equal(lx_net_parse(net, &change.net), 0);
	lists = 0;
	lx_report_change(&d, &change, &batch);
	lx_report_change(&d, &change, &batch);
	assert_int_equal(lists, type == LX_CHANGE_ROUTE_DOWN);
	free(batch.routes);
}

/* Messages do not go by what is reported as down. */
static void not_by_itself(void **state)
{
	nis[0].nid = nid_of("10.0.0.1@tcp");
	nis[1].nid = nid_of("10.0.0.2@tcp");
	nis[0].net = nis[1].net = LX_NET(2, 0);
	nis[1].up = true;
	down(LX_CHANGE_NI_DOWN, "10.0.0.1@tcp", "tcp");
	assert_non_null(strstr(line, "next=\"peers are told, messages go by 10.0.0.2@tcp\""));
	down(LX_CHANGE_NI_DOWN, "10.0.0.2@tcp", "tcp");
	assert_non_null(strstr(line, "next=\"by now it is up again\""));
	nis[0].up = true;
	down(LX_CHANGE_NI_DOWN, "10.0.0.1@tcp", "tcp");
	assert_non_null(strstr(line, "next=\"by now it is up again\""));

	routes[0].gateway = nid_of("10.0.0.8@tcp");
	routes[1].gateway = nid_of("10.0.0.9@tcp");
	routes[0].net = routes[1].net = LX_NET(2, 9);
	routes[1].up = true;
	down(LX_CHANGE_ROUTE_DOWN, "10.0.0.8@tcp", "tcp9");
	assert_non_null(strstr(line, "next=\"messages to tcp9 go by 10.0.0.9@tcp\""));
	down(LX_CHANGE_ROUTE_DOWN, "10.0.0.9@tcp", "tcp9");
	assert_non_null(strstr(line, "next=\"by now it is up again\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(not_by_itself) };

	lx_set_log(take, NULL);
	return cmocka_run_group_tests_name("daemon: report", tests, NULL, NULL);
}
