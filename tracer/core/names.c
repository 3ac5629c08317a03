/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c - the table of interned names, and their texts in the spool.
 */
#define _GNU_SOURCE
#include "tracer/core/names.h"

#include <stddef.h>

#include "common/spool.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/bounded_lock.h"
#include "tracer/core/state.h"
#include "tracer/core/spool_file.h"

#define BUCKETS 4096u
#define BLOCK_BYTES 65536u
#define SPOOL_BLOCK_BYTES 16384u

uint32_t names_epoch = 1;

static struct name *buckets[BUCKETS];
static char *blocks[NAMES_BYTES_MAX / BLOCK_BYTES]; /* the blocks in order, NULL after the last */
static char *block;                                 /* free bytes of the last block */
static uint32_t block_left, bytes_used;
static uint64_t text_offset; /* offset of the next text in the spool */
static uint32_t text_left;
static uint32_t lock;

void names_forked(void)
{
	names_epoch++;
	text_left = 0;
	bounded_lock_give(&lock);
}

static uint32_t hash_of(bool is_domain, const struct name *domain, const char *text, uint32_t bytes)
{
	uint64_t hash =
		(UINT64_C(0xcbf29ce484222325) ^ (uint64_t)is_domain) + (uint64_t)(uintptr_t)domain;
	const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
	for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), text += sizeof(uint64_t)) {
		uint64_t word;
		__builtin_memcpy(&word, text, sizeof(word));
		hash = (hash ^ word) * factor;
		hash ^= hash >> 32;
	}
	for (uint32_t i = 0; i < bytes; i++)
		hash = (hash ^ (uint8_t)text[i]) * factor;
	return (uint32_t)(hash ^ hash >> 32);
}

static bool text_is(const struct name *name, const char *text, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (name->text[i] != text[i])
			return false;
	return true;
}

static struct name *memory_take(uint32_t bytes)
{
	bytes = (bytes + 7) & ~7u;
	if (bytes > block_left) {
		if (bytes_used + BLOCK_BYTES > NAMES_BYTES_MAX)
			return NULL;
		char *fresh = sys_mmap_beyond_data(BLOCK_BYTES);
		if (!fresh)
			return NULL;
		__atomic_store_n(&blocks[bytes_used / BLOCK_BYTES], fresh, __ATOMIC_RELEASE);
		block = fresh;
		block_left = BLOCK_BYTES;
		bytes_used += BLOCK_BYTES;
	}
	struct name *name = (struct name *)(void *)block;
	block += bytes;
	block_left -= bytes;
	return name;
}

static struct name *find(uint32_t hash, bool is_domain, const struct name *domain, const char *text,
	uint32_t bytes, bool is_cut)
{
	struct name *name = __atomic_load_n(&buckets[hash % BUCKETS], __ATOMIC_ACQUIRE);
	for (; name; name = name->next)
		if (name->hash == hash && name->is_domain == is_domain && name->domain == domain &&
			name->bytes == bytes && name->is_cut == is_cut &&
			text_is(name, text, bytes))
			return name;
	return NULL;
}

/* Any address within our blocks may be read: the number read as the hash selects a bucket, and only
 * a name in that bucket is accepted. */
struct name *names_known(uint64_t address)
{
	for (uint32_t i = 0; i < NAMES_BYTES_MAX / BLOCK_BYTES; i++) {
		uint64_t begin = (uint64_t)(uintptr_t)__atomic_load_n(&blocks[i], __ATOMIC_ACQUIRE);
		if (!begin)
			break;
		if (address < begin || address > begin + BLOCK_BYTES - sizeof(struct name) ||
			address % _Alignof(struct name))
			continue;
		uint32_t hash = ((const struct name *)(uintptr_t)address)->hash;
		struct name *name = __atomic_load_n(&buckets[hash % BUCKETS], __ATOMIC_ACQUIRE);
		while (name && (uint64_t)(uintptr_t)name != address)
			name = name->next;
		return name;
	}
	return NULL;
}

/* Return the name that replaces all names for which there is no room. */
static struct name *name_of_the_rest(void)
{
	static const char text[] = "(too many names)";
	static _Alignas(struct name) char place[sizeof(struct name) + sizeof(text)];
	struct name *name = (struct name *)(void *)place;
	name->bytes = sizeof(text) - 1;
	bytes_copy(name->text, text, sizeof(text));
	return name;
}

