/*
 * state.h - what the lines of an NVTXT file have said so far: inside of reader/nvtxt/.
 */
#ifndef READER_NVTXT_STATE_H
#define READER_NVTXT_STATE_H

#include "reader/map.h"
#include "reader/nvtxt/file.h"
#include "reader/nvtxt/lexer.h"

#define NVTXT_ITEMS_MAX 64u /* values of a call, arguments of a definition */

enum nvtxt_value_kind { NVTXT_UNSET, NVTXT_NUMBER, NVTXT_TEXT };

struct nvtxt_value {
	enum nvtxt_value_kind kind;
	int64_t integer;
	const char *text; /* in the pool */
};

/* A name that was assigned to, or whose definition as a command was seen. */
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
	struct map name_places; /* address of the pooled text -> place in `names` + 1 */
	/* Of each argument: what was assigned or, later, given in a call. */
	struct nvtxt_value current[NVTXT_ARGUMENTS];
	struct nvtxt_definition definitions[NVTXT_COMMANDS];
	/* the line at hand */
	struct nvtxt_lexer lexer;
	struct nvtxt_token token;
	struct nvtxt_note note;
	struct nvtxt_item items[NVTXT_ITEMS_MAX];
	uint32_t item_count;
};

/* The entry of a pooled name, made if need be, until the next call; NULL = out of memory, which the
 * file takes note of. */
struct nvtxt_name *nvtxt_name(struct nvtxt_file *f, const char *text);

/*
 * Can the argument have this value? NULL, or why not. *ret_error: NVTXT_PARSING_ERROR for a wrong
 * type, else NVTXT_RANGE_ERROR.
 */
const char *nvtxt_value_check(enum nvtxt_argument argument, const struct nvtxt_value *value,
	enum nvtxt_problem_kind *ret_error);

/* Carries out a call: the values are the line's items. */
void nvtxt_call(struct nvtxt_file *f, const char *name, uint32_t column);

/* Takes an event in; it is the file's copy. */
void nvtxt_event_add(struct nvtxt_file *f, const struct nvtxt_event *event);

#endif
