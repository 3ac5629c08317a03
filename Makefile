# SPDX-License-Identifier: Apache-2.0
# Builds and checks everything; `make help` lists the targets. One Makefile, which calls itself for another machine only. Sources are found by wildcard: a new
# source, test program or test script needs no line here.
#
# There are two flavors of objects: `lib` for the library that is loaded into applications (position independent, hidden symbols,
# never with a sanitizer), `prog` for our own programs and the unit tests. There is an archive per top folder, so that a program is linked
# only with the files that it uses.

VERSION := $(shell cat VERSION)

O ?= build
PREFIX ?= /usr/local
SAN ?=
V ?=
JOBS ?= 1
TESTS ?=
# ARCH=aarch64 builds for another machine, in a folder of its own, against the libraries in $(O)/root (scripts/cross-root).
ARCH ?=
ifneq ($(ARCH),)
O := build/$(ARCH)
CC := $(ARCH)-linux-gnu-gcc --sysroot=$(abspath $(O)/root)
CXX := $(ARCH)-linux-gnu-g++ --sysroot=$(abspath $(O)/root)
AR := $(ARCH)-linux-gnu-ar
ifneq ($(ARCH),$(shell uname -m))
EMULATOR ?= qemu-$(ARCH)-static -cpu max -L $(abspath $(O)/root)
endif
endif
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin AR),default)
AR := ar
endif
ifeq ($(origin CXX),default)
CXX := $(if $(findstring clang,$(CC)),clang++,g++)
endif
CFLAGS ?= -O2 -g

comma := ,
SAN_TAG := $(if $(SAN),-$(subst $(comma),-,$(SAN)))
CONFIG := $(notdir $(firstword $(CC)))$(SAN_TAG)
# Programs, libraries and tests of a sanitizer build have folders of their own, and so have the files of a release.
RELEASE := $(if $(filter release wheel dist,$(MAKECMDGOALS)),1)
P := $(O)$(if $(SAN),/san$(SAN_TAG))$(if $(RELEASE),/release)
OBJ := $(O)/obj/$(CONFIG)
GEN := $(O)/gen
LIBDIR := $(P)/lib/libtrace

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(patsubst $(O)/%,%,$@)';)

# ---- what can be built here ----

all:

CLEANING := $(filter clean help uninstall format,$(MAKECMDGOALS))
ifeq ($(CLEANING),)
include $(O)/config.mk
endif

# config.mk is written again when the compiler or scripts/configure changes.
$(shell mkdir -p $(O); echo '$(CC)' | cmp -s - $(O)/.cc || echo '$(CC)' >$(O)/.cc)
$(O)/config.mk: scripts/configure $(O)/.cc $(wildcard $(O)/cuda/include/cuda.h)
	$(Q)CC='$(CC)' scripts/configure $(O) >$@.tmp && mv $@.tmp $@

# ---- flags ----

# What depends on the processor: one folder each.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
# char has a sign on x86-64 only; atomic operations must not be calls of libgcc, which asks for the processor when it is loaded.
MACHINE_FLAGS_aarch64 := -fsigned-char $(if $(findstring clang,$(CC)),,-mno-outline-atomics)
MACHINE_FLAGS := $(MACHINE_FLAGS_$(MACHINE))
# Landing pads (BTI): indirect branches of programs that demand them end in this library, too.
MACHINE_LIB_FLAGS_aarch64 := -mbranch-protection=bti
MACHINE_LIB_FLAGS := $(MACHINE_LIB_FLAGS_$(MACHINE))
# The first glibc 2.N of the machine.
LIBC_FIRST_aarch64 := 17
LIBC_FIRST := $(or $(LIBC_FIRST_$(MACHINE)),0)
LOADER_x86_64 := ld-linux-x86-64.so.2
LOADER_aarch64 := ld-linux-aarch64.so.1
LOADER := $(LOADER_$(MACHINE))

INCLUDES := -I. -I$(GEN) -Iinclude
WARNINGS := -Wall -Wextra -Werror
COMMON_FLAGS = -std=gnu11 $(MACHINE_FLAGS) $(WARNINGS) $(INCLUDES) -DLIBTRACE_VERSION='"$(VERSION)"' -MMD -MP
# The compiler must not turn our loops into calls of memcpy or memset: the application, or a tool preloaded into it, may define them.
NO_LIBCALLS = $(if $(filter clang,$(CC_KIND)),-fno-builtin-memcpy -fno-builtin-memset -fno-builtin-strlen,-fno-tree-loop-distribute-patterns)
LIB_FLAGS = $(CFLAGS) $(MACHINE_LIB_FLAGS) -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-stack-protector -U_FORTIFY_SOURCE \
	-fasynchronous-unwind-tables $(NO_LIBCALLS) $(COMMON_FLAGS) $(CUDA_CFLAGS)
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
# Position independent, since some of these objects are linked into libtrace-reader.so.
PROG_FLAGS = $(CFLAGS) $(SAN_FLAGS) -fPIC -fvisibility=hidden -pthread $(COMMON_FLAGS) $(PROTOBUFC_CFLAGS) $(ZSTD_CFLAGS) $(SYMBOL_CFLAGS) $(SQLITE_CFLAGS) $(CUDA_CFLAGS)
PROG_LINK = $(CFLAGS) $(SAN_FLAGS) -pthread $(LDFLAGS)
# The sanitizers cannot be linked statically.
# A release is stripped, so that its build-ids do not depend on the folder of the build. Its shared objects are linked with stand-ins of the
# C library (scripts/gen-old-libc), so that they run with glibc OLDEST_LIBC and later.
OLDEST_LIBC := 2.17
OLD_LIBC := $(O)/old-libc
PROG_SHARED = $(PROG_LINK) $(if $(RELEASE),-s -nostdlib -Wl$(comma)--gc-sections)
LIBC = $(if $(RELEASE),$(OLD_LIBC)/libc.so.6 -Wl$(comma)--as-needed $(OLD_LIBC)/libm.so.6 $(OLD_LIBC)/$(LOADER) -lgcc,-lm)
LIBC_FILES := $(if $(RELEASE),$(OBJ)/prog/packaging/old_libc.o | $(OLD_LIBC)/libc.so.6)
STRIPPED := $(if $(RELEASE),-s)
STATIC = $(if $(SAN),,$(WRITER_STATIC))
STATIC_TRACE = $(if $(SAN),,$(TRACE_STATIC))
NO_DLOPEN := -Wl,--wrap=dlopen,--wrap=dlsym,--wrap=dlclose,--wrap=dlerror
READER_LIBS = $(SYMBOL_LIBS) $(SQLITE_LIBS) -lm

