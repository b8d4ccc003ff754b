/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads the tools' output back into structs, by the schemas it was printed from, key by
 * key. An unknown key ends the program, so loading a real node's output checks that we
 * know all of its keys.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yaml.h>

#include <internal/ctl.h>

#include "../../user/ctl/codec.h"
#include "../../user/conf/global.h"
#include "state.h"

const char *const fake_tcp_names[] = { "conns_per_peer", "timeout", "tos", NULL };

static yaml_document_t doc;

#define DIE(...)                                                                                   \
	do {                                                                                       \
		fprintf(stderr, "fakenode: " __VA_ARGS__);                                         \
		fputc('\n', stderr);                                                               \
		exit(3);                                                                           \
	} while (0)

static yaml_node_t *node_at(int index)
{
	return yaml_document_get_node(&doc, index);
}

static const char *text_of(yaml_node_t *node)
{
	if (node->type != YAML_SCALAR_NODE)
		DIE("line %zu: a value is expected", node->start_mark.line + 1);
	return (const char *)node->data.scalar.value;
}

#define FOR_EACH_PAIR(p, node)                                                                     \
	for (yaml_node_pair_t *p = (node)->data.mapping.pairs.start;                               \
	     (node)->type == YAML_MAPPING_NODE && p < (node)->data.mapping.pairs.top; p++)
#define FOR_EACH_ITEM(i, node)                                                                     \
	for (yaml_node_item_t *i = (node)->data.sequence.items.start;                              \
	     (node)->type == YAML_SEQUENCE_NODE && i < (node)->data.sequence.items.top; i++)

static yaml_node_t *value_of(yaml_node_t *map, const char *key)
{
	FOR_EACH_PAIR (p, map) {
		if (!strcmp(text_of(node_at(p->key)), key))
			return node_at(p->value);
	}
	return NULL;
}

/* ---- fields ------------------------------------------------------------------------ */

static void store(void *p, size_t size, long long value)
{
	switch (size) {
	case 1:
		*(uint8_t *)p = value;
		break;
	case 4:
		*(uint32_t *)p = value;
		break;
	case 8:
		*(uint64_t *)p = value;
		break;
	default:
		DIE("a field of %zu bytes", size);
	}
}

static void load_struct(const struct lx_schema *schema, yaml_node_t *map, void *obj,
			const char *skip1, const char *skip2);

static void load_named(yaml_node_t *map, const struct lx_field *f, void *obj)
{
	int32_t *value = (int32_t *)((char *)obj + f->offset);

	*(const char *const **)((char *)obj + f->names_offset) = fake_tcp_names;
	FOR_EACH_PAIR (p, map) {
		const char *key = text_of(node_at(p->key));
		int i = 0;

		while (fake_tcp_names[i] && strcmp(fake_tcp_names[i], key))
			i++;
		if (!fake_tcp_names[i])
			DIE("unknown lnd tunable %s", key);
		value[i] = atoi(text_of(node_at(p->value)));
	}
}

static void load_enum(const char *text, const struct lx_field *f, void *p)
{
	for (int i = 0; i < f->n_names; i++) {
		if (!strcmp(f->names[i], text)) {
			store(p, f->size, i);
			return;
		}
	}
	DIE("%s: unknown value %s", f->key, text);
}

static void load_time(const char *text, int64_t *s)
{
	struct tm tm = { 0 };
	long offset;

	if (!strptime(text, "%FT%T%z", &tm))
		DIE("%s: no time", text);
	offset = tm.tm_gmtoff;
	*s = timegm(&tm) - offset;
}

