/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - domains and registered strings of NVTX: kept once per process, told once per spool.
 *
 * A name is found again by its text, lives as long as the process, and is what the program holds as
 * a handle. Its text is copied into the spool before the first record that uses it, so a record
 * needs 32 bits for it and the writer can always read it, whatever has died. A forked child has a
 * spool of its own and tells again what it uses.
 *
 * Memory comes from the kernel in blocks and is bounded by NAMES_BYTES_MAX; beyond it all further
 * names are one. Any thread, with thread.busy set; takes a lock of its own.
 */
#ifndef TRACER_NAMES_H
#define TRACER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#define NAMES_BYTES_MAX (16u << 20)

struct name {
	struct name *next; /* of the same hash */
	uint32_t epoch;    /* of the spool that `ref` is in */
	uint32_t ref; /* offset in the spool's file, in NVTX_NAME_UNIT; 0 = could not be told */
	const struct name *domain; /* a string is registered in one; NULL = the default one */
	uint32_t hash;
	uint16_t bytes; /* at most NAME_BYTES_MAX */
	bool is_domain;
	bool is_cut;
	char text[];
};

/* Counts spools: a name of an older epoch has to be told again. */
extern uint32_t names_epoch __attribute__((visibility("hidden")));

/* The name of this text, made if there is none: then *ret_is_new (may be NULL) becomes true.
 * `bytes` is at most NAME_BYTES_MAX. NULL when the lock is not to be had. */
struct name *names_intern(bool is_domain, const struct name *domain, const char *text,
	uint32_t bytes, bool is_cut, bool *ret_is_new);

/* The same for a text of an event that is too long for its record, so that it is kept once. Half of
 * the memory is left to others: NULL beyond it. */
struct name *names_intern_long(const char *text, uint32_t bytes, bool is_cut);

/* The string or domain that has this address, or that another tool's handle leads to (handles.h);
 * NULL when there is none: it may be any number. */
struct name *names_known(uint64_t address);

/* Tells it to the spool. Returns its `ref`. */
uint32_t names_tell(struct name *name);

/* What a record has in place of the text. */
static inline uint32_t names_ref(struct name *name)
{
	if (!name)
		return 0;
	return __builtin_expect(__atomic_load_n(&name->epoch, __ATOMIC_ACQUIRE) == names_epoch, 1)
		? name->ref
		: names_tell(name);
}

/* A forked child: nothing is told yet, and nobody holds the lock. */
void names_forked(void);

#endif
