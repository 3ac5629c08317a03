/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c - files of any kind as reports: databases and XSpaces are converted to temporary reports.
 */
#define _GNU_SOURCE
#include "reader/cli/database/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/cli/base/stop.h"
#include "reader/cli/database/open.h"
#include "reader/sql/to_report.h"
#include "reader/sql/views.h"
#include "reader/xspace/xspace.h"

int input_temporary(void)
{
	const char *place = getenv("TMPDIR");
	char *name = NULL;
	place = place && *place == '/' ? place : "/var/tmp";
	int fd = asprintf(&name, "%s/trace-XXXXXX", place) < 0 ? -1 : mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		cli_error("cannot create a file in '%s': %s; set TMPDIR to use another folder",
			place, strerror(errno));
	else
		unlink(name);
	free(name);
	return fd;
}

static int facts_take(void *user, const struct sql_value *v, int count)
{
	struct foreign_facts *f = user;
	if (count != 2 || v[1].type != SQL_TEXT)
		return 0;
	char *to = v[0].integer ? f->devices : f->format;
	const size_t room = v[0].integer ? sizeof(f->devices) : sizeof(f->format);
	snprintf(to, room, "%.*s", (int)strnlen(v[1].text, room - 1), v[1].text);
	return 0;
}

/* Describe a database. If a table is missing, the description is shorter. */
static int facts_read(struct sql *s, bool is_xspace, struct foreign_facts *f)
{
	const struct sql_visitor visitor = {f, NULL, facts_take};
	const char *table = sql_has(s, "META_DATA_EXPORT", "value") > 0 ? "META_DATA_EXPORT"
		: sql_has(s, "EXPORT_META_DATA", "value") > 0           ? "EXPORT_META_DATA"
									: NULL;
	char text[500];
	strcpy(f->format, is_xspace ? "an XSpace of a profiler" : "a database");
	if (table && !is_xspace) {
		snprintf(text, sizeof(text),
			"SELECT 0, 'a database of ' || coalesce(max(CASE name WHEN "
			"'EXPORT_PRODUCT_NAME' THEN value END), '?') || ' ' || coalesce(max(CASE "
			"name WHEN 'EXPORT_PRODUCT_VERSION' THEN value END), '?') || ', schema ' "
			"|| coalesce(max(CASE name WHEN 'EXPORT_SCHEMA_VERSION' THEN value END), "
			"'?') FROM main.%s",
			table);
		int error = sql_run(s, text, &visitor);
		if (error)
			return error;
	}
	return sql_run(s, "SELECT 1, group_concat(name, ', ') FROM TARGET_INFO_GPU", &visitor);
}

static int database_convert(struct sql *s, const char *path, int fd, struct foreign_facts *f,
	struct to_report_tally *tally)
{
	const char *slash = strrchr(path, '/');
	int error = views_make(s);
	if (!error)
		error = facts_read(s, xspace_is(path), f);
	if (!error)
		error = sql_to_report(s, slash ? slash + 1 : path, f->bytes, fd, tally);
	if (error)
		return sql_file_failed(s, path, "read the events", error);
	f->impossible = tally->impossible;
	f->facts = tally->facts;
	return STATUS_OK;
}

int input_open_foreign(struct cli_report *r, const char *path, struct foreign_facts *ret_facts)
{
	struct sql s;
	struct stat file;
	struct to_report_tally tally;
	const struct sql_open_form form = {0};
	*ret_facts =
		(struct foreign_facts){.bytes = stat(path, &file) ? 0 : (uint64_t)file.st_size};
	if (sql_file_open(&s, path, &form) == STATUS_FAILED)
		return STATUS_FAILED;
	int fd = input_temporary();
	int status = fd < 0 ? STATUS_FAILED : database_convert(&s, path, fd, ret_facts, &tally);
	sql_close(&s);
	stops_end();
	if (!status)
		status = cli_open_converted(r, path, fd);
	else if (fd >= 0)
		close(fd);
	if (!status) {
		memcpy(r->report.unknown, tally.unknown, sizeof(tally.unknown));
		memcpy(r->report.partly, tally.partly, sizeof(tally.partly));
	}
	return status;
}

int input_open_events(struct cli_report *r, const char *path, bool no_wait)
{
	struct foreign_facts facts;
	if (!sql_file_is_foreign(path))
		return cli_open_events(r, path, no_wait);
	if (input_open_foreign(r, path, &facts))
		return STATUS_FAILED;
	if (facts.impossible)
		cli_note("'%s': left out %" PRIu64
			 " rows that have no time or process, or end before they start",
			path, facts.impossible);
	return STATUS_OK;
}

struct soundness {
	const char *path;
	bool sound;
};

static int soundness_take(void *user, const struct sql_value *v, int count)
{
	struct soundness *k = user;
	const char *text = count == 1 && v[0].type == SQL_TEXT ? v[0].text : "?";
	k->sound = !strcmp(text, "ok");
	if (!k->sound)
		cli_error("'%s': %.200s", k->path, text);
	return 0;
}

bool input_is_sound(const char *path)
{
	struct sql s = {0};
	struct soundness k = {path, false};
	const struct sql_visitor visitor = {&k, NULL, soundness_take};
	int error = sql_open(&s, path);
	if (!error)
		error = sql_run(&s, "PRAGMA main.quick_check(1)", &visitor);
	if (error)
		sql_file_failed(&s, path, "check it", error);
	sql_close(&s);
	return !error && k.sound;
}