static void load_field(const struct lx_field *f, yaml_node_t *value, void *obj)
{
	void *p = (char *)obj + f->offset;

	switch ((enum lx_field_type)f->type) {
	case LX_FIELD_INT:
		store(p, f->size, strtoll(text_of(value), NULL, 10));
		break;
	case LX_FIELD_BOOL:
		*(bool *)p = !strcmp(text_of(value), "true");
		break;
	case LX_FIELD_STR:
		snprintf(p, f->size, "%s", text_of(value));
		break;
	case LX_FIELD_IFACE:
		snprintf(p, f->size, "%s",
			 text_of(node_at(value->data.mapping.pairs.start->value)));
		break;
	case LX_FIELD_NID:
		if (lx_nid_parse(text_of(value), p))
			DIE("%s: no NID", text_of(value));
		break;
	case LX_FIELD_NET:
		if (lx_net_parse(text_of(value), p))
			DIE("%s: no net", text_of(value));
		break;
	case LX_FIELD_ID:
		if (lx_id_parse(text_of(value), p))
			DIE("%s: no id", text_of(value));
		break;
	case LX_FIELD_ENUM:
		load_enum(text_of(value), f, p);
		break;
	case LX_FIELD_NEST:
		load_struct(f->sub, value, p, NULL, NULL);
		break;
	case LX_FIELD_NAMED:
		load_named(value, f, obj);
		break;
	case LX_FIELD_TIME:
		load_time(text_of(value), p);
		break;
	case LX_FIELD_FIXED:
		if (strcmp(text_of(value), f->names[0]))
			DIE("%s is not %s", f->key, f->names[0]);
		break;
	case LX_FIELD_STRP:
	case LX_FIELD_LIST:
	case LX_FIELD_NIDS:
		DIE("%s: cannot be loaded", f->key);
	}
}

static void load_struct(const struct lx_schema *schema, yaml_node_t *map, void *obj,
			const char *skip1, const char *skip2)
{
	FOR_EACH_PAIR (p, map) {
		const char *key = text_of(node_at(p->key));
		const struct lx_field *f = schema->field;

		if ((skip1 && !strcmp(key, skip1)) || (skip2 && !strcmp(key, skip2)))
			continue;
		while (f->key && strcmp(f->key, key))
			f++;
		if (!f->key)
			DIE("line %zu: %s has no key \"%s\"", node_at(p->key)->start_mark.line + 1,
			    schema->name, key);
		load_field(f, node_at(p->value), obj);
	}
}

/* ---- sections ---------------------------------------------------------------------- */

static void load_nets(struct fake_state *s, yaml_node_t *nets)
{
	FOR_EACH_ITEM (i, nets) {
		yaml_node_t *net = node_at(*i), *nis = value_of(net, "local NI(s)");

		FOR_EACH_ITEM (j, nis) {
			struct lx_ni_info *ni = &s->ni[s->n_nis++];

			*ni = (struct lx_ni_info){ .alive_s = LX_UNSET };
			load_struct(lx_object_nets.group, net, ni, "local NI(s)", NULL);
			load_struct(lx_object_nets.row, node_at(*j), ni, NULL, NULL);
			ni->given = lx_nid_is_nid4(&ni->nid) ? lx_nid_any : ni->nid;
		}
	}
}

static struct lx_peer_ni_info *load_peer_nis(yaml_node_t *list, const struct lx_schema *schema,
					     uint32_t *ret_n)
{
	struct lx_peer_ni_info *ni = calloc(FAKE_PEER_NIS, sizeof(*ni));

	*ret_n = 0;
	FOR_EACH_ITEM (i, list)
		load_struct(schema, node_at(*i), &ni[(*ret_n)++], NULL, NULL);
	return ni;
}

static void load_peers(struct fake_state *s, yaml_node_t *peers)
{
	FOR_EACH_ITEM (i, peers) {
		struct lx_peer_info *info = &s->peer[s->n_peers++];

		load_struct(lx_object_peers.group, node_at(*i), info, "peer ni", NULL);
		info->ni = load_peer_nis(value_of(node_at(*i), "peer ni"), lx_object_peers.row,
					 &info->n_nis);
	}
}

static void load_routes(struct fake_state *s, yaml_node_t *routes)
{
	FOR_EACH_ITEM (i, routes) {
		struct lx_route_info *route = &s->route[s->n_routes++];

		route->health_sensitivity = 1;
		load_struct(lx_object_routes.row, node_at(*i), route, NULL, NULL);
		route->primary = route->gateway;
	}
}

/* "peer list:" has only primary NIDs. */
static void load_peer_list(struct fake_state *s, yaml_node_t *peers)
{
	FOR_EACH_ITEM (i, peers) {
		struct lx_peer_info *info = &s->peer[s->n_peers++];

		lx_nid_parse(text_of(value_of(node_at(*i), "nid")), &info->primary);
		info->ni = calloc(FAKE_PEER_NIS, sizeof(*info->ni));
		info->ni[0].nid = info->primary;
		info->n_nis = 1;
	}
}

