/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c - facts about the machine that may affect measurements, from /proc, /sys and git.
 */
#define _GNU_SOURCE
#include "writer/report/facts.h"

#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/regular.h"
#include "machine/machine.h"

#define CGROUPS "/sys/fs/cgroup"
#define POWERCAP "/sys/class/powercap"
#define PACKAGES_MAX 16 /* processor packages whose power limits are read */

static void text_clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f)
			*text = '?';
}

__attribute__((format(printf, 2, 3))) static void fact_add(struct facts *f, const char *format, ...)
{
	va_list arguments;
	if (f->count == FACTS_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(f->texts[f->count], FACT_BYTES, format, arguments);
	va_end(arguments);
	text_clean(f->texts[f->count]);
	f->list[f->count] = f->texts[f->count];
	f->count++;
}

/* Format a text. Return false if it does not fit and was truncated. */
__attribute__((format(printf, 3, 4))) static bool text_make(
	char *ret_text, size_t bytes, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(ret_text, bytes, format, arguments);
	va_end(arguments);
	return length >= 0 && (size_t)length < bytes;
}

#define LINES_MAX 100000 /* maximum number of lines to read from a file */

/* Open a file whose path others may have chosen. Return NULL if it is not a regular file: a pipe,
 * device or terminal may have no end. */
static FILE *file_open(const char *path)
{
	int fd = regular_open(path);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!file && fd >= 0)
		close(fd);
	return file;
}

/* Read the first line of a file, without its newline. Return false if there is none. */
static bool line_read(const char *path, char *ret_line, size_t bytes)
{
	FILE *file = file_open(path);
	bool found = file && fgets(ret_line, (int)bytes, file);
	if (file)
		fclose(file);
	if (found)
		ret_line[strcspn(ret_line, "\n")] = 0;
	return found;
}

