/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_codexl.c - `trace import` of text files of CodeXL and the Radeon Compute Profiler.
 */
#include "reader/cli/import_codexl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/cli/base/output.h"
#include "reader/cli/base/file_kind.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/stop.h"
#include "reader/codexl/import.h"
#include "reader/codexl/read.h"

struct input {
	const char *path;
	struct codexl_file file;
};

void import_unreadable(const char *path, int error)
{
	char kind[FOREIGN_BYTES];
	if (error == -EILSEQ && foreign_kind(path, kind))
		cli_error("cannot read '%s': not a text file, but %s", path, kind);
	else
		cli_error("cannot read '%s': %s", path,
			error == -ESPIPE           ? "not a regular file"
				: error == -EILSEQ ? "not a text file"
						   : strerror(-error));
}

static int input_read(struct input *in, struct pool *pool)
{
	struct stat status;
	int fd = open(in->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int error = fd < 0 || fstat(fd, &status) ? -errno : S_ISREG(status.st_mode) ? 0 : -ESPIPE;
	if (!error)
		error = codexl_file_init(&in->file, codexl_format_of(in->path), pool);
	if (!error)
		error = codexl_file_read(&in->file, fd);
	if (fd >= 0)
		close(fd);
	if (error == -EBADMSG)
		cli_error("%s:%u: %s", in->path, in->file.line, in->file.cause);
	else if (error)
		import_unreadable(in->path, error);
	return error ? STATUS_FAILED : STATUS_OK;
}

static void print_input(const struct input *in, const char *output)
{
	const struct codexl_file *f = &in->file;
	printf("%s: ", in->path);
	if (f->format == CODEXL_TIMELINE)
		printf("%u calls, %u commands, %u kernels, %u perf markers", f->calls.count,
			f->commands.count, f->kernels.count, f->markers.count);
	else
		printf("%u rows, %u cells", f->row_count, f->cells.count);
	printf(", %u header lines%s%s\n", f->headers.count, output ? " in " : "",
		output ? output : "");
}

/* Print what the file contains and the report cannot store. */
static void note_lost(const struct input *in)
{
	const struct codexl_lost *l = &in->file.lost;
	const struct {
		uint64_t count;
		const char *what;
	} parts[] = {{l->comments, "comments after calls"}, {l->sections, "unknown sections"},
		{l->lines, "lines of unknown sections"},
		{l->ends, "ends of perf markers without a begin"},
		{l->end_names, "end names that differ from the name of the begin"},
		{l->texts, "lines with trailing words, which are left out"}};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].count)
			cli_note("%s: left out: %" PRIu64 " %s", in->path, parts[i].count,
				parts[i].what);
}

static int report_write(const char *output, bool overwrite, const uint8_t *data, size_t bytes)
{
	struct cli_output out;
	if (!cli_output_open(&out, output, overwrite))
		return STATUS_FAILED;
	if (out.temporary)
		stops_await();
	fwrite(data, 1, bytes, out.file);
	int status = cli_finish(out.file, output);
	status = cli_output_close(&out, output, overwrite, status);
	stop_if_asked();
	return status;
}

static int report_make(const struct options *o, struct input *inputs, size_t count)
{
	struct codexl_import imports[CODEXL_FORMATS];
	const char *output = o->value[OPT_import_output];
	uint8_t *data = NULL;
	size_t bytes = 0;
	for (size_t i = 0; i < count; i++) {
		const char *slash = strrchr(inputs[i].path, '/');
		imports[i] = (struct codexl_import){
			&inputs[i].file, slash ? slash + 1 : inputs[i].path, 0};
	}
	int error = codexl_import(imports, count, &data, &bytes);
	if (error)
		cli_error("cannot convert '%s' to a report: %s", inputs[0].path, strerror(-error));
	int status = error ? STATUS_FAILED
			   : report_write(output, option_is(o, OPT_import_force_overwrite, "true"),
				     data, bytes);
	free(data);
	return status;
}

/* Return whether the files form a session, at most one file of each format, that becomes a report
 * of its own; otherwise print why not. */
static bool are_a_session(const struct options *o)
{
	bool has[CODEXL_FORMATS] = {false};
	for (int i = 0; i < o->argc; i++) {
		enum codexl_format format = codexl_format_of(o->argv[i]);
		if (has[format]) {
			cli_error("cannot import '%s': a session of CodeXL has at most one .atp, "
				  "one .csv and one .occupancy",
				o->argv[i]);
			return false;
		}
		has[format] = true;
	}
	if (o->value[OPT_import_into]) {
		cli_error("cannot add files of CodeXL to a report, since they use a different "
			  "clock; use --output instead of --into");
		return false;
	}
	return true;
}

int import_codexl(const struct options *o)
{
	struct input inputs[CODEXL_FORMATS] = {0};
	struct pool pool = {0};
	size_t count = 0;
	int status = are_a_session(o) ? STATUS_OK : STATUS_FAILED;
	for (; !status && count < (size_t)o->argc; count++) {
		inputs[count].path = o->argv[count];
		status = input_read(&inputs[count], &pool);
	}
	if (!status && o->value[OPT_import_output])
		status = report_make(o, inputs, count);
	for (size_t i = 0; i < count; i++) {
		if (!status) {
			print_input(&inputs[i], o->value[OPT_import_output]);
			note_lost(&inputs[i]);
		}
		codexl_file_release(&inputs[i].file);
	}
	pool_release(&pool);
	int written = cli_finish(stdout, "standard output");
	return status > written ? status : written;
}