static void load_probes(struct fake_state *s, yaml_node_t *list)
{
	FOR_EACH_ITEM (i, list) {
		struct fake_probe *p = &s->probe[s->n_probes++];
		yaml_node_t *error = value_of(node_at(*i), "errno");

		if (error) {
			p->error = atoi(text_of(error));
			snprintf(p->text, sizeof(p->text), "%s",
				 text_of(value_of(node_at(*i), "descr")));
			continue;
		}
		load_struct(lx_object_pings.group, node_at(*i), &p->info, "peer_ni", NULL);
		p->info.ni = load_peer_nis(value_of(node_at(*i), "peer_ni"), lx_object_pings.row,
					   &p->info.n_nis);
	}
}

static void load_routing(struct fake_state *s, yaml_node_t *list)
{
	s->routing.pools = true;
	FOR_EACH_ITEM (i, list) {
		yaml_node_t *pools = value_of(node_at(*i), "cpt[0]");

		load_struct(lx_object_routing_info.row, pools ? pools : node_at(*i), &s->routing,
			    NULL, NULL);
	}
}

static void load_globals(struct lx_node *node, yaml_node_t *map)
{
	FOR_EACH_PAIR (p, map) {
		const struct lx_global *g = lx_global_lookup(text_of(node_at(p->key)));
		const char *value = text_of(node_at(p->value));

		if (!g)
			DIE("unknown global %s", text_of(node_at(p->key)));
		if (g->tunable)
			lx_tunable_write(node, "lnet", g->tunable,
					 !g->inverse   ? value
					 : atoi(value) ? "0"
						       : "1");
	}
}

static void load_udsps(struct lx_node *node, yaml_node_t *list)
{
	FOR_EACH_ITEM (i, list) {
		struct lx_conf_udsp udsp = { .index = LX_UNSET };

		load_struct(lx_object_udsps.row, node_at(*i), &udsp, NULL, NULL);
		if (lx_udsp_add(node, &udsp))
			DIE("selection policy %d", udsp.index);
	}
}

static void load_section(struct fake_state *s, struct lx_node *node, const char *key,
			 yaml_node_t *value)
{
	if (!strcmp(key, "net"))
		load_nets(s, value);
	else if (!strcmp(key, "peer"))
		load_peers(s, value);
	else if (!strcmp(key, "peer list"))
		load_peer_list(s, value);
	else if (!strcmp(key, "route"))
		load_routes(s, value);
	else if (!strcmp(key, "conn"))
		FOR_EACH_ITEM (i, value)
			load_struct(lx_object_conns.row, node_at(*i), &s->conn[s->n_conns++], NULL,
				    NULL);
	else if (!strcmp(key, "udsp"))
		load_udsps(node, value);
	else if (!strcmp(key, "statistics"))
		load_struct(lx_object_stats.row, value, &s->stats, NULL, NULL);
	else if (!strcmp(key, "routing"))
		load_routing(s, value);
	else if (!strcmp(key, "global"))
		load_globals(node, value);
	else if (!strcmp(key, "ping") || !strcmp(key, "discover") || !strcmp(key, "manage"))
		load_probes(s, value);
	else if (strcmp(key, "buffers")) /* totals of "routing:" */
		DIE("unknown section %s", key);
}

void fake_state_load(struct fake_state *s, struct lx_node *node, const char *path)
{
	FILE *file = fopen(path, "r");
	yaml_parser_t parser;
	yaml_node_t *root;

	if (!file)
		DIE("%s: %s", path, strerror(errno));
	yaml_parser_initialize(&parser);
	yaml_parser_set_input_file(&parser, file);
	if (!yaml_parser_load(&parser, &doc))
		DIE("%s:%zu: %s", path, parser.problem_mark.line + 1, parser.problem);
	root = yaml_document_get_root_node(&doc);
	if (root)
		FOR_EACH_PAIR (p, root)
			load_section(s, node, text_of(node_at(p->key)), node_at(p->value));
	yaml_document_delete(&doc);
	yaml_parser_delete(&parser);
	fclose(file);
}
