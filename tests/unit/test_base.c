/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The leaf utilities: lists, hash tables, the log sink. */
#include "testlib.h"

#include <fcntl.h>
#include <pthread.h>
#include <syslog.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "../../user/base/cleanup.h"
#include "../../user/base/hash.h"
#include "../../user/base/list.h"
#include "../../user/base/log.h"
#include "../../user/base/ratelimit.h"

/* ---- list -------------------------------------------------------------------- */

struct item {
	int value;
	struct lx_list link;
};

/* The list as a number: 1, 2, 3 -> 123. The back links must agree. */
static int sum_up(struct lx_list *head)
{
	struct lx_list *prev = head;
	struct item *item;
	int digits = 0;

	lx_list_for_each (item, head, link) {
		assert_ptr_equal(item->link.prev, prev);
		prev = &item->link;
		digits = digits * 10 + item->value;
	}
	assert_ptr_equal(head->prev, prev);
	return digits;
}

static void list(void **state)
{
	struct item items[5] = {
		{ .value = 1 }, { .value = 2 }, { .value = 3 }, { .value = 4 }, { .value = 5 }
	};
	struct item *item, *tmp;
	struct lx_list a, b;

	lx_list_init(&a);
	lx_list_init(&b);
	assert_true(lx_list_empty(&a));
	assert_null(lx_list_first(&a, struct item, link));
	assert_null(lx_list_last(&a, struct item, link));
	assert_int_equal(sum_up(&a), 0);

	lx_list_append(&a, &items[1].link);
	lx_list_append(&a, &items[2].link);
	lx_list_push(&a, &items[0].link);
	assert_int_equal(sum_up(&a), 123);
	assert_ptr_equal(lx_list_first(&a, struct item, link), &items[0]);
	assert_ptr_equal(lx_list_last(&a, struct item, link), &items[2]);

	lx_list_del(&items[1].link);
	assert_int_equal(sum_up(&a), 13);
	lx_list_del(&items[1].link); /* twice: does nothing */
	assert_int_equal(sum_up(&a), 13);

	lx_list_splice(&a, &b);
	assert_int_equal(sum_up(&a), 13);
	lx_list_append(&b, &items[3].link);
	lx_list_append(&b, &items[4].link);
	lx_list_splice(&a, &b);
	assert_int_equal(sum_up(&a), 1345);
	assert_true(lx_list_empty(&b));
	lx_list_splice(&b, &a);
	assert_int_equal(sum_up(&b), 1345);
	assert_true(lx_list_empty(&a));

	lx_list_for_each_safe (item, tmp, &b, link) {
		if (item->value != 4)
			lx_list_del(&item->link);
	}
	assert_int_equal(sum_up(&b), 4);
	lx_list_for_each_safe (item, tmp, &b, link)
		lx_list_del(&item->link);
	assert_true(lx_list_empty(&b));
}

/* ---- hash --------------------------------------------------------------------- */

#define KEYS 3000

struct member {
	struct lx_hash_node node;
	int key;
	bool in;
};

/* Eight keys share a hash, so that chains hold several members. */
static uint32_t hash_of(int key)
{
	return lx_hash_u64(key / 8);
}

static struct member *lookup(struct lx_hash *hash, int key)
{
	struct member *member;

	lx_hash_for_each (member, hash, hash_of(key), node) {
		if (member->key == key)
			return member;
	}
	return NULL;
}

/* Random additions and removals, compared with an array. */
static void hash_model(void **state)
{
	static struct member members[KEYS];
	struct lx_hash hash;
	unsigned int count = 0;

	assert_int_equal(lx_hash_init(&hash), 0);
	for (int round = 0; round < 100000; round++) {
		int key = rnd_below(KEYS);
		struct member *member = &members[key];

		assert_ptr_equal(lookup(&hash, key), member->in ? member : NULL);
		if (member->in) {
			lx_hash_del(&hash, &member->node);
		} else {
			member->key = key;
			lx_hash_add(&hash, &member->node, hash_of(key));
		}
		member->in = !member->in;
		count += member->in ? 1 : -1;
		assert_int_equal(hash.count, count);
	}
	assert_true(hash.mask >= 1023); /* grown to some 1500 members */
	for (int key = 0; key < KEYS; key++)
		assert_ptr_equal(lookup(&hash, key), members[key].in ? &members[key] : NULL);
	lx_hash_fini(&hash);
	lx_hash_fini(&hash);
}