/* Add a name, with the lock held. Return NULL if there is no room. */
static struct name *add(uint32_t hash, bool is_domain, const struct name *domain, const char *text,
	uint32_t bytes, bool is_cut)
{
	struct name *name = memory_take((uint32_t)sizeof(*name) + bytes);
	if (!name)
		return NULL;
	*name = (struct name){.domain = domain,
		.hash = hash,
		.bytes = (uint16_t)bytes,
		.is_domain = is_domain,
		.is_cut = is_cut,
		.next = buckets[hash % BUCKETS]};
	bytes_copy(name->text, text, bytes);
	__atomic_store_n(&buckets[hash % BUCKETS], name, __ATOMIC_RELEASE);
	return name;
}

struct name *names_intern(bool is_domain, const struct name *domain, const char *text,
	uint32_t bytes, bool is_cut, bool *ret_is_new)
{
	uint32_t hash = hash_of(is_domain, domain, text, bytes);
	struct name *name = find(hash, is_domain, domain, text, bytes, is_cut);
	if (name || !bounded_lock_take(&lock))
		return name;
	name = find(hash, is_domain, domain, text, bytes, is_cut);
	if (!name) {
		name = add(hash, is_domain, domain, text, bytes, is_cut);
		if (name && ret_is_new)
			*ret_is_new = true;
		if (!name)
			name = name_of_the_rest();
	}
	bounded_lock_give(&lock);
	return name;
}

struct name *names_intern_long(const char *text, uint32_t bytes, bool is_cut)
{
	static const struct name none; /* the domain of long texts, which no program has */
	uint32_t hash = hash_of(false, &none, text, bytes);
	struct name *name = find(hash, false, &none, text, bytes, is_cut);
	if (name || !bounded_lock_take(&lock))
		return name;
	name = find(hash, false, &none, text, bytes, is_cut);
	if (!name && bytes_used < NAMES_BYTES_MAX / 2)
		name = add(hash, false, &none, text, bytes, is_cut);
	bounded_lock_give(&lock);
	return name;
}

/* Return the offset of room for a text in the spool, 0 if there is none. */
static uint64_t text_take(uint32_t bytes)
{
	void *place;
	bytes = (bytes + NVTX_NAME_UNIT - 1) & ~(NVTX_NAME_UNIT - 1);
	if (bytes > SPOOL_BLOCK_BYTES) { /* the text gets blocks of its own */
		uint32_t blocks_bytes = (bytes + SPOOL_BLOCK_BYTES - 1) & ~(SPOOL_BLOCK_BYTES - 1);
		return spool_file_take(blocks_bytes, blocks_bytes, &place);
	}
	if (bytes > text_left) {
		text_offset = spool_file_take(SPOOL_BLOCK_BYTES, SPOOL_BLOCK_BYTES, &place);
		text_left = text_offset ? SPOOL_BLOCK_BYTES : 0;
	}
	if (bytes > text_left)
		return 0;
	uint64_t offset = text_offset;
	text_offset += bytes;
	text_left -= bytes;
	return offset;
}

uint32_t names_write(struct name *name)
{
	if (!bounded_lock_take(&lock))
		return 0;
	if (name->epoch != names_epoch) {
		uint64_t offset = text_take((uint32_t)sizeof(struct nvtx_text) + name->bytes);
		name->ref = (uint32_t)(offset / NVTX_NAME_UNIT);
		if (offset) {
			struct nvtx_text *text = spool_file_at(offset);
			text->bytes = name->bytes;
			text->is_cut = name->is_cut;
			bytes_copy(text->text, name->text, name->bytes);
		}
		__atomic_store_n(&name->epoch, names_epoch, __ATOMIC_RELEASE);
	}
	bounded_lock_give(&lock);
	return name->ref;
}

uint32_t names_ref_of(const char *text)
{
	size_t bytes = text ? text_length(text) : 0;
	if (!bytes)
		return 0;
	bool is_cut = bytes > NAME_BYTES_MAX;
	return names_ref(names_intern(
		false, NULL, text, is_cut ? NAME_BYTES_MAX : (uint32_t)bytes, is_cut, NULL));
}
