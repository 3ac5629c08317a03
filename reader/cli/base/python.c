/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - execution of commands that are Python programs.
 */
#define _GNU_SOURCE
#include "reader/cli/base/python.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/base/companion.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"

int python_add(struct python_arguments *a, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;
	if (a->count + 2 > a->room) {
		int room = a->room ? 2 * a->room : 16;
		char **list = realloc(a->list, sizeof(*list) * (size_t)room);
		if (!list)
			return -ENOMEM;
		a->list = list;
		a->room = room;
	}
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return -ENOMEM;
	a->list[a->count++] = text;
	a->list[a->count] = NULL;
	return 0;
}

/* Append an option once per value; options.c joined the values. */
static int add_repeated(struct python_arguments *a, const struct option_row *row, const char *value)
{
	const char *between = !strcmp(row->choices, "NAMES") ? "," : "\n";
	int error = 0;
	for (size_t length; !error; value += length + 1) {
		length = strcspn(value, between);
		error = python_add(a, "--%s=%.*s", row->name, (int)length, value);
		if (!value[length])
			break;
	}
	return error;
}

int python_add_options(struct python_arguments *a, const struct options *o)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];
		if (!o->value[i])
			continue;
		if (!row->argument)
			error = python_add(a, "--%s", row->name);
		else if (row->choices &&
			(!strcmp(row->choices, "NAMES") || !strcmp(row->choices, "REPEAT")))
			error = add_repeated(a, row, o->value[i]);
		else
			error = python_add(a, "--%s=%s", row->name, o->value[i]);
	}
	return error;
}

/* Write FOLDER/NAME, where FOLDER is that of this program. Returns false if there is no such
 * file. */
static bool beside(const char *program, const char *name, char *ret_path)
{
	const char *slash = strrchr(program, '/');
	int length = snprintf(
		ret_path, PATH_MAX, "%.*s/%s", (int)(slash ? slash - program : 0), program, name);
	return length > 0 && length < PATH_MAX && !access(ret_path, R_OK);
}

/* Find the folder of the package, which is added to sys.path. */
static bool package_find(const char *program, char *ret_folder)
{
	const char *home = secure_getenv("LIBTRACE_HOME");
	char file[PATH_MAX];
	int length = snprintf(ret_folder, PATH_MAX, "%s/python", home ? home : "");
	if (home && *home && length < PATH_MAX &&
		snprintf(file, sizeof(file), "%.*s/trace_tools/__main__.py", PATH_MAX - 64,
			ret_folder) > 0 &&
		!access(file, R_OK))
		return true;
	return beside(program, "../lib/libtrace/python/trace_tools/__main__.py", file) &&
		beside(program, "../lib/libtrace/python", ret_folder);
}

/* Choose the interpreter (python.h). The environment that trace is installed in has the packages
 * that pip installed with it, even if it is not activated. */
static const char *interpreter(const char *program, char *room)
{
	const char *named = secure_getenv("LIBTRACE_PYTHON");
	if (named && *named)
		return named;
	if ((beside(program, "../pyvenv.cfg", room) || beside(program, "../conda-meta", room)) &&
		beside(program, "python3", room))
		return room;
	return beside(program, "../python/bin/python3", room) ? room : "python3";
}

/* Put the package's folder into sys.path in place of the current folder. It is not passed in
 * PYTHONPATH, so that commands that the package runs have the environment of this process. */
#define START                                                          \
	"import sys; sys.path[:1] = [sys.argv.pop(1)]; import runpy; " \
	"runpy.run_module('trace_tools', run_name='__main__')"

static int become(const char *program, const char *folder, const char *command,
	const struct python_arguments *a)
{
	char room[PATH_MAX];
	const char *python = interpreter(program, room);
	char **argv = calloc((size_t)a->count + 6, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	char *const first[] = {
		(char *)python, (char *)"-c", (char *)START, (char *)folder, (char *)command};
	memcpy(argv, first, sizeof(first));
	if (a->count)
		memcpy(argv + 5, a->list, sizeof(*argv) * (size_t)a->count);
	setenv("LIBTRACE_COMMAND", program, 1);
	signal(SIGPIPE, SIG_DFL);
	execvp(python, argv);
	int error = errno;
	cli_error(
		"cannot run '%s': %s; 'trace %s' needs Python 3.10 or later with numpy and scipy: "
		"install them with 'scripts/setup --python', or set LIBTRACE_PYTHON",
		python, strerror(error), command);
	free(argv);
	return -error;
}

int python_become(const char *command, const struct python_arguments *a)
{
	char program[PATH_MAX], folder[PATH_MAX];
	int error = companion_program(program);
	if (error) {
		cli_error("cannot find the path of trace itself: %s", strerror(-error));
		return STATUS_FAILED;
	}
	if (package_find(program, folder))
		become(program, folder, command, a);
	else
		cli_error("cannot find python/trace_tools in ../lib/libtrace beside trace; set "
			  "LIBTRACE_HOME to the folder that has it");
	return STATUS_FAILED;
}
