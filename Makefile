# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Builds, tests and installs lnetx. Targets marked with * need root, for network namespaces
# or packages. All targets that build take V=, SAN=, CC=, WERROR=, O2IB= and BPF=.
#
#	make              build everything, below build/
#	make demo *       see it work, half a minute; KEEP=1 leaves it running
#	make check *      all tests; T='asan/test_sock* sys/ipv6' some of them; KERNELS=6.1
#	                  SUITES='boot bpf' those of vmtest beside them
#	make faults *     cause each fault of docs/operations.md, and print what is said; T=firewall
#	make durations *  all tests, and write down how long each takes, which orders make check
#	make bench *      measure; QUICK=1, CASES=route,node, ROUNDS=, SECONDS=
#	make plots        draw a run of the bench; RUN=build/bench.csv
#	make vmtest *     tests on other kernels, in QEMU; KERNELS='6.1 6.12' SUITES='o2ib'
#	make cross-check * unit tests for arm64 and s390x, by qemu-user; T='test_core*'
#	make bench-o2ib * compare o2iblnd with perftest, in QEMU
#	make fuzz *       run each fuzz target for FUZZ_SECONDS=600
#	make deps *       install build dependencies (Debian); other * targets do so, too
#	make install *    DESTDIR= PREFIX=/usr; LUSTRE_NAMES=0 without links such as lnetctl
#	make uninstall *, make clean
#	make package      Debian packages, in build/package; RHEL's and SLES': make package-rpm
#	make dist         the source of the last commit, as build/lnetx-VERSION.tar.gz
#	make package-check *  install, upgrade, remove them in clean Debian 12 and 13; SUITES=trixie
#	make fresh-check *  README and package-check as a new user, in fresh Debian 12 and 13
#	make style        check the sources; so do make includes, circles, size, format-check
#	make reference    renew the parts of the manual that come from tables
#	make help         print this
#
#	V=1               show commands
#	SAN=asan          build with a sanitizer, into its own directory: asan, tsan or fuzz
#	CC=clang          another compiler; gcc and clang are supported
#	WERROR=1          warnings are errors
#	O2IB=0            without o2iblnd, and so without libibverbs and librdmacm
#	BPF=0             without fast path and guard, and so without clang, bpftool and libbpf;
#	                  programs and libraries only

# Without make's built-in rules: looking for one for each header in the *.d files takes a
# minute.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

# Python leaves nothing in the tree, where root's files would stay after "sudo make demo".
export PYTHONDONTWRITEBYTECODE := 1

SHELL := /bin/bash
# Root builds as the owner of the tree, who can then build again. These recipes need root themselves.
AS_OWNER := tools/dist/as-owner
owners := $(shell stat -c %u . build 2>/dev/null)
ifneq ($(if $(filter clean help,$(MAKECMDGOALS)),,$(filter-out $(firstword $(owners)),$(owners))),)
$(error build/ is not of the owner of $(CURDIR), who could not build in it. Next: sudo rm -r build)
endif
ifneq ($(filter-out 0,$(if $(filter 0,$(shell id -u)),$(firstword $(owners)))),)
NEED_ROOT := deps check faults durations cross-check fuzz vmtest bench-o2ib install uninstall package package-rpm \
	package-check fresh-check clean need-root bench demo
$(NEED_ROOT): private SHELL := /bin/bash
$(NEED_ROOT): private .SHELLFLAGS := -c
SHELL := $(CURDIR)/$(AS_OWNER)
.SHELLFLAGS := /bin/bash -c
endif

VERSION := $(shell sed -n 's/^.define LX_VERSION "\(.*\)"/\1/p' include/lnetx/version.h)
SONAME := liblnetx.so.2
CTL_SONAME := liblnetxctl.so.0
V ?= 0
SAN ?=
WERROR ?=
O2IB ?= 1
no_o2ib := $(if $(filter 0 no,$(O2IB)),-no-o2ib)
BPF ?= 1
no_bpf := $(if $(filter 0 no,$(BPF)),-no-bpf)
B := build/$(or $(SAN),release)$(no_o2ib)$(no_bpf)

PREFIX ?= /usr
SBINDIR ?= $(PREFIX)/sbin
LIBEXECDIR ?= $(PREFIX)/libexec
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
DOCDIR ?= $(PREFIX)/share/doc/lnetx

ifeq ($(V),0)
Q := @
say = @printf '  %-7s %s\n' $(1) $(2)
endif

