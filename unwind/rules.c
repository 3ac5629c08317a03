/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - how to get from a frame to its caller: the cache of rules.
 */
#include "unwind/rules.h"

#include <stddef.h>

#include "common/sys.h"
#include "unwind/modules.h"

#define CFA_MAX_BYTES 0x7fff8
#define BP_MAX_BYTES 0x1ff8
#define OTHERS_MAX 1024u
#define TABLES_MAX_BYTES (1ull << 30) /* tables are at most this far from .eh_frame_hdr */

#define PAGE_SETS 64u /* sets in a page of memory */

/* The cache is the first member. */
static struct rules {
	uint64_t cache[1u << RULES_SETS_BITS][RULES_WAYS];
	struct cfi_rule others[OTHERS_MAX];
	uint8_t page_used[(1u << RULES_SETS_BITS) / PAGE_SETS]; /* other pages are never touched */
} * rules;
uint64_t (*rules_cache)[RULES_WAYS];

static uint32_t others_taken; /* may pass OTHERS_MAX */
static int (*dl_find_object)(void *address, void *ret_object);

void rules_init(int (*find_object)(void *address, void *ret_object))
{
	dl_find_object = find_object;
}

bool rules_open(void)
{
	struct rules *table = sys_mmap_table((void **)(void *)&rules, sizeof(*rules));
	__atomic_store_n(&rules_cache, table ? table->cache : NULL, __ATOMIC_RELEASE);
	return table != NULL;
}

bool rules_object(uint64_t address, struct cfi_object *ret_object)
{
	struct dl_object found;
	if (!dl_find_object)
		return modules_find(address, ret_object);
	if (dl_find_object((void *)(uintptr_t)address, &found) != 0)
		return false;
	struct cfi_object object = {(uint64_t)(uintptr_t)found.begin,
		(uint64_t)(uintptr_t)found.end, (uint64_t)(uintptr_t)found.frame_header};
	/* In a program with gaps between its segments this is only the segment with the code. */
	if (object.frame_header &&
		object.frame_header - object.begin >= object.end - object.begin) {
		uint64_t header = object.frame_header;
		object.begin = header > TABLES_MAX_BYTES ? header - TABLES_MAX_BYTES : 0;
		object.end = header + TABLES_MAX_BYTES;
	}
	*ret_object = object;
	return true;
}

static bool same_rule(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->kind == b->kind && a->bp_saved == b->bp_saved && a->cfa.base == b->cfa.base &&
		a->cfa.loaded == b->cfa.loaded && a->cfa.offset == b->cfa.offset &&
		a->cfa.add == b->cfa.add && a->bp.base == b->bp.base &&
		a->bp.offset == b->bp.offset && a->ip == b->ip;
}

/* Put a rule that does not fit into an entry into the list of others. */
static uint32_t other_rule(const struct cfi_rule *rule)
{
	uint32_t count = __atomic_load_n(&others_taken, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < count && i < OTHERS_MAX; i++)
		if (__atomic_load_n(&rules->others[i].kind, __ATOMIC_ACQUIRE) &&
			same_rule(&rules->others[i], rule))
			return RULE_OTHER | i << 3;
	uint32_t number =
		count < OTHERS_MAX ? __atomic_fetch_add(&others_taken, 1, __ATOMIC_RELAXED) : count;
	if (number >= OTHERS_MAX)
		return RULE_UNKNOWN;
	struct cfi_rule *other = &rules->others[number];
	other->bp_saved = rule->bp_saved;
	other->cfa = rule->cfa;
	other->bp = rule->bp;
	other->ip = rule->ip;
	__atomic_store_n(&other->kind, rule->kind, __ATOMIC_RELEASE);
	return RULE_OTHER | number << 3;
}

static bool fits(int64_t bytes, int64_t max)
{
	return bytes >= 0 && bytes <= max && bytes % 8 == 0;
}

/* Return whether the return address is where an entry of the cache implies it. */
static bool ip_is_usual(const struct cfi_rule *rule, int64_t bp)
{
	return MACHINE_IP_FIXED || (rule->bp_saved && rule->ip == 8 - bp);
}

