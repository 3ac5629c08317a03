/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_damage.c - checks that a damaged report is read without crash, hang or unbounded
 * memory.
 *
 * Every byte of a small report is changed in several ways, and the report is cut off at every
 * offset. Sanitizer builds turn an invalid access into a crash.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "reader/report/cursor.h"
#include "reader/stats/osrt.h"
#include "tests/unit/make_report.h"
#include "tests/unit/tap.h"

struct result {
	int error;
	uint64_t problems, events, rows, torn, skipped;
};

static void problem(void *user, uint64_t offset, const char *cause)
{
	struct result *r = user;
	(void)offset, (void)cause;
	r->problems++;
}

struct listing {
	struct result *result;
	struct cursor *cursor;
};

static int add_block(void *user, const struct report_block *block)
{
	return cursor_add_block(((struct listing *)user)->cursor, block);
}

static void list_problem(void *user, uint64_t offset, const char *cause)
{
	problem(((struct listing *)user)->result, offset, cause);
}

/* Read everything: contents, events in order, statistics. */
static struct result read_all(const uint8_t *data, size_t bytes, uint64_t cursor_bytes)
{
	struct result result = {0};
	struct report report;
	struct contents c, again;
	struct cursor cursor;
	struct osrt_totals totals;
	const struct cursor_filter all = {0};
	struct event_row row;
	const char *cause;
	struct listing listing = {&result, &cursor};
	const struct contents_visitor visitor = {&listing, add_block, NULL, list_problem},
				      none = {0};
	result.error = report_open_memory(&report, data, bytes, &cause);
	if (result.error)
		return result;
	contents_init(&c);
	contents_init(&again);
	osrt_totals_init(&totals);
	cursor_init(&cursor, &report, &c, &all);
	cursor.bytes_max = cursor_bytes;
	result.error = contents_read(&c, &report, &visitor);
	cursor_start(&cursor);
	while (!result.error && cursor_next(&cursor, &row) > 0)
		result.rows++;
	if (!result.error)
		result.error = osrt_totals_read(&totals, &again, &report, &none);
	result.events = c.events_total;
	result.torn = c.tally.torn_bytes;
	result.skipped = c.tally.skipped_bytes;
	osrt_totals_release(&totals);
	cursor_release(&cursor);
	contents_release(&again);
	contents_release(&c);
	report_close(&report);
	return result;
}

/* Return the processor time of this process: a busy machine may take its processor away. */
static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void flip_bytes(const struct make_report *m, const char *name)
{
	static const uint8_t changes[] = {0x01, 0x80, 0xff, 0x7f};
	uint8_t *copy = malloc(m->bytes);
	uint64_t unnoticed = 0, fewer = 0, errors = 0;
	double slowest = 0;
	for (size_t at = 0; at < m->bytes * sizeof(changes); at++) {
		memcpy(copy, m->data, m->bytes);
		copy[at / sizeof(changes)] ^= changes[at % sizeof(changes)];
		double begin = seconds();
		struct result r = read_all(copy, m->bytes, CURSOR_BYTES_MAX);
		slowest = seconds() - begin > slowest ? seconds() - begin : slowest;
		unnoticed += !r.error && !r.problems && !r.torn && r.events == 12;
		fewer += r.events < 12;
		errors += r.error && at / sizeof(changes) >= 10;
	}
	free(copy);
	check(errors == 0,
		"%s: a changed byte after the file header never makes the report unreadable", name);
	check(slowest < 2, "%s: no change makes reading slow: %.3f s at most", name, slowest);
	/* Headers are not part of the checksum. Only `trace check`, if anything, finds a changed
	 * name or time in one. */
	check(unnoticed < m->bytes * sizeof(changes) / 3,
		"%s: most changes are noticed: %llu of %llu were not", name,
		(unsigned long long)unnoticed, (unsigned long long)(m->bytes * sizeof(changes)));
	check(fewer > 0, "%s: blocks with a wrong checksum are left out", name);
}

