/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - start of a program under the tracer, and of the writer beside it.
 */
#define _GNU_SOURCE
#include "reader/cli/record/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/elf.h"
#include "common/env.h"
#include "common/pattern.h"
#include "common/program.h"
#include "common/text.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/record/functions.h"
#include "reader/cli/record/option_needs.h"
#include "reader/cli/record/program_find.h"

static bool is_true(const struct launch *l, enum option_id id)
{
	const char *value = launch_value(l, id);
	return value && text_is_true(value);
}

uint64_t launch_seconds_ns(const struct launch *l, enum option_id id)
{
	const char *value = launch_value(l, id);
	double seconds = value ? strtod(value, NULL) : 0;
	return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
}

static uint64_t flush_interval_ns(const struct launch *l)
{
	const char *value = launch_value(l, OPT_run_flush_interval);
	uint64_t ms = 1000;
	if (value)
		text_to_number(value, &ms);
	return (ms > 1000000 ? 1000000 : ms) * 1000000;
}

static const char *lookup(const char *name)
{
	return getenv(name);
}

/* Create a file beside the report, and remove it: a folder that is writable may still refuse new
 * files, as /proc does. Returns 0 or a negative errno. */
static int folder_try(const char *report)
{
	const char *slash = strrchr(report, '/');
	char *path;
	int error = 0;
	if (asprintf(&path, "%.*s.libtrace-try-%d", slash ? (int)(slash + 1 - report) : 0, report,
		    (int)getpid()) < 0)
		return -ENOMEM;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		error = errno == EEXIST ? 0 : -errno;
	else if (close(fd) || unlink(path))
		error = -errno;
	free(path);
	return error;
}

static int output_choose(struct launch *l)
{
	const char *pattern = launch_value(l, OPT_run_output), *why = NULL;
	const struct pattern_values values = {
		.pid = (uint32_t)getpid(), .executable = l->program[0], .lookup = lookup};
	int error = pattern_expand(pattern, &values, l->output, sizeof(l->output), &why);
	if (error < 0) {
		cli_error("invalid report name '%s': %s", pattern ? pattern : PATTERN_DEFAULT, why);
		return error;
	}
	if (l->makes_tree && !is_true(l, OPT_run_force_overwrite) && !access(l->output, F_OK)) {
		cli_error("report '%s' exists; use '--force-overwrite true' to replace it",
			l->output);
		return -EEXIST;
	}
	why = l->makes_tree ? pattern_check(l->output, true) : NULL;
	if (why) {
		cli_error("cannot write report '%s': %s", l->output, why);
		return -ENOENT;
	}
	error = l->makes_tree ? folder_try(l->output) : 0;
	if (error)
		cli_error("cannot create report '%s': %s", l->output, strerror(-error));
	return error;
}

/* Return the value that a variable will have in the program. */
static const char *variable_value(const char *name, void *launch)
{
	const struct launch *l = launch;
	if (!strcmp(name, "LIBTRACE_STREAMS") && launch_value(l, OPT_run_log_events))
		return "process-tree";
	for (uint32_t i = 0; i < OPTIONS; i++)
		if (i == OPT_run_functions && !strcmp(option_rows[i].variable, name))
			return l->functions;
		else if (option_rows[i].command == CMD_run && option_rows[i].variable &&
			!strcmp(option_rows[i].variable, name))
			return launch_value(l, (enum option_id)i);
	return getenv(name);
}

/* Return whether the user knows a variable as an option: it has one, and is not set itself. */
static bool has_option(const char *name, void *launch)
{
	const struct launch *l = launch;
	for (uint32_t i = 0; i < OPTIONS; i++)
		if (option_rows[i].command == CMD_run && option_rows[i].variable &&
			!strcmp(option_rows[i].variable, name))
			return l->options->value[i] || !getenv(name);
	return false;
}

