/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - contents of a text file of CodeXL or the Radeon Compute Profiler: a timeline (.atp), a
 * table of performance counters (.csv) or a table of occupancy (.occupancy).
 *
 *   codexl_file_init(); codexl_file_read(), or codexl_file_line() for each line and
 *   codexl_file_end() (read.h); codexl_import() builds a report (import.h); codexl_file_release()
 *
 * Source: "Output files" in the documentation of CodeXL. One thread; allocates; memory grows with
 * the number of lines, never with a number in the file.
 */
#ifndef READER_CODEXL_FILE_H
#define READER_CODEXL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/base/map.h"
#include "reader/base/pool.h"
#include "reader/codexl/format.h"

/* Bits of CODEXL_CALL.parts. */
enum codexl_part {
	CODEXL_HAS_CALL = 1,
	CODEXL_HAS_TIMES = 2,
	CODEXL_HAS_STACK = 4,
	CODEXL_HAS_RESULT = 8,
	CODEXL_HAS_CALLER = 16,
	CODEXL_HAS_SOURCE = 32,
	CODEXL_HAS_TRANSFER = 64
};

/* Bits of CODEXL_COMMAND.columns. */
enum codexl_column { CODEXL_KERNEL_COLUMNS = 1, CODEXL_HANDLE_COLUMN = 2, CODEXL_BYTES_COLUMN = 4 };

/* Values of CODEXL_CALL.api. */
enum codexl_api { CODEXL_API_OTHER, CODEXL_API_CUDA, CODEXL_API_OSRT };

/* Values of CODEXL_COMMAND.operation; copies are numbered as in CUPTI. */
enum codexl_operation {
	CODEXL_NO_OPERATION = 0,
	CODEXL_COPY_TO_DEVICE = 1,
	CODEXL_COPY_FROM_DEVICE = 2,
	CODEXL_COPY_ON_DEVICE = 8,
	CODEXL_RUN_KERNEL = 20,
	CODEXL_FILL = 21
};

/* default group of perf markers; stored as "", like the default domain of NVTX */
#define CODEXL_DEFAULT_GROUP "Default"

/* Texts are in the pool; "" = none. */
struct codexl_header {
	const char *key, *value;
};

struct codexl_sizes {
	uint32_t grid[3], block[3]; /* grid: work groups; block: work items per group; 0 = not
				     * known */
};

struct codexl_call {
	uint32_t tid, parts, caller_line;
	uint32_t next; /* index + 1 of the next call of the same thread and section */
	bool is_opencl;
	int64_t type;
	uint64_t start_ns, end_ns;
	uint64_t transfer_start_ns, transfer_end_ns, transfer_id;
	const char *name, *result, *arguments, *caller, *caller_file;
};

struct codexl_command {
	uint32_t call; /* index of the call */
	uint32_t columns, operation, device_id;
	uint64_t type, queued_ns, submitted_ns, start_ns, end_ns;
	uint64_t queue_id, queue, context_id, context, handle, bytes;
	const char *command, *device, *kernel, *global_size, *group_size;
	struct codexl_sizes sizes;
};

struct codexl_kernel {
	uint64_t handle, start_ns, end_ns, agent, queue_id;
	uint32_t device_id;
	const char *name, *device, *queue, *packet_type, *packet_id, *packet;
	struct codexl_sizes sizes;
};

struct codexl_marker {
	uint32_t tid, level; /* level: number of enclosing markers of the same group */
	uint32_t outer;      /* index + 1 of the enclosing marker */
	bool ended;
	uint64_t start_ns, end_ns;
	const char *name, *group;
};

struct codexl_cell {
	uint32_t row, blanks_before, blanks_behind;
	const char *name, *value;
};

/* Numbers of items that a report cannot store. */
struct codexl_lost {
	uint64_t comments;        /* comments after calls */
	uint64_t sections, lines; /* sections with unknown titles, and their lines */
	uint64_t ends;            /* ends of perf markers without a begin */
	uint64_t end_names;       /* ends of perf markers whose name or group differs from the
				   * begin */
	uint64_t texts;           /* extra words at the end of lines */
};

#define CODEXL_ARRAY(type)                  \
	struct {                            \
		struct codexl_##type *rows; \
		uint32_t count, capacity;   \
	}

struct codexl_state; /* state.h */
struct codexl_words; /* words.h */

struct codexl_file {
	struct pool *pool; /* owned by the caller */
	enum codexl_format format;
	CODEXL_ARRAY(header) headers;
	CODEXL_ARRAY(call) calls;
	CODEXL_ARRAY(command) commands;
	CODEXL_ARRAY(kernel) kernels;
	CODEXL_ARRAY(marker) markers;
	CODEXL_ARRAY(cell) cells;
	uint32_t row_count; /* rows of a table, without the names of columns */
	struct codexl_lost lost;
	uint64_t bytes; /* number of bytes read from a descriptor, and their CRC-32C */
	uint32_t crc;
	uint32_t line;   /* number of the last line read */
	char cause[200]; /* description of the error; "" = none */
	struct codexl_state *state;
};

/* Initialize an empty file whose texts are kept in `pool`, which must outlive it. Returns 0 or
 * -ENOMEM; release it in either case. */
int codexl_file_init(struct codexl_file *f, enum codexl_format format, struct pool *pool);
void codexl_file_release(struct codexl_file *f);

/* Set f->cause, without control characters. Returns -EBADMSG. */
__attribute__((format(printf, 2, 3))) int codexl_wrong(
	struct codexl_file *f, const char *format, ...);

/* Store a header line, split at its first `=`. Returns 0, -EBADMSG or -ENOMEM. */
int codexl_header_line(struct codexl_file *f, struct codexl_words line);

/* Return whether `text` is the key, apart from blanks around it. */
bool codexl_is_key(const char *text, const char *key);

/* Return the value of the first header line with this key, without leading blanks; "" = none. */
const char *codexl_file_header(const struct codexl_file *f, const char *key);

#endif