static void cut_off(const struct make_report *m, const char *name)
{
	uint64_t torn = 0, problems = 0, errors = 0, last = 0;
	bool grows = true;
	for (size_t bytes = 0; bytes < m->bytes; bytes++) {
		/* Only one byte of reserve, so that a sanitizer detects reads beyond it. */
		uint8_t *copy = malloc(bytes + 1);
		memcpy(copy, m->data, bytes);
		struct result r = read_all(copy, bytes, CURSOR_BYTES_MAX);
		errors += r.error && bytes >= 10;
		torn += r.torn != 0;
		problems += r.problems;
		grows &= r.events >= last;
		last = r.events;
		free(copy);
	}
	check(errors == 0 && problems == 0, "%s: a report cut off at any offset is not damaged",
		name);
	check(torn >= m->bytes - 16, "%s: a torn tail is reported", name);
	check(grows && last > 0, "%s: whole blocks before a torn tail are read", name);
}

/* Damage a block in the middle: first its content, so that the checksum is wrong, then its size. */
static void bad_block(void)
{
	struct make_report m;
	make_sample(&m, false);
	uint8_t *copy = malloc(m.bytes);
	memcpy(copy, m.data, m.bytes);
	uint8_t *place = memmem(copy, m.bytes, "/tmp/a", 6);
	*place = 'x';
	struct result r = read_all(copy, m.bytes, CURSOR_BYTES_MAX);
	check(r.events == 12 - 6 && r.problems == 2 && r.rows == 6,
		"a wrong checksum loses one block and no more: %llu events",
		(unsigned long long)r.events);
	memcpy(copy, m.data, m.bytes);
	uint32_t first;
	memcpy(&first, copy + 10, 4);
	uint32_t huge = 0x7fffffff;
	memcpy(copy + 10, &huge, 4);
	r = read_all(copy, m.bytes, CURSOR_BYTES_MAX);
	check(r.events == 12 - 4 && r.problems && r.skipped > first,
		"after a wrong size the next block is found: %llu events",
		(unsigned long long)r.events);
	free(copy);
	make_release(&m);
}

static void space_behind(void)
{
	struct make_report m;
	make_sample(&m, false);
	uint8_t *copy = calloc(1, m.bytes + 100000);
	memcpy(copy, m.data, m.bytes);
	struct result r = read_all(copy, m.bytes + 100000, CURSOR_BYTES_MAX);
	check(r.events == 12 && !r.problems && r.torn == 100000,
		"reserved space after the last block counts as a torn tail");
	free(copy);
	make_release(&m);
}

/* Check that order and number of events are the same with hardly any memory for loaded rows. */
static void little_memory(void)
{
	struct make_report m;
	struct make_call calls[100];
	make_init(&m, false);
	make_session(&m, 0);
	make_process(&m, 1, 100, 1, "/bin/app");
	uint32_t poll = make_string(&m, "poll");
	make_block_end(&m);
	for (uint32_t block = 0; block < 50; block++) {
		for (uint32_t i = 0; i < 100; i++)
			calls[i] =
				(struct make_call){1 + i * 50 + block, 1000, poll, 0, 0, 0, 0, 0};
		make_calls(&m, 1, 100, 100, calls);
		make_block_end(&m);
	}
	struct result r = read_all(m.data, m.bytes, 40000);
	check(r.rows == 5000 && !r.problems,
		"events of overlapping blocks are in order in little memory: %llu rows",
		(unsigned long long)r.rows);
	make_release(&m);
}

int main(void)
{
	struct make_report m;
	struct rusage usage;
	make_sample(&m, false);
	flip_bytes(&m, "plain");
	cut_off(&m, "plain");
	make_release(&m);
	make_sample(&m, true);
	flip_bytes(&m, "compressed");
	cut_off(&m, "compressed");
	make_release(&m);
	bad_block();
	space_behind();
	little_memory();
	getrusage(RUSAGE_SELF, &usage);
	check(usage.ru_maxrss < 1500000, "reading takes bounded memory: %ld KiB", usage.ru_maxrss);
	return tap_done();
}
