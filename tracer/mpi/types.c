/* SPDX-License-Identifier: Apache-2.0 */
/*
 * types.c - the sizes of data types, so that the implementation is not asked at each call.
 *
 * A type of the program is asked when it is committed, by the thread that may use it, and forgotten
 * before it is freed: its handle may be used again.
 */
#include "tracer/mpi/mpi.h"

#include "common/sys.h"

#define KNOWN_MAX 1024u
#define PLACES 4u /* where a type can be, from its hash on */
#define TAKEN UINT64_MAX

struct known_type {
	uint64_t type; /* handle; 0 = free; TAKEN = being filled */
	int64_t bytes;
};
static struct known_type *known;

bool mpi_types_start(void)
{
	static void *place;
	known = sys_mmap_table(&place, KNOWN_MAX * sizeof(*known));
	return known != NULL;
}

static struct known_type *place_at(uint64_t type, uint32_t i)
{
	uint32_t first = (uint32_t)(type * UINT64_C(0x9e3779b97f4a7c15) >> 48);
	return &known[(first + i) % KNOWN_MAX];
}

/* Return the entry of a type; NULL = it is not known. */
static struct known_type *known_find(uint64_t type)
{
	for (uint32_t i = 0; i < PLACES; i++) {
		struct known_type *k = place_at(type, i);
		if (__atomic_load_n(&k->type, __ATOMIC_ACQUIRE) == type)
			return k;
	}
	return NULL;
}

/* Return the size; -1 = unknown. */
static int64_t bytes_ask(uint64_t type)
{
	int bytes = 0;
	if (type == mpi_library.null_type || mpi_library.type_size(type, &bytes))
		return -1;
	return bytes;
}

/* Remember the size, if there is a free place. */
static void bytes_keep(uint64_t type, int64_t bytes)
{
	for (uint32_t i = 0; i < PLACES; i++) {
		struct known_type *k = place_at(type, i);
		uint64_t unused = 0;
		if (!__atomic_compare_exchange_n(
			    &k->type, &unused, TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		k->bytes = bytes;
		__atomic_store_n(&k->type, type, __ATOMIC_RELEASE);
		return;
	}
}

int64_t mpi_type_bytes(uint64_t type)
{
	const struct known_type *k = known_find(type);
	if (__builtin_expect(k != NULL, 1))
		return k->bytes;
	int64_t bytes = bytes_ask(type);
	if (bytes >= 0 && mpi_type_is_predefined(type))
		bytes_keep(type, bytes);
	return bytes;
}

void mpi_type_note(uint64_t type)
{
	int64_t bytes = bytes_ask(type);
	mpi_type_forget(type);
	if (bytes >= 0)
		bytes_keep(type, bytes);
}

void mpi_type_forget(uint64_t type)
{
	struct known_type *k = type && type != TAKEN ? known_find(type) : NULL;
	if (k)
		__atomic_store_n(&k->type, 0, __ATOMIC_RELEASE);
}
