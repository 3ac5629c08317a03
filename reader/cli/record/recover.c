/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.c - `trace recover`: lists the trees that no process uses any more and runs
 * libtrace-writer to finish their reports.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/pattern.h"
#include "common/tree.h"
#include "reader/base/print.h"
#include "reader/cli/commands.h"
#include "reader/cli/base/home.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"

struct recovery {
	const struct options *options;
	struct home home;
	unsigned found, in_use, failed, refused;
};

/* Return whether the process maps this file. Its pid alone proves little, since it may belong to
 * another process by now. */
static bool process_maps(long pid, const char *file)
{
	char path[64], *line = NULL;
	size_t bytes = 0;
	bool maps = false;
	snprintf(path, sizeof(path), "/proc/%ld/maps", pid);
	FILE *f = fopen(path, "re");
	while (f && !maps && getline(&line, &bytes, f) > 0)
		maps = strstr(line, file) != NULL;
	free(line);
	if (f)
		fclose(f);
	return maps;
}

/* Return whether a process of a spool "<pid>-<tick>.spool" in the folder is alive. */
static bool has_living_process(const char *dir)
{
	int fd = tree_open_dir(dir);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool lives = false;
	for (struct dirent *e; d && !lives && (e = readdir(d));) {
		char *end;
		long pid = strtol(e->d_name, &end, 10);
		if (pid > 0 && *end == '-' && (!kill((pid_t)pid, 0) || errno == EPERM))
			lives = process_maps(pid, e->d_name);
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return lives;
}

static bool is_in_use(const char *dir)
{
	int fd = tree_lock(dir);
	if (fd >= 0)
		close(fd);
	return fd == -EWOULDBLOCK || has_living_process(dir);
}

static void tree_list(const char *dir, bool in_use)
{
	int error;
	struct tree_control *control = tree_open(dir, &error);
	print_text(stdout, dir, strlen(dir));
	fputs(in_use ? ": in use" : ": can be recovered", stdout);
	if (control && control->output[0]) {
		fputs(", report ", stdout);
		print_text(
			stdout, control->output, strnlen(control->output, sizeof(control->output)));
	}
	fputc('\n', stdout);
	if (control)
		munmap(control, TREE_CONTROL_BYTES);
}

static const char *lookup(const char *name)
{
	return getenv(name);
}

/* Write the name of the report as `trace run -o` does: with .rep, or report1.rep in a folder.
 * Returns false after a message. */
static bool output_expand(const struct recovery *r, const char *dir, char *ret_path, size_t bytes)
{
	const char *pattern = r->options->value[OPT_recover_output], *why = NULL;
	int error;
	struct tree_control *control = tree_open(dir, &error);
	const struct pattern_values values = {
		.pid = control ? control->root_pid : 0, .lookup = lookup};
	error = pattern_expand(pattern, &values, ret_path, bytes, &why);
	if (control)
		munmap(control, TREE_CONTROL_BYTES);
	if (error < 0)
		cli_error("invalid report name '%s': %s", pattern, why);
	return error >= 0;
}

/* Run the writer. Return its exit status, or a negative errno. */
static int writer_run(const struct recovery *r, const char *dir)
{
	char path[4096];
	const char *output = r->options->value[OPT_recover_output] ? path : NULL;
	int status;
	if (output && !output_expand(r, dir, path, sizeof(path)))
		return -EINVAL;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		unsetenv("LIBTRACE_TREE");
		signal(SIGPIPE, SIG_DFL);
		execl(r->home.writer, r->home.writer, "--recover", dir, output ? "-o" : NULL,
			output, (char *)NULL);
		_exit(127);
	}
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

/* Return whether the folder may be that of a recording: it has a control page, or cannot be
 * searched. */
static bool has_control(const char *dir)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/control", dir);
	return length < (int)sizeof(path) && (!access(path, F_OK) || errno == EACCES);
}

/* Return whether the folder belongs to our user and to nobody else; otherwise print why not. The
 * writer repeats the check on its open descriptor, and on each file in the folder. */
