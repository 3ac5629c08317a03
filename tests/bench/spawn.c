/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c - measures the time of short programs from posix_spawn() to waitpid(). They run in turn.
 *
 *     spawn ROUNDS ARM...     an ARM is 'NAME=VALUE ... PROGRAM ARGUMENT...', separated by spaces
 *
 * Prints for each arm: spawn INDEX MIN MEDIAN
 */
#include "bench.h"
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 32

extern char **environ;

struct arm {
	char *words[WORDS_MAX];
	char **command, **environment;
	double *times;
};

static int is_setting(const char *word)
{
	const char *equals = strchr(word, '='), *slash = strchr(word, '/');
	return equals && (!slash || equals < slash);
}

/* Return this process's environment with the arm's settings added, which replace variables of the
 * same name; 'NAME=' removes a variable. */
static char **make_environment(char **settings, size_t setting_count)
{
	size_t count = 0, kept = 0;
	while (environ[count])
		count++;
	char **made = calloc(count + setting_count + 1, sizeof(*made));
	for (size_t i = 0; i < count; i++) {
		int replaced = 0;
		for (size_t j = 0; j < setting_count; j++) {
			size_t name = (size_t)(strchr(settings[j], '=') - settings[j]) + 1;
			replaced |= !strncmp(environ[i], settings[j], name);
		}
		if (!replaced)
			made[kept++] = environ[i];
	}
	for (size_t j = 0; j < setting_count; j++)
		if (strchr(settings[j], '=')[1])
			made[kept++] = settings[j];
	return made;
}

static void parse(struct arm *arm, const char *text, size_t rounds)
{
	size_t count = 0, settings = 0;
	char *copy = strdup(text), *rest = NULL;
	for (char *w = strtok_r(copy, " ", &rest); w && count < WORDS_MAX - 1;
		w = strtok_r(NULL, " ", &rest))
		arm->words[count++] = w;
	while (settings < count && is_setting(arm->words[settings]))
		settings++;
	arm->command = arm->words + settings;
	arm->environment = make_environment(arm->words, settings);
	arm->times = calloc(rounds, sizeof(double));
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	size_t rounds = (size_t)atol(argv[1]), arms = (size_t)argc - 2;
	struct arm *all = calloc(arms, sizeof(*all));
	for (size_t i = 0; i < arms; i++)
		parse(&all[i], argv[i + 2], rounds);
	for (size_t r = 0; r < rounds + 2; r++) { /* two rounds to warm up */
		for (size_t i = 0; i < arms; i++) {
			pid_t pid;
			int status;
			uint64_t start = bench_clock(CLOCK_MONOTONIC);
			if (posix_spawnp(&pid, all[i].command[0], NULL, NULL, all[i].command,
				    all[i].environment))
				return 1;
			waitpid(pid, &status, 0);
			if (r >= 2)
				all[i].times[r - 2] =
					(double)(bench_clock(CLOCK_MONOTONIC) - start);
			if (status)
				return 1;
		}
	}
	for (size_t i = 0; i < arms; i++) {
		double median = bench_median(all[i].times, rounds);
		printf("spawn\t%zu\t%.0f\t%.0f\n", i, all[i].times[0], median);
	}
	return 0;
}
