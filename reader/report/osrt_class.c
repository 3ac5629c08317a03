/* SPDX-License-Identifier: Apache-2.0 */
/* osrt_class.c - classes and arguments of OS runtime functions. */
#include "reader/report/osrt_class.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/schema/fn_groups.h"

#define FN(ret, name, version, group, rule, alias, ...) {#alias, group, #__VA_ARGS__},
#define FNV(name, version, group, rule, alias, ...) {#alias, group, #__VA_ARGS__},
#define HAND(ret, name, version, group, rule, alias, ...) {#alias, group, #__VA_ARGS__},
static const struct {
	const char *name;
	enum group group;
	const char *arguments; /* triples (KIND, type, t_name), as in libc.def */
} functions[] = {
#include "common/schema/libc.def"
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static size_t function_find(const char *name)
{
	size_t i = 0;
	while (i < FUNCTIONS && (functions[i].name[0] != *name || strcmp(functions[i].name, name)))
		i++;
	return i;
}

/* Return true if a function waits. Needed for groups that also contain functions that do not
 * wait. */
static bool waits(const char *name)
{
	return strstr(name, "wait") || strstr(name, "suspend") || strstr(name, "pause") ||
		!strcmp(name, "vfork") || !strcmp(name, "system");
}

/* Return true for syscall(), whose recorded object is the number of the system call, its first
 * argument. */
static bool is_syscall(const char *name)
{
	return !strcmp(name, "syscall");
}

/* Return true if a function of LOCK or WAIT only releases, wakes or initializes, and so never
 * waits. */
static bool returns_at_once(const char *name)
{
	static const char *const words[] = {
		"unlock", "post", "try", "signal", "broadcast", "init", "destroy"};
	size_t i = 0;
	while (i < sizeof(words) / sizeof(words[0]) && !strstr(name, words[i]))
		i++;
	return i < sizeof(words) / sizeof(words[0]);
}

const char *osrt_class(const char *function)
{
	size_t i = function_find(function);
	switch (i < FUNCTIONS ? functions[i].group : ADMIN) {
	case LOCK:
		return returns_at_once(function) ? "osrt" : "lock";
	case WAIT:
		return returns_at_once(function) ? "osrt" : "wait";
	case SLEEP:
	case EVENT:
		return "wait";
	case SIGNAL:
	case PROCESS:
		/* system calls that are worth recording usually wait: futex, nanosleep */
		return waits(function) || is_syscall(function) ? "wait" : "osrt";
	case OPEN:
	case IO:
	case SYNC:
	case STDIO:
		return "io";
	case NET:
	case IPC:
		return "net";
	default:
		return "osrt";
	}
}

bool osrt_object_is_descriptor(const char *function)
{
	size_t i = function_find(function);
	const char *arguments = i < FUNCTIONS ? functions[i].arguments : "";
	return strstr(arguments, "(FD,") || strstr(arguments, "(STREAM");
}

bool osrt_object_is_variable(const char *function)
{
	size_t i = function_find(function);
	return i < FUNCTIONS && (functions[i].group == LOCK || functions[i].group == WAIT) &&
		strstr(functions[i].arguments, "(ADDR,") && !strstr(function, "join");
}

bool osrt_object_is_number(const char *function)
{
	size_t i = function_find(function);
	const char *arguments = i < FUNCTIONS ? functions[i].arguments : "";
	bool of_process = i < FUNCTIONS && functions[i].group == PROCESS; /* the child's pid */
	return osrt_object_is_descriptor(function) || strstr(arguments, "(PID,") ||
		is_syscall(function) || (of_process && !strstr(arguments, "(ADDR,"));
}

void osrt_arguments(FILE *out, const char *function, int64_t object)
{
	size_t i = function_find(function);
	const char *at = i < FUNCTIONS ? functions[i].arguments : "";
	for (bool first = true; (at = strchr(at, '(')); first = false) {
		const char *kind = at + 1, *name = strstr(at, ", t_");
		if (!name || !strncmp(kind, "NONE", 4))
			return;
		name += strlen(", t_");
		at = name + strcspn(name, ")");
		fprintf(out, "%s%.*s", first ? "" : ", ", (int)(at - name), name);
		if (!strncmp(kind, "FD,", 3) || !strncmp(kind, "STREAM", 6) ||
			!strncmp(kind, "PID,", 4) || (first && is_syscall(function)))
			fprintf(out, " = %" PRId64, object);
		else if (!strncmp(kind, "ADDR,", 5) || !strncmp(kind, "ID,", 3))
			fprintf(out, " = 0x%" PRIx64, (uint64_t)object);
	}
}
