/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - execution of rule files of Nsight Compute by python3 in a separate process.
 *
 * The process applies the rules to the results of a report; this file reads the findings that it
 * sends back.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/base/print.h"
#include "reader/cli/base/home.h"
#include "reader/cli/rules.h"
#include "reader/export/output.h"

#define FRAME_BYTES_MAX (64u << 20)

/* `python3 -c` puts the current folder first in the search path of modules. Replace that entry, so
 * that no module is imported from the current folder. */
#define START                                                                             \
	"import sys; sys.path[:1] = [sys.argv.pop(1)] + [p for p in sys.path[:1] if p]; " \
	"import runpy; runpy.run_module('libtrace_rules', run_name='__main__')"

/* ---- the process that runs rules ---- */

struct runner {
	pid_t pid;
	FILE *job, *frames;
};

static char **runner_environment(const struct home *h)
{
	static char library[PATH_MAX + 32];
	size_t count = 0, kept = 0;
	while (environ[count])
		count++;
	char **all = calloc(count + 2, sizeof(*all));
	if (!all)
		return NULL;
	snprintf(library, sizeof(library), "LIBTRACE_READER=%s", h->reader);
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "LIBTRACE_READER=", strlen("LIBTRACE_READER=")) != 0)
			all[kept++] = environ[i];
	all[kept] = library;
	return all;
}

static int runner_spawn(struct runner *r, const struct home *h, const char *python,
	const int job[2], const int frames[2])
{
	char *argv[] = {
		(char *)python, (char *)"-B", (char *)"-c", (char *)START, (char *)h->python, NULL};
	char **environment = runner_environment(h);
	posix_spawn_file_actions_t actions;
	if (!environment)
		return -ENOMEM;
	int error = posix_spawn_file_actions_init(&actions);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, job[0], STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, frames[1], STDOUT_FILENO);
	if (!error)
		error = posix_spawnp(&r->pid, python, &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	free(environment);
	return -error;
}

static int runner_start(struct runner *r, const struct home *h, const char *python)
{
	int job[2], frames[2];
	signal(SIGPIPE, SIG_IGN); /* the process may end before it has read the job */
	if (pipe2(job, O_CLOEXEC))
		return -errno;
	if (pipe2(frames, O_CLOEXEC)) {
		close(job[0]);
		close(job[1]);
		return -errno;
	}
	int error = runner_spawn(r, h, python, job, frames);
	close(job[0]);
	close(frames[1]);
	r->job = fdopen(job[1], "w");
	r->frames = fdopen(frames[0], "r");
	if (!error && (!r->job || !r->frames))
		error = -ENOMEM;
	return error;
}

/* Wait for the process. Returns its exit status, or 128 + the number of a signal. */
static int runner_end(struct runner *r)
{
	int status = 0;
	if (r->job)
		fclose(r->job);
	if (r->frames)
		fclose(r->frames);
	if (r->pid <= 0 || waitpid(r->pid, &status, 0) < 0)
		return 1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- the job: input of the process ---- */

/* Print the lines of the value as a JSON array. */
static void job_lines(FILE *out, const char *name, const char *value)
{
	fprintf(out, ", \"%s\": [", name);
	for (const char *comma = ""; value && *value; comma = ", ") {
		const size_t bytes = strcspn(value, "\n");
		fputs(comma, out);
		print_json(out, value, bytes);
		value += bytes + (value[bytes] == '\n');
	}
	putc(']', out);
}

static void job_write(FILE *out, const struct rules_job *job)
{
	fputs("{\"report\": ", out);
	print_json_string(out, job->report);
	job_lines(out, "folders", job->folders);
	job_lines(out, "rules", job->rules);
	fprintf(out, ", \"limit_s\": %s, \"is_list\": %s}\n", job->limit_s,
		job->is_list ? "true" : "false");
}

/* ---- frames: output of the process ---- */

static int frame_take(struct rules_run *run, char letter, const uint8_t *data, size_t bytes)
{
	if (letter == 'P' || letter == 'N') {
		run->problems += letter == 'P';
		cli_error("%.*s", (int)bytes, (const char *)data);
		return 0;
	}
	if (letter == 'L') {
		print_text(stdout, (const char *)data, bytes);
		putchar('\n');
		return 0;
	}
	return run->findings ? findings_take(run->findings, letter, data, bytes) : -EBADMSG;
}

/* Read one frame. Returns 1, 0 after the last frame, or a negative errno. */
static int frame_read(struct rules_run *run, FILE *in, uint8_t **data)
{
	uint32_t bytes;
	int letter = getc(in);
	if (letter == EOF || fread(&bytes, sizeof(bytes), 1, in) != 1)
		return -EPIPE;
	bytes = le32toh(bytes);
	if (letter == 'E')
		return 0;
	if (bytes > FRAME_BYTES_MAX)
		return -EBADMSG;
	uint8_t *room = realloc(*data, bytes + 1u);
	if (!room)
		return -ENOMEM;
	*data = room;
	if (fread(room, 1, bytes, in) != bytes)
		return -EPIPE;
	room[bytes] = 0;
	int error = frame_take(run, (char)letter, room, bytes);
	return error ? error : 1;
}

int rules_run(struct rules_run *run, const struct rules_job *job)
{
	struct home home;
	struct runner runner = {0};
	uint8_t *data = NULL;
	if (home_find_python(&home))
		return STATUS_FAILED;
	int error = runner_start(&runner, &home, job->python);
	if (error) {
		cli_error("cannot start '%s': %s", job->python, strerror(-error));
		runner_end(&runner);
		return STATUS_FAILED;
	}
	job_write(runner.job, job);
	fclose(runner.job);
	runner.job = NULL;
	while ((error = frame_read(run, runner.frames, &data)) > 0)
		continue;
	free(data);
	int status = runner_end(&runner);
	if (error == -EPIPE)
		cli_error("the process that runs the rules ended early with status %d", status);
	else if (error)
		cli_error("cannot store the findings of rules: %s", strerror(-error));
	return error ? STATUS_FAILED : STATUS_OK;
}
