/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools.c - `trace export -t xplane-tools`: a folder with XProf's messages of results.
 */
#define _GNU_SOURCE
#include "reader/cli/export/tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/cli/base/output.h"
#include "reader/cli/events.h"
#include "reader/cli/export/timeline.h"
#include "reader/cli/base/stop.h"

struct folder {
	char *temporary; /* NULL: not created, or already renamed */
	int fd;
	FILE *files[TOOLS_MESSAGES];
};

/* Remove the files of this command from the folder, and the folder if it is empty then. Returns 0
 * or a negative errno. */
static int folder_remove(const char *name)
{
	int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (int i = 0; i < TOOLS_MESSAGES; i++)
		unlinkat(fd, tools_file((enum tools_message)i), 0);
	close(fd);
	return rmdir(name) ? -errno : 0;
}

/* Return whether the folder holds only files of this command; false if it cannot be read. */
static bool is_of_ours(const char *name)
{
	DIR *d = opendir(name);
	bool ours = d;
	for (struct dirent *e; ours && (e = readdir(d));) {
		bool known = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
		for (int i = 0; !known && i < TOOLS_MESSAGES; i++)
			known = !strcmp(e->d_name, tools_file((enum tools_message)i));
		ours = known;
	}
	if (d)
		closedir(d);
	return ours;
}

static int folder_begin(struct folder *f, const char *name)
{
	*f = (struct folder){.fd = -1};
	if (asprintf(&f->temporary, "%s.XXXXXX", name) < 0) {
		f->temporary = NULL;
		return -ENOMEM;
	}
	if (!mkdtemp(f->temporary)) {
		int error = -errno;
		free(f->temporary);
		f->temporary = NULL;
		return error;
	}
	f->fd = open(f->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; f->fd >= 0 && i < TOOLS_MESSAGES; i++) {
		int fd = openat(f->fd, tools_file((enum tools_message)i),
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		f->files[i] = fd < 0 ? NULL : fdopen(fd, "w");
		if (!f->files[i])
			return -errno;
	}
	return f->fd < 0 ? -errno : 0;
}

/* Close the files. Returns 0, or the first error. */
static int files_close(struct folder *f)
{
	int error = 0;
	for (int i = 0; i < TOOLS_MESSAGES; i++) {
		if (!f->files[i])
			continue;
		if ((fflush(f->files[i]) || fsync(fileno(f->files[i]))) && !error)
			error = -errno;
		if (fclose(f->files[i]) && !error)
			error = -errno;
		f->files[i] = NULL;
	}
	return error;
}

/* Rename the folder to `name`. overwrite: replace an earlier folder of this command. */
static int folder_end(struct folder *f, const char *name, bool overwrite)
{
	struct stat facts;
	const mode_t mask = umask(0);
	umask(mask);
	int error = files_close(f);
	if (!error && fchmod(f->fd, 0777 & ~mask))
		error = -errno;
	if (!error && overwrite && !lstat(name, &facts))
		error = is_of_ours(name) ? folder_remove(name) : -ENOTEMPTY;
	if (!error && renameat2(AT_FDCWD, f->temporary, AT_FDCWD, name, RENAME_NOREPLACE))
		error = errno == EINVAL && access(name, F_OK) && !rename(f->temporary, name)
			? 0
			: -errno;
	return error;
}

static void folder_release(struct folder *f, bool keep)
{
	files_close(f);
	if (f->fd >= 0)
		close(f->fd);
	if (f->temporary && !keep)
		folder_remove(f->temporary);
	free(f->temporary);
}

static void note_absent(const struct cli_report *r)
{
	const char *absent;
	for (size_t n = 0; (absent = tools_absent(n)); n++)
		cli_note("'%s': not written: %s", r->path, absent);
}

static void folder_failed(const char *name, int error)
{
	if (error == -ENOTEMPTY || error == -ENOTDIR)
		cli_error("cannot replace '%s': it contains other files", name);
	else
		cli_write_failed(name, error, strerror(-error));
}

static int export_to_folder(struct cli_report *r, const struct options *o, const char *name)
{
	const struct contents_visitor visitor = {r, stop_or_progress, NULL, cli_problem};
	const bool overwrite = option_is(o, OPT_export_force_overwrite, "true");
	struct folder f;
	if (!strcmp(name, "-")) {
		cli_error("cannot write a folder to standard output; use -o FOLDER");
		return STATUS_FAILED;
	}
	if (!overwrite && !access(name, F_OK)) {
		cli_write_failed(name, -EEXIST, "");
		return STATUS_FAILED;
	}
	int status = STATUS_OK, error = folder_begin(&f, name);
	stops_await();
	if (error) {
		folder_failed(name, error);
		status = STATUS_FAILED;
	} else if ((error = export_tools_messages(f.files, r, o, &visitor))) {
		const int cause = errno, failed = files_close(&f);
		cli_progress_end(r);
		if (!stop_signal && error == -EPIPE)
			folder_failed(name, failed ? failed : cause ? -cause : -EIO);
		else if (!stop_signal && error == -ENODATA)
			export_found_nothing(r, TOOLS_FORMAT, NULL);
		else if (!stop_signal)
			cli_failed(r, error);
		status = STATUS_FAILED;
	} else {
		cli_progress_end(r);
		error = folder_end(&f, name, overwrite);
		if (error)
			folder_failed(name, error);
		else
			note_absent(r);
		status = error ? STATUS_FAILED : STATUS_OK;
	}
	folder_release(&f, !status);
	stop_if_asked();
	return !status && r->problems ? STATUS_DAMAGED : status;
}

int export_tools(struct cli_report *r, const struct options *o, const char *name)
{
	size_t bytes = strlen(name);
	while (bytes > 1 && name[bytes - 1] == '/')
		bytes--;
	char *plain = strndup(name, bytes);
	if (!plain) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	int status = export_to_folder(r, o, plain);
	free(plain);
	return status;
}
