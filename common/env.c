/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.c - the names of all LIBTRACE_* variables.
 */
#include "common/env.h"

#include <stdbool.h>
#include <stddef.h>

#include "common/text.h"

enum env_row {
#define ENV(name, value, meaning) ROW_##name,
#include "common/env.def"
	ENV_ROWS
};
_Static_assert(ENV_ROWS <= 64, "a bit for each");

static const char *const names[] = {
#define ENV(name, value, meaning) #name "=",
#include "common/env.def"
	/* of the readers only: tests and packagers set them */
	"LIBTRACE_READER=",
	"LIBTRACE_READER_COMPILED=",
	"LIBTRACE_PYTHON=",
};

static bool is_known(const char *variable)
{
	size_t i = 0;
	while (i < sizeof(names) / sizeof(names[0]) && !text_begins(variable, names[i]))
		i++;
	return i < sizeof(names) / sizeof(names[0]);
}

#define PREFIX_BYTES (sizeof("LIBTRACE_") - 1)

static bool is_name_byte(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Return the row of the variable whose name is at the begin of the text; -1 = none. */
static int row_at(const char *text, size_t bytes)
{
	for (int i = 0; i < (int)ENV_ROWS; i++)
		if (text_length(names[i]) == bytes + 1 &&
			text_part_matches(text, bytes, names[i], names[i] + bytes))
			return i;
	return -1;
}

void env_name_options(char *text, uint64_t rows)
{
	char *to = text;
	while (*text) {
		size_t bytes = 0;
		while (text_begins(text, "LIBTRACE_") && is_name_byte(text[bytes]))
			bytes++;
		const int row = bytes ? row_at(text, bytes) : -1;
		if (row < 0 || !(rows >> row & 1)) {
			*to++ = *text++;
			continue;
		}
		*to++ = '-';
		*to++ = '-';
		for (size_t i = PREFIX_BYTES; i < bytes; i++)
			*to++ = (char)(text[i] == '_'    ? '-'
					: text[i] >= 'A' ? text[i] - 'A' + 'a'
							 : text[i]);
		text += bytes;
	}
	*to = 0;
}

const char *env_unknown(char **envp, uint32_t n)
{
	for (; envp && *envp; envp++)
		if (text_begins(*envp, "LIBTRACE_") && !is_known(*envp) && !n--)
			return *envp;
	return NULL;
}
