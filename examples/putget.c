/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two LNet nodes talk: one offers a piece of memory, the other puts a text there and
 * gets it back. A port above 1023 and "accept: all", so that no root is needed.
 *
 *	cc putget.c -o putget $(pkg-config --cflags --libs lnetx) -pthread
 *	./putget 127.0.0.1 &
 *	./putget 127.0.0.2 127.0.0.1 'hello, LNet'
 */
#include <lnetx/lnetx.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define PORTAL 4
#define BITS 0xc0ffee /* both sides name the same match bits */

static const char config[] = "net:\n    - net type: tcp\n      local NI(s):\n"
			     "        - nid: %s@tcp\n"
			     "tunables:\n    tcp: { accept: all, accept_port: 9988 }\n";
static struct lx_node *node;
static struct lx_event answer;
static char memory[4096];
static sem_t answered;

static void check(const char *what, int error)
{
	if (error)
		fprintf(stderr, "%s: %s\n", what, strerror(-error)), exit(1);
}

/* Handlers run on a thread of the node, one at a time. */
static void on_served(const struct lx_event *ev)
{
	printf("%s %s %zu bytes\n", lx_nid_str(&ev->initiator.nid),
	       ev->type == LX_EVENT_PUT ? "put" : "got", ev->mlength);
}

static void serve(void)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	const struct lx_md_desc desc = {
		.start = memory, .length = sizeof(memory), .threshold = LX_MD_UNLIMITED,
		.options = LX_MD_OP_PUT | LX_MD_OP_GET | LX_MD_MANAGE_REMOTE | LX_MD_TRUNCATE,
		.handler = on_served,
	};
	struct lx_handle me, md;

	check("ME", lx_me_attach(node, PORTAL, &anyone, BITS, 0, LX_UNLINK, LX_ME_AFTER, &me));
	check("MD", lx_md_attach(node, me, &desc, LX_UNLINK, &md));
	sem_wait(&answered); /* that is, forever */
}

static void on_answer(const struct lx_event *ev)
{
	if (ev->type == LX_EVENT_SEND && !ev->status)
		return; /* sent; the ACK or the REPLY follows */
	answer = *ev;
	sem_post(&answered);
}

/* Puts, or gets, the first @len bytes of memory and waits for the answer. */
static void transfer(bool put, const struct lx_id *to, size_t len)
{
	const struct lx_md_desc desc = { .start = memory, .length = len, .threshold = 2,
					 .handler = on_answer };
	struct lx_handle md;

	check("MD", lx_md_bind(node, &desc, LX_UNLINK, &md));
	check("start", put ? lx_put(node, NULL, md, true, to, PORTAL, BITS, 0, 0) :
			     lx_get(node, NULL, md, to, PORTAL, BITS, 0));
	sem_wait(&answered);
	check(put ? "put" : "get", answer.status);
}

int main(int argc, char **argv)
{
	struct lx_conf_error why = { 0 };
	struct lx_id to;
	char yaml[256];
	size_t len;

	setlinebuf(stdout);
	sem_init(&answered, 0, 0);
	if (argc != 2 && (argc != 4 || lx_id_parse(argv[2], &to)))
		return fputs("usage: putget ADDRESS [TARGET TEXT]\n", stderr), 2;
	len = snprintf(yaml, sizeof(yaml), config, argv[1]);
	if (lx_node_new_yaml(yaml, len, &why, &node))
		return fprintf(stderr, "%s\n", why.text), 1;
	if (argc == 2)
		serve();
	len = snprintf(memory, sizeof(memory), "%s", argv[3]);
	transfer(true, &to, len);
	memset(memory, 0, len);
	transfer(false, &to, len);
	printf("got back: %s\n", memory);
	lx_node_free(node);
	return 0;
}
