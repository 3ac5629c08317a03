/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -ldl
/*
 * user_events.c - events with typed fields and samples of counters by libtrace.h, a known number;
 * tests/e2e/user_events.py compares them with the report. `garbage`: invalid arguments only;
 * `many`: more types than there is room for.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libtrace.h"

static unsigned step, loss;

static void *work(void *number)
{
	for (long long i = 0; i < 100; i++) {
		const union libtrace_value values[] = {{.int64 = -i},
			{.uint64 = ~0ull - (unsigned long long)i}, {.real = (double)i / 4}};
		libtrace_event(step, values, 3);
		libtrace_sample(loss, 100.5 - (double)i);
	}
	return number;
}

static void garbage(void)
{
	const struct libtrace_field bad[] = {{NULL, LIBTRACE_INT64}, {"x", 77}, {"y", -1}};
	const union libtrace_value value = {.int64 = 1};
	libtrace_event_type(NULL, bad, 1);
	libtrace_event_type("a", NULL, 1);
	libtrace_event_type("a", bad, 1);
	libtrace_event_type("a", bad + 1, 1);
	libtrace_event_type("a", bad + 2, 1);
	libtrace_event_type("a", bad, 0);
	libtrace_event_type("a", bad, 4000000000u);
	libtrace_counter(NULL);
	libtrace_event(12345, &value, 1);
	libtrace_event(~0u, &value, ~0u);
	libtrace_event(step, NULL, 3);
	libtrace_event(step, &value, 1); /* two fields have no value */
	libtrace_event(loss, &value, 1); /* a counter */
	libtrace_sample(step, 1);        /* no counter */
	libtrace_sample(999999, 1);
}

static void many(void)
{
	const struct libtrace_field field = {"n", LIBTRACE_INT64};
	unsigned last = 0, refused = 0;
	for (int i = 0; i < 1100; i++) {
		char name[32];
		snprintf(name, sizeof(name), "type %d", i);
		unsigned type = libtrace_event_type(name, &field, 1);
		last = type ? type : last;
		refused += !type;
	}
	fprintf(stderr, "last %u refused %u\n", last, refused);
}

/* A child whose first call of the tracer is for a counter of its own. */
static void forked(void)
{
	int status = 1;
	if (!fork()) {
		unsigned own = libtrace_counter("of the child");
		for (int i = 0; i < 5; i++)
			libtrace_sample(own, i);
		_exit(!own);
	}
	wait(&status);
	fprintf(stderr, "status %d\n", status);
}

int main(int argc, char **argv)
{
	const struct libtrace_field fields[] = {{"offset", LIBTRACE_INT64},
		{"address", LIBTRACE_UINT64}, {"ratio", LIBTRACE_DOUBLE}};
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t thread;
	step = libtrace_event_type("step", fields, 3);
	loss = libtrace_counter("loss");
	if (!strcmp(what, "garbage"))
		garbage();
	else if (!strcmp(what, "many"))
		many();
	else if (!strcmp(what, "forked"))
		forked();
	else if (!pthread_create(&thread, NULL, work, NULL)) {
		work(NULL);
		pthread_join(thread, NULL);
	}
	puts("done");
	return 0;
}
