/*
 * export.c - `trace export`: other formats. One line a format.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/cli/cli.h"
#include "reader/cli/events.h"

/* "dir/name.rep" -> "dir/name.json"; the caller frees. */
static char *default_name(const char *file, const char *suffix)
{
	char *name = NULL;
	const char *slash = strrchr(file, '/'), *dot = strrchr(slash ? slash : file, '.');
	int stem =
		(int)(dot && dot != file && dot[-1] != '/' ? (size_t)(dot - file) : strlen(file));
	return asprintf(&name, "%.*s.%s", stem, file, suffix) < 0 ? NULL : name;
}

static FILE *output_open(const char *name, bool overwrite)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? O_TRUNC : O_EXCL), 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		cli_error("cannot write '%s': %s", name, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	return out;
}

static int write_json(struct cli_report *r, FILE *out, const char *name)
{
	const struct cursor_filter all = {0};
	const struct contents_visitor visitor = {r, cli_progress, NULL, cli_problem};
	int error = events_print(out, &r->report, &visitor, &all, true, false);
	cli_progress_end(r);
	return error && error != -EPIPE ? cli_failed(r, error) : cli_finish(out, name);
}

static int export_to(struct cli_report *r, const char *name, bool overwrite)
{
	bool to_stdout = !strcmp(name, "-");
	FILE *out = to_stdout ? stdout : output_open(name, overwrite);
	if (!out)
		return STATUS_FAILED;
	int status = write_json(r, out, to_stdout ? "standard output" : name);
	if (!to_stdout && fclose(out) && !status) {
		cli_error("cannot write '%s': %s", name, strerror(errno));
		status = STATUS_FAILED;
	}
	return !status && r->problems ? STATUS_DAMAGED : status;
}

int command_export(const struct options *o)
{
	struct cli_report r;
	if (o->value[OPT_export_list]) {
		puts("json    one JSON object a line");
		return cli_finish(stdout, "standard output");
	}
	const char *file = option_file(o), *name = o->value[OPT_export_output];
	if (!file || cli_open(&r, file, o->value[OPT_export_no_wait]))
		return STATUS_FAILED;
	char *made = name ? NULL : default_name(file, "json");
	name = name ? name : made;
	int status = name ? export_to(&r, name, option_is(o, OPT_export_force_overwrite, "true"))
			  : STATUS_FAILED;
	free(made);
	cli_close(&r);
	return status;
}