# Rewrites a stamp file only if its text changes: targets that depend on it are built again after a change of flags.
FLAGS_TEXT = $(CC) | $(LIB_FLAGS) | $(PROG_FLAGS) | $(PROG_LINK) | $(LDFLAGS)
stamp = @mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' >$@
$(OBJ)/.flags: FORCE
	$(call stamp,$(FLAGS_TEXT))
$(P)/.config: FORCE
	$(call stamp,$(CONFIG) $(FLAGS_TEXT))
FORCE:

# ---- sources ----

COMMON_SRC := $(wildcard common/*.c common/machine/*.c common/schema/*.c)
NCU_SRC := $(wildcard common/ncu/*.c)
TRACER_SRC := $(wildcard tracer/*/*.c unwind/*.c)
INJECT_SRC := $(filter-out inject/libc_stub.c,$(wildcard inject/*.c)) $(wildcard machine/$(MACHINE)/*.S)
WRITER_SRC := $(filter-out writer/main.c,$(wildcard writer/*.c writer/*/*.c))
READER_SRC := $(filter-out reader/cli/main.c reader/cli/static.c reader/host/% reader/python/%,$(wildcard reader/*/*.c reader/*/*/*.c))

objects = $(patsubst %,$(OBJ)/$(1)/%.o,$(basename $(2)))
PROTOS := $(patsubst common/schema/%.proto,%,$(wildcard common/schema/*.proto))
PB_H := $(PROTOS:%=$(GEN)/%.pb-c.h)
PB_C := $(PROTOS:%=$(GEN)/%.pb-c.c)
PB := $(PROTOS:%=$(OBJ)/prog/gen/%.pb-c.o)
A := $(OBJ)/prog

COMMON_A := $(A)/common.a
TRACER_A := $(A)/tracer.a
WRITER_A := $(A)/writer.a
READER_A := $(A)/reader.a

# ---- generated code ----

$(GEN)/%.pb-c.c: common/schema/%.proto
	$(call say,PROTOC)mkdir -p $(@D) && protoc-c --proto_path=common/schema --c_out=$(@D) $<
$(GEN)/%.pb-c.h: $(GEN)/%.pb-c.c ;

# The SQL of the reports, built into the command. The file depends on the folders, too, so that it is built again after an SQL file was deleted.
REPORT_FILES := $(wildcard reader/reports/*.sql reader/reports/*/*.sql)
LIBRARY_FILES := $(wildcard common/schema/libraries/*.def)
REPORT_TEMPLATES := $(wildcard reader/reports/*.sql.in)
$(GEN)/reports_sql.h: scripts/gen-reports $(REPORT_FILES) $(sort $(dir $(REPORT_FILES))) scripts/gen-template-reports $(REPORT_TEMPLATES) $(LIBRARY_FILES)
	$(call say,SQL)mkdir -p $(@D) && scripts/gen-template-reports $(GEN)/reports $(LIBRARY_FILES) $(REPORT_TEMPLATES) && \
		scripts/gen-reports $$(printf '%s\n' $(REPORT_FILES) $(GEN)/reports/*.sql | awk -F/ '{ print $$NF, $$0 }' | LC_ALL=C sort | cut -d' ' -f2) >$@

# The names of the kernel's system calls, by the headers of the machine that builds.
$(GEN)/system_calls.h: Makefile
	$(call say,GEN)mkdir -p $(@D) && echo '#include <asm/unistd.h>' | $(CC) -E -dM - | LC_ALL=C sort | \
		sed -n '/__NR_syscalls/d; s/^#define __NR_\([a-z_0-9]*\) .*/SYSTEM_CALL(\1)/p' >$@

# The page of `trace report --html`, bundled from reader/web and npm packages. Without npm it is empty, and the command reports that.
$(GEN)/page_html.h: scripts/gen-page $(wildcard reader/web/*.json reader/web/*.mjs reader/web/src/*)
	$(call say,NPM)mkdir -p $(@D) && scripts/gen-page $(if $(ARCH),build,$(O))/web $@
$(OBJ)/prog/reader/cli/report/page.o: | $(GEN)/page_html.h

# The exported names of libtrace.so, from the table of interposed functions.
$(GEN)/libtrace.map: $(wildcard scripts/gen-libc-map common/schema/libc.def) Makefile
	$(call say,MAP)mkdir -p $(@D); if [ -x scripts/gen-libc-map ] && [ -f common/schema/libc.def ]; then \
		scripts/gen-libc-map --first $(LIBC_FIRST) common/schema/libc.def >$@; \
	else printf '{ global: libtrace_*; InitializeInjection*; local: *; };\n' >$@; fi

# ---- objects and archives ----

$(OBJ)/lib/%.o: %.c $(OBJ)/.flags | $(PB_H)
	$(call say,CC)mkdir -p $(@D) && $(CC) $(LIB_FLAGS) -c -o $@ $<
# Vector registers hold arguments and results of the calls that it records.
$(addprefix $(OBJ)/lib/tracer/,functions/call.o core/drops.o mpi/calls.o): private LIB_FLAGS += -mgeneral-regs-only
# dlsym() must find its caller behind them, so they must enter it by a jump, whatever CFLAGS are.
$(addprefix $(OBJ)/lib/,tracer/functions/lookup.o inject/functions.o): private LIB_FLAGS += -O2 -foptimize-sibling-calls
$(OBJ)/lib/%.o: %.S $(OBJ)/.flags
	$(call say,AS)mkdir -p $(@D) && $(CC) $(LIB_FLAGS) -c -o $@ $<
$(OBJ)/prog/%.o: %.c $(OBJ)/.flags | $(PB_H) $(GEN)/reports_sql.h $(GEN)/system_calls.h
	$(call say,CC)mkdir -p $(@D) && $(CC) $(PROG_FLAGS) -c -o $@ $<
$(OBJ)/prog/gen/%.pb-c.o: $(GEN)/%.pb-c.c $(OBJ)/.flags | $(PB_H)
	$(call say,CC)mkdir -p $(@D) && $(CC) $(PROG_FLAGS) -fmacro-prefix-map=$(GEN)/=gen/ -c -o $@ $<

# Thin archives store paths, so files of the same name in two folders do not collide. The archive is removed first, so that no member of a deleted
# source remains.
archive = $(call say,AR)mkdir -p $(@D) && rm -f $@ && $(if $(filter %.o,$^),$(AR) qcsT $@ $(filter %.o,$^),$(AR) qcs $@)

$(COMMON_A): $(call objects,prog,$(COMMON_SRC) $(NCU_SRC)) $(PB)
	$(archive)
$(TRACER_A): $(call objects,prog,$(TRACER_SRC))
	$(archive)
$(WRITER_A): $(call objects,prog,$(WRITER_SRC))
	$(archive)
$(READER_A): $(call objects,prog,$(READER_SRC))
	$(archive)
$(OBJ)/lib/common.a: $(call objects,lib,$(COMMON_SRC))
	$(archive)

-include $(shell find $(O)/obj/$(CONFIG) -name '*.d' 2>/dev/null)

# ---- products ----

PRODUCTS := $(if $(INJECT_SRC),$(LIBDIR)/libtrace.so) \
	$(if $(wildcard writer/main.c),$(LIBDIR)/libtrace-writer) \
	$(if $(wildcard reader/cli/main.c),$(P)/bin/trace) \
	$(LIBDIR)/libtrace-reader.so $(LIBDIR)/libtrace-host
all: $(PRODUCTS) companions ## build library, writer and command (default)
.PHONY: all companions

# No relro: each fork copies one mapping less, and relro would not cover the table of real functions anyway.
# Bound at start (-z now), so that no hook enters the lazy resolver. Never unloaded (-z nodelete), since threads may be in its code.
$(LIBDIR)/libtrace.so: $(call objects,lib,$(INJECT_SRC) $(TRACER_SRC)) $(OBJ)/lib/common.a $(GEN)/libtrace.map $(OBJ)/lib/stub/libc.so.6 $(P)/.config
	$(call say,LD)mkdir -p $(@D) && $(CC) $(CFLAGS) $(STRIPPED) $(LDFLAGS) -shared -nostdlib -o $@ $(filter %.o,$^) $(filter %.a,$^) $(filter %.so.6,$^) -lgcc -Wl,-soname,libtrace.so \
		-Wl,-z,defs,-z,nodelete,-z,now,-z,norelro,-z,noseparate-code -Wl,--exclude-libs,ALL -Wl,--version-script,$(GEN)/libtrace.map \
		-Wl,-Map,$(OBJ)/lib/libtrace.link-map

$(OBJ)/lib/stub/libc.so.6: inject/libc_stub.c
	$(call say,LD)mkdir -p $(@D) && $(CC) -shared -nostdlib -fPIC -fno-builtin -o $@ $< -Wl,-soname,libc.so.6

$(LIBDIR)/libtrace-writer: $(OBJ)/prog/writer/main.o $(WRITER_A) $(COMMON_A) $(P)/.config
	$(call say,LD)mkdir -p $(@D) && $(CC) $(PROG_LINK) $(STRIPPED) $(STATIC) -o $@ $(filter %.o %.a,$^) $(FORMAT_LIBS)

# Linked statically where that is possible (TRACE_STATIC), so that it runs on any Linux; libtrace-host loads libraries for it.
$(P)/bin/trace: $(call objects,prog,reader/cli/main.c $(if $(STATIC_TRACE),reader/cli/static.c)) $(READER_A) $(COMMON_A) $(P)/.config
	$(call say,LD)mkdir -p $(@D) && $(CC) $(PROG_LINK) $(STRIPPED) $(if $(STATIC_TRACE),$(STATIC_TRACE) $(NO_DLOPEN)) -o $@ $(filter %.o %.a,$^) $(FORMAT_LIBS) $(READER_LIBS)

# The start files of the C library are named, since -nostdlib leaves them out.
$(LIBDIR)/libtrace-host: $(call objects,prog,$(wildcard reader/host/*.c) common/machine/time.c) $(P)/.config $(LIBC_FILES)
	$(call say,LD)mkdir -p $(@D) && $(CC) $(PROG_SHARED) -o $@ $(filter %.o,$^) \
		$(if $(RELEASE),-pie $(shell $(CC) -print-file-name=Scrt1.o) $(OLD_LIBC)/libc.so.6 -Wl$(comma)--no-as-needed $(OLD_LIBC)/libdl.so.2 -lgcc,-ldl)

$(OLD_LIBC)/libc.so.6: scripts/gen-old-libc
	$(call say,GEN)scripts/gen-old-libc $(OLDEST_LIBC) $(@D) $(LOADER) $(CC)

# libtrace-reader.so exports the interface, with its symbol version, and hides everything else. It is built without elfutils, whose static archive
# cannot be linked into a shared library: the only function names it knows are those that `trace symbolize` stored in the report.
NO_DWARF := $(patsubst %.c,$(OBJ)/prog/plain/%.o,$(wildcard reader/symbols/binary.c reader/symbols/binary_search.c reader/symbols/dwarf.c))
$(OBJ)/prog/plain/%.o: %.c $(OBJ)/.flags | $(PB_H)
	$(call say,CC)mkdir -p $(@D) && $(CC) $(PROG_FLAGS) -UHAVE_LIBDW -c -o $@ $<
$(LIBDIR)/libtrace-reader.so: $(call objects,prog,$(wildcard reader/api/*.c)) $(NO_DWARF) $(READER_A) $(COMMON_A) reader/api/libtrace-reader.map $(P)/.config $(LIBC_FILES)
	$(call say,LD)mkdir -p $(@D) && $(CC) $(PROG_SHARED) -shared -o $@ $(filter %.o %.a,$^) $(FORMAT_LIBS) $(filter -l:libiberty.a,$(SYMBOL_LIBS)) $(LIBC) \
		-Wl,-soname,libtrace-reader.so $(if $(SAN),,-Wl,-z,defs) -Wl,-z,now -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,--version-script,reader/api/libtrace-reader.map

# Private copies of libunwind and of the libraries that it needs, so that the folder can be copied to a machine without them.
# That of a release is built from source (scripts/setup --release), without debug information in sections of its own, and needs no liblzma.
COMPANIONS = $(if $(RELEASE)$(LIBUNWIND_FILE),$(LIBDIR)/libunwind.so.8) $(if $(RELEASE),,$(if $(LIBLZMA_FILE),$(LIBDIR)/liblzma.so.5))
ifeq ($(CLEANING),)
companions: $(COMPANIONS)
ifneq ($(RELEASE),)
$(LIBDIR)/libunwind.so.8: $(O)/libunwind/libunwind.a $(P)/.config $(LIBC_FILES)
	$(call say,LD)mkdir -p $(@D) && $(CC) $(PROG_SHARED) -shared -o $@ -Wl,--whole-archive $< -Wl,--no-whole-archive $(filter %.o,$^) $(LIBC) \
		-Wl,-soname,libunwind.so.8 -Wl,-z,defs -Wl,-z,now
$(O)/libunwind/libunwind.a:
	@echo 'a release needs the source of libunwind: run scripts/setup --release$(if $(ARCH), --$(ARCH))' >&2; exit 1
else
$(LIBDIR)/libunwind.so.8: $(LIBUNWIND_FILE)
	$(call say,COPY)mkdir -p $(@D) && cp -L $< $@
$(LIBDIR)/liblzma.so.5: $(LIBLZMA_FILE)
	$(call say,COPY)mkdir -p $(@D) && cp -L $< $@
endif
endif

# The Python code that `trace` runs is copied to the folder of the library.
PYTHON_FILES := $(shell find reader/python/*/ -name __pycache__ -prune -o -name build -prune -o -name '*.egg-info' -prune -o -name '*.c' -o -type f -print 2>/dev/null)
companions: $(PYTHON_FILES:reader/python/%=$(LIBDIR)/python/%)
$(LIBDIR)/python/%: reader/python/%
	$(call say,COPY)mkdir -p $(@D) && cp $< $@

# The compiled part of ncu_report, built if python3 has headers. Python's functions stay undefined: the interpreter defines them.
# It fits one version of Python, so a release has none.
PYTHON_FAST := $(if $(RELEASE)$(ARCH),,$(PYTHON_SUFFIX))
PYTHON_FAST := $(if $(PYTHON_FAST),$(LIBDIR)/python/ncu_report/_fast$(PYTHON_SUFFIX))
companions: $(PYTHON_FAST)
$(OBJ)/prog/reader/python/%.o: private PROG_FLAGS += $(PYTHON_CFLAGS)
$(LIBDIR)/python/ncu_report/_fast$(PYTHON_SUFFIX): $(OBJ)/prog/reader/python/ncu_report/_fast.o $(P)/.config
	$(call say,LD)mkdir -p $(@D) && $(CC) $(PROG_LINK) -shared -o $@ $< -Wl,-z,now

# ---- unit tests: one program per file ----

# These fail under qemu-user: it has no robust futexes, refuses clone() with the flags of the next one, loads no two libraries at one address, shows
# its own system calls in /proc, and needs more memory than the last one allows.
QEMU_CANNOT := tracer_lane tracer_launch unwind_modules writer_waits writer_bounds
UNIT_SRC := $(wildcard tests/unit/test_*.c tests/unit/libc_def_check.c)
# test_ring_order takes the place of ThreadSanitizer, and cannot be built with another sanitizer.
NOT_HERE := $(if $(EMULATOR),$(QEMU_CANNOT)) $(if $(SAN),ring_order)
UNIT := $(patsubst tests/unit/%.c,$(P)/tests/unit/%,$(filter-out $(NOT_HERE:%=tests/unit/test_%.c),$(UNIT_SRC)))
unit_named = $(filter $(patsubst %,$(P)/tests/unit/test_%,$(1)),$(UNIT))
MAKE_REPORT := $(patsubst %.c,$(OBJ)/prog/%.o,$(wildcard tests/unit/make_report.c))
$(call unit_named,writer_% all_%): $(WRITER_A)
$(call unit_named,reader_% all_%): $(READER_A) $(MAKE_REPORT)
$(call unit_named,tracer_% unwind_% all_%): $(TRACER_A)
# Each of its accesses to memory is a call of weak_memory.c, in place of ThreadSanitizer.
$(if $(SAN),,$(OBJ)/prog/tests/unit/test_ring_order.o: private PROG_FLAGS += -fsanitize=thread)
$(call unit_named,ring_order): $(OBJ)/prog/tests/unit/weak_memory.o
$(UNIT): $(P)/tests/unit/%: $(OBJ)/prog/tests/unit/%.o $(COMMON_A) $(P)/.config
	$(call say,LD)mkdir -p $(@D) && $(CC) $(PROG_LINK) -o $@ $(filter %.o,$^) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(FORMAT_LIBS) $(if $(filter $(READER_A),$^),$(SYMBOL_LIBS) $(SQLITE_LIBS)) -lm -ldl

# The fuzzers as tests, with our own main(): each runs the inputs in tests/fuzz/corpus and some mutations of them, always the same.
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SHARED := tests/unit/make_report.c $(filter-out tests/fuzz/fuzz_% tests/fuzz/driver.c,$(wildcard tests/fuzz/*.c))
FUZZ_TESTS := $(FUZZERS:%=$(P)/tests/fuzz/fuzz_%)
$(FUZZ_TESTS): $(P)/tests/fuzz/%: $(OBJ)/prog/tests/fuzz/%.o $(call objects,prog,tests/fuzz/driver.c $(FUZZ_SHARED)) $(WRITER_A) $(READER_A) $(COMMON_A) $(P)/.config
	$(call say,LD)mkdir -p $(@D) && $(CC) $(PROG_LINK) -o $@ $(filter %.o,$^) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(FORMAT_LIBS) $(READER_LIBS) -ldl

# ---- programs that are traced, and benchmarks: one program per file, lib*.c a shared object ----
# The first six lines of a file may have `// LINK: flags`, `// CFLAGS: flags`, `// CFLAGS x86_64: flags` (for that machine only), `// CC: compiler` (the file is skipped if that compiler is not
# installed) and `// NEEDS: nvtx`, `// NEEDS: opencl`, `// NEEDS: openmp`,
# `// NEEDS: openacc` (it is skipped if there are no headers, or no libomp), `// NEEDS: machine x86_64` (it is skipped on others).

# tests/bench/bench_*.c measure parts of our own programs and are linked with them.
APP_FILES := $(wildcard tests/apps/*.c tests/apps/*.cpp) $(filter-out tests/bench/bench_%,$(wildcard tests/bench/*.c tests/bench/*.cpp))
OWN_BENCH := $(patsubst %.c,$(P)/%,$(wildcard tests/bench/bench_*.c))
app_output = $(patsubst %,$(P)/%$(2),$(basename $(1)))
APP_LIB_FILES := $(foreach file,$(APP_FILES),$(if $(filter lib%,$(notdir $(file))),$(file)))
APP_LIBS := $(call app_output,$(APP_LIB_FILES),.so)
APPS := $(call app_output,$(filter-out $(APP_LIB_FILES),$(APP_FILES)))

line = $$(sed -n '1,6s|^// $(1): *||p' $<)
app = $(call say,$(1))mkdir -p $(@D); cc="$(call line,CC)"; \
	if [ -n "$$cc" ] && ! command -v $${cc%% *} >/dev/null; then echo "  SKIP    $<: no $$cc"; exit 0; fi; \
	if [ "$(call line,NEEDS)" = nvtx ] && [ -z '$(NVTX_INCLUDE)' ]; then echo "  SKIP    $<: no headers of NVTX"; exit 0; fi; \
	case "$(call line,NEEDS)" in machine\ *) if [ "$(call line,NEEDS)" != 'machine $(MACHINE)' ]; then echo "  SKIP    $<: not for $(MACHINE)"; exit 0; fi ;; esac; \
	if [ "$(call line,NEEDS)" = opencl ] && ! $(CC) -E -include CL/cl.h -xc /dev/null >/dev/null 2>&1; then \
		echo "  SKIP    $<: no headers of OpenCL"; exit 0; fi; \
	if [ "$(call line,NEEDS)" = openacc ] && ! echo 'int main(void) { return 0; }' | $${cc:-$(2)} -include openacc.h -fopenacc -x c - -o /dev/null 2>/dev/null; then echo "  SKIP    $<: no OpenACC"; exit 0; fi; \
	if [ "$(call line,NEEDS)" = openmp ] && ! echo 'int main(void) { return 0; }' | $${cc:-$(2)} -include omp.h -fopenmp -x c - -o /dev/null 2>/dev/null; then echo "  SKIP    $<: no libomp"; exit 0; fi; \
	$${cc:-$(2)} -O1 -g -pthread -Wall -I. -Iinclude -Itests/apps $(if $(NVTX_INCLUDE),-isystem $(NVTX_INCLUDE)) -MMD -MP -MF $@.d $(call line,CFLAGS) $(call line,CFLAGS $(MACHINE)) $(3) -o $@ $< \
		-L$(@D) -Wl,-rpath,'$$ORIGIN' $(call line,LINK)
$(P)/tests/%.so: tests/%.c
	$(call app,CC,$(CC),-fPIC -shared)
$(P)/tests/%.so: tests/%.cpp
	$(call app,CXX,$(CXX),-fPIC -shared)
$(APPS): $(P)/.config | $(APP_LIBS)
$(P)/tests/apps/libfunctions_loaded.so: | $(P)/tests/apps/libfunctions.so
$(P)/tests/apps/libfunctions_deep.so: | $(P)/tests/apps/libfunctions_copy.so
$(P)/tests/apps/libfunctions_deep2.so: | $(P)/tests/apps/libfunctions_copy2.so
$(P)/tests/%: tests/%.c
	$(call app,CC,$(CC),)
$(P)/tests/%: tests/%.cpp
	$(call app,CXX,$(CXX),)
-include $(wildcard $(P)/tests/apps/*.d $(P)/tests/bench/*.d)

$(filter %/bench_unwind,$(OWN_BENCH)): $(TRACER_A)
$(OWN_BENCH): $(P)/%: $(OBJ)/prog/%.o $(MAKE_REPORT) $(WRITER_A) $(READER_A) $(COMMON_A) $(P)/.config
	$(call say,LD)mkdir -p $(@D) && $(CC) $(PROG_LINK) -o $@ $(filter %.o,$^) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(FORMAT_LIBS) $(READER_LIBS) -lm -ldl

# The random hostile program of tests/hostile: one program of several files, and the libraries that it loads and is linked with.
HOSTILE_SRC := $(filter-out tests/hostile/lib%,$(wildcard tests/hostile/*.c))
HOSTILE := $(P)/tests/hostile/hostile
APP_LIBS += $(P)/tests/hostile/libhostile.so $(P)/tests/hostile/libhostile_calls.so
$(HOSTILE): $(P)/tests/hostile/libhostile_calls.so $(HOSTILE_SRC) $(wildcard tests/hostile/*.h tests/hostile/*.def) $(P)/.config
	$(call say,CC)mkdir -p $(@D) && $(CC) -std=gnu11 -O1 -g -pthread $(WARNINGS) -I. $(if $(NVTX_INCLUDE),-isystem $(NVTX_INCLUDE)) -o $@ $(HOSTILE_SRC) -L$(@D) -lhostile_calls -Wl,-rpath,'$$ORIGIN' -ldl

# Writers that do not fit the library, for tests/e2e/versions.py: one with another layout of the control page, one with another layout of spools.
# Their objects come before those of the archives.
OTHER_WRITERS := $(P)/tests/other/tree/libtrace-writer $(P)/tests/other/spool/libtrace-writer
$(OBJ)/prog/other/tree/%.o: %.c $(OBJ)/.flags | $(PB_H)
	$(call say,CC)mkdir -p $(@D) && $(CC) $(PROG_FLAGS) -DTREE_VERSION=0u -c -o $@ $<
$(OBJ)/prog/other/spool/%.o: %.c $(OBJ)/.flags | $(PB_H)
	$(call say,CC)mkdir -p $(@D) && $(CC) $(PROG_FLAGS) -DSPOOL_VERSION=0u -c -o $@ $<
$(OTHER_WRITERS): $(P)/tests/other/%/libtrace-writer: $(OBJ)/prog/writer/main.o $(OBJ)/prog/other/%/common/tree.o $(OBJ)/prog/other/%/writer/spool/spools.o $(WRITER_A) $(COMMON_A) $(P)/.config
	$(call say,LD)mkdir -p $(@D) && $(CC) $(PROG_LINK) $(STATIC) -o $@ $(filter %.o %.a,$^) $(FORMAT_LIBS)

# Nothing of this system changes: the other machine's libraries are unpacked in a folder.
aarch64: ## build everything for aarch64 in build/aarch64
	$(Q)[ -e build/aarch64/root/usr/include ] || scripts/cross-root build/aarch64/root
	$(Q)$(MAKE) ARCH=aarch64 all
aarch64-quick: ## build what .ci/run tests of it: library, writer, some programs
	$(Q)[ -e build/aarch64/root/usr/include ] || scripts/cross-root build/aarch64/root
	$(Q)$(MAKE) ARCH=aarch64 $(addprefix build/aarch64/,lib/libtrace/libtrace.so lib/libtrace/libtrace-writer \
		$(addprefix tests/apps/,nvtx_calls nvtx_threads counter_workload stepped stepped_stacks functions functions_now functions_noplt)) $(if $(HAVE_SIM),sim build/aarch64/tests/cuda/driver_api)
aarch64-check: aarch64 ## run the tests of the aarch64 build under qemu-user: all unit tests, and e2e/aarch64 with all that it can use
	$(Q)$(MAKE) ARCH=aarch64 apps cuda-apps unit
	$(Q)$(MAKE) e2e TESTS=e2e/aarch64
.PHONY: aarch64 aarch64-quick aarch64-check

apps: $(APPS) $(APP_LIBS) $(HOSTILE) $(OTHER_WRITERS) ## build the programs that tests trace
.PHONY: apps

# ---- the simulated CUDA device (tests/sim), and CUDA programs (tests/cuda) ----
# LD_LIBRARY_PATH names one of the folders of SIM: cuda13, cuda12 and cuda11 differ in their libcupti, nocupti has none.
# The device needs the headers of CUDA 13 and of its CUPTI; programs in CUDA C++ (*.cu) also need nvcc. What cannot be built is reported and left out.

SIM := $(O)/sim
HAVE_SIM := $(if $(HAVE_CUPTI),$(if $(shell grep -sE '^.define CUDA_VERSION (1[3-9]|[2-9][0-9])' '$(CUDA_INCLUDE)/cuda.h'),1))
SIM_SRC := $(filter-out tests/sim/cupti% tests/sim/runtime%,$(wildcard tests/sim/*.c))
SIM_GEN := $(GEN)/sim
SIM_FLAGS = -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -pthread $(WARNINGS) -I. -I$(SIM_GEN) $(CUDA_CFLAGS) -MMD -MP
SIM_LINK = $(CC) -shared -pthread -Wl,-z,defs -o $@ $(filter %.o,$^) -ldl
sim_objects = $(patsubst %.c,$(SIM)/obj/%.o,$(1))
SIM_FOLDERS := cuda13 cuda12 cuda11 nocupti
SIM_LIBS := $(patsubst %,$(SIM)/%/libcuda.so.1,$(SIM_FOLDERS)) $(patsubst %,$(SIM)/%/libcudart.so.13,$(SIM_FOLDERS)) \
	$(SIM)/cuda13/libcupti.so.13 $(SIM)/cuda12/libcupti.so.12 $(SIM)/cuda11/libcupti.so.11.8

sim: $(if $(HAVE_SIM),$(SIM_LIBS)) ## build the simulated CUDA device in build/sim
	$(if $(HAVE_SIM),,@echo '  SKIP    tests/sim: no headers of CUDA 13 with CUPTI (scripts/setup --cuda fetches them)')
.PHONY: sim

$(SIM_GEN)/names.c: tests/sim/gen.py $(wildcard tests/sim/*.c)
	$(call say,GEN)mkdir -p $(@D) && python3 $< $(subst $(empty) ,:,$(strip $(filter-out -isystem -D%,$(CUDA_CFLAGS)))) $(@D) $(filter %.c,$^)
$(SIM_GEN)/driver_api.c $(SIM_GEN)/runtime_api.c $(SIM_GEN)/entries.c $(SIM_GEN)/impl.h: $(SIM_GEN)/names.c ;
$(SIM)/obj/tests/sim/%.o: tests/sim/%.c $(SIM_GEN)/impl.h $(P)/.config
	$(call say,CC)mkdir -p $(@D) && $(CC) $(SIM_FLAGS) -c -o $@ $<
$(SIM)/obj/gen/%.o: $(SIM_GEN)/%.c $(P)/.config
	$(call say,CC)mkdir -p $(@D) && $(CC) $(SIM_FLAGS) -Wno-deprecated-declarations -c -o $@ $<
$(SIM)/obj/info-%.o: tests/sim/cupti_info.c $(P)/.config
	$(call say,CC)mkdir -p $(@D) && $(CC) $(SIM_FLAGS) -DSIM_CUPTI_VERSION=$* -c -o $@ $<
-include $(wildcard $(SIM)/obj/*.d $(SIM)/obj/tests/sim/*.d)

$(SIM)/cuda13/libcuda.so.1: $(call sim_objects,$(SIM_SRC)) $(SIM)/obj/gen/driver_api.o $(SIM)/obj/gen/entries.o
	$(call say,LD)mkdir -p $(@D) && $(SIM_LINK) -Wl,-soname,$(@F)
$(SIM)/cuda13/libcudart.so.13: $(call sim_objects,$(wildcard tests/sim/runtime*.c)) $(SIM)/obj/gen/runtime_api.o
	$(call say,LD)mkdir -p $(@D) && printf '$(@F) { global: *; };\n' >$(SIM)/obj/cudart.map && \
		$(SIM_LINK) -Wl,-soname,$(@F) -Wl,--version-script,$(SIM)/obj/cudart.map
SIM_CUPTI := $(call sim_objects,$(filter-out %_info.c,$(wildcard tests/sim/cupti*.c))) $(SIM)/obj/gen/names.o
$(SIM)/cuda13/libcupti.so.13: $(SIM_CUPTI) $(SIM)/obj/tests/sim/cupti_info.o
	$(call say,LD)mkdir -p $(@D) && $(SIM_LINK) -Wl,-soname,$(@F)
# Older CUPTI libraries do not have the functions that were added later. The versions are those of CUDA 12.6 and 11.8.
SIM_AFTER_12 := cuptiSubscribe_v2 cuptiActivityEnableHWTrace cuptiActivityEnableAllSyncRecords cuptiActivityEnableCudaEventDeviceTimestamps cuptiGetErrorMessage
SIM_AFTER_11 := $(SIM_AFTER_12) $(addprefix cupti,ProfilerHostInitialize RangeProfilerEnable RangeProfilerStart) cuptiActivityEnableDriverApi cuptiActivityEnableRuntimeApi cuptiActivityEnableAllocationSource cuptiActivityEnableDeviceGraph cuptiGetGraphExecId
sim_old_cupti = $(call say,LD)mkdir -p $(@D) && printf '{ global: cupti*; local: $(patsubst %,%;,$(1)) };\n' >$@.map && $(SIM_LINK) -Wl,-soname,$(@F) -Wl,--version-script,$@.map
$(SIM)/cuda12/libcupti.so.12: $(SIM_CUPTI) $(SIM)/obj/info-24.o
	$(call sim_old_cupti,$(SIM_AFTER_12))
$(SIM)/cuda11/libcupti.so.11.8: $(SIM_CUPTI) $(SIM)/obj/info-18.o
	$(call sim_old_cupti,$(SIM_AFTER_11))
$(patsubst %,$(SIM)/%/libcuda.so.1,$(filter-out cuda13,$(SIM_FOLDERS))) $(patsubst %,$(SIM)/%/libcudart.so.13,$(filter-out cuda13,$(SIM_FOLDERS))): $(SIM)/cuda13/libcuda.so.1 $(SIM)/cuda13/libcudart.so.13
	$(call say,COPY)mkdir -p $(@D) && cp $(SIM)/cuda13/$(@F) $@

# CUDA programs use the shared runtime, so that they run on the simulated device and on a real one, and have no compressed code, so that the
# simulated device finds the cubin. They contain code for compute capability 9.0, and PTX for other devices from 7.5 on. They are linked with
# -rdynamic, so that the simulated device finds the functions that say what kernels do (tests/sim/kernel.h).
NVCC_FLAGS ?= -O2 -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=sm_90
CUDA_APP_FILES := $(if $(HAVE_SIM),$(filter-out $(if $(NVTX_INCLUDE),,tests/cuda/nvtx_%),$(wildcard tests/cuda/*.c)) $(if $(ARCH),,$(if $(NVCC),$(wildcard tests/cuda/*.cu))))
CUDA_APPS := $(call app_output,$(filter-out tests/cuda/lib%,$(CUDA_APP_FILES))) $(call app_output,$(filter tests/cuda/lib%,$(CUDA_APP_FILES)),.so)
# The static runtime, nvcc's default, does not work with the simulated device: this program shows that tracing breaks nothing there, and runs on
# a GPU.
STATIC_CUDA_APP := $(if $(ARCH),,$(if $(HAVE_SIM),$(if $(NVCC),$(P)/tests/cuda/vector_add_static)))
cuda-apps: sim $(CUDA_APPS) $(STATIC_CUDA_APP) ## build the CUDA programs of tests/cuda
	$(if $(HAVE_SIM),$(if $(NVCC),,@echo '  SKIP    tests/cuda/*.cu: no nvcc'),@echo '  SKIP    tests/cuda: no headers of CUDA 13 with CUPTI')
.PHONY: cuda-apps
$(P)/tests/cuda/%: tests/cuda/%.cu $(P)/.config $(wildcard tests/cuda/*.h)
	$(call say,NVCC)mkdir -p $(@D) && $(NVCC) -cudart shared --no-compress -std=c++17 $(NVCC_FLAGS) -I. -Xcompiler -Wall,-pthread -Xlinker -export-dynamic -o $@ $<
$(STATIC_CUDA_APP): $(P)/tests/cuda/%_static: tests/cuda/%.cu $(P)/.config $(wildcard tests/cuda/*.h)
	$(call say,NVCC)mkdir -p $(@D) && $(NVCC) -cudart static -std=c++17 $(NVCC_FLAGS) -I. -Xcompiler -Wall,-pthread -o $@ $<
$(P)/tests/cuda/lib%.so: tests/cuda/lib%.c $(P)/.config
	$(call say,CC)mkdir -p $(@D) && $(CC) $(SIM_FLAGS) -fvisibility=default -shared -o $@ $< -ldl
# Stand-ins of CUDA's libraries.
LIBRARY_STUBS := $(patsubst %.c,$(P)/%.so,$(wildcard tests/cuda/lib*_stub.c))
$(P)/tests/cuda/call_libraries: private CUDA_APP_LINK = -L$(@D) $(patsubst %,-l:%,$(notdir $(LIBRARY_STUBS))) -Wl,-rpath,'$$ORIGIN'
$(P)/tests/cuda/call_libraries: $(LIBRARY_STUBS)
$(P)/tests/cuda/%: tests/cuda/%.c $(P)/.config $(SIM)/cuda13/libcuda.so.1
	$(call say,CC)mkdir -p $(@D) && $(CC) $(SIM_FLAGS) $(if $(NVTX_INCLUDE),-isystem $(NVTX_INCLUDE)) -rdynamic -o $@ $< $(CUDA_APP_LINK) -L$(SIM)/cuda13 -l:libcuda.so.1 -ldl

# ---- running tests ----

SCRIPT_FILES := $(wildcard $(foreach folder,e2e fault hostile peers,tests/$(folder)/*.sh tests/$(folder)/*.py))
SCRIPT_TESTS := $(foreach file,$(SCRIPT_FILES),$(if $(filter lib% _%,$(notdir $(file))),,$(file)))
# TESTS='words' runs only the tests whose path contains one of the words.
chosen = $(if $(TESTS),$(foreach file,$(1),$(if $(strip $(foreach word,$(TESTS),$(findstring $(word),$(file)))),$(file))),$(1))
SHARED_DIR := $(realpath ../shared)
ENV = PATH="$$PATH:/usr/sbin:/sbin" BUILD='$(abspath $(P))' SRC='$(CURDIR)' SHARED='$(SHARED_DIR)' CC='$(CC)' SAN='$(SAN)' JOBS='$(JOBS)' LOGS='$(abspath $(P))/test-logs' OBJ='$(OBJ)' GEN='$(GEN)' SIM='$(abspath $(SIM))' $(if $(EMULATOR),EMULATOR='$(EMULATOR)') $(if $(INSTALLED),INSTALLED='$(abspath $(INSTALLED))')

check: all apps cuda-apps $(UNIT) $(FUZZ_TESTS) ## run unit, e2e and lint; ends with the line "N passed, N failed, N skipped"
	$(Q)$(ENV) scripts/tap-run $(call chosen,$(UNIT) $(FUZZ_TESTS) $(SCRIPT_TESTS) scripts/lint)
unit: $(call chosen,$(UNIT) $(FUZZ_TESTS)) ## run the unit tests, and some inputs of each fuzzer
	$(Q)$(ENV) scripts/tap-run $(call chosen,$(UNIT) $(FUZZ_TESTS))
e2e: all apps cuda-apps $(UNIT) ## run the tests that trace programs, and compare with other tools where these are installed
	$(Q)$(ENV) scripts/tap-run $(call chosen,$(SCRIPT_TESTS))
e2e-release: ## run e2e with the files of a release instead of those of the build
	$(Q)$(MAKE) release
	$(Q)$(MAKE) e2e INSTALLED='$(P)/release/root'
lint: all $(UNIT) ## run the checks of scripts/check-*
	$(Q)$(ENV) scripts/tap-run scripts/lint
torture: all apps cuda-apps $(FUZZ_TESTS) ## run the long version of the e2e tests and of the fuzzers (TORTURE=1)
	$(Q)$(ENV) TORTURE=1 scripts/tap-run $(call chosen,$(FUZZ_TESTS) $(SCRIPT_TESTS))
bench: all apps cuda-apps $(OWN_BENCH) ## measure speed and size against the limits of docs/performance.md
	$(Q)$(ENV) tests/bench/run
.PHONY: check unit e2e e2e-release lint torture bench

# ---- fuzzing: tests/fuzz/fuzz_NAME.c with the corpus tests/fuzz/corpus/NAME, by clang's libFuzzer; REACH=1: for tests/fuzz/reach.sh ----

FUZZ_SECONDS ?= 60
FUZZ_OBJ := $(O)/obj/fuzz$(if $(REACH),-reach)
FUZZ := $(O)/fuzz$(if $(REACH),/reach)
FUZZ_SAN := $(if $(REACH),-fprofile-instr-generate -fcoverage-mapping,-fsanitize=address$(comma)undefined -fno-sanitize-recover=all)
FUZZ_FLAGS = -O1 -g $(FUZZ_SAN) -pthread $(COMMON_FLAGS) $(PROTOBUFC_CFLAGS) $(ZSTD_CFLAGS) $(SYMBOL_CFLAGS) $(SQLITE_CFLAGS) $(CUDA_CFLAGS)
fuzz_objects = $(patsubst %,$(FUZZ_OBJ)/%.o,$(basename $(1)))
$(FUZZ_OBJ)/gen/%.pb-c.o: $(GEN)/%.pb-c.c $(FUZZ_OBJ)/.flags
	$(call say,CC)mkdir -p $(@D) && clang $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<
$(FUZZ_OBJ)/%.o: %.c $(FUZZ_OBJ)/.flags | $(PB_H) $(GEN)/reports_sql.h $(GEN)/system_calls.h $(GEN)/page_html.h
	$(call say,CC)mkdir -p $(@D) && clang $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<
$(FUZZ_OBJ)/.flags: FORCE
	$(call stamp,$(FUZZ_FLAGS))
$(FUZZ_OBJ)/all.a: $(call fuzz_objects,$(READER_SRC) $(WRITER_SRC) $(COMMON_SRC) $(NCU_SRC) $(FUZZ_SHARED)) $(PROTOS:%=$(FUZZ_OBJ)/gen/%.pb-c.o)
	$(archive)
$(FUZZ)/fuzz_%: $(FUZZ_OBJ)/tests/fuzz/fuzz_%.o $(FUZZ_OBJ)/all.a
	$(call say,FUZZ)mkdir -p $(@D) && clang $(FUZZ_SAN) -fsanitize=fuzzer -pthread -o $@ $^ $(FORMAT_LIBS) $(READER_LIBS)
fuzz: $(FUZZERS:%=$(O)/fuzz/fuzz_%) ## run every fuzzer FUZZ_SECONDS (60); a crash leaves its input in build/fuzz
	$(Q)for name in $(FUZZERS); do mkdir -p $(O)/fuzz/found/$$name; \
		$(O)/fuzz/fuzz_$$name -max_total_time=$(FUZZ_SECONDS) -timeout=10 -malloc_limit_mb=250 -close_fd_mask=3 -artifact_prefix=$(O)/fuzz/ -print_final_stats=1 \
			$(O)/fuzz/found/$$name tests/fuzz/corpus/$$name || exit 1; done
.PHONY: fuzz
-include $(shell find $(FUZZ_OBJ) -name '*.d' 2>/dev/null)

# ---- install ----

# The library is installed in lib/libtrace, not in lib: another package's libtrace.so may be in lib, and -ltrace must not find ours.
# PROGRAM_PREFIX=lt- installs the command as lt-trace, for machines where another program (perf, for example) is called `trace`.

D = $(DESTDIR)$(PREFIX)
PROGRAM_PREFIX ?=
PROGRAM = $(PROGRAM_PREFIX)trace
BASH_COMPLETIONS = $(D)/share/bash-completion/completions
install: all ## install command, library folder, headers, libtrace.pc, man page, completion; PREFIX= DESTDIR= PROGRAM_PREFIX=
	$(if $(RELEASE),$(Q)rm -rf $(D))
	$(Q)install -d $(D)/bin $(D)/include $(D)/lib/libtrace $(D)/lib/pkgconfig $(D)/share/man/man1 $(BASH_COMPLETIONS) $(D)/share/doc/libtrace
	$(Q)install -m 755 $(P)/bin/trace $(D)/bin/$(PROGRAM)
	$(Q)install -m 755 scripts/libtrace-run $(D)/bin/
	$(Q)sed 's|/trace"|/$(PROGRAM)"|g; s|\(command -v\|exec\) trace |\1 $(PROGRAM) |' scripts/libtrace-nightly >$(O)/install.tmp
	$(Q)install -m 755 $(O)/install.tmp $(D)/bin/libtrace-nightly
	$(Q)install -m 755 $(filter-out %/python,$(wildcard $(LIBDIR)/*)) $(D)/lib/libtrace/
	$(Q)for file in $(PYTHON_FILES:reader/python/%=%); do install -D -m 644 reader/python/$$file $(D)/lib/libtrace/python/$$file; done
	$(Q)for file in $(PYTHON_FAST); do install -m 755 $$file $(D)/lib/libtrace/python/ncu_report/; done
	$(Q)install -m 644 include/libtrace.h include/libtrace-reader.h $(D)/include/
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' libtrace.pc.in >$(O)/install.tmp && install -m 644 $(O)/install.tmp $(D)/lib/pkgconfig/libtrace.pc
	$(Q)install -m 644 LICENSE THIRD-PARTY.md NEWS.md $(D)/share/doc/libtrace/
	$(Q)made() { shift; $(EMULATOR) $(P)/bin/trace help "$$@" >$(O)/install.tmp 2>/dev/null && [ -s $(O)/install.tmp ]; }; \
		made man --man && install -m 644 $(O)/install.tmp $(D)/share/man/man1/$(PROGRAM).1; \
		made completion --completion bash && sed 's/^\(complete .*\) trace$$/\1 $(PROGRAM)/' $(O)/install.tmp >$(O)/install.tmp2 && \
		install -m 644 $(O)/install.tmp2 $(BASH_COMPLETIONS)/$(PROGRAM); rm -f $(O)/install.tmp $(O)/install.tmp2
	@echo "installed in $(D)"
uninstall: ## remove what `make install` installed, with the same PREFIX, DESTDIR and PROGRAM_PREFIX
	$(Q)rm -f $(D)/bin/$(PROGRAM) $(D)/bin/libtrace-run $(D)/bin/libtrace-nightly $(D)/include/libtrace.h $(D)/include/libtrace-reader.h \
		$(D)/lib/pkgconfig/libtrace.pc $(D)/share/man/man1/$(PROGRAM).1 $(BASH_COMPLETIONS)/$(PROGRAM)
	$(Q)rm -rf $(D)/lib/libtrace $(D)/share/doc/libtrace
.PHONY: install uninstall

# ---- releases: the same tree for every package, docs/packaging.md ----

release wheel dist: D = $(P)/root
release wheel dist: PREFIX = $${pcfiledir}/../..
release: install ## build what packages contain, for glibc 2.17 and later, in build/release/root
	$(Q)CC='$(CC)' scripts/gen-licenses $(O) $(D)/share/doc/libtrace/licenses $(if $(ARCH),$(O)/root)
	$(Q)O=$(O) scripts/check-portable
wheel: release ## build the Python wheel in build/dist
	$(Q)scripts/make-packages $(D) $(O)/dist wheel
dist: release ## build all packages in build/dist: wheel, archive, Debian package, image
	$(Q)scripts/make-packages $(D) $(O)/dist
.PHONY: release wheel dist

# ---- the rest ----

format: ## format all C files by clang-format
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i
clean: ## remove what was built; fetched CUDA headers stay
	$(Q)rm -rf $(O)/obj $(O)/gen $(O)/lib $(O)/bin $(O)/tests $(O)/sim $(O)/san-* $(O)/fuzz $(O)/release $(O)/dist $(O)/old-libc $(O)/test-logs $(O)/config.mk $(O)/.cc $(O)/.config
help: ## print this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'
	@echo
	@echo "  O=build  CC=gcc|clang  CFLAGS='-O2 -g'  SAN=address,undefined|thread  V=1  JOBS=2  TESTS='words in paths'  INSTALLED=folder of command and libraries to test"
.PHONY: format clean help FORCE
