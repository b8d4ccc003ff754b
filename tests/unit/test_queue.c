/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Small messages go first, within bounds (queue.h): random queues, with every promise counted. */
#include "../../user/base/queue.h"
#include "testlib.h"

#define MOST 64 /* of each class wait at a time */

struct item {
	struct lx_queued at; /* first */
	unsigned long number; /* of its class, in order */
	size_t in_front; /* bytes of small ones in front, and of the last one that went */
	unsigned int passed; /* bulk messages that were taken since */
};

struct world {
	struct lx_queue queue;
	struct item item[2 * MOST], *spare[2 * MOST], *waiting[2 * MOST];
	unsigned int n_spare, n_waiting;
	unsigned long added[2], taken[2]; /* of small ones, of bulk */
	size_t bytes[2]; /* taken while both waited */
	size_t bulk_len, last;
};

static void start(struct world *world, size_t bulk_len)
{
	memset(world, 0, sizeof(*world));
	lx_queue_init(&world->queue);
	world->bulk_len = bulk_len;
	for (unsigned int i = 0; i < N_OF(world->item); i++)
		world->spare[world->n_spare++] = &world->item[i];
}

static bool is_waiting(const struct world *world, bool bulk)
{
	return !lx_list_empty(bulk ? &world->queue.bulk : &world->queue.small);
}

static void add(struct world *world, bool bulk)
{
	struct item *item = world->spare[--world->n_spare], *other;

	*item = (struct item){ .number = world->added[bulk]++, .in_front = world->last };
	lx_queue_init_at(&item->at);
	lx_list_for_each (other, &world->queue.small, at.link)
		item->in_front += other->at.bytes;
	lx_queue_add(&world->queue, &item->at,
		     bulk ? world->bulk_len : 1 + rnd() % (LX_SMALL_MAX + 72), bulk, NULL);
	world->waiting[world->n_waiting++] = item;
}

static void leaves(struct world *world, struct item *item)
{
	for (unsigned int i = 0; i < world->n_waiting; i++) {
		if (world->waiting[i] == item)
			world->waiting[i] = world->waiting[--world->n_waiting];
	}
	world->spare[world->n_spare++] = item;
}

static struct item *take(struct world *world)
{
	bool both = is_waiting(world, false) && is_waiting(world, true);
	struct lx_queued *at = lx_queue_next(&world->queue);
	struct item *item = lx_container_of(at, struct item, at);

	if (!at)
		return NULL;
	lx_queue_take(&world->queue, at);
	assert_int_equal(item->number, world->taken[at->bulk]++);
	world->bytes[at->bulk] += both ? at->bytes : 0;
	if (!at->bulk && item->passed > 1 + item->in_front / world->bulk_len)
		fail_msg("%u bulk messages of %zu bytes before one with %zu bytes of small ones",
			 item->passed, world->bulk_len, item->in_front);
	world->last = at->bulk ? 0 : at->bytes;
	leaves(world, item);
	for (unsigned int i = 0; at->bulk && i < world->n_waiting; i++)
		world->waiting[i]->passed++;
	return item;
}

/* Whatever comes when, both promises hold. */
static void random_queues(void **state)
{
	struct world world;

	for (unsigned int i = 0; i < 300; i++) {
		unsigned int small = rnd() % 100, bulk = rnd() % 100, taking = rnd() % 100;

		rnd_case("random_queues", i);
		start(&world, LX_SMALL_MAX + 73 + rnd() % (i % 2 ? 1 << 20 : 8192));
		for (unsigned int k = 0; k < 2000; k++) {
			if (rnd() % 100 < small && world.added[0] - world.taken[0] < MOST)
				add(&world, false);
			if (rnd() % 100 < bulk && world.added[1] - world.taken[1] < MOST)
				add(&world, true);
			if (rnd() % 100 < taking)
				(void)take(&world);
		}
		while (take(&world))
			;
	}
	rnd_case(NULL, 0);
}

/* While both wait all the time, each gets half of the bytes. */
static void halves(void **state)
{
	struct world world;

	for (unsigned int i = 0; i < 50; i++) {
		rnd_case("halves", i);
		start(&world, LX_SMALL_MAX + 73 + rnd() % (i % 2 ? 1 << 20 : 8192));
		while (world.bytes[0] + world.bytes[1] < 40 * world.bulk_len) {
			while (!is_waiting(&world, false))
				add(&world, false);
			while (!is_waiting(&world, true))
				add(&world, true);
			(void)take(&world);
			if (world.bytes[0] > world.bytes[1] + world.bulk_len + LX_SMALL_MAX + 72 ||
			    world.bytes[1] > world.bytes[0] + world.bulk_len)
				fail_msg("%zu bytes of small messages, %zu of bulk", world.bytes[0],
					 world.bytes[1]);
		}
	}
	rnd_case(NULL, 0);
}

