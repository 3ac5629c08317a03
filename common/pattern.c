/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.c - expansion of the names of reports: %p %h %e %n %q{VARIABLE} %%.
 */
#define _GNU_SOURCE
#include "common/pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/utsname.h>

#include "common/sys.h"
#include "common/text.h"

#define NUMBER_MAX 100000u

/* An expansion in progress. */
struct output {
	char *path;
	size_t bytes, at;
	bool numbered; /* %n was seen */
	const char *reason;
};

static void put(struct output *o, const char *s)
{
	o->at = text_append(o->path, o->bytes, o->at, s);
	if (o->at + 1 >= o->bytes)
		o->reason = "the name is too long";
}

/* Append a value from outside: a component of a path, or a part of one. */
static void put_value(struct output *o, const char *value, const char *missing)
{
	if (!value)
		o->reason = missing;
	else if (text_find(value, "/") || text_equal(value, "..") || text_equal(value, "."))
		o->reason = "a value would lead out of the folder of the pattern";
	else
		put(o, value);
}

static const char *put_variable(
	struct output *o, const char *s, const struct pattern_values *values)
{
	char name[128];
	size_t length = 0;
	if (*s != '{') {
		o->reason = "%q is not followed by {NAME}";
		return s;
	}
	for (s++; *s && *s != '}' && length + 1 < sizeof(name); s++)
		name[length++] = *s;
	name[length] = 0;
	if (*s != '}' || !length) {
		o->reason = "%q{ has no name or no closing brace";
		return s;
	}
	put_value(
		o, values->lookup ? values->lookup(name) : NULL, "the variable of %q{} is not set");
	return s + 1;
}

static void put_number(struct output *o, uint64_t number)
{
	o->at = text_append_number(o->path, o->bytes, o->at, number, 10);
}

static void put_host(struct output *o)
{
	struct utsname name;
	put_value(o, SYS1(SYS_uname, &name) == 0 ? name.nodename : NULL,
		"the name of the host is unknown");
}

static void put_executable(struct output *o, const char *path)
{
	const char *base = path ? path : "";
	for (const char *s = base; *s; s++)
		if (*s == '/')
			base = s + 1;
	put_value(o, *base ? base : NULL, "the name of the program is unknown");
}

static void expand(
	struct output *o, const char *pattern, const struct pattern_values *values, uint64_t number)
{
	for (const char *s = pattern; *s && !o->reason;) {
		if (*s != '%') {
			char one[2] = {*s++, 0};
			put(o, one);
			continue;
		}
		switch (*++s) {
		case 'p':
			put_number(o, values->pid);
			break;
		case 'h':
			put_host(o);
			break;
		case 'e':
			put_executable(o, values->executable);
			break;
		case 'n':
			o->numbered = true;
			put_number(o, number);
			break;
		case '%':
			put(o, "%");
			break;
		case 'q':
			s = put_variable(o, s + 1, values) - 1;
			break;
		default:
			o->reason =
				"unknown letter after %; expected %p, %h, %e, %n, %q{NAME} or %%";
		}
		s++;
	}
}

static void put_directory(struct output *o, const char *pattern)
{
	if (pattern[0] == '/')
		return;
	if (SYS2(SYS_getcwd, o->path, o->bytes) <= 0) {
		o->reason = "the path of the current directory is unknown";
		return;
	}
	o->at = text_length(o->path);
	put(o, "/");
}

static bool exists(const char *path)
{
	return SYS3(SYS_faccessat, AT_FDCWD, path, 0) == 0;
}

/* Return true if the path so far names a directory. */
static bool is_directory(struct output *o)
{
	size_t at = o->at;
	put(o, "/.");
	bool found = !o->reason && exists(o->path);
	o->path[at] = 0;
	o->at = at;
	return found;
}

/* Complete the name: append the default name to a directory, then .rep, unless the name ends in
 * .rep, or in -rep as report names of other tools do. */
static void put_suffix(struct output *o, const struct pattern_values *values, uint64_t number)
{
	bool slash = o->at && o->path[o->at - 1] == '/';
	if (slash || is_directory(o)) {
		put(o, slash ? "" : "/");
		expand(o, PATTERN_DEFAULT, values, number);
	}
	const char *end = o->at >= 4 ? o->path + o->at - 4 : "";
	if (!text_equal(end, ".rep") && !text_equal(end, "-rep"))
		put(o, ".rep");
}

int pattern_expand(const char *pattern, const struct pattern_values *values, char *ret_path,
	size_t bytes, const char **ret_reason)
{
	if (!pattern)
		pattern = PATTERN_DEFAULT;
	if (text_equal(pattern, "-")) {
		*ret_reason = "a report cannot be written to standard output; write './-' for a "
			      "file of that name";
		return -EINVAL;
	}
	for (uint64_t number = 1; number <= NUMBER_MAX; number++) {
		struct output o = {.path = ret_path, .bytes = bytes};
		put_directory(&o, pattern);
		if (!o.reason)
			expand(&o, pattern, values, number);
		if (!o.reason)
			put_suffix(&o, values, number);
		if (o.reason) {
			*ret_reason = o.reason;
			return -EINVAL;
		}
		if (!o.numbered || !exists(ret_path))
			return 0;
	}
	*ret_reason = "all numbers of %n are in use";
	return -EEXIST;
}

const char *pattern_check(const char *path, bool overwrite)
{
	char directory[4096];
	size_t end = text_append(directory, sizeof(directory), 0, path);
	while (end > 1 && directory[end] != '/')
		end--;
	directory[end] = 0;
	if (exists(path) && !overwrite)
		return "the file exists, and LIBTRACE_FORCE_OVERWRITE is not set";
	if (!exists(directory))
		return "its folder does not exist";
	if (SYS3(SYS_faccessat, AT_FDCWD, directory, 2 /* W_OK */) < 0)
		return "its folder is not writable";
	return NULL;
}
