# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The load generator, what it is compared with, and targets to run as root:
#
#	make bench	ROUNDS= SECONDS= QUICK=1 for a first look
#			CASES=route,change,lanes,loss,crowd,far,busy,ping,node,selftest,cost,memory
#			CELLS='lanes-fast-mix-*': only these of the cases; the names are as in
#			build/log/bench-*, where a run in which nothing moves leaves a dump
#			CASES=isolation: what neighbours of a failing node feel; CONNS=1,2,4
#			CASES=small: how long small messages wait behind bulk; CONNS=1,2,4
#			CASES=full-cpu: pings of a router in QEMU whose CPU is full
#	make plots	draw the newest run in docs/results; RUN=build/bench.csv: this one. No root
#	make demo	KEEP=1 shows the fast path at work, too, and leaves it up

YARDSTICKS := $(patsubst %,$(B)/bench/%,relay pingpong lossy delay softirq)
LOAD_SRCS := $(filter-out %.bpf.c $(patsubst $(B)/bench/%,tools/bench/%.c,$(YARDSTICKS)),\
	$(wildcard tools/bench/*.c))

$(addprefix $(B)/tools/bench/softirq,.o .syntax): | build/bpf/softirq.skel.h

$(B)/bin/lxload: $(call obj,$(LOAD_SRCS)) $(B)/liblnetx.a
	$(link)

$(YARDSTICKS): $(B)/bench/%: $(B)/tools/bench/%.o
	$(call link,$(LIBBPF))

$(B)/tests/test_load: $(call obj,tools/bench/stream.c tools/bench/pattern.c)

bench-programs: $(B)/bin/lxload $(if $(no_bpf),,$(YARDSTICKS))

# Before anything is built.
need-root:
	@[ "$$(id -u)" = 0 ] || { echo "only root can make network namespaces. Next:" \
		"sudo make $(MAKECMDGOALS)" >&2; exit 1; }

bench: need-root
	$(Q)tools/dist/deps build bench
	+$(Q)V=$(V) $(AS_OWNER) tools/dist/progress -j$$(nproc) programs bench-programs
	$(Q)$(if $(filter isolation small full-cpu,$(CASES)),tools/bench/$(CASES) --programs $(B) \
		$(if $(CONNS),--conns $(CONNS)) $(if $(RAILS),--rails $(RAILS)) \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS)),\
	tools/bench/bench --programs $(B) --json build/bench.json \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(CASES),--cases $(CASES)) $(if $(CELLS),--cells '$(CELLS)') $(if $(filter-out 0,$(QUICK)),--quick) && \
	tools/bench/csv <build/bench.json >build/bench.csv)

RUN ?= $(lastword $(sort $(wildcard docs/results/*-bench.csv)))
plots:
	@command -v gnuplot >/dev/null || { echo "no gnuplot here. Next:" \
		"sudo tools/dist/deps bench" >&2; exit 1; }
	$(Q)tools/bench/plot $(RUN) docs/results

demo: need-root
	$(Q)tools/dist/deps build demo
	+$(Q)V=$(V) $(AS_OWNER) tools/dist/progress -j$$(nproc) programs $(B)/bin/lxload
	$(Q)tools/bench/demo --programs $(B) $(if $(filter-out 0,$(KEEP)),--keep)

.PHONY: bench-programs need-root bench plots demo
