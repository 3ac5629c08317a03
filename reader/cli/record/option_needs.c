/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_needs.c - check of the options of `trace run` that depend on each other.
 */
#include "reader/cli/record/option_needs.h"

#include <errno.h>
#include <string.h>

#include "common/schema/libraries.h"
#include "reader/cli/base/message.h"

/* Return the sources to record, separated by commas. */
static const char *sources(const struct launch *l)
{
	const char *list = launch_value(l, OPT_run_trace);
	return list ? list : option_default(&option_rows[OPT_run_trace]);
}

static bool has_source(const struct launch *l, const char *name)
{
	const size_t bytes = strlen(name);
	for (const char *at = sources(l); at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, name, bytes) && (!at[bytes] || at[bytes] == ','))
			return true;
	return false;
}

/* Return whether calls of the functions of a library are a source. */
static bool has_library(const struct launch *l)
{
	for (size_t i = 0; i < LIBRARY_ROWS; i++)
		if (has_source(l, library_rows[i].name))
			return true;
	return false;
}

static bool has_value(const struct launch *l, enum option_id id, const char *value)
{
	const char *given = launch_value(l, id);
	return given && !strcmp(given, value);
}

/* Return whether the option was given and asks for something. */
static bool is_asked(const struct launch *l, enum option_id id)
{
	static const char *const nothing[] = {"none", "false", "off"};
	const char *value = l->options->value[id];
	for (size_t i = 0; value && i < sizeof(nothing) / sizeof(nothing[0]); i++)
		if (!strcmp(value, nothing[i]))
			return false;
	return value != NULL;
}

static int needs_check(const struct launch *l, enum option_id id, const char *what, bool is_there)
{
	if (is_there || !is_asked(l, id))
		return 0;
	cli_error("--%s needs %s", option_rows[id].name, what);
	return -EINVAL;
}

static int excludes_check(const struct launch *l, enum option_id id, enum option_id other)
{
	if (!launch_value(l, id) || !launch_value(l, other))
		return 0;
	cli_error("--%s and --%s cannot be used together", option_rows[id].name,
		option_rows[other].name);
	return -EINVAL;
}

int option_needs_check(const struct launch *l)
{
	int error = 0;
#define GIVEN(option) (launch_value(l, OPT_run_##option) != NULL)
#define IS(option, value) has_value(l, OPT_run_##option, value)
#define SOURCE(name) has_source(l, name)
#define NEEDS(option, what, is_there) \
	error = error ? error : needs_check(l, OPT_run_##option, what, is_there);
#define EXCLUDES(option, other) \
	error = error ? error : excludes_check(l, OPT_run_##option, OPT_run_##other);
#include "reader/cli/record/option_needs.def"
	return error;
}
