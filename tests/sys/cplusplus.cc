/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The public headers in C++: each one's functions are linked, each macro and constant that
 * needs C in its definition is used. It runs a node that puts to itself.
 */
#include <lnetx/lnetx.h>
#include <lnetx/conf.h>
#include <lnetx/info.h>
#include <lnetx/nid.h>
#include <lnetx/reasons.h>
#include <lnetx/tunable.h>
#include <lnetx/wire.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <condition_variable>
#include <mutex>
#include <string>

namespace {

constexpr uint32_t portal = 9;
char source[] = "from C++", sink[sizeof(source)];

struct Done {
	std::mutex mutex;
	std::condition_variable changed;
	bool acknowledged = false;
};

void must(const char *what, int error)
{
	if (!error)
		return;
	std::fprintf(stderr, "%s: %s\n", what, std::strerror(-error));
	std::exit(1);
}

void on_event(const lx_event *event)
{
	auto *done = static_cast<Done *>(event->user);

	if (!done || event->type != LX_EVENT_ACK)
		return;
	std::lock_guard<std::mutex> lock(done->mutex);
	done->acknowledged = true;
	done->changed.notify_one();
}

lx_md_desc memory(void *start, size_t length, int threshold, unsigned int options, void *user)
{
	lx_md_desc desc = lx_md_desc();

	desc.start = start;
	desc.length = length;
	desc.threshold = threshold;
	desc.options = options;
	desc.handler = on_event;
	desc.user = user;
	return desc;
}

void put_to_itself(lx_node *node)
{
	const lx_id anyone = { lx_nid_any, LX_PID_ANY }, self = { lx_nid_lo, LX_PID_LUSTRE };
	lx_handle me = LX_HANDLE_NONE, target = LX_HANDLE_NONE, md = LX_HANDLE_NONE;
	lx_md_desc from, to;
	Done done;

	to = memory(sink, sizeof(sink), 1, LX_MD_OP_PUT | LX_MD_TRUNCATE, nullptr);
	from = memory(source, sizeof(source), 2, 0, &done);
	must("ME", lx_me_attach(node, portal, &anyone, 7, 0, LX_UNLINK, LX_ME_AFTER, &me));
	must("target", lx_md_attach(node, me, &to, LX_UNLINK, &target));
	must("MD", lx_md_bind(node, &from, LX_UNLINK, &md));
	must("put", lx_put(node, nullptr, md, true, &self, portal, 7, 0, 0));
	std::unique_lock<std::mutex> lock(done.mutex);
	done.changed.wait(lock, [&done] { return done.acknowledged; });
}

#define COLOURS(X, tag) X(tag, shade, 3, 0, 9, nullptr, "of grey")
LX_TUNABLE_STRUCT(colours, COLOURS);
const lx_tunable table[] = LX_TUNABLE_TABLE(colours, COLOURS);

std::string nids()
{
	const lx_wire_handle none = LX_WIRE_HANDLE_NONE;
	lx_nid nid;

	must("NID", lx_nid_parse("10.1.2.3@tcp4", &nid) || none.object_cookie != ~0ULL);
	return std::string(lx_nid_str(&nid)) + " on " + lx_net_str(lx_nid_net(&nid));
}

} // namespace

int main()
{
	const char yaml[] = "tunables:\n    lnet: { router_ping_timeout: 7 }\n";
	lx_conf_error why = lx_conf_error();
	colours values;
	lx_conf *conf;
	lx_node *node;

	must("conf", lx_conf_parse(yaml, sizeof(yaml) - 1, &conf, &why));
	must("node", lx_node_new(conf, &why, &node));
	lx_conf_free(conf);
	lx_tunable_defaults(table, &values);
	must("tunable", lx_tunable_set(lx_tunable_lookup(table, "shade"), &values, "4"));
	put_to_itself(node);
	lx_node_free(node);
	std::printf("%s, %s, shade %d\n", sink, nids().c_str(), static_cast<int>(values.shade));
	return 0;
}
