/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_report.h - writes small reports for tests, by protobuf-c and without writer/.
 *
 * Call make_init(); entries are then added to the current block until make_block_end(). `data` and
 * `bytes` are the file. Out of memory ends the test program. Not thread-safe.
 */
#ifndef TESTS_UNIT_MAKE_REPORT_H
#define TESTS_UNIT_MAKE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report.pb-c.h"

struct make_report {
	uint8_t *data; /* the file */
	size_t bytes, capacity;
	uint8_t *entries; /* the current block */
	size_t entry_bytes, entry_capacity;
	uint32_t entry_count;
	uint64_t sequence, first_ns, last_ns, events, dropped;
	uint32_t next_string;
	bool compress;
};

/* One row of OSRT_CALL. */
struct make_call {
	uint64_t start, duration;
	uint32_t function;
	int64_t result;
	uint64_t error, object, holder, flags;
};

void make_init(struct make_report *m, bool compress);
void make_release(struct make_report *m);

void make_entry(struct make_report *m, const Libtrace__Entry *entry);
void make_session(struct make_report *m, uint64_t start_ns);

/* Add a string; return its id. */
uint32_t make_string(struct make_report *m, const char *text);
uint32_t make_bytes(struct make_report *m, const void *bytes, size_t count);
void make_process(struct make_report *m, uint32_t id, uint32_t pid, uint32_t parent_pid,
	const char *executable);
void make_process_end(
	struct make_report *m, uint32_t id, uint64_t end_ns, Libtrace__ProcessEnd end, int status);
void make_receipt(struct make_report *m, uint32_t process, uint64_t written, uint64_t dropped);
void make_diagnostic(struct make_report *m, uint32_t pid, const char *text);

/* Add a batch of any kind: `rows` times `fields` values, row by row; column number n is field n
 * + 1. The encoding is taken from events.def. */
void make_batch(struct make_report *m, uint32_t kind, uint32_t process, uint32_t tid, size_t rows,
	size_t fields, const int64_t *values);
void make_calls(struct make_report *m, uint32_t process, uint32_t tid, size_t rows,
	const struct make_call *calls);

/* Add callchain nodes; the first one has the id `first_id`. */
void make_callchains(struct make_report *m, uint32_t process, uint32_t first_id, size_t count,
	const uint32_t *parents, const uint64_t *addresses);

struct make_symbol {
	uint64_t address, offset;
	const char *module, *reason; /* "" = none */
	uint32_t frame_count;
	struct {
		const char *function, *file;
		uint32_t line;
	} frames[3]; /* innermost first */
};

/* Add one Symbols entry; addresses ascend. At most 16 addresses. */
void make_symbols(
	struct make_report *m, uint32_t process, size_t count, const struct make_symbol *symbols);

/* Add a MODULE_LOAD row; add a MODULE_UNLOAD row. */
void make_module(struct make_report *m, uint32_t process, uint64_t ns, uint64_t begin, uint64_t end,
	uint64_t bias, const char *path, const char *build_id);
void make_module_end(struct make_report *m, uint32_t process, uint64_t ns, uint64_t begin);

void make_block_end(struct make_report *m);

/* Fill the small report that several tests share: two processes, all kinds of events, three
 * blocks. */
void make_sample(struct make_report *m, bool compress);

/* Write the bytes to a file; end the program if that fails. */
void make_save(const struct make_report *m, const char *path);

#endif
