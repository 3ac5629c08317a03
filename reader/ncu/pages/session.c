/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - `trace details --page session`: the machine, the time and the program of a report.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "reader/ncu/pages/details.h"

#define VALUE_COLUMNS 120u

/* A table of two columns; rows without a value are left out. */
struct facts {
	struct details_rows rows;
	int error;
};

static void fact(struct facts *f, const char *name, const char *value)
{
	if (!value || f->error)
		return;
	f->error = details_rows_add(&f->rows, name);
	if (!f->error)
		f->error = details_rows_add(&f->rows, value);
}

static void facts_print(struct facts *f, struct details *d, const char *title)
{
	const struct details_rows *t = &f->rows;
	if (!f->error) {
		fprintf(d->out, "%s%s\n", d->groups_shown++ ? "\n" : "", title);
		if (!d->csv)
			details_rows_print(t, d->out, 0, VALUE_COLUMNS, false);
		for (size_t i = 0; d->csv && i < t->columns; i++)
			csv_cell(d->out, i == 0, t->titles[i]);
		for (size_t i = 0; d->csv && i < t->count; i++) {
			if (i % t->columns == 0)
				fputc('\n', d->out);
			csv_cell(d->out, i % t->columns == 0, t->cells[i]);
		}
		fputs(d->csv ? "\n" : "", d->out);
	}
	details_rows_release(&f->rows);
}

static void creation(struct facts *f, const Libtrace__SessionDetails *s)
{
	char text[64];
	struct tm local;
	time_t when = (time_t)s->creation_time_s;
	if (s->has_creation_time_s && localtime_r(&when, &local) &&
		strftime(text, sizeof(text), "%Y-%b-%d %H:%M:%S", &local))
		fact(f, "Created", text);
}

static void system_facts(struct facts *f, const Libtrace__SystemInfo *s, bool is_host)
{
	char os[512], addresses[1024];
	size_t used = 0;
	if (!s)
		return;
	snprintf(os, sizeof(os), "%s%s%s", s->os_name ? s->os_name : "",
		s->build && *s->build ? " - " : "", s->build ? s->build : "");
	addresses[0] = 0;
	for (size_t i = 0; i < s->n_ip_addresses && used < sizeof(addresses); i++)
		used += (size_t)snprintf(addresses + used, sizeof(addresses) - used, "%s%s",
			i ? ", " : "",
			s->ip_addresses[i]->address ? s->ip_addresses[i]->address : "");
	fact(f, is_host ? "Host Name" : "Target Name", s->computer_name ? s->computer_name : "");
	fact(f, "Target IP Addresses", !is_host && s->n_ip_addresses ? addresses : NULL);
	fact(f, is_host ? "Host OS" : "Target OS", os);
	fact(f, is_host ? "Host Architecture" : "Target Architecture", s->architecture);
	fact(f, is_host ? "Host Processor" : "Target Processor", s->processor);
}

/* An empty table, all columns of which are left-aligned. */
#define FACTS(titles_, columns_)                        \
	{                                               \
		.rows = {                               \
			.titles = (titles_),            \
			.columns = (columns_),          \
			.left = (1u << (columns_)) - 1, \
			.lines = LINES_ROUND_TITLES     \
		}                                       \
	}

static int print_settings(struct details *d, const Libtrace__SessionDetails *s)
{
	static const char *const titles[] = {"Launch Attribute", "Value"};
	struct facts f = FACTS(titles, 2);
	fact(&f, "Profiler Command Line", s->command_line);
	facts_print(&f, d, "Launch Settings");
	return f.error;
}

static int print_session(struct details *d, const Libtrace__SessionDetails *s)
{
	static const char *const titles[] = {"Session Attribute", "Value"};
	struct facts f = FACTS(titles, 2);
	creation(&f, s);
	system_facts(&f, s->host_system, true);
	system_facts(&f, s->target_system, false);
	for (size_t i = 0; i < s->n_versions; i++)
		fact(&f, s->versions[i]->provider, s->versions[i]->version);
	facts_print(&f, d, "Session Info");
	return f.error;
}

