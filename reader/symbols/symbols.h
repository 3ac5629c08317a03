/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - resolution of addresses of callchains: function, line, inlined functions.
 *
 * The address of a Python frame is resolved from the report alone: `function (file.py:line)`, with
 * its source file as the module. Names of other addresses are taken from the report if `trace
 * symbolize` has stored them, else from the mapped files (binary.h), else, for code generated at
 * run time, from the maps that its generator wrote (jit.h). An address that is not found is shown
 * as module and offset, with a reason.
 *
 *   symbols_init(); symbols_find() ...; symbols_release()
 *
 * Every answer is cached: memory grows with the number of distinct addresses. Answers stay valid
 * until release. One thread; allocates; reads files.
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
	const char *module; /* path; NULL = no module */
	const char *reason; /* reason why no function is known; NULL = the function is known */
	uint64_t offset; /* offset from the start of the function; without a function, the address
			    in the file */
	bool is_python;
	uint32_t frame_count;
	struct symbol_frame frames[]; /* at least one; innermost inlined function first */
};

struct symbols {
	struct contents *contents;
	const char *symbol_path; /* owned by the caller; NULL = none */
	bool no_names;           /* module and offset only: set it after symbols_init() */
	struct pool pool;
	const struct symbol **answers;
	uint32_t count, capacity;
	struct map places; /* address and its module, code or process -> index in `answers` + 1 */
	struct opened_binary *binaries;
	uint32_t binary_count, binary_capacity;
	struct map binary_places; /* path, build-id (in the pool) -> index in `binaries` + 1 */
	struct jit_maps *jit;
};

/* Initialize. `contents`, which must be filled before the first lookup, and `symbol_path`, folders
 * separated by colons (NULL = none), must outlive `s`. */
void symbols_init(struct symbols *s, struct contents *contents, const char *symbol_path);
void symbols_release(struct symbols *s);

/* Span of time in which an answer is valid. */
struct time_span {
	uint64_t from_ns, until_ns;
};

/*
 * Return the function that contains a return address of a callchain, for a call that ended at `ns`.
 * `span` (may be NULL) is narrowed to the times that have the same answer. Returns NULL if memory
 * is short.
 */
const struct symbol *symbols_find(struct symbols *s, const struct process *p, uint64_t address,
	uint64_t ns, struct time_span *span);

/* Write the place that a return address belongs to: "function (file.c:12)", "module+0x12" if the
 * function is not known, else the address. Without `symbols` (NULL), the address. */
#define PLACE_BYTES 512u
void symbols_place(struct symbols *s, const struct process *p, uint64_t address, uint64_t ns,
	char ret_text[PLACE_BYTES]);

/* Write the name of the variable at an address in the data of a module, "queue+0x28", or
 * "module+0x4028" if the module has no such symbol. Returns false if it is in no module. */
bool symbols_variable(struct symbols *s, const struct process *p, uint64_t address, uint64_t ns,
	char ret_text[PLACE_BYTES]);

/* Addresses of a module that have no known function. */
struct unresolved {
	const char *module, *reason; /* texts as in struct symbol */
	uint64_t count;
};

/* List at most `room` reasons why answers so far have no function, most frequent first. Returns
 * their number. */
uint32_t symbols_unresolved(const struct symbols *s, struct unresolved *ret_rows, uint32_t room);

/* Like symbols_find(), but without the names stored in the report, for a module chosen by the
 * caller (NULL = code generated at run time). */
const struct symbol *symbols_resolve(struct symbols *s, const struct process *p, uint64_t address,
	const struct module *module, uint64_t ns);

/* Set *ret_stored if the report stores a row for the address in that module (NULL = none), and
 * *ret_resolved if the row has a function. */
void symbols_stored(struct symbols *s, struct process *p, uint64_t address,
	const struct module *module, bool *ret_stored, bool *ret_resolved);

#endif
