/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c - the file that a command writes a report or a stream to.
 */
#define _GNU_SOURCE
#include "reader/cli/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/export/output.h"

void cli_write_failed(const char *name, int error, const char *cause)
{
	if (error == -EEXIST)
		cli_error("'%s' exists; use '--force-overwrite true' to replace it", name);
	else
		cli_error("cannot write '%s': %s", name, cause);
}

bool cli_output_is_input(const struct options *o, const char *name)
{
	struct stat output, input;
	if (stat(name, &output) || !S_ISREG(output.st_mode))
		return false;
	for (int i = 0; i < o->argc; i++) {
		if (stat(o->argv[i], &input) || input.st_dev != output.st_dev ||
			input.st_ino != output.st_ino)
			continue;
		cli_error("cannot write '%s': it is the input file '%s'", name, o->argv[i]);
		return true;
	}
	return false;
}

bool cli_output_open(struct cli_output *out, const char *name, bool overwrite)
{
	*out = (struct cli_output){0};
	int fd = output_is_special(name) ? output_special_open(name)
					 : output_begin(name, overwrite, &out->temporary);
	int error = fd;
	out->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out->file)
		cli_write_failed(name, error, strerror(-error));
	return out->file;
}

int cli_output_close(struct cli_output *out, const char *name, bool overwrite, int status)
{
	int error = fclose(out->file) ? -errno : 0;
	if (!error && !status && out->temporary)
		error = output_end(out->temporary, name, overwrite);
	if (error && !status) {
		cli_write_failed(name, error, strerror(-error));
		status = STATUS_FAILED;
	}
	if (out->temporary && status)
		unlink(out->temporary);
	else if (out->temporary)
		cli_wrote(name);
	free(out->temporary);
	return status;
}

unsigned cli_terminal_width(unsigned usual)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	if (columns && atoi(columns) > 0)
		return (unsigned)atoi(columns);
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return usual;
}
