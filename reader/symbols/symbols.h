/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - what an address of a callchain is: function, line, inlined functions.
 *
 * Names come from the report where `trace symbolize` has put them, else from the files that were
 * mapped (binary.h), else, for code made at run time, from the maps that its maker left (jit.h).
 * Whatever is not found stays module and offset, with a reason.
 *
 *   symbols_init(); symbols_find() ...; symbols_release()
 *
 * Every answer is kept: memory follows the number of distinct addresses. Answers stay valid until
 * release. One thread; allocates; reads files.
 */
#ifndef READER_SYMBOLS_SYMBOLS_H
#define READER_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/base/map.h"
#include "reader/base/pool.h"

struct contents;
struct process;
struct module;

struct symbol_frame {
	const char *function; /* demangled; NULL = not known */
	const char *file;     /* source file; NULL = not known */
	uint32_t line;        /* 0 = not known */
};

struct symbol {
	const char *module; /* path; NULL = in none */
	const char *reason; /* why no function is known; NULL = one is */
	uint64_t offset;    /* from the function's begin; without one, the address in the file */
	uint32_t frame_count;
	struct symbol_frame frames[]; /* at least one; innermost inlined function first */
};

struct symbols {
	struct contents *contents;
	const char *symbol_path; /* the caller's; NULL = none */
	bool no_names;           /* module and offset only: set it behind init */
	struct pool pool;
	const struct symbol **answers;
	uint32_t count, capacity;
	struct map places; /* address, and what it lies in -> place in `answers` + 1 */
	struct opened_binary *binaries;
	uint32_t binary_count, binary_capacity;
	struct map binary_places; /* path, build-id (of the pool) -> place in `binaries` + 1 */
	struct jit_maps *jit;
};

/* `contents` has been read, and lives longer; so does `symbol_path`, folders separated by colons
 * (NULL = none). */
void symbols_init(struct symbols *s, struct contents *contents, const char *symbol_path);
void symbols_release(struct symbols *s);

/* From when until when an answer holds. */
struct time_span {
	uint64_t from_ns, until_ns;
};

/*
 * The function that a return address of a callchain lies in, for a call that ended at `ns`. `span`
 * (may be NULL) is narrowed to the times for which the answer is the same. NULL = out of memory.
 */
const struct symbol *symbols_find(struct symbols *s, const struct process *p, uint64_t address,
	uint64_t ns, struct time_span *span);

/* Addresses of a module whose functions are not known. */
struct unresolved {
	const char *module, *reason; /* as in struct symbol */
	uint64_t count;
};

/* Why answers so far lack a function: the most frequent causes first, at most `room`. Returns their
 * number; what has no place is left out. */
uint32_t symbols_unresolved(const struct symbols *s, struct unresolved *ret_rows, uint32_t room);

/* The same without what is stored in the report, for a module that the caller chose (NULL = code
 * made at run time). */
const struct symbol *symbols_resolve(struct symbols *s, const struct process *p, uint64_t address,
	const struct module *module, uint64_t ns);

/* Does the report have the address in that module (NULL = none), and its function? */
void symbols_stored(struct symbols *s, struct process *p, uint64_t address,
	const struct module *module, bool *ret_stored, bool *ret_resolved);

#endif