all: lib programs

# ---- what it is built with ------------------------------------------------------

LIBS := libuv libmnl yaml-0.1 zlib $(if $(no_o2ib),,libibverbs librdmacm)
# With bpf_map__update_elem() and its kind.
LIBBPF_OLDEST := 0.8
PKG_CONFIG ?= pkg-config
BPF_CC ?= clang
BPFTOOL ?= $(firstword $(shell command -v bpftool) $(wildcard /usr/sbin/bpftool) bpftool)
NEED_NO_LIBS := deps captures dist check faults durations cross-check fuzz vmtest bench-o2ib demo bench plots clean uninstall includes style help format-check \
	package package-rpm package-check fresh-check

ifneq ($(filter-out $(NEED_NO_LIBS),$(or $(MAKECMDGOALS),all)),)
found = $(filter found,$(shell $(PKG_CONFIG) --exists '$(1)' 2>/dev/null && echo found))
ifeq ($(call found,$(LIBS) jansson libcap-ng $(if $(no_bpf),,libbpf)),)
$(error Libraries to build with are missing. Next: sudo make deps)
endif
ifndef no_bpf
ifeq ($(call found,libbpf >= $(LIBBPF_OLDEST)),)
$(error libbpf is $(shell $(PKG_CONFIG) --modversion libbpf), and BPF needs $(LIBBPF_OLDEST). Next: a newer one, or make BPF=0)
endif
ifeq ($(and $(shell command -v $(BPF_CC)),$(shell command -v $(BPFTOOL))),)
$(error clang or bpftool, which the BPF programs are built with, are missing. Next: sudo make deps, or make BPF=0)
endif
endif
endif

CFLAGS ?= $(if $(SAN),-O1,-O2) -g
LX_CPPFLAGS := -Iinclude -Ibuild/bpf -D_GNU_SOURCE \
	$(shell $(PKG_CONFIG) --cflags $(LIBS) $(if $(no_bpf),,libbpf) jansson 2>/dev/null)
# A list's entry is found from its link (list.h), of which gcc 12 at -O2 thinks that a store to its
# neighbour changes no list head inside another struct: a loop over a list never ended.
LX_CFLAGS := -std=gnu11 -fno-strict-aliasing -Wall -Wextra -Wno-unused-parameter \
	-Wmissing-prototypes -Wvla -fvisibility=hidden -fPIC -pthread $(if $(WERROR),-Werror)
LDLIBS += $(shell $(PKG_CONFIG) --libs $(LIBS) 2>/dev/null) -pthread
# For the daemon, not the library: BPF, and capabilities.
LIBBPF := $(if $(no_bpf),,$(shell $(PKG_CONFIG) --libs libbpf 2>/dev/null))
LIBCAP := $(shell $(PKG_CONFIG) --libs libcap-ng 2>/dev/null)

ifeq ($(SAN),asan)
LX_CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
else ifeq ($(SAN),tsan)
LX_CFLAGS += -fsanitize=thread -fno-omit-frame-pointer
else ifeq ($(SAN),fuzz)
CC = clang
LX_CFLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
fuzz_main := -fsanitize=fuzzer
else ifneq ($(SAN),)
$(error SAN=$(SAN) is unknown. Next: SAN=asan, SAN=tsan or SAN=fuzz)
endif

# ---- sources -----------------------------------------------------------------------

