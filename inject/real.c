/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.c - the real functions that our wrappers call, looked up when they are first called.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "common/text.h"
#include "machine/machine.h"
#include "tracer/base/libc.h"
#include "tracer/base/rtld_next.h"

/* ---- boot functions: called instead of a real function that has not been looked up yet ---- */

#define FN(ret, name, version, group, rule, alias, ...)   \
	static ret boot_##name PARAMS(__VA_ARGS__)        \
	{                                                 \
		real_resolve(FN_##name);                  \
		return real.fn_##name NAMES(__VA_ARGS__); \
	}
#define FNV(name, version, group, rule, alias, ...) \
	static void boot_##name PARAMS(__VA_ARGS__) \
	{                                           \
		real_resolve(FN_##name);            \
		real.fn_##name NAMES(__VA_ARGS__);  \
	}
#include "common/schema/libc.def"

struct real real = {
#define FN(ret, name, ...) .fn_##name = boot_##name,
#define FNV(name, ...) .fn_##name = boot_##name,
#include "common/schema/libc.def"
};

/* ---- lookup ---- */

struct real_name {
	const char *name, *version;
	size_t offset;
};

static const struct real_name real_names[] = {
#define FN(ret, name, version, ...) {#name, version, offsetof(struct real, fn_##name)},
#define FNV(name, version, ...) {#name, version, offsetof(struct real, fn_##name)},
#define HAND(ret, name, version, ...) {#name, version, offsetof(struct real, fn_##name)},
#include "common/schema/libc.def"
};

/* Replaces functions that this libc does not have. No program can be linked with them, but dlsym
 * finds our wrappers. */
static long missing_function(void)
{
	errno = ENOSYS;
	return -1;
}

static struct rtld_next_scope scope;

/* Return the version of the function that is wanted: "GLIBC_2.N..."; NULL = the only one. On a
 * machine whose first glibc is later, there is no such version. */
static const char *version_of(const struct real_name *row)
{
	static const char begin[] = "GLIBC_2.";
	unsigned minor = 0;
	if (!row->version || !text_begins(row->version, begin))
		return row->version;
	for (const char *s = row->version + sizeof(begin) - 1; *s >= '0' && *s <= '9'; s++)
		minor = minor * 10 + (unsigned)(*s - '0');
	return minor < MACHINE_LIBC_MINOR ? NULL : row->version;
}

/*
 * The version is libc's. Another library after us that defines the function (a sanitizer's runtime)
 * defines it without a version, and dlvsym would skip it. dlsym finds that definition, and
 * otherwise the newest version in libc.
 */
static void *real_find_by_loader(const struct real_name *row)
{
	const char *version = version_of(row);
	void *next = libc.dlsym(RTLD_NEXT, row->name);
	void *exact = version && libc.dlvsym ? libc.dlvsym(RTLD_NEXT, row->name, version) : NULL;
	Dl_info next_info, exact_info;
	if (!exact || next == exact || !libc.dladdr(next, &next_info) ||
		!libc.dladdr(exact, &exact_info))
		return next;
	return next_info.dli_fbase == exact_info.dli_fbase ? exact : next;
}

static void **real_place(const struct real_name *row)
{
	return (void **)(void *)((char *)&real + row->offset);
}

void real_resolve(unsigned fn)
{
	relocate_check();
	const struct real_name *row = &real_names[fn - 1];
	/* A constructor called before ours has run. dlsym of an old glibc allocates. */
	if (!scope.count)
		rtld_next_open(&scope, _DYNAMIC);
	void *found = rtld_next_find(&scope, row->name, version_of(row));
	if (!found && libc.dlsym)
		found = real_find_by_loader(row);
	if (!found)
		found = (void *)(uintptr_t)missing_function;
	__atomic_store_n(real_place(row), found, __ATOMIC_RELEASE);
}

void *real_next(const char *name)
{
	const struct real_name row = {name, NULL, 0};
	if (!scope.count)
		rtld_next_open(&scope, _DYNAMIC);
	void *found = rtld_next_find(&scope, name, NULL);
	return found || !libc.dlsym ? found : real_find_by_loader(&row);
}

void real_open(void)
{
	/* Look all functions up at once under Valgrind: it reports a race if one thread stores an
	 * address later and another reads it. */
	bool opened = rtld_next_open(&scope, _DYNAMIC) && !machine_on_valgrind();
	for (unsigned fn = 1; fn < FN_COUNT; fn++)
		if (!opened ||
			*real_place(&real_names[fn - 1]) == (void *)(uintptr_t)missing_function)
			real_resolve(fn);
}
