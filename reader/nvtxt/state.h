/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - the variables, definitions and current line of an NVTXT file while it is read.
 *
 * Belongs to struct nvtxt_file; used only inside reader/nvtxt/. One thread; allocates.
 */
#ifndef READER_NVTXT_STATE_H
#define READER_NVTXT_STATE_H

#include "reader/base/map.h"
#include "reader/nvtxt/file.h"
#include "reader/nvtxt/lexer.h"

#define NVTXT_ITEMS_MAX 64u /* maximum number of values of a call, or arguments of a definition */

enum nvtxt_value_kind { NVTXT_UNSET, NVTXT_NUMBER, NVTXT_TEXT };

struct nvtxt_value {
	enum nvtxt_value_kind kind;
	int64_t integer;
	const char *text; /* text in the pool */
};

/* A name that has a value, or is defined as a command. */
struct nvtxt_name {
	bool is_assigned, is_defined;
	struct nvtxt_value value;
};

struct nvtxt_definition {
	uint32_t line; /* 0 = none */
	uint32_t count;
	int8_t arguments[NVTXT_ITEMS_MAX]; /* -1: no argument has that name */
};

struct nvtxt_item {
	struct nvtxt_value value;
	uint32_t column;
};

struct nvtxt_state {
	struct nvtxt_name *names;
	uint32_t name_count, name_capacity;
	struct map name_places; /* address of the pooled text -> index in `names` + 1 */
	/* Value of each argument: the last value assigned, or passed in a call. */
	struct nvtxt_value current[NVTXT_ARGUMENTS];
	struct nvtxt_definition definitions[NVTXT_COMMANDS];
	/* the current line */
	struct nvtxt_lexer lexer;
	struct nvtxt_token token;
	struct nvtxt_note note;
	struct nvtxt_item items[NVTXT_ITEMS_MAX];
	uint32_t item_count;
};

/* Allocate a state, and free it. nvtxt_state_create() returns NULL when out of memory;
 * nvtxt_state_free() accepts NULL. */
struct nvtxt_state *nvtxt_state_create(void);
void nvtxt_state_free(struct nvtxt_state *s);

/* Return the entry of a pooled name, which is created if needed; valid until the next call. `text`
 * may be NULL. Returns NULL when out of memory, and then sets f->broken. */
struct nvtxt_name *nvtxt_name(struct nvtxt_file *f, const char *text);

#endif