LIB_SRCS := $(wildcard user/base/*.c user/io/*.c user/core/*.c user/schema/*.c user/conf/*.c \
	user/node/*.c \
	lnd/*.c lnd/lo/*.c lnd/sock/*.c lnd/o2ib/*.c)
ifdef no_o2ib
LIB_SRCS := $(filter-out lnd/o2ib/verbs.c lnd/o2ib/port.c,$(LIB_SRCS))
else
LX_CPPFLAGS += -DLX_O2IB
endif
FASTPATH_SRCS := $(wildcard user/fastpath/*.c user/bpf/*.c)
FASTPATH_SRCS := $(if $(no_bpf),$(filter %/without.c,$(FASTPATH_SRCS)),\
	$(filter-out %/without.c,$(FASTPATH_SRCS)))
# On the public API alone, in the daemon and the tools.
SELFTEST_SRCS := $(wildcard user/selftest/*.c)
SIM_SRCS := $(wildcard tests/sim/*.c)
# Messages between daemon and tools: in both, not in liblnetx.
CODEC_SRCS := user/ctl/codec.c user/ctl/path.c
# liblnetxctl: the client's side, with what it needs of user/base.
CTL_SRCS := $(wildcard user/ctl/*.c user/schema/*.c) \
	$(addprefix user/base/,explain.c key.c netns.c nid.c octets.c suggest.c text.c)
DAEMON_SRCS := $(wildcard user/daemon/*.c)
CLI_SRCS := $(wildcard tools/cli/*.c tools/cli/*/*.c tools/host/*.c)
FAKE_SRCS := $(wildcard tests/fake/*.c)
TEST_SRCS := $(wildcard tests/unit/test_*.c)
TEST_FAKE_SRCS := $(wildcard tests/unit/fake*.c)
TEST_HELP_SRCS := $(filter-out $(TEST_SRCS) $(TEST_FAKE_SRCS),$(wildcard tests/unit/*.c))
GOLDEN_SRCS := $(wildcard tests/golden/test_*.c)
GOLDEN_HELP_SRCS := $(filter-out $(GOLDEN_SRCS),$(wildcard tests/golden/*.c))
RDMA_SRCS := $(if $(no_o2ib),,$(wildcard tests/rdma/test_*.c))
FUZZ_SRCS := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_HELP_SRCS := $(filter-out $(FUZZ_SRCS),$(wildcard tests/fuzz/*.c))
PUBLIC_HEADERS := $(wildcard include/lnetx/*.h)
CTL_HEADERS := include/lnetx/ctl.h
LIB_HEADERS := $(filter-out $(CTL_HEADERS),$(PUBLIC_HEADERS))

comma := ,
obj = $(patsubst %.c,$(B)/%.o,$(1))
LIB_OBJS := $(call obj,$(LIB_SRCS))
CTL_OBJS := $(call obj,$(CTL_SRCS))
TESTS := $(patsubst %.c,$(B)/tests/%,$(notdir $(TEST_SRCS) $(GOLDEN_SRCS) $(RDMA_SRCS)))
FUZZERS := $(patsubst %.c,$(B)/tests/%,$(notdir $(FUZZ_SRCS)))

# $(call link,flags): a program from the objects and archives it depends on. What it took from them
# is in PROGRAM.inputs, for tests/changed.
define link
$(call say,LINK,$@)
@mkdir -p $(@D)
$(Q)$(CC) $(LX_CFLAGS) $(CFLAGS) $(LDFLAGS) $(filter %.o %.a,$^) -o $@ $(1) $(LDLIBS) \
	-Wl,--trace,--trace >$@.inputs
endef

define archive
$(call say,AR,$@)
@mkdir -p $(@D)
$(Q)rm -f $@ && $(AR) rcs $@ $^
endef

$(B)/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LX_CPPFLAGS) $(CPPFLAGS) $(LX_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# Only looks for mistakes: for a second compiler, in what it does not have to build.
$(B)/%.syntax: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LX_CPPFLAGS) $(CPPFLAGS) $(LX_CFLAGS) $(CFLAGS) -MMD -MP -MF $@.d -MT $@ \
		-fsyntax-only $< && touch $@

# ---- BPF programs ------------------------------------------------------------------
#
# NAME.bpf.c becomes build/bpf/NAME.skel.h: the program's bytes and its maps by name,
# for user/bpf, which loads it. Independent of CC and SAN. "gen object" strips debugging
# information except BTF.

BPF_SKELETONS := $(patsubst bpf/%.bpf.c,build/bpf/%.skel.h,$(wildcard bpf/*.bpf.c))
# Where distributions have asm/types.h; clang does not look there for its BPF target.
BPF_CPPFLAGS := -Iinclude $(addprefix -idirafter ,$(wildcard /usr/include/$(shell uname -m)-linux-gnu))
BPF_CFLAGS := -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Wno-unused-parameter \
	$(if $(WERROR),-Werror)

vpath %.bpf.c bpf tools/bench tests/sys

build/bpf/%.bpf.o: %.bpf.c
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(BPF_CC) $(BPF_CPPFLAGS) $(BPF_CFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@.tmp
	$(Q)$(BPFTOOL) gen object $@ $@.tmp && rm $@.tmp

build/bpf/%.skel.h: build/bpf/%.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@.tmp && mv $@.tmp $@

# Compile after the skeletons exist; from then on the *.d files have the dependencies.
WITH_BPF_SRCS := $(wildcard user/bpf/*.c tests/unit/test_bpf_*.c) tests/unit/bpfworld.c
$(if $(no_bpf),,$(WITH_BPF_SRCS:%.c=$(B)/%.o) $(WITH_BPF_SRCS:%.c=$(B)/%.syntax): | $(BPF_SKELETONS))

bpf: $(BPF_SKELETONS)

# ---- library -----------------------------------------------------------------------

$(B)/liblnetx.a: $(LIB_OBJS)
	$(archive)

# Only in the daemon: the fast path, and the only code that uses libbpf.
$(B)/libfastpath.a: $(call obj,$(FASTPATH_SRCS))
	$(archive)

$(B)/libselftest.a: $(call obj,$(SELFTEST_SRCS))
	$(archive)

$(B)/liblnetxctl.a: $(CTL_OBJS)
	$(archive)

# Libraries export only what their installed headers declare: $(call map,VERSION)
define map
@mkdir -p $(@D)
$(Q)tools/dist/symbols $(filter %.h,$^) | \
	awk 'BEGIN { print "$(1) {\nglobal:" } { print "\t" $$0 ";" } \
	     END { print "local:\n\t*;\n};" }' >$@
endef

$(B)/liblnetx.map: tools/dist/symbols $(LIB_HEADERS)
	$(call map,LNETX_1)

$(B)/liblnetxctl.map: tools/dist/symbols $(CTL_HEADERS)
	$(call map,LNETXCTL_0)

so_flags = -shared -Wl,-soname,$(@F) -Wl,-z,defs -Wl,--version-script=$(filter %.map,$^)

$(B)/$(SONAME): $(LIB_OBJS) $(B)/liblnetx.map
	$(call link,$(so_flags))

# Only libmnl: a monitoring program should not have to load RDMA libraries.
$(B)/$(CTL_SONAME): LDLIBS := $(shell $(PKG_CONFIG) --libs libmnl 2>/dev/null)
$(B)/$(CTL_SONAME): $(CTL_OBJS) $(B)/liblnetxctl.map
	$(call link,$(so_flags))

$(B)/liblnetx.so: $(B)/$(SONAME)
	$(Q)ln -sf $(SONAME) $@

$(B)/liblnetxctl.so: $(B)/$(CTL_SONAME)
	$(Q)ln -sf $(CTL_SONAME) $@

lib: $(addprefix $(B)/,liblnetx.a liblnetx.so liblnetxctl.a liblnetxctl.so)

# ---- programs ------------------------------------------------------------------------

$(B)/bin/lnetxd: $(call obj,$(DAEMON_SRCS) $(CODEC_SRCS)) $(B)/libselftest.a \
		$(B)/libfastpath.a $(B)/liblnetx.a
	$(call link,$(LIBBPF) $(LIBCAP))

$(B)/bin/lnetx: $(call obj,$(CLI_SRCS)) $(B)/libselftest.a $(B)/liblnetxctl.a $(B)/liblnetx.a
	$(call link,-ljansson -lm)

# One program, several grammars, chosen by its name. These names are Lustre's, too.
NAMES := lnetctl lctl lst lnet_legacy2yaml

$(addprefix $(B)/bin/,$(NAMES)): $(B)/bin/lnetx
	$(Q)ln -sf lnetx $@

programs: $(addprefix $(B)/bin/,lnetxd lnetx $(NAMES))

MAN_PAGES := $(patsubst tools/dist/man/%.rst,$(B)/man/%,$(wildcard tools/dist/man/*.rst))

$(B)/man/%: tools/dist/man/%.rst
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)rst2man --strict $< $@

man: $(MAN_PAGES)

# Writes the parts of the manual that come from tables.
$(B)/reference: $(B)/tools/dist/reference.o $(filter-out $(B)/tools/cli/main.o,$(call obj,$(CLI_SRCS))) \
		$(B)/libselftest.a $(B)/liblnetxctl.a $(B)/liblnetx.a
	$(call link,-ljansson -lm)

reference: $(B)/reference
	$(Q)$<

# ---- tests -----------------------------------------------------------------------------

# The daemon on a fake node, so that the output of the tools can be compared. What tests/fake
# defines takes the place of the library's.
$(B)/tests/lnetxd-fake: $(call obj,$(DAEMON_SRCS) $(CODEC_SRCS) $(FAKE_SRCS)) $(B)/libselftest.a \
		$(B)/libfastpath.a $(B)/liblnetx.a
	$(call link,$(LIBBPF) $(LIBCAP) -Wl$(comma)-z$(comma)muldefs -Wl$(comma)--wrap=lx_node_stop)

# In archives, so that a test links only what it uses.
$(B)/tests/libhelp.a: $(call obj,$(TEST_HELP_SRCS) $(SIM_SRCS) $(wildcard user/ctl/*.c))
	$(archive)

# Fakes.
$(B)/tests/libfake.a: $(call obj,$(TEST_FAKE_SRCS))
	$(archive)

$(B)/tests/test_sock_%: $(B)/tests/unit/test_sock_%.o $(B)/tests/libhelp.a $(B)/tests/libfake.a \
		$(B)/libfastpath.a $(B)/liblnetx.a
	$(call link,-lcmocka $(LIBBPF) -Wl$(comma)--wrap=clock_gettime)

$(addprefix $(B)/tests/,test_o2ib_tx test_o2ib_peer): $(B)/tests/%: $(B)/tests/unit/%.o \
		$(B)/tests/unit/fakeo2ib.o $(B)/tests/libhelp.a $(B)/liblnetx.a
	$(call link,-lcmocka)

# The parts of the tools that compute and draw.
$(addprefix $(B)/tests/,test_fabric test_bandwidth): $(B)/tests/%: $(B)/tests/unit/%.o \
		$(call obj,$(addprefix tools/cli/lnetx/,rail.c matrix.c bandwidth.c)) \
		$(B)/tests/libhelp.a $(B)/liblnetx.a
	$(call link,-lcmocka -lm)

# The tools, with a clock that the test sets.
$(B)/tests/test_doctor: $(B)/tests/unit/test_doctor.o \
		$(filter-out $(B)/tools/cli/main.o,$(call obj,$(CLI_SRCS))) \
		$(B)/tests/libhelp.a $(B)/libselftest.a $(B)/liblnetx.a
	$(call link,-lcmocka -ljansson -lm \
		-Wl$(comma)--wrap=adjtimex$(comma)--wrap=lx_request_row)

# The tools' arguments, beside the other ways to say the same.
$(B)/tests/test_schema: $(B)/tests/unit/test_schema.o \
		$(call obj,$(addprefix tools/cli/common/,args.c quantity.c session.c)) \
		$(B)/tests/libhelp.a $(B)/liblnetx.a
	$(call link,-lcmocka)

# State and computations of LNet selftest's console.
$(B)/tests/test_lst_console: $(B)/tests/unit/test_lst_console.o \
		$(call obj,$(addprefix tools/cli/common/,console.c quantity.c session.c trans.c tree.c)) \
		$(B)/tests/libhelp.a $(B)/liblnetx.a
	$(call link,-lcmocka -ljansson)

# Parts of the daemon alone.
$(addprefix $(B)/tests/test_daemon_,difference log report): $(B)/tests/test_daemon_%: \
		$(B)/tests/unit/test_daemon_%.o $(B)/user/daemon/%.o $(B)/tests/libhelp.a $(B)/liblnetx.a
	$(call link,-lcmocka)

# With failing allocations.
$(B)/tests/test_core_alloc: $(B)/tests/unit/test_core_alloc.o $(B)/tests/libhelp.a $(B)/liblnetx.a
	$(call link,-lcmocka -Wl$(comma)--wrap=calloc$(comma)--wrap=malloc)

# A libbpf that cannot, and an older kernel.
$(B)/tests/test_bpf_open: $(B)/tests/unit/test_bpf_open.o $(B)/tests/libhelp.a \
		$(B)/libfastpath.a $(B)/liblnetx.a
	$(call link,-lcmocka $(LIBBPF) \
		-Wl$(comma)--wrap=bpf_object__open_skeleton$(comma)--wrap=bpf_prog_load)

$(B)/tests/test_cli_json: $(B)/tests/unit/test_cli_json.o $(B)/tests/libhelp.a $(B)/liblnetx.a
	$(call link,-lcmocka -ljansson)

$(B)/tests/%: $(B)/tests/unit/%.o $(B)/tests/libhelp.a $(B)/libselftest.a $(B)/libfastpath.a \
		$(B)/liblnetx.a
	$(call link,-lcmocka $(LIBBPF))

$(B)/tests/test_golden_health: $(B)/tests/golden/test_golden_health.o $(B)/tests/libhelp.a \
		$(B)/liblnetx.a
	$(call link,-lcmocka $(LIBBPF))

$(B)/tests/test_golden_lst: $(B)/tests/golden/test_golden_lst.o $(call obj,$(GOLDEN_HELP_SRCS)) \
		$(B)/tests/libhelp.a $(B)/libselftest.a $(B)/liblnetx.a
	$(call link,-lcmocka $(LIBBPF))

$(B)/tests/%: $(B)/tests/golden/%.o $(call obj,$(GOLDEN_HELP_SRCS) $(SIM_SRCS)) $(B)/libselftest.a \
		$(B)/liblnetx.a
	$(call link,-lcmocka)

# For machines with RDMA, as in make vmtest.
$(B)/tests/%: $(B)/tests/rdma/%.o $(B)/liblnetx.a
	$(call link,-lcmocka)

# Watches the packets of system tests.
$(addprefix $(B)/tests/sys/packets,.o .syntax): | build/bpf/packets.skel.h

$(B)/tests/packets: $(B)/tests/sys/packets.o
	$(call link,$(LIBBPF))

# Reads counters of the fast path's programs.
$(B)/tests/streams: $(B)/tests/sys/streams.o
	$(call link,$(LIBBPF))

$(B)/tests/cable: $(B)/tests/sys/cable.o
	$(call link)

sys-programs: $(addprefix $(B)/tests/,packets streams cable)

$(B)/tests/libfuzz.a: $(call obj,$(FUZZ_HELP_SRCS))
	$(archive)

$(B)/tests/fuzz_o2ib_conn: $(B)/tests/fuzz/fuzz_o2ib_conn.o $(B)/tests/unit/fakeo2ib.o \
		$(B)/liblnetx.a
	$(call link,$(fuzz_main))

$(B)/tests/fuzz_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/libfuzz.a $(B)/tests/libhelp.a \
		$(B)/libselftest.a $(B)/libfastpath.a $(B)/liblnetx.a
	$(call link,$(fuzz_main) $(LIBBPF))

# Captures of Lustre's nodes, for the golden tests.
build/captures: tests/golden/captures/captures.tar.xz
	$(Q)rm -rf $@ $@.tmp && mkdir -p $@.tmp
	$(Q)tar -xJf $< -C $@.tmp && touch $@.tmp && mv $@.tmp $@

captures: build/captures

unit: $(TESTS) $(B)/tests/lnetxd-fake programs captures

# Tests and the load generator.
syntax: $(patsubst %.c,$(B)/%.syntax,$(filter-out %.bpf.c,$(wildcard tests/*/*.c tools/bench/*.c)))

fuzzers: $(FUZZERS)

deps:
	$(Q)tools/dist/deps build man

vms = $(if $(KERNELS),-v '$(KERNELS) $(SUITES)')
check:
	$(Q)tests/run $(vms) $(T)

# Fault, node, exit status, seconds, and what was asked and said.
faults:
	$(Q)tools/dist/deps build test
	+$(Q)V=$(V) $(AS_OWNER) tools/dist/progress -j$$(nproc) all bench-programs sys-programs
	$(Q)rm -f build/faults
	$(Q)FAULTS=all FAULTS_TABLE=$(CURDIR)/build/faults bats --timing -f '$(T)' tests/sys/faults.bats; \
		status=$$?; cat build/faults; exit $$status

durations:
	$(Q)tests/run -d $(vms) $(T)

cross-check:
	$(Q)tests/cross-check $(T)

FUZZ_SECONDS ?= 600
fuzz:
	$(Q)tests/run -f $(FUZZ_SECONDS) 'fuzz/*'

# Kernels are series of Debian or directories, suites are patterns: vmtest/run -l.
KERNELS ?=
SUITES ?=
# On an emulated machine everything is far away; for the daemon in build/near nothing is, nor is any
# packet too costly for lanes.
vmtest:
	$(Q)tools/dist/deps build test vmtest
	+$(Q)V=$(V) $(AS_OWNER) tools/dist/progress -j$$(nproc) all bench-programs sys-programs
	+$(Q)V=$(V) $(AS_OWNER) tools/dist/progress -j$$(nproc) B=build/near CPPFLAGS=-DLX_TEST_NEAR programs
	+$(Q)V=$(V) $(AS_OWNER) tools/dist/progress -j$$(nproc) SAN=asan unit programs bench-programs
	$(Q)set -f; vmtest/run $(KERNELS:%=-k %) $(SUITES:%=-s %)
	$(Q)$(if $(SUITES),,bats vmtest/kernel.bats vmtest/harness.bats)

bench-o2ib:
	$(Q)tools/dist/deps build bench vmtest
	+$(Q)V=$(V) $(AS_OWNER) tools/dist/progress -j$$(nproc) all bench-programs
	$(Q)vmtest/run -v $(or $(KERNELS:%=-k %),-k $(shell vmtest/kernel -l | tail -n 1)) --suites vmtest/bench.suites

includes style:
	$(Q)tests/check-$@

circles size: all
	$(Q)tests/check-$@ $(B)

stack: bpf
	$(Q)tests/check-$@ build/bpf/fastpath.bpf.o

# Checks lines changed since BASE; default: where the branch left main.
format-check:
	$(Q)tests/check-format $(BASE)

# Prints the head of this file.
help:
	@sed -n '3,/^$$/s/^# \{0,1\}//p' Makefile | sed -n '/^Builds/,$$p'

include tools/bench/bench.mk

# ---- install -----------------------------------------------------------------------------

# Pages of programs with Lustre's names are installed as lnetx-NAME.8.
NAMED_PAGES := $(filter $(NAMES:%=$(B)/man/%.8),$(MAN_PAGES))
our_page = $(if $(filter $(1),$(NAMED_PAGES)),lnetx-)$(notdir $(1))
# Manual pages and headers cite some of these, and they cite each other.
PAGES ?= $(wildcard $(foreach d,docs docs/*,$(addprefix $(d)/*.,md svg csv)))
# mode:file:target
FILES := 755:$(B)/bin/lnetxd:$(SBINDIR)/lnetxd \
	755:$(B)/bin/lnetx:$(SBINDIR)/lnetx \
	644:$(B)/liblnetx.a:$(LIBDIR)/liblnetx.a \
	755:$(B)/$(SONAME):$(LIBDIR)/$(SONAME) \
	644:$(B)/lnetx.pc:$(LIBDIR)/pkgconfig/lnetx.pc \
	644:$(B)/liblnetxctl.a:$(LIBDIR)/liblnetxctl.a \
	755:$(B)/$(CTL_SONAME):$(LIBDIR)/$(CTL_SONAME) \
	644:$(B)/lnetxctl.pc:$(LIBDIR)/pkgconfig/lnetxctl.pc \
	$(foreach p,$(PAGES),644:$(p):$(DOCDIR)/$(p:docs/%=%)) \
	$(foreach l,$(wildcard LICENSES/*),644:$(l):$(DOCDIR)/$(notdir $(l))) \
	644:$(B)/lnetxd.service:$(UNITDIR)/lnetxd.service \
	644:tools/dist/systemd/lnetx.sysusers:$(SYSUSERSDIR)/lnetx.conf \
	644:tools/dist/completion/lnetx.bash:$(COMPLETIONDIR)/lnetx \
	755:tools/dist/ocf/lnetxd:$(PREFIX)/lib/ocf/resource.d/lnetx/lnetxd \
	644:tools/dist/sos/lnetx.py:$(PREFIX)/share/lnetx/sos/lnetx.py \
	$(foreach m,$(MAN_PAGES),644:$(m):$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(call our_page,$(m))) \
	$(foreach h,$(PUBLIC_HEADERS),644:$(h):$(INCLUDEDIR)/lnetx/$(notdir $(h)))
# link:target
LINKS := $(SONAME):$(LIBDIR)/liblnetx.so $(CTL_SONAME):$(LIBDIR)/liblnetxctl.so
# The same programs under Lustre's names, in a directory of their own: for a PATH.
NAMES_DIR := $(LIBEXECDIR)/lnetx
# Links where nothing else stands: programs, pages, completions, and Lustre's unit, which others
# are ordered after.
COMPLETED := $(shell sed -n 's/^complete -F .* //p' tools/dist/completion/lnetx.bash)
LUSTRE_NAMES ?= 1
LUSTRE_LINKS := $(if $(filter-out 0 no,$(LUSTRE_NAMES)), \
	$(foreach n,$(NAMES),lnetx:$(DESTDIR)$(SBINDIR)/$(n)) \
	$(foreach m,$(notdir $(NAMED_PAGES)),lnetx-$(m):$(DESTDIR)$(MANDIR)/man8/$(m)) \
	$(foreach n,$(filter $(NAMES),$(COMPLETED)),lnetx:$(DESTDIR)$(COMPLETIONDIR)/$(n)) \
	lnetxd.service:$(DESTDIR)$(UNITDIR)/lnet.service)

# Made anew each time: the directories in it may be other ones now.
fill_pc = sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	-e 's|@VERSION@|$(VERSION)|; s|@LIBS@|$(LIBS)|' $< >$@

$(B)/lnetx.pc: user/node/lnetx.pc.in always
	$(Q)$(fill_pc)

$(B)/lnetxctl.pc: user/ctl/lnetxctl.pc.in always
	$(Q)$(fill_pc)

$(B)/lnetxd.service: tools/dist/systemd/lnetxd.service always
	$(Q)sed 's|/usr/sbin/|$(SBINDIR)/|' $< >$@

install: all man $(B)/lnetx.pc $(B)/lnetxctl.pc $(B)/lnetxd.service
	$(Q)for f in $(FILES); do \
		IFS=: read -r mode from to <<<"$$f" && \
		install -D -m "$$mode" "$$from" "$(DESTDIR)$$to" || exit 1; \
	done
	$(Q)tools/dist/links "$(DESTDIR)$(DOCDIR)"
	$(Q)for f in $(LINKS); do ln -sf "$${f%:*}" "$(DESTDIR)$${f#*:}" || exit 1; done
	$(Q)mkdir -p "$(DESTDIR)$(NAMES_DIR)" && for n in $(NAMES); do \
		ln -srf "$(DESTDIR)$(SBINDIR)/lnetx" "$(DESTDIR)$(NAMES_DIR)/$$n" || exit 1; \
	done
	@[ "$(DESTDIR)" ] || getent passwd lnetx >/dev/null || echo "there is no user lnetx yet," \
		"which lnetxd.service runs as. Next: $$(command -v systemd-sysusers >/dev/null && \
		echo systemd-sysusers || echo useradd --system --user-group --no-create-home lnetx)"
	@tools/dist/names -i "$(NAMES_DIR)" $(LUSTRE_LINKS)

uninstall:
	@tools/dist/names -u "$(NAMES_DIR)" $(LUSTRE_LINKS)
	$(Q)for f in $(FILES) $(LINKS); do rm -f "$(DESTDIR)$${f##*:}"; done
	$(Q)rm -rf "$(DESTDIR)$(NAMES_DIR)"
	$(Q)find "$(DESTDIR)$(INCLUDEDIR)/lnetx" "$(DESTDIR)$(DOCDIR)" -type d -empty -delete \
		2>/dev/null || true

# ---- packages ----------------------------------------------------------------------------

package:
	$(Q)tools/dist/deps build man deb
	$(Q)$(AS_OWNER) tools/dist/package deb

package-rpm:
	$(Q)tools/dist/deps build man rpm
	$(Q)$(AS_OWNER) tools/dist/package rpm

package-check: package
	$(Q)tools/dist/deps build man test deb rpm package-check
	+$(Q)V=$(V) $(AS_OWNER) tools/dist/progress -j$$(nproc) all bench-programs sys-programs
	$(Q)bats tests/package/package.bats
	$(Q)$(if $(filter bookworm,$(or $(SUITES),bookworm)), \
		README_ROOT=$(CURDIR)/build/package/roots/bookworm bats tests/sys/readme.bats)

fresh-check:
	$(Q)tools/dist/deps package-check
	$(Q)tests/package/fresh $(or $(SUITES),bookworm trixie)
	+$(Q)$(MAKE) --no-print-directory package-check

# For a release. Its number and date are those of the changelog.
dist:
	$(Q)grep -q '^## \[$(VERSION)\] - 20[0-9-]*$$' CHANGELOG.md || { \
		echo "CHANGELOG.md has no date for $(VERSION), the version of include/lnetx/version.h" >&2; exit 1; }
	$(Q)mkdir -p build
	$(Q)git archive --prefix=lnetx-$(VERSION)/ -o build/lnetx-$(VERSION).tar.gz HEAD
	@git diff --quiet HEAD || echo "uncommitted changes are not in it" >&2
	@echo build/lnetx-$(VERSION).tar.gz

clean:
	rm -rf build

.PHONY: all lib bpf programs man reference unit sys-programs captures syntax fuzzers deps check durations cross-check fuzz vmtest bench-o2ib includes style circles size stack format-check help always install uninstall dist package package-rpm package-check fresh-check clean
.PRECIOUS: $(B)/%.o build/bpf/%.bpf.o

# Made along with the objects; no search for rules that could make them.
%.d: ;
-include $(shell find $(B) build/bpf -name '*.d' 2>/dev/null)