static int tree_make(struct launch *l)
{
	const char *compress = launch_value(l, OPT_run_compress);
	const struct tree_options options = {
		.base = getenv("LIBTRACE_SPOOL_DIR"),
		.output = l->output,
		.overwrite = is_true(l, OPT_run_force_overwrite),
		.compress = compress && !strcmp(compress, "zstd"),
		.flush_interval_ns = flush_interval_ns(l),
		.delay_ns = launch_seconds_ns(l, OPT_run_delay),
		.duration_ns = launch_seconds_ns(l, OPT_run_duration),
		.capture = &l->capture,
		.value = variable_value,
		.has_option = has_option,
		.user = l,
	};
	int error = 0;
	l->control = tree_create(&options, l->tree, &l->lock_fd, &error);
	if (l->control)
		return 0;
	cli_error("cannot create a folder in '%s': %s; set LIBTRACE_SPOOL_DIR to use another one",
		options.base ? options.base : TREE_DEFAULT_BASE, strerror(-error));
	return error;
}

/* Check the options of the capture range, so that errors are reported before anything runs. */
static int capture_options_read(struct launch *l)
{
	const char *range = launch_value(l, OPT_run_capture_range), *why;
	const char *end = launch_value(l, OPT_run_capture_range_end);
	const char *name = launch_value(l, OPT_run_nvtx_capture);
	if (!capture_parse(range, name, end, &l->capture, &why)) {
		cli_error("--capture-range %s%s%s: %s", range ? range : "none",
			end ? " --capture-range-end " : "", end ? end : "", why);
		return -EINVAL;
	}
	return 0;
}

/* Check the variables that stand for options that were not given. */
static int variables_check(const struct launch *l)
{
	for (uint32_t i = 0; i < OPTIONS; i++)
		if (option_rows[i].command == CMD_run && !l->options->value[i] &&
			!option_variable_check(&option_rows[i]))
			return -EINVAL;
	return 0;
}

int launch_check(struct launch *l)
{
	const char *pattern = launch_value(l, OPT_run_output);
	l->lock_fd = -1;
	l->makes_tree = !pattern || !strstr(pattern, "%p");
	int error = variables_check(l);
	if (!error)
		error = capture_options_read(l);
	if (!error)
		error = functions_join(launch_value(l, OPT_run_functions),
			l->options->value[OPT_run_functions_file], &l->functions);
	if (!error)
		error = option_needs_check(l);
	if (!error)
		error = home_find(&l->home);
	if (error)
		return error;
	if (strpbrk(l->home.library, ": \t\n")) {
		cli_error("cannot preload '%s': its path has a blank or a colon; install libtrace "
			  "to another folder",
			l->home.library);
		return -EINVAL;
	}
	return output_choose(l);
}

/* Warn about variables that have no effect, such as misspelled ones. */
static void unknown_variables_note(void)
{
	const char *variable;
	for (uint32_t n = 0; (variable = env_unknown(environ, n)); n++)
		cli_note("unknown variable '%.*s' has no effect; see 'trace help env'",
			(int)strcspn(variable, "="), variable);
}

int launch_prepare(struct launch *l)
{
	int error = launch_check(l);
	if (!error && l->makes_tree) {
		unknown_variables_note();
		error = tree_make(l);
	}
	return error;
}

static void environment_preload(const struct launch *l)
{
	const char *before = getenv("LD_PRELOAD");
	char *value = NULL;
	if (before && strstr(before, l->home.library))
		return;
	if (asprintf(&value, "%s%s%s", l->home.library, before && *before ? ":" : "",
		    before ? before : "") >= 0)
		setenv("LD_PRELOAD", value, 1);
	free(value);
}

/* Set the variables of "A=B,C=D". */
static void environment_add(const char *list)
{
	char *copy = strdup(list), *rest = copy;
	for (char *item; copy && (item = strsep(&rest, ","));) {
		char *equals = strchr(item, '=');
		if (!equals || equals == item)
			continue;
		*equals = 0;
		setenv(item, equals + 1, 1);
	}
	free(copy);
}

/* Set ASAN_OPTIONS for a program that sets its own defaults of AddressSanitizer: then only this
 * variable permits preloading of the library. */
