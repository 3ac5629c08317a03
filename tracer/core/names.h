/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - interned names: domains and registered strings of NVTX, names of CUDA functions. One
 * copy per process, written once per spool.
 *
 * A name is found again by its text, lives as long as the process, and is the program's handle. Its
 * text is copied into the spool before the first record that uses it, so a record needs 32 bits for
 * it, and the writer can read it even after the process has died. A forked child writes the names
 * that it uses again, to its own spool.
 *
 * Memory comes from the kernel in blocks and is bounded by NAMES_BYTES_MAX; beyond that all further
 * names are replaced by one. Any thread, with thread.busy set; takes a lock of its own.
 */
#ifndef TRACER_CORE_NAMES_H
#define TRACER_CORE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#define NAMES_BYTES_MAX (16u << 20)

struct name {
	struct name *next; /* next name of the bucket */
	uint32_t epoch;    /* epoch of the spool that `ref` refers to */
	uint32_t ref; /* offset in the spool's file, in NVTX_NAME_UNIT; 0 = could not be written */
	const struct name
		*domain; /* the domain that a string is registered in; NULL = the default domain */
	uint32_t hash;
	uint16_t bytes; /* length in bytes, at most NAME_BYTES_MAX */
	bool is_domain;
	bool is_cut;
	char text[];
};

/* Counts spools: a name of an older epoch is not in the spool. */
extern uint32_t names_epoch __attribute__((visibility("hidden")));

/* Return the name of this text; if there is none, create it and set *ret_is_new (may be NULL) to
 * true. `bytes` is at most NAME_BYTES_MAX. Return NULL if the lock is not free in time. */
struct name *names_intern(bool is_domain, const struct name *domain, const char *text,
	uint32_t bytes, bool is_cut, bool *ret_is_new);

/* Intern a text of an event that is too long for its record, so that it is stored once. Return NULL
 * once half of the memory is used: the rest is left to other names. */
struct name *names_intern_long(const char *text, uint32_t bytes, bool is_cut);

/* Return the string or domain that has this address; NULL if there is none: the address may be any
 * number. */
struct name *names_known(uint64_t address);

/* Write the name to the spool. Return its `ref`; 0 = there is no room. */
uint32_t names_write(struct name *name);

/* Return the reference that a record stores in place of the text; write the name to the spool if
 * the spool does not have it yet. */
static inline uint32_t names_ref(struct name *name)
{
	if (!name)
		return 0;
	return __builtin_expect(__atomic_load_n(&name->epoch, __ATOMIC_ACQUIRE) == names_epoch, 1)
		? name->ref
		: names_write(name);
}

/* Intern a text (NULL and empty: none), cut to NAME_BYTES_MAX. Return the reference that a record
 * stores; 0 = none. */
uint32_t names_ref_of(const char *text);

/* Forget, in a forked child, what was written to the parent's spool, and who held the lock. */
void names_forked(void);

#endif