static void hash_same(void **state)
{
	struct member same[100] = { 0 }, *member;
	struct lx_hash hash;
	int n = 0;

	assert_int_equal(lx_hash_init(&hash), 0);
	for (int i = 0; i < 100; i++)
		lx_hash_add(&hash, &same[i].node, 0xffffffff);
	lx_hash_for_each (member, &hash, 0xffffffff, node)
		n++;
	assert_int_equal(n, 100);
	lx_hash_for_each (member, &hash, 0x7fffffff, node)
		fail_msg("a member of another hash");
	lx_hash_del(&hash, &same[50].node);
	lx_hash_del(&hash, &same[50].node); /* removed already: does nothing */
	assert_int_equal(hash.count, 99);
	lx_hash_fini(&hash);
}

/* ---- log ---------------------------------------------------------------------- */

static struct {
	unsigned int lines, crit, suppressed;
	unsigned int suppressed_levels; /* 1 << level */
	int level;
	char last[600];
} got;

static void take_line(int level, const char *line, void *arg)
{
	unsigned int n;

	assert_ptr_equal(arg, &got);
	got.lines++;
	got.crit += level == LOG_CRIT;
	got.level = level;
	snprintf(got.last, sizeof(got.last), "%s", line);
	if (sscanf(line, "suppressed=%u", &n) == 1) {
		got.suppressed += n;
		got.suppressed_levels |= 1 << level;
	}
}

static void wait_for_next_second(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	usleep((1000000000 - now.tv_nsec) / 1000 + 20000);
}

static void log_lines(void **state)
{
	char longest[2000];

	memset(&got, 0, sizeof(got));
	lx_err("nobody=%s", "listens");
	lx_set_log(take_line, &got);
	lx_warn("peer=%s reason=\"%d\"", "10.0.0.1@tcp", 7);
	assert_int_equal(got.lines, 1);
	assert_int_equal(got.level, LOG_WARNING);
	assert_string_equal(got.last, "peer=10.0.0.1@tcp reason=\"7\"");
	lx_err("e");
	assert_int_equal(got.level, LOG_ERR);
	lx_info("i");
	assert_int_equal(got.level, LOG_INFO);
	lx_debug("d");
	assert_int_equal(got.level, LOG_DEBUG);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	lx_info("%s", longest); /* truncated, not refused */
	assert_in_range(strlen(got.last), 400, 512);
	lx_set_log(NULL, NULL);
	lx_err("nobody=%s", "listens");
	assert_int_equal(got.lines, 5);
}

/* A flood is suppressed but counted; critical lines pass; a summary follows a second later. */
static void log_flood(void **state)
{
	const unsigned int sent = 5000;

	memset(&got, 0, sizeof(got));
	lx_set_log(take_line, &got);
	wait_for_next_second();
	for (unsigned int i = 0; i < sent; i++)
		lx_warn("peer=10.0.0.1@tcp n=%u", i);
	lx_log(LOG_CRIT, "fire");
	assert_int_equal(got.crit, 1);
	assert_true(got.lines < 500); /* 50 and "fire"; some multiple of that on a slow machine */
	wait_for_next_second();
	lx_info("after");
	assert_true(got.suppressed > 0);
	/* No line is unaccounted for: summaries, "fire" and "after" are the only extra ones. */
	assert_string_equal(got.last, "after");
	assert_true(got.lines + got.suppressed >= sent + 3);
	assert_true(got.lines + got.suppressed <= sent + 20);
	lx_set_log(NULL, NULL);
}