/* Return whether the process has no name in this entry, but has one in the entry of another block.
 */
static bool is_named_elsewhere(const struct ncu_results *n, size_t at)
{
	for (size_t i = 0; i < n->process_count; i++)
		if (!*n->processes[at].path && *n->processes[i].path &&
			n->processes[i].pid == n->processes[at].pid)
			return true;
	return false;
}

static int print_processes(struct details *d)
{
	static const char *const titles[] = {"Process Id", "Process Name"};
	struct facts f = FACTS(titles, 2);
	for (size_t i = 0; i < d->results.process_count; i++) {
		char pid[16];
		if (is_named_elsewhere(&d->results, i))
			continue;
		snprintf(pid, sizeof(pid), "%" PRIu32, d->results.processes[i].pid);
		fact(&f, pid, d->results.processes[i].path);
	}
	facts_print(&f, d, "Processes");
	return f.error;
}

#define DEVICES_MAX 15u

static void value_text(const Ncu__ProfileMetricValue *v, char *room, size_t bytes)
{
	double number = 0;
	char text[NCU_NUMBER_BYTES];
	*room = 0;
	if (v && v->string_value)
		snprintf(room, bytes, "%s", v->string_value);
	else if (v && v->has_uint64_value)
		snprintf(room, bytes, "%" PRIu64, v->uint64_value);
	else if (v && ncu_value_number(v, &number)) {
		ncu_number_text(number, text);
		snprintf(room, bytes, "%s", text);
	}
}

/* Return whether the stored name is this attribute. Files store names of metrics; the prefix may
 * be missing. */
static bool is_attribute(const char *stored, const char *name)
{
	static const char prefix[] = "device__attribute_";
	const size_t bytes = sizeof(prefix) - 1;
	return !strcmp(stored + (strncmp(stored, prefix, bytes) ? 0 : bytes), name);
}

static const Ncu__ProfileMetricValue *attribute(
	const Ncu__DeviceAttributes *device, const char *name)
{
	for (size_t i = 0; i < device->n_attributes; i++)
		if (device->attributes[i]->name && is_attribute(device->attributes[i]->name, name))
			return device->attributes[i]->value;
	return NULL;
}

/* Print the attributes that distinguish devices; the raw page has all attributes. */
static int print_devices(struct details *d, const Libtrace__SessionDetails *s)
{
	static const char *const names[] = {"confidential_computing_mode", "multiprocessor_count",
		"display_name", "compute_capability_major", "compute_capability_minor",
		"total_memory"};
	char headings[DEVICES_MAX + 1][32];
	const char *titles[DEVICES_MAX + 1] = {"Device Attribute"};
	const size_t devices =
		s->n_device_attributes < DEVICES_MAX ? s->n_device_attributes : DEVICES_MAX;
	struct facts f = FACTS(titles, devices + 1);
	if (!devices)
		return 0;
	for (size_t i = 0; i < devices; i++) {
		snprintf(headings[i], sizeof(headings[i]), "Device %" PRIu32,
			s->device_attributes[i]->id);
		titles[i + 1] = headings[i];
	}
	for (size_t a = 0; !f.error && a < sizeof(names) / sizeof(*names); a++) {
		if (!attribute(s->device_attributes[0], names[a]))
			continue;
		f.error = details_rows_add(&f.rows, names[a]);
		for (size_t i = 0; !f.error && i < devices; i++) {
			char text[512];
			value_text(
				attribute(s->device_attributes[i], names[a]), text, sizeof(text));
			f.error = details_rows_add(&f.rows, text);
		}
	}
	facts_print(&f, d, "Device Attributes");
	return f.error;
}

int details_session(struct details *d)
{
	const Libtrace__SessionDetails *s = d->contents.details;
	int error = s ? print_settings(d, s) : 0;
	if (!error && s)
		error = print_session(d, s);
	if (!error)
		error = print_processes(d);
	if (!error && s)
		error = print_devices(d, s);
	return error;
}
