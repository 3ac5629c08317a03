// SPDX-License-Identifier: Apache-2.0
// LINK: -ldl -rdynamic
/*
 * openacc_runtime.c - a stand-in for a runtime of OpenACC with a device: it loads the libraries in
 * ACC_PROFLIB and calls their acc_register_library(), and that of the program's search order
 * (`openacc_runtime exported`), and reports events that GNU's libgomp has only with a device, with
 * file, line, kernel and variable. `short`: the structures of a runtime that knows less of them.
 * `again`: it asks twice, for different values.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/openacc/acc_abi.h"

#define EVENTS 26
#define CALLBACKS 4

typedef void register_library(acc_register *add, acc_register *remove, void *lookup);

static acc_callback *callbacks[EVENTS][CALLBACKS];
static int is_short;

static void add(int event, acc_callback *callback, int how)
{
	for (int i = 0; i < CALLBACKS && !how; i++)
		if (!callbacks[event][i]) {
			callbacks[event][i] = callback;
			return;
		}
	printf("event %d: no room or how %d\n", event, how);
}

static void call(int number, struct acc_event_info event, int line)
{
	struct acc_prof_info info = {.event = number,
		.valid_bytes = is_short ? 20 : sizeof(info),
		.version = 201711,
		.device_type = 4,
		.device_number = 1,
		.async = -1,
		.queue = 7,
		.file = "/src/solver.c",
		.function = "solve",
		.line = line};
	event.event = number;
	event.valid_bytes = is_short ? 12 : sizeof(event);
	for (int i = 0; i < CALLBACKS; i++)
		if (callbacks[number][i])
			callbacks[number][i](&info, &event, NULL);
}

static void pair(int number, struct acc_event_info event, int line)
{
	call(number, event, line);
	call(number + 1, event, line);
}

static void load(char *paths)
{
	for (char *path = strtok(paths, ";"); path; path = strtok(NULL, ";")) {
		void *library = dlopen(path, RTLD_NOW);
		register_library *enter =
			library ? (register_library *)dlsym(library, "acc_register_library") : NULL;
		if (enter)
			enter(add, add, NULL);
		else
			printf("no profiling library: %s\n", path);
	}
}

/* A list that a caller has must not change when another one is made. */
static void ask_again(const char *value)
{
	char *before = strdup(value), longer[256];
	snprintf(longer, sizeof(longer), "/nowhere.so;%s", before);
	setenv("ACC_PROFLIB", longer, 1);
	const char *again = secure_getenv("ACC_PROFLIB");
	int differs = strcmp(again, before) && !strncmp(again, "/nowhere.so;", 12);
	puts(differs && !strcmp(value, before) ? "kept" : "the list has changed");
	free(before);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	const char *value = secure_getenv("ACC_PROFLIB");
	char *paths = strdup(value ? value : "");
	register_library *exported =
		(register_library *)dlsym(RTLD_DEFAULT, "acc_register_library");
	is_short = !strcmp(how, "short");
	if (value && !strcmp(how, "again"))
		ask_again(value);
	load(paths);
	if (exported && !strcmp(how, "exported"))
		exported(add, add, NULL);
	struct acc_event_info data = {.data = {.variable = "a", .bytes = 4096}},
			      launch = {.launch = {"solve_12_gpu", 32, 4, 128}},
			      implicit = {.implicit = 1}, plain = {.construct = 1};
	call(10, plain, 10); /* enter data, with its upload */
	call(8, data, 10);
	call(6, data, 10);
	pair(20, data, 10);
	call(11, plain, 10);
	call(16, plain, 12); /* compute construct, with its launch */
	pair(18, launch, 12);
	pair(24, implicit, 12);
	call(17, plain, 12);
	pair(22, data, 14);
	call(7, data, 14);
	call(9, data, 14);
	call(11, plain, 15); /* an end without a begin */
	call(5, plain, 0);
	free(paths);
	puts("done");
	return 0;
}
