/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.c - the names of all LIBTRACE_* variables.
 */
#include "common/env.h"

#include <stdbool.h>
#include <stddef.h>

#include "common/text.h"

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

const char *env_unknown(char **envp, uint32_t n)
{
	for (; envp && *envp; envp++)
		if (text_begins(*envp, "LIBTRACE_") && !is_known(*envp) && !n--)
			return *envp;
	return NULL;
}