static void environment_asan(const char *program)
{
	const char *before = getenv("ASAN_OPTIONS");
	int fd = strchr(program, '/') ? open(program, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	char *value = NULL;
	if (fd < 0)
		return;
	if (elf_has_asan_options(fd) && !elf_asan_decided(before) &&
		asprintf(&value, "%s%sverify_asan_link_order=0", before ? before : "",
			before && *before ? ":" : "") >= 0)
		setenv("ASAN_OPTIONS", value, 1);
	free(value);
	close(fd);
}

static void environment_fill(const struct launch *l)
{
	const struct options *o = l->options;
	for (uint32_t i = 0; i < OPTIONS; i++)
		if (option_rows[i].command == CMD_run && option_rows[i].variable && o->value[i])
			setenv(option_rows[i].variable, o->value[i], 1);
	if (l->functions)
		setenv("LIBTRACE_FUNCTIONS", l->functions, 1);
	if (l->makes_tree)
		setenv("LIBTRACE_TREE", l->tree, 1);
	else
		unsetenv("LIBTRACE_TREE");
	if (o->value[OPT_run_env_var])
		environment_add(o->value[OPT_run_env_var]);
	environment_preload(l);
	environment_asan(l->program[0]);
}

static void child_restore(const struct launch *l)
{
	sigaction(SIGCHLD, &l->child_action, NULL);
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
}

/* Store in the tree which program is its first, and why it is not traced if it does not appear. */
static void root_announce(const struct launch *l)
{
	char place[PATH_MAX];
	enum child_verdict verdict = VERDICT_UNREADABLE;
	if (!program_find(l->program[0], NULL, place))
		verdict = program_examine(place);
	if (verdict == VERDICT_TRACED)
		verdict = VERDICT_UNSEEN;
	tree_set_root(l->tree, (uint32_t)getpid(), verdict, place);
}

/* Run the program; called in the child. Returns only if it cannot be run. */
static void program_run(struct launch *l, int report_fd)
{
	environment_fill(l);
	if (l->control)
		root_announce(l);
	child_restore(l);
	execvp(l->program[0], l->program);
	int error = errno;
	if (write(report_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(error == ENOENT ? 127 : 126);
}

pid_t launch_program(struct launch *l)
{
	int fds[2], error = 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		program_run(l, fds[1]);
	int fork_error = pid < 0 ? errno : 0;
	close(fds[1]);
	while (pid > 0 && read(fds[0], &error, sizeof(error)) < 0 && errno == EINTR)
		;
	close(fds[0]);
	if (!fork_error && !error)
		return pid;
	error = fork_error ? fork_error : error;
	cli_error("cannot run '%s': %s", l->program[0], strerror(error));
	return -error;
}

static void writer_run(const struct launch *l, bool foreground)
{
	if (l->lock_fd == TREE_WRITER_LOCK_FD)
		fcntl(l->lock_fd, F_SETFD, 0);
	else
		dup2(l->lock_fd, TREE_WRITER_LOCK_FD);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* The writer must not hold open the file or pipe of the program's output. */
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	unsetenv("LIBTRACE_TREE");
	unsetenv("LD_PRELOAD");
	child_restore(l);
	execl(l->home.writer, l->home.writer, "--tree", l->tree, foreground ? "--foreground" : NULL,
		(char *)NULL);
	_exit(127);
}

pid_t launch_writer(struct launch *l, bool foreground)
{
	pid_t pid = fork();
	if (pid == 0)
		writer_run(l, foreground);
	if (pid < 0)
		cli_error("cannot start the writer: %s", strerror(errno));
	close(l->lock_fd);
	l->lock_fd = -1;
	return pid;
}

void launch_undo(struct launch *l)
{
	char path[TREE_PATH_BYTES + 16];
	free(l->functions);
	l->functions = NULL;
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	l->lock_fd = -1;
	if (!l->control)
		return;
	snprintf(path, sizeof(path), "%s/control", l->tree);
	unlink(path);
	rmdir(l->tree);
}
