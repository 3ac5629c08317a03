/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - names and identity of the interposed functions, from libc.def.
 */
#include "common/schema/functions.h"

#include <stddef.h>

#include "common/spool.h"

#define FN(ret, name, version, group, rule, alias, ...) #alias,
#define FNV(name, version, group, rule, alias, ...) #alias,
#define HAND(ret, name, version, group, rule, alias, ...) #alias,
static const char *const names[] = {
	"(none)", /* rows count from 1 */
#include "common/schema/libc.def"
};
#undef FN
#undef FNV
#undef HAND

#define IS_LOCK(rule) (__builtin_strcmp(#rule, "CONTENDED") == 0)
#define FN(ret, name, version, group, rule, alias, ...) IS_LOCK(rule),
#define FNV(name, version, group, rule, alias, ...) IS_LOCK(rule),
#define HAND(ret, name, version, group, rule, alias, ...) IS_LOCK(rule),
static const bool locks[] = {
	false,
#include "common/schema/libc.def"
};

#define FN_COUNT (sizeof(names) / sizeof(names[0]))
_Static_assert(FN_COUNT <= FN_MAX, "spool.h has no room for so many functions");

uint32_t fn_count(void)
{
	return FN_COUNT;
}

const char *fn_name(uint32_t fn)
{
	return fn < FN_COUNT ? names[fn] : NULL;
}

bool fn_is_lock(uint32_t fn)
{
	return fn < FN_COUNT && locks[fn];
}

#define FN(ret, name, version, group, rule, alias, ...) #alias "\n"
#define FNV(name, version, group, rule, alias, ...) #alias "\n"
#define HAND(ret, name, version, group, rule, alias, ...) #alias "\n"
static const char all_names[] =
#include "common/schema/libc.def"
	;

/* Like FNV-1a, a word at a time: every process computes the hash when it starts. */
uint64_t fn_hash(void)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325), word;
	for (size_t i = 0; i + sizeof(word) <= sizeof(all_names); i += sizeof(word)) {
		__builtin_memcpy(&word, all_names + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x100000001b3);
		hash ^= hash >> 32;
	}
	__builtin_memcpy(&word, all_names + sizeof(all_names) - sizeof(word), sizeof(word));
	return hash ^ word;
}