/* Read the value after the colon of the first line that begins with `name`. */
static bool value_read(const char *path, const char *name, char *ret_value, size_t bytes)
{
	FILE *file = file_open(path);
	char line[512];
	bool found = false;
	for (int i = 0; file && !found && i < LINES_MAX && fgets(line, sizeof(line), file); i++) {
		char *colon = strchr(line, ':');
		if (strncmp(line, name, strlen(name)) || !colon)
			continue;
		line[strcspn(line, "\n")] = 0;
		colon += 1 + strspn(colon + 1, " \t");
		text_make(ret_value, bytes, "%s", colon);
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

static void add_file(struct facts *f, const char *name, const char *path)
{
	char line[256];
	if (line_read(path, line, sizeof(line)))
		fact_add(f, "%s=%s", name, line);
}

static void add_value(struct facts *f, const char *name, const char *path, const char *key)
{
	char value[256];
	if (value_read(path, key, value, sizeof(value)))
		fact_add(f, "%s=%s", name, value);
}

static void turbo_read(struct facts *f)
{
	char line[16];
	if (line_read("/sys/devices/system/cpu/intel_pstate/no_turbo", line, sizeof(line)))
		fact_add(f, "turbo=%s", *line == '0' ? "on" : "off");
	else if (line_read("/sys/devices/system/cpu/cpufreq/boost", line, sizeof(line)))
		fact_add(f, "turbo=%s", *line == '1' ? "on" : "off");
}

/* Add the setting of transparent huge pages: the word in brackets. */
static void huge_pages_read(struct facts *f)
{
	char line[128];
	if (!line_read("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line)))
		return;
	char *begin = strchr(line, '['), *end = begin ? strchr(begin, ']') : NULL;
	if (end)
		fact_add(f, "transparent_hugepage=%.*s", (int)(end - begin - 1), begin + 1);
}

static void load_read(struct facts *f)
{
	char line[128];
	if (line_read("/proc/loadavg", line, sizeof(line)))
		fact_add(f, "load=%.*s", (int)strcspn(line, " "), line);
}

/* Return true if the line means that there is no limit: "max", -1, or the largest number of
 * pages. */
static bool is_unlimited(const char *line)
{
	return !strncmp(line, "max", 3) || *line == '-' || strtoull(line, NULL, 10) > INT64_MAX / 2;
}

/* Add the limit of our control group: the first limit on the way from our group to the root.
 * `folder` is that of the controller in version 1, "" in version 2. In a container of version 1,
 * the group has its name on the host, but is mounted as the root. `second`, if not NULL, is a file
 * whose value is appended to the first. */
static void limit_read(struct facts *f, const char *name, const char *folder, const char *group,
	const char *file, const char *second)
{
	char path[2 * PATH_MAX], here[PATH_MAX], line[64], more[64] = "";
	text_make(here, sizeof(here), "%s", group);
	for (char *slash = here + strlen(here); slash; slash = strrchr(here, '/')) {
		*slash = 0;
		text_make(path, sizeof(path), CGROUPS "%s%s/%s", folder, here, file);
		if (!line_read(path, line, sizeof(line)) || is_unlimited(line))
			continue;
		text_make(
			path, sizeof(path), CGROUPS "%s%s/%s", folder, here, second ? second : "");
		bool has_more = second && line_read(path, more, sizeof(more));
		fact_add(f, "%s=%s%s%s", name, line, has_more ? " " : "", more);
		return;
	}
}

/* Return the path of a line "4:cpu,cpuacct:/path", or NULL if it does not name the controller. */
static char *group_of(char *line, const char *controller)
{
	char *words = strchr(line, ':'), *path = words ? strchr(words + 1, ':') : NULL;
	size_t length = strlen(controller);
	if (!path)
		return NULL;
	line[strcspn(line, "\n")] = 0;
	*path++ = 0;
	for (char *at = words + 1; (at = strstr(at, controller)); at += length)
		if ((at[-1] == ':' || at[-1] == ',') && (!at[length] || at[length] == ','))
			return path;
	path[-1] = ':';
	return NULL;
}

/* Add the limits of processors and memory. All controllers share the hierarchy of version 2
 * ("0::/path"), or each has a hierarchy of version 1. */
static void limits_read(struct facts *f)
{
	FILE *file = file_open("/proc/self/cgroup");
	char line[PATH_MAX], *group;
	for (int i = 0; file && i < LINES_MAX && fgets(line, sizeof(line), file); i++) {
		if (!strncmp(line, "0::", 3)) {
			line[strcspn(line, "\n")] = 0;
			limit_read(f, "cgroup_cpu_max", "", line + 3, "cpu.max", NULL);
			limit_read(f, "cgroup_memory_max", "", line + 3, "memory.max", NULL);
		} else if ((group = group_of(line, "cpu"))) {
			limit_read(f, "cgroup_cpu_max", "/cpu", group, "cpu.cfs_quota_us",
				"cpu.cfs_period_us");
		} else if ((group = group_of(line, "memory"))) {
			limit_read(f, "cgroup_memory_max", "/memory", group,
				"memory.limit_in_bytes", NULL);
		}
	}
	if (file)
		fclose(file);
}

/* Add the power limits of the packages in uW, long-term and short-term, from the kernel's
 * powercap. */
static void power_limits_read(struct facts *f)
{
	static const char *const spans[] = {"long", "short"};
	char path[128], limit[32];
	for (int i = 0; i < 2 * PACKAGES_MAX; i++) {
		text_make(path, sizeof(path),
			POWERCAP "/intel-rapl:%d/constraint_%d_power_limit_uw", i / 2, i % 2);
		if (line_read(path, limit, sizeof(limit)))
			fact_add(f, "cpu_power_limit_%s_%d=%s uW", spans[i % 2], i / 2, limit);
	}
}

#define FOR_MACHINE "for " MACHINE_NAME

/* Add the driver version: the word after "Module": "NVRM version: NVIDIA UNIX x86_64 Kernel Module
 * 580.65.06 ..." */
static void driver_read(struct facts *f)
{
	char line[256];
	if (!line_read("/proc/driver/nvidia/version", line, sizeof(line)))
		return;
	char *version = strstr(line, "Module");
	version = version ? version + 6 + strspn(version + 6, " \t") : line;
	version += strncmp(version, FOR_MACHINE, sizeof(FOR_MACHINE) - 1)
		? 0
		: sizeof(FOR_MACHINE) - 1 + strspn(version + sizeof(FOR_MACHINE) - 1, " \t");
	fact_add(f, "nvidia_driver=%.*s", (int)strcspn(version, " "), version);
}

static void devices_read(struct facts *f)
{
	glob_t found;
	char model[128];
	if (glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc && i < 8; i++)
		if (value_read(found.gl_pathv[i], "Model", model, sizeof(model)))
			fact_add(f, "nvidia_gpu_%zu=%s", i, model);
	globfree(&found);
}

/* ---- git: the commit of the working directory's repository, without git ---- */

static bool is_commit(const char *text)
{
	size_t length = strspn(text, "0123456789abcdef");
	return length >= 40 && length <= 64 && !text[length];
}

/* Read the commit of a reference that has no file of its own. */
static bool packed_read(const char *folder, const char *name, char *ret_commit, size_t bytes)
{
	char path[PATH_MAX + 32], line[512];
	bool found = false;
	text_make(path, sizeof(path), "%s/packed-refs", folder);
	FILE *file = file_open(path);
	for (int i = 0; file && !found && i < LINES_MAX && fgets(line, sizeof(line), file); i++) {
		line[strcspn(line, "\n")] = 0;
		char *blank = strchr(line, ' ');
		if (!blank || strcmp(blank + 1, name))
			continue;
		*blank = 0;
		found = is_commit(line);
		text_make(ret_commit, bytes, "%s", line);
	}
	if (file)
		fclose(file);
	return found;
}

/* Read the commit of the folder that has HEAD, which is "ref: NAME" or a commit. */
static bool head_read(const char *folder, char *ret_commit, size_t bytes)
{
	char path[PATH_MAX + 768], shared[PATH_MAX + 512], head[512], more[512];
	text_make(path, sizeof(path), "%s/HEAD", folder);
	if (!line_read(path, head, sizeof(head)))
		return false;
	if (strncmp(head, "ref: ", 5)) {
		text_make(ret_commit, bytes, "%s", head);
		return is_commit(ret_commit);
	}
	text_make(path, sizeof(path), "%s/commondir",
		folder); /* the folder of an additional working tree */
	bool apart = line_read(path, more, sizeof(more));
	if (apart && *more == '/')
		text_make(shared, sizeof(shared), "%s", more);
	else
		text_make(shared, sizeof(shared), "%s%s%s", folder, apart ? "/" : "",
			apart ? more : "");
	text_make(path, sizeof(path), "%s/%s", shared, head + 5);
	if (!strstr(head, "..") && line_read(path, ret_commit, bytes) && is_commit(ret_commit))
		return true;
	return packed_read(shared, head + 5, ret_commit, bytes);
}

static void commit_read(struct facts *f, const char *directory)
{
	char here[PATH_MAX], path[PATH_MAX + 16], line[PATH_MAX + 16], commit[80];
	if (*directory != '/' || strlen(directory) >= sizeof(here))
		return;
	text_make(here, sizeof(here), "%s", directory);
	for (char *slash = here + strlen(here); slash; slash = strrchr(here, '/')) {
		*slash = 0;
		text_make(path, sizeof(path), "%s/.git", here);
		bool found = head_read(path, commit, sizeof(commit));
		if (!found && line_read(path, line, sizeof(line)) && !strncmp(line, "gitdir: /", 9))
			found = head_read(line + 8, commit, sizeof(commit));
		if (found) {
			fact_add(f, "git_commit=%s", commit);
			return;
		}
	}
}

void facts_read(struct facts *f, const char *directory)
{
	f->count = 0;
	fact_add(f, "machine=%s", MACHINE_NAME);
	add_value(f, "microcode", "/proc/cpuinfo", "microcode");
	add_file(f, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	turbo_read(f);
	power_limits_read(f);
	add_file(f, "smt", "/sys/devices/system/cpu/smt/active");
	add_value(f, "memory", "/proc/meminfo", "MemTotal");
	add_value(f, "cpus_allowed", "/proc/self/status", "Cpus_allowed_list");
	limits_read(f);
	huge_pages_read(f);
	if (machine_counter_hz())
		fact_add(f, "counter_hz=%llu", (unsigned long long)machine_counter_hz());
	add_file(f, "randomize_va_space", "/proc/sys/kernel/randomize_va_space");
	load_read(f);
	driver_read(f);
	devices_read(f);
	commit_read(f, directory);
}
