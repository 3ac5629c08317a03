/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - facts about machine and run in block 0.
 */
#define _GNU_SOURCE
#include "writer/session.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "writer/report/facts.h"
#include "writer/base/writer.h"

#define OPTIONS_MAX 64u /* more than the number of options */

struct session_texts {
	struct utsname system;
	char os[160], processor[128], boot_id[40], command_line[4096], executable[1024],
		directory[1024];
	char options[8][4200], others[sizeof(((struct tree_control *)0)->options)];
	char *option_list[OPTIONS_MAX];
	struct facts facts;
	Libtrace__SystemInfo machine;
	Libtrace__VersionInfo version, *versions[1];
	Libtrace__ExecutableSettings settings;
	Libtrace__SessionDetails details;
};

static void text_clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f)
			*text = '?';
}

/* Read the name of the first processor, or what identifies it where it has no name (Arm). */
static void processor_read(char *name, size_t bytes)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256], implementer[32] = "";
	snprintf(name, bytes, "unknown");
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');
		if (!colon || colon[1] != ' ')
			continue;
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "model name", 10))
			snprintf(name, bytes, "%.100s", colon + 2);
		else if (!strncmp(line, "CPU implementer", 15))
			snprintf(implementer, sizeof(implementer), "%.20s", colon + 2);
		else if (!strncmp(line, "CPU part", 8))
			snprintf(name, bytes, "implementer %s, part %.20s", implementer, colon + 2);
		else
			continue;
		if (line[4] != 'i') /* not CPU implementer */
			break;
	}
	if (file)
		fclose(file);
}

/* Read the program of the tree's first process, from its spool or from /proc. */
static void root_read(struct writer *w, struct session_texts *t)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/exe", w->control->root_pid);
	ssize_t length = readlink(path, t->executable, sizeof(t->executable) - 1);
	for (uint32_t i = 0; i < w->spools.count; i++) {
		const struct spool_header *h = spool_header(w->spools.all[i]);
		uint32_t exe = h->exe_bytes, cwd = h->cwd_bytes;
		if (w->spools.all[i]->pid != w->control->root_pid || !exe ||
			exe > sizeof(t->executable) || cwd > sizeof(t->directory))
			continue;
		memcpy(t->executable, h->text, exe);
		length = (ssize_t)strnlen(t->executable, exe - 1);
		memcpy(t->directory, h->text + exe, cwd);
		t->directory[cwd ? cwd - 1 : 0] = 0;
		break;
	}
	t->executable[length > 0 ? length : 0] = 0;
	if (!*t->directory) {
		snprintf(path, sizeof(path), "/proc/%u/cwd", w->control->root_pid);
		length = readlink(path, t->directory, sizeof(t->directory) - 1);
		t->directory[length > 0 ? length : 0] = 0;
	}
	text_clean(t->executable);
	text_clean(t->directory);
}

static void option_add(struct session_texts *t, size_t *count, const char *name, const char *value)
{
	snprintf(t->options[*count], sizeof(t->options[0]), "%s=%.4096s", name, value);
	t->option_list[*count] = t->options[*count];
	++*count;
}

static void option_add_number(
	struct session_texts *t, size_t *count, const char *name, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	option_add(t, count, name, text);
}

static size_t options_fill(struct writer *w, struct session_texts *t)
{
	const struct tree_control *c = w->control;
	size_t count = 0;
	char output[sizeof(c->output) + 1] = "";
	memcpy(output, c->output, sizeof(c->output));
	text_clean(output);
	option_add(t, &count, "output", output);
	option_add(t, &count, "overwrite", c->overwrite ? "1" : "0");
	option_add(t, &count, "compress", c->compress ? "zstd" : "none");
	option_add_number(t, &count, "flush_interval_ns", c->flush_interval_ns);
	option_add_number(t, &count, "delay_ns", c->delay_ns);
	option_add_number(t, &count, "duration_ns", c->duration_ns);
	memcpy(t->others, c->options, sizeof(t->others) - 1);
	char *rest = t->others, *line;
	while (count < OPTIONS_MAX && (line = strsep(&rest, "\n")))
		if (*line) {
			text_clean(line);
			t->option_list[count++] = line;
		}
	return count;
}

static void details_fill(struct writer *w, struct session_texts *t)
{
	libtrace__system_info__init(&t->machine);
	t->machine.os_name = t->os;
	t->machine.build = t->system.version;
	t->machine.processor = t->processor;
	t->machine.architecture = t->system.machine;
	t->machine.computer_name = t->system.nodename;
	t->machine.has_platform = 1;
	t->machine.platform = 2;
	libtrace__version_info__init(&t->version);
	t->version.provider = "libtrace";
	t->version.version = LIBTRACE_VERSION;
	t->versions[0] = &t->version;
	libtrace__executable_settings__init(&t->settings);
	t->settings.executable_path = t->executable;
	t->settings.work_directory = *t->directory ? t->directory : NULL;
	libtrace__session_details__init(&t->details);
	t->details.has_creation_time_s = 1;
	t->details.creation_time_s = w->control->created_realtime_ns / 1000000000u;
	t->details.host_system = t->details.target_system = &t->machine;
	t->details.n_versions = 1;
	t->details.versions = t->versions;
	t->details.executable = *t->executable ? &t->settings : NULL;
	w->report.session = &t->details;
}

void session_put(struct writer *w)
{
	static struct session_texts t; /* in use until block 0 is written */
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Session message = LIBTRACE__SESSION__INIT;
	uname(&t.system);
	snprintf(t.os, sizeof(t.os), "%s %s", t.system.sysname, t.system.release);
	processor_read(t.processor, sizeof(t.processor));
	root_read(w, &t);
	snprintf(w->report.hostname, sizeof(w->report.hostname), "%s", t.system.nodename);
	snprintf(w->report.process_name, sizeof(w->report.process_name), "%s", t.executable);
	if (w->report.has_header)
		return; /* a predecessor has written the rest */
	details_fill(w, &t);
	memcpy(t.boot_id, w->control->boot_id, sizeof(t.boot_id) - 1);
	text_clean(t.boot_id);
	message.boot_id = t.boot_id;
	message.has_start_ns = message.has_start_realtime_ns = message.has_cpu_count =
		message.has_root_pid = 1;
	message.start_ns = w->control->created_mono_ns;
	message.start_realtime_ns = w->control->created_realtime_ns;
	message.hostname = w->report.hostname;
	message.kernel = t.system.release;
	message.processor = t.processor;
	message.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	message.library_version = LIBTRACE_VERSION;
	message.root_pid = w->control->root_pid;
	message.n_options = options_fill(w, &t);
	message.options = t.option_list;
	facts_read(&t.facts, t.directory);
	message.n_facts = t.facts.count;
	message.facts = t.facts.list;
	entry.session = &message;
	block_put_entry(&w->report.block, &entry);
}
