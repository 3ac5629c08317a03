/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - `trace`: finds the command and runs it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "reader/cli/base/output.h"
#include "reader/cli/commands.h"
#include "reader/cli/help.h"
#include "reader/cli/merge.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/names_near.h"
#include "reader/cli/version.h"

/* Raise the limit of open files. Every file that symbols are read from stays open, and a big build
 * has more than the usual 1024. */
static void files_allow(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Occupy closed standard descriptors. Otherwise a file that we open could get such a number, and
 * messages would be written into a file of the recording. The placeholder can be neither read nor
 * written, as if it were closed, and is closed by an exec. */
static void standard_places_keep(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) < 0)
			return;
}

/* Return whether --output names an input, after a message. Arguments after `run` are a program and
 * its arguments, not inputs. */
static bool writes_input(const struct options *o)
{
	for (uint32_t i = 0; o->command != CMD_run && i < OPTIONS; i++)
		if (option_rows[i].command == o->command &&
			!strcmp(option_rows[i].name, "output") && o->value[i])
			return cli_output_is_input(o, o->value[i]);
	return false;
}

static int run(enum command_id command, int argc, char **argv)
{
	struct options o;
	int result = options_parse(&o, command, argc, argv);
	if (result < 0)
		return STATUS_FAILED;
	if (result == 1) {
		help_command(stdout, command);
		return cli_finish(stdout, "standard output");
	}
	if (writes_input(&o) || merge_inputs(&o))
		return STATUS_FAILED;
	return command_functions[command](&o);
}

/* Flush stdout, so that a full disk is reported; die of SIGPIPE if the reader of a pipe has gone.
 * Returns the exit status. */
static int end(int status)
{
	int written = cli_finish(stdout, "standard output");
	cli_end_if_closed();
	return status ? status : written;
}

static const char *command_at(size_t n)
{
	return n < COMMANDS ? command_rows[n].name : NULL;
}

int main(int argc, char **argv)
{
	standard_places_keep();
	if (argc < 2 || strcmp(argv[1], "run") != 0)
		cli_pipes_await();
	if (argc < 2) {
		help_overview(stderr);
		return STATUS_FAILED;
	}
	if (!strcmp(argv[1], "--version")) {
		version_print(argc > 2 && !strcmp(argv[2], "--verbose"));
		return end(STATUS_OK);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		help_overview(stdout);
		return end(STATUS_OK);
	}
	for (uint32_t i = 0; i < COMMANDS; i++)
		if (!strcmp(argv[1], command_rows[i].name)) {
			if (i == CMD_run)
				return run(CMD_run, argc - 1, argv + 1);
			files_allow();
			return end(run((enum command_id)i, argc - 1, argv + 1));
		}
	char *near = names_near(argv[1], strlen(argv[1]), command_at);
	cli_error("unknown %s '%s'%s%s%s see 'trace help'", *argv[1] == '-' ? "option" : "command",
		argv[1], near ? "; did you mean " : "", near ? near : "", near ? "?" : ";");
	free(near);
	return STATUS_FAILED;
}
