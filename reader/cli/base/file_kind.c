/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_kind.c - the kind of a file that is not a report, by its first bytes or its name.
 */
#define _GNU_SOURCE
#include "reader/cli/base/file_kind.h"

#include <dirent.h>
#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "reader/cli/base/message.h"
#include "reader/codexl/format.h"
#include "reader/file/source.h"
#include "reader/sql/connection.h"
#include "reader/xspace/xspace.h"

#define START_BYTES 512u

#define UNPACK "; unpack it first"
#define OF_TRACE "a report; 'trace info' shows what it contains, 'trace merge' joins several"
#define OF_NSYS "a report of Nsight Systems; convert it by 'nsys export -t sqlite"

static const struct {
	const char *begin, *text;
	size_t bytes;
} by_begin[] = {
#define BEGIN(begin, text)                     \
	{                                      \
		begin, text, sizeof(begin) - 1 \
	}
	BEGIN("NVR", OF_TRACE),
	BEGIN("\177ELF", "a program or library (ELF); 'trace run -- PROGRAM' records one"),
	BEGIN("#!", "a script; 'trace run -- SCRIPT' records one"),
	BEGIN("\x1f\x8b", "compressed by gzip" UNPACK),
	BEGIN("\xfd"
	      "7zXZ",
		"compressed by xz" UNPACK),
	BEGIN("BZh", "compressed by bzip2" UNPACK),
	BEGIN("(\xb5/\xfd", "compressed by zstd" UNPACK),
	BEGIN("PK\3\4", "a zip archive" UNPACK),
	BEGIN("PERFILE2", "a recording of perf, which no command reads"),
	BEGIN("PAR1", "a Parquet file; 'trace recipe' reads its folder"),
	BEGIN("<!DOCTYPE", "an HTML page; open it in a browser"),
	BEGIN("<!doctype", "an HTML page; open it in a browser"),
	BEGIN("<html", "an HTML page; open it in a browser"),
	BEGIN("{", "JSON, which no command reads"),
	BEGIN("[", "JSON, which no command reads"),
};

static const struct {
	const char *end, *text;
} by_end[] = {
	{".nvtxt", "a text file of NVTX by its name; 'trace import' reads it"},
	{".nsys-rep", OF_NSYS},
	{".qdrep", OF_NSYS},
	{".qdstrm", OF_NSYS},
	{".spool", "part of an unfinished recording; run 'trace recover' on its folder"},
	{".ncu-proj", "a project of Nsight Compute; its reports are separate files"},
};

static const char *kind_by_begin(const char *start, size_t bytes)
{
	for (size_t i = 0; i < sizeof(by_begin) / sizeof(by_begin[0]); i++)
		if (bytes >= by_begin[i].bytes &&
			!memcmp(start, by_begin[i].begin, by_begin[i].bytes))
			return by_begin[i].text;
	return NULL;
}

static const char *kind_by_end(const char *path)
{
	size_t length = strlen(path);
	for (size_t i = 0; i < sizeof(by_end) / sizeof(by_end[0]); i++) {
		size_t bytes = strlen(by_end[i].end);
		if (length > bytes && !strcmp(path + length - bytes, by_end[i].end))
			return by_end[i].text;
	}
	return codexl_format_of(path) != CODEXL_FORMATS
		? "a text file of CodeXL by its name; 'trace import' reads it"
		: NULL;
}

static bool is_text(const char *start, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)start[i] < '\t' ||
			((unsigned char)start[i] > '\r' && (unsigned char)start[i] < ' '))
			return false;
	return true;
}

/* Return whether a whole file is less than the file header of a report. */
static bool is_beginning(const char *start, size_t bytes)
{
	static const char magic[4] = "NVR";
	uint32_t header;
	if (memcmp(start, magic, bytes < sizeof(magic) ? bytes : sizeof(magic)) != 0)
		return false;
	if (bytes < sizeof(magic) + sizeof(header))
		return true;
	memcpy(&header, start + sizeof(magic), sizeof(header));
	return le32toh(header) <= START_BYTES &&
		bytes < sizeof(magic) + sizeof(header) + le32toh(header);
}

static const char *kind_of(const char *path)
{
	char start[START_BYTES];
	struct source s;
	const char *text;
	if (sql_is_database(path))
		return "a database; info, dump, check, export, stats, analyze, report, query and "
		       "diff read it";
	if (xspace_is(path))
		return "an XSpace of a profiler; info, dump, check, export, stats, analyze, report "
		       "and query read it";
	if (source_open(&s, path))
		return NULL;
	size_t bytes = s.size < sizeof(start) ? (size_t)s.size : sizeof(start);
	bool failed = source_read(&s, 0, start, bytes) != 0;
	source_close(&s);
	if (failed)
		return NULL;
	if (!bytes)
		return "an empty file";
	if (is_beginning(start, bytes))
		return "the beginning of a report: it is truncated";
	text = kind_by_end(path);
	if (!text || strcmp(text, OF_NSYS) != 0) {
		const char *by_content = kind_by_begin(start, bytes);
		text = by_content ? by_content : text;
	}
	if (!text && is_text(start, bytes))
		text = "a text file; 'trace import' reads those of NVTX and CodeXL";
	return text;
}

bool foreign_is_of_nsys(const char *path, char ret_text[FOREIGN_BYTES])
{
	const char *text = kind_by_end(path);
	const bool is_of_nsys = text && !strcmp(text, OF_NSYS);
	ret_text[0] = '\0';
	if (is_of_nsys)
		snprintf(ret_text, FOREIGN_BYTES, OF_NSYS " %.300s'", path);
	return is_of_nsys;
}

bool foreign_kind(const char *path, char ret_text[FOREIGN_BYTES])
{
	const char *text = kind_of(path);
	if (text && foreign_is_of_nsys(path, ret_text) && !strcmp(text, OF_NSYS))
		return true;
	snprintf(ret_text, FOREIGN_BYTES, "%s", text ? text : "");
	return text;
}

/* Return a hint at the command that reads such a folder; "" = none. */
static const char *folder_kind(DIR *folder)
{
	for (const struct dirent *e; (e = readdir(folder));) {
		const char *dot = strrchr(e->d_name, '.');
		if (dot && !strcmp(dot, ".parquet"))
			return "; 'trace recipe' reads its Parquet files";
		if (dot && !strcmp(dot, ".spool"))
			return "; 'trace recover' finishes the report of this recording";
	}
	return "";
}

void foreign_explain(const char *path)
{
	char kind[FOREIGN_BYTES];
	DIR *folder = opendir(path);
	if (folder)
		cli_error("cannot read '%s': not a report, but a folder%s", path,
			folder_kind(folder));
	else if (foreign_kind(path, kind) && !strcmp(kind, OF_TRACE))
		cli_error("cannot read '%s': a report with a damaged file header", path);
	else if (*kind)
		cli_error("cannot read '%s': not a report, but %s", path, kind);
	else
		cli_error("cannot read '%s': not a report or any other known format", path);
	if (folder)
		closedir(folder);
}
