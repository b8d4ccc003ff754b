# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# make            build everything        make check    all tests (root)
# make demo       see it work (root)      make bench    measure (root)
# make deps       install what is needed  make install  DESTDIR= PREFIX=
#
# V=1 shows commands; SAN=asan or SAN=tsan builds with sanitizers, beside the
# ordinary build; CC=clang is fine. Everything made is below build/.

VERSION := 0.1.0
V ?= 0
SAN ?=
PREFIX ?= /usr
B := build/$(or $(SAN),release)

ifeq ($(V),0)
Q := @
say = @printf '  %-7s %s\n' $(1) $(2)
endif

LIBS := libuv libmnl yaml-0.1 zlib
PKG_CONFIG ?= pkg-config

CPPFLAGS += -Iinclude -D_GNU_SOURCE -DLX_VERSION='"$(VERSION)"' $(shell $(PKG_CONFIG) --cflags $(LIBS) jansson 2>/dev/null)
CFLAGS ?= -O2 -g
CFLAGS += -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wmissing-prototypes -Wvla -fvisibility=hidden -fPIC -pthread
LDLIBS += $(shell $(PKG_CONFIG) --libs $(LIBS) 2>/dev/null) -pthread

ifeq ($(SAN),asan)
CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
else ifeq ($(SAN),tsan)
CFLAGS += -fsanitize=thread -fno-omit-frame-pointer
LDFLAGS += -fsanitize=thread
endif

LIB_SRCS := $(wildcard user/base/*.c user/io/*.c user/core/*.c user/conf/*.c user/node/*.c \
	lnd/lo/*.c lnd/sock/*.c)
SIM_SRCS := $(wildcard lnd/sim/*.c)
DAEMON_SRCS := $(wildcard user/daemon/*.c)
CLI_SRCS := $(wildcard tools/*.c)
FAKE_SRCS := $(wildcard tests/fake/*.c)
TEST_SRCS := $(wildcard tests/unit/test_*.c)
TEST_HELP_SRCS := $(filter-out $(TEST_SRCS),$(wildcard tests/unit/*.c))
GOLDEN_SRCS := $(wildcard tests/golden/test_*.c)
GOLDEN_HELP_SRCS := $(filter-out $(GOLDEN_SRCS),$(wildcard tests/golden/*.c))

obj = $(patsubst %.c,$(B)/%.o,$(1))
LIB_OBJS := $(call obj,$(LIB_SRCS))
TESTS := $(patsubst tests/unit/%.c,$(B)/tests/%,$(TEST_SRCS)) \
	$(patsubst tests/golden/%.c,$(B)/tests/%,$(GOLDEN_SRCS))

all: $(B)/liblnetx.a

$(B)/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(B)/liblnetx.a: $(LIB_OBJS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/bin/lnetxd: $(call obj,$(DAEMON_SRCS)) $(B)/liblnetx.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(LDLIBS)

$(B)/bin/lnetx: $(call obj,$(CLI_SRCS)) $(B)/liblnetx.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ -ljansson $(LDLIBS)

# One program, two grammars: it goes by its name.
$(B)/bin/lnetctl: $(B)/bin/lnetx
	$(Q)ln -sf lnetx $@

programs: $(B)/bin/lnetxd $(B)/bin/lnetx $(B)/bin/lnetctl

# The daemon on a node of tables: what the tools print can be compared.
$(B)/tests/lnetxd-fake: $(call obj,$(DAEMON_SRCS) $(FAKE_SRCS)) $(B)/liblnetx.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(LDLIBS)

# In an archive, so that a test gets only the fakes it asks for.
$(B)/tests/libhelp.a: $(call obj,$(TEST_HELP_SRCS) $(SIM_SRCS))
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/tests/%: $(B)/tests/unit/%.o $(B)/tests/libhelp.a $(B)/liblnetx.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ -lcmocka $(LDLIBS)

$(B)/tests/%: $(B)/tests/golden/%.o $(call obj,$(GOLDEN_HELP_SRCS)) $(call obj,$(SIM_SRCS)) $(B)/liblnetx.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ -lcmocka $(LDLIBS)

unit: $(TESTS) $(B)/tests/lnetxd-fake $(B)/bin/lnetctl

clean:
	rm -rf build

.PHONY: all unit programs clean
.SECONDARY:

-include $(shell find $(B) -name '*.d' 2>/dev/null)