/* What was taken and put back goes again as if it had never been taken. */
static void put_back(void **state)
{
	struct item *first[20], *again;
	struct world world;

	for (unsigned int i = 0; i < 200; i++) {
		rnd_case("put_back", i);
		start(&world, LX_SMALL_MAX + 73 + rnd() % 20000);
		for (unsigned int k = 0; k < MOST; k++) {
			add(&world, false);
			add(&world, true);
		}
		for (unsigned int k = rnd() % 50; k; k--)
			(void)take(&world);
		for (unsigned int k = 0; k < N_OF(first); k++) {
			first[k] = lx_container_of(lx_queue_next(&world.queue), struct item, at);
			lx_queue_take(&world.queue, &first[k]->at);
		}
		for (unsigned int k = N_OF(first); k--;)
			lx_queue_put_back(&world.queue, &first[k]->at);
		for (unsigned int k = 0; k < N_OF(first); k++) {
			again = take(&world);
			assert_ptr_equal(again, first[k]);
		}
	}
	rnd_case(NULL, 0);
}

/* Nothing comes between the parts of a message, and together they have one turn. */
static void joined(void **state)
{
	struct lx_queued part[4], small[200];
	struct lx_queued *at = NULL;
	unsigned int n = 0;
	struct lx_queue queue;

	lx_queue_init(&queue);
	memset(part, 0, sizeof(part));
	for (unsigned int i = 0; i < N_OF(part); i++) {
		lx_queue_init_at(&part[i]);
		part[i].joined = i;
		lx_queue_add(&queue, &part[i], i ? 0 : 100000, true, NULL);
	}
	memset(small, 0, sizeof(small));
	for (unsigned int i = 0; i < N_OF(small); i++) {
		lx_queue_init_at(&small[i]);
		lx_queue_add(&queue, &small[i], 1000, false, NULL);
	}
	for (; at != &part[0]; n++) {
		at = lx_queue_next(&queue);
		lx_queue_take(&queue, at);
	}
	assert_int_equal(n, 101);
	for (unsigned int i = 1; i < N_OF(part); i++) {
		at = lx_queue_next(&queue);
		assert_ptr_equal(at, &part[i]);
		lx_queue_take(&queue, at);
	}
	assert_ptr_equal(lx_queue_next(&queue), &small[100]);
}

/*
 * Senders take turns, each in its own order, also if messages leave before their turn, and if they
 * wait in several queues.
 */
static void senders(void **state)
{
	enum { SENDERS = 5, QUEUES = 3, MESSAGES = 400 };
	struct lx_queue queue[QUEUES];
	struct lx_list sender[SENDERS];
	static struct msg {
		struct lx_queued at;
		unsigned int from, in;
		bool gone;
	} msg[MESSAGES];

	for (unsigned int round = 0; round < 200; round++) {
		unsigned int turns[QUEUES][SENDERS] = { 0 };
		unsigned int left[QUEUES][SENDERS] = { 0 };

		rnd_case("senders", round);
		for (unsigned int i = 0; i < QUEUES; i++)
			lx_queue_init(&queue[i]);
		for (unsigned int i = 0; i < SENDERS; i++)
			lx_list_init(&sender[i]);
		for (unsigned int i = 0; i < MESSAGES; i++) {
			msg[i] = (struct msg){ .from = rnd_below(1 + rnd_below(SENDERS)),
					       .in = rnd_below(QUEUES) };
			lx_queue_init_at(&msg[i].at);
			lx_queue_add(&queue[msg[i].in], &msg[i].at, 100, false,
				     &sender[msg[i].from]);
			left[msg[i].in][msg[i].from]++;
		}
		for (unsigned int i = 0; i < MESSAGES; i++) {
			if (rnd_below(4))
				continue;
			lx_queue_del(&msg[i].at);
			msg[i].gone = true;
			left[msg[i].in][msg[i].from]--;
		}
		for (unsigned int q = 0; q < QUEUES; q++) {
			struct msg *last[SENDERS] = { 0 };
			struct lx_queued *at;

			while ((at = lx_queue_next(&queue[q]))) {
				struct msg *next = lx_container_of(at, struct msg, at);

				lx_queue_take(&queue[q], at);
				assert_true(next->in == q && !next->gone);
				assert_true(!last[next->from] || last[next->from] < next);
				last[next->from] = next;
				left[q][next->from]--;
				turns[q][next->from]++;
				/* Nobody who still waits has had two turns fewer. */
				for (unsigned int s = 0; s < SENDERS; s++) {
					if (left[q][s] && turns[q][s] + 2 <= turns[q][next->from])
						fail_msg("sender %u had %u turns, %u had %u",
							 next->from, turns[q][next->from], s,
							 turns[q][s]);
				}
			}
			for (unsigned int s = 0; s < SENDERS; s++)
				assert_int_equal(left[q][s], 0);
		}
		for (unsigned int s = 0; s < SENDERS; s++)
			assert_true(lx_list_empty(&sender[s]));
	}
	rnd_case(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_queues),
		cmocka_unit_test(halves),
		cmocka_unit_test(put_back),
		cmocka_unit_test(joined),
		cmocka_unit_test(senders),
	};

	rnd_init();
	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
