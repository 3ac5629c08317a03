/* SPDX-License-Identifier: Apache-2.0 */
/* osrt_class.c - classes of OS runtime functions. */
#include "reader/stats/osrt_class.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/schema/fn_groups.h"

#define FN(ret, name, version, group, rule, alias, ...) {#alias, group},
#define FNV(name, version, group, rule, alias, ...) {#alias, group},
#define HAND(ret, name, version, group, rule, alias, ...) {#alias, group},
static const struct {
	const char *name;
	enum group group;
} functions[] = {
#include "common/schema/libc.def"
};

/* Return true if a function waits. Needed for groups that contain both classes. */
static bool waits(const char *name)
{
	return strstr(name, "wait") || strstr(name, "suspend") || strstr(name, "pause");
}

const char *osrt_class(const char *function)
{
	size_t i = 0, count = sizeof(functions) / sizeof(functions[0]);
	while (i < count && strcmp(functions[i].name, function))
		i++;
	switch (i < count ? functions[i].group : ADMIN) {
	case LOCK:
		return "lock";
	case WAIT:
	case SLEEP:
	case EVENT:
		return "wait";
	case SIGNAL:
	case PROCESS:
		return waits(function) ? "wait" : "osrt";
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
