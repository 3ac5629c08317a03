/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - words.def and colors.def as tables. Constant data; any thread.
 */
#ifndef READER_NVTXT_WORDS_H
#define READER_NVTXT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGUMENT(id, name, type) NVTXT_##id,
enum nvtxt_argument {
#include "reader/nvtxt/words.def"
	NVTXT_ARGUMENTS
};
#define COMMAND(id, name, layout, ...) NVTXT_CALL_##id,
enum nvtxt_command {
#include "reader/nvtxt/words.def"
	NVTXT_COMMANDS
};
enum nvtxt_layout {
	NVTXT_LAYOUT_NONE,
	NVTXT_LAYOUT_FIXED,
	NVTXT_LAYOUT_DEFAULT,
	NVTXT_LAYOUT_SKIPPED
};
enum nvtxt_type { NVTXT_TYPE_INTEGER, NVTXT_TYPE_STRING, NVTXT_TYPE_EITHER };
enum nvtxt_clock_kind { NVTXT_CLOCK_SESSION, NVTXT_CLOCK_START, NVTXT_CLOCK_TICKS };

struct nvtxt_argument_row {
	const char *name;
	enum nvtxt_type type;
};

struct nvtxt_command_row {
	const char *name;
	enum nvtxt_layout layout;
	uint8_t count; /* number of its own arguments */
	uint8_t arguments[NVTXT_ARGUMENTS];
};

extern const struct nvtxt_argument_row nvtxt_arguments[NVTXT_ARGUMENTS];
extern const struct nvtxt_command_row nvtxt_commands[NVTXT_COMMANDS];

/* Return the index of a word in the table, or -1. */
int nvtxt_argument_find(const char *name);
int nvtxt_command_find(const char *name);

/* Return the ARGB value of a color word; 0 = unknown word. */
uint32_t nvtxt_color(const char *name);

/* Return the kind of a time base; an unknown word counts ticks. *ret_known: the word is in the
 * table, so NVIDIA's importer accepts it, too. */
enum nvtxt_clock_kind nvtxt_clock_kind(const char *name, bool *ret_known);

#endif
