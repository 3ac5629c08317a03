/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_rtld_next.c - compares rtld_next.h with dlsym: every function of the table must be
 * the one of the first object in search order.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include "tests/unit/tap.h"
#include "tracer/base/rtld_next.h"

#if defined(__aarch64__)
#define FORK_VERSION "GLIBC_2.17" /* the first of that machine */
#else
#define FORK_VERSION "GLIBC_2.2.5"
#endif

struct name {
	const char *name, *version;
};

static const struct name names[] = {
#define FN(ret, name, version, ...) {#name, version},
#define FNV(name, version, ...) {#name, version},
#define HAND(ret, name, version, ...) {#name, version},
#include "common/schema/libc.def"
};

static void *by_loader(const struct name *n)
{
	void *found = n->version ? dlvsym(RTLD_NEXT, n->name, n->version) : NULL;
	return found || n->version ? found : dlsym(RTLD_NEXT, n->name);
}

/* Compare the functions that all loaded objects import with those that the loader binds them to:
 * dlsym() on the program's handle searches in the same order. */
static void whole_scope(void)
{
	static struct rtld_next_scope scope;
	int differ = 0, found = 0;
	void *program = dlopen(NULL, RTLD_LAZY);
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		check(rtld_scope_add(&scope, map) != rtld_is_vdso(map), "an object is opened");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name = names[i].name, *version = names[i].version;
		void *theirs = version ? dlvsym(program, name, version) : dlsym(program, name);
		uint64_t ours = rtld_scope_find(&scope, name, rtld_hash(name), version);
		found += ours != 0;
		/* A reference is also bound to an interposer's function without a version (a
		 * sanitizer's); dlvsym() does not find it. */
		if (ours == (uint64_t)(uintptr_t)theirs ||
			ours == (uint64_t)(uintptr_t)dlsym(program, name))
			continue;
		differ++;
		printf("# %s\n", name);
	}
	check(found > 250 && differ == 0, "a scope finds what dlsym finds, chosen functions too");
	check(!rtld_scope_find(&scope, "no_such", rtld_hash("no_such"), NULL) &&
			!rtld_scope_has(&scope, "no_such", rtld_hash("no_such")),
		"and no unknown name");
	check(rtld_scope_find(&scope, "memcpy", rtld_hash("memcpy"), NULL) ==
			(uint64_t)(uintptr_t)dlsym(program, "memcpy"),
		"memcpy is the one that the C library chooses");
}

int main(void)
{
	whole_scope();
	struct rtld_next_scope scope;
	int differ = 0, found = 0, left = 0;
	check(rtld_next_open(&scope, _DYNAMIC), "the objects behind this program are opened");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *ours = rtld_next_find(&scope, names[i].name, names[i].version);
		void *theirs = by_loader(&names[i]);
		found += ours != NULL;
		left += !ours && theirs;
		/* dlsym finds an interposer's function without a version (a sanitizer's) */
		if (!ours || ours == theirs || ours == dlsym(RTLD_NEXT, names[i].name))
			continue;
		differ++;
		printf("# %s\n", names[i].name);
	}
	check(differ == 0, "each address found is the one that dlsym finds");
	check(found > 250, "most functions are found without dlsym");
	check(left < 10, "few functions are left to dlsym");
	check(!rtld_next_find(&scope, "no_such_function", NULL), "an unknown name is not found");
	check(!rtld_next_find(&scope, "fork", "GLIBC_0.0"), "an unknown version is not found");
	check(rtld_next_find(&scope, "fork", FORK_VERSION) == dlsym(RTLD_NEXT, "fork"),
		"a known version is found");
	int stack;
	check(!rtld_next_open(&scope, &stack) && scope.count == 0,
		"an address outside of all objects is refused");
	return tap_done();
}
