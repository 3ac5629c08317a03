/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - the options in SIM_FAULT and SIM_DEVICE: read once, when an option is first needed.
 */
#include "tests/sim/call.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t values[SIM_OPTION_COUNT] = {
#define OPTION(name, initial, meaning) initial,
#include "options.def"
#undef OPTION
};

static const char *const names[] = {
#define OPTION(name, initial, meaning) #name,
#include "options.def"
#undef OPTION
};

/* fail=NAME:N:CODE */
static struct failure {
	char name[96];
	uint64_t nth; /* 0: every call */
	uint32_t result;
	uint64_t seen;
} failures[16];
static unsigned failure_count;
static pthread_mutex_t failure_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* End the program: with a misspelled option a test would test nothing. */
static void refuse(const char *text)
{
	fprintf(stderr,
		"simulated device: unknown option '%s' (tests/sim/options.def lists them)\n", text);
	_Exit(2);
}

static void read_failure(const char *text)
{
	struct failure *failure = &failures[failure_count];

	if (failure_count == sizeof failures / sizeof *failures ||
		sscanf(text, "fail=%95[^:]:%lu:%u", failure->name, &failure->nth,
			&failure->result) != 3)
		refuse(text);
	failure_count++;
}

static void read_option(char *text)
{
	char *value = strchr(text, '=');
	char *end;

	if (!value)
		refuse(text);
	if (!strncmp(text, "fail=", 5)) {
		read_failure(text);
		return;
	}
	*value++ = '\0';
	for (unsigned i = 0; i < SIM_OPTION_COUNT; i++) {
		if (strcmp(names[i], text) != 0)
			continue;
		values[i] = strtoull(value, &end, 0);
		if (*end || !*value)
			refuse(value);
		return;
	}
	refuse(text);
}

static void read_variable(const char *name)
{
	const char *value = getenv(name);
	char text[1024];
	char *rest = NULL;

	if (!value)
		return;
	if (strlen(value) >= sizeof text)
		refuse(value);
	strcpy(text, value);
	for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		read_option(word);
}

static void read_environment(void)
{
	read_variable("SIM_DEVICE");
	read_variable("SIM_FAULT");
}

uint64_t sim_option(enum sim_option option)
{
	pthread_once(&once, read_environment);
	return values[option];
}

uint32_t sim_fault_result(const char *name, uint32_t result)
{
	pthread_once(&once, read_environment);
	for (unsigned i = 0; i < failure_count; i++) {
		struct failure *failure = &failures[i];
		uint64_t number;

		if (strcmp(failure->name, name) != 0)
			continue;
		pthread_mutex_lock(&failure_mutex);
		number = ++failure->seen;
		pthread_mutex_unlock(&failure_mutex);
		if (!failure->nth || failure->nth == number)
			return failure->result;
	}
	return result;
}