/* Debug lines and a misbehaving peer leave room for more important lines. */
static void log_levels(void **state)
{
	memset(&got, 0, sizeof(got));
	lx_set_log(take_line, &got);
	wait_for_next_second();
	for (unsigned int i = 0; i < 1000; i++)
		lx_debug("peer=10.0.0.1@tcp n=%u", i);
	lx_info("command=\"net add\"");
	assert_string_equal(got.last, "command=\"net add\"");
	for (unsigned int i = 0; i < 1000; i++)
		lx_info("peer=10.0.0.1@tcp n=%u", i);
	lx_warn("peer=10.0.0.1@tcp");
	assert_string_equal(got.last, "peer=10.0.0.1@tcp");
	for (unsigned int i = 0; i < 1000; i++)
		lx_warn("peer=10.0.0.1@tcp n=%u", i);
	lx_log_state(LOG_WARNING, "event=\"ni down\"");
	assert_string_equal(got.last, "event=\"ni down\"");
	wait_for_next_second();
	/* The summary of suppressed lines has their level. */
	lx_debug("after");
	assert_string_equal(got.last, "after");
	assert_int_equal(got.suppressed_levels, 1 << LOG_DEBUG | 1 << LOG_INFO | 1 << LOG_WARNING);
	lx_set_log(NULL, NULL);
}

static void *shout(void *arg)
{
	for (int i = 0; i < 2000; i++)
		lx_info("n=%d", i);
	return NULL;
}

static void log_threads(void **state)
{
	pthread_t threads[4];

	memset(&got, 0, sizeof(got));
	lx_set_log(take_line, &got);
	for (size_t i = 0; i < N_OF(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, shout, NULL), 0);
	for (size_t i = 0; i < N_OF(threads); i++)
		pthread_join(threads[i], NULL);
	lx_set_log(NULL, NULL);
	assert_true(got.lines > 0);
}

static void ratelimit(void **state)
{
	const uint64_t min = LX_RATELIMIT_MINUTE;
	struct lx_ratelimit limit = { 0 };
	unsigned int missed = 99;

	/* One line per key and minute; the next one says how many were suppressed. */
	assert_true(lx_ratelimit(&limit, 7, 1, min, &missed));
	assert_int_equal(missed, 0);
	for (int i = 0; i < 5; i++)
		assert_false(lx_ratelimit(&limit, 7, 2, min, &missed));
	assert_true(lx_ratelimit(&limit, 8, 2, min, &missed));
	assert_int_equal(missed, 0);
	assert_true(lx_ratelimit(&limit, 7, min + 1, min, &missed));
	assert_int_equal(missed, 5);
	assert_false(lx_ratelimit(&limit, 7, min + 2, min, &missed));

	/* Made-up keys get at most as many lines as there are slots; old keys make room. */
	for (unsigned int key = 100; key < 1000; key++)
		assert_int_equal(lx_ratelimit(&limit, key, min + 3, min, &missed),
				 key < 100 + LX_RATELIMIT_KEYS - 1);
	assert_false(lx_ratelimit(&limit, 7, 2 * min, min, &missed));
	assert_true(lx_ratelimit(&limit, 999, 3 * min, min, &missed));
	assert_int_equal(missed, 0);
}

static void cleanups(void **state)
{
	int fds[2], copy;

	assert_int_equal(pipe(fds), 0);
	copy = fds[0];
	{
		LX_AUTO_CLOSE int fd = fds[0];
		LX_AUTO_CLOSE int none = -1;
		LX_AUTO_FREE void *memory = malloc(10);
		LX_AUTO_FREE void *null = NULL;

		assert_true(fd >= 0 && none < 0 && memory && !null);
	}
	assert_int_equal(fcntl(copy, F_GETFD), -1);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list),	     cmocka_unit_test(hash_model),
		cmocka_unit_test(hash_same), cmocka_unit_test(log_lines),
		cmocka_unit_test(log_flood), cmocka_unit_test(log_levels),
		cmocka_unit_test(log_threads),
		cmocka_unit_test(ratelimit), cmocka_unit_test(cleanups),
	};

	rnd_init();
	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