static bool is_ours(const char *dir)
{
	struct stat status;
	int fd = tree_open_dir(dir);
	if (fd >= 0) {
		close(fd);
		return true;
	}
	bool found = !lstat(dir, &status);
	if (fd == -ENOTDIR || fd == -ELOOP || (fd == -EPERM && !has_control(dir)))
		cli_error("cannot recover '%s': not the folder of a recording, such as "
			  "%s/libtrace-UID-...",
			dir, TREE_DEFAULT_BASE);
	else if (found && status.st_uid != geteuid())
		cli_error("cannot recover '%s': it belongs to user %u, who must recover it", dir,
			(unsigned)status.st_uid);
	else if (fd == -EPERM)
		cli_error("cannot recover '%s': others have rights on it (mode %03o); if all files "
			  "in it are yours, run 'chmod -R go= %s' first",
			dir, found ? (unsigned)status.st_mode & 0777 : 0, dir);
	else
		cli_error("cannot open '%s': %s", dir, strerror(-fd));
	return false;
}

/* Without DIRECTORY, a recording whose report cannot be written is no failure: it may be anybody's
 * who works as this user. The writer has printed why, and that it is kept. */
static void tree_take(struct recovery *r, const char *dir)
{
	bool in_use = is_in_use(dir);
	r->found++;
	r->in_use += in_use;
	if (r->options->value[OPT_recover_list])
		tree_list(dir, in_use);
	else if (!in_use) {
		const int error = writer_run(r, dir);
		r->failed += error != 0 && (error != RECOVER_NO_REPORT || r->options->argc);
	}
}

/* Recover the recordings in a folder. Any user can create a folder with such a name there, so a
 * folder of another user is reported, but is not a failure. */
static void folder_take(struct recovery *r, const char *folder)
{
	char prefix[64], *dir = NULL;
	snprintf(prefix, sizeof(prefix), "libtrace-%u-", (unsigned)geteuid());
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) ||
			asprintf(&dir, "%s/%s", folder, e->d_name) < 0)
			continue;
		if (is_ours(dir))
			tree_take(r, dir);
		else
			r->refused++;
		free(dir);
	}
	if (d)
		closedir(d);
}

static void all_folders_take(struct recovery *r)
{
	const char *folders[] = {TREE_DEFAULT_BASE, getenv("TMPDIR"), TREE_SECOND_BASE,
		getenv("LIBTRACE_SPOOL_DIR")};
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		bool seen = !folders[i];
		for (size_t n = 0; n < i && !seen; n++)
			seen = folders[n] && !strcmp(folders[n], folders[i]);
		if (!seen)
			folder_take(r, folders[i]);
	}
}

int command_recover(const struct options *o)
{
	struct recovery r = {.options = o};
	if (o->argc > 1 || (!o->argc && o->value[OPT_recover_output])) {
		cli_error("%s; see 'trace help recover'",
			o->argc ? "too many arguments" : "--output needs a DIRECTORY");
		return STATUS_FAILED;
	}
	/* with a trailing slash, a link in place of the folder would be followed */
	for (size_t n = o->argc ? strlen(o->argv[0]) : 0; n > 1 && o->argv[0][n - 1] == '/'; n--)
		o->argv[0][n - 1] = 0;
	if (o->argc && !is_ours(o->argv[0]))
		return STATUS_FAILED;
	if (!o->value[OPT_recover_list] && home_find(&r.home))
		return STATUS_FAILED;
	if (o->argc)
		tree_take(&r, o->argv[0]);
	else
		all_folders_take(&r);
	if (!r.found)
		cli_note(r.refused ? "nothing else to recover" : "nothing to recover");
	else if (r.in_use && !o->value[OPT_recover_list])
		cli_note("skipped %u recordings that are still in use", r.in_use);
	int status = cli_finish(stdout, "standard output");
	return r.failed || (o->argc && r.in_use) ? STATUS_DAMAGED : status;
}
