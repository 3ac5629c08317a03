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

/* FNV-1a over the names with their terminators. */
uint64_t fn_hash(void)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (uint32_t fn = 0; fn < FN_COUNT; fn++) {
		const char *p = names[fn];
		do
			hash = (hash ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
		while (*p++);
	}
	return hash;
}