static uint32_t pack(const struct cfi_rule *rule)
{
	static const uint8_t kinds[] = {[CFI_NO_FDE] = RULE_NO_FDE,
		[CFI_UNKNOWN] = RULE_UNKNOWN,
		[CFI_END] = RULE_END,
		[CFI_SIGNAL] = RULE_SIGNAL};
	if (rule->kind != CFI_FRAME)
		return kinds[rule->kind];
	int64_t bp = rule->bp_saved ? -(int64_t)rule->bp.offset : 0;
	if (rule->cfa.loaded || !fits(rule->cfa.offset, CFA_MAX_BYTES) || !fits(bp, BP_MAX_BYTES) ||
		(rule->bp_saved && (rule->bp.base != CFI_CFA || bp == 0)) || !ip_is_usual(rule, bp))
		return other_rule(rule);
	return (rule->cfa.base == CFI_SP ? RULE_SP : RULE_BP) |
		(uint32_t)rule->cfa.offset / 8 << 3 | (uint32_t)bp / 8 << 19;
}

static uint32_t rules_fill(uint64_t address)
{
	struct cfi_object object;
	struct cfi_rule found = {.kind = CFI_NO_FDE};
	if (address >> RULES_ADDRESS_BITS)
		return RULE_NO_FDE;
	bool known = rules_object(address, &object);
	if (known)
		cfi_find(&object, address, &found);
	uint32_t rule = pack(&found);
	/* Code that was generated at run time may change soon, and so may an address without a
	 * module: do not cache it. */
	if (!known)
		return rule;
	uint64_t hash = address * RULES_FACTOR, way = RULES_FIRST(hash);
	uint64_t *set = rules_cache[RULES_SET(hash)];
	uint64_t entry = RULES_TAG(hash) | rule;
	__atomic_store_n(&rules->page_used[RULES_SET(hash) / PAGE_SETS], 1, __ATOMIC_RELAXED);
	for (uint64_t i = 0; i < RULES_WAYS; i++) {
		uint64_t empty = 0;
		if (__atomic_compare_exchange_n(&set[(way + i) % RULES_WAYS], &empty, entry, false,
			    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return rule;
	}
	__atomic_store_n(&set[way % RULES_WAYS], entry, __ATOMIC_RELEASE);
	return rule;
}

uint32_t rules_find_slow(uint64_t address)
{
	uint64_t hash = address * RULES_FACTOR, way = RULES_FIRST(hash);
	const uint64_t *set = rules_cache[RULES_SET(hash)];
	for (uint64_t i = 0; i < RULES_WAYS; i++) {
		uint64_t rule = __atomic_load_n(&set[(way + i) % RULES_WAYS], __ATOMIC_ACQUIRE) ^
			RULES_TAG(hash);
		if (rule - 1 < (1u << RULES_PAYLOAD_BITS) - 1)
			return (uint32_t)rule;
	}
	return rules_fill(address);
}

const struct cfi_rule *rules_other(uint32_t rule)
{
	return &rules->others[(rule >> 3 & 0xffff) % OTHERS_MAX];
}

/* Return the inverse of an odd number modulo 2^64, by Newton's method: each step doubles the number
 * of correct bits. */
static uint64_t inverse(uint64_t number)
{
	uint64_t x = number;
	for (int i = 0; i < 6; i++)
		x *= 2 - number * x;
	return x;
}

static void set_drop(uint64_t set, uint64_t back, uint64_t begin, uint64_t end)
{
	for (uint32_t i = 0; i < RULES_WAYS; i++) {
		uint64_t entry = __atomic_load_n(&rules_cache[set][i], __ATOMIC_RELAXED);
		uint64_t hash =
			set << (RULES_ADDRESS_BITS - RULES_SETS_BITS) | entry >> RULES_PAYLOAD_BITS;
		uint64_t address = hash * back & ((1ull << RULES_ADDRESS_BITS) - 1);
		if (entry && address >= begin && address < end)
			__atomic_compare_exchange_n(&rules_cache[set][i], &entry, 0, false,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

void rules_drop(uint64_t begin, uint64_t end)
{
	const uint64_t back = inverse(RULES_FACTOR >> (64 - RULES_ADDRESS_BITS));
	for (uint64_t set = 0; rules && set < 1u << RULES_SETS_BITS; set++)
		if (__atomic_load_n(&rules->page_used[set / PAGE_SETS], __ATOMIC_RELAXED))
			set_drop(set, back, begin, end);
}
