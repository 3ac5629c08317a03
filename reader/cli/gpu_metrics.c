/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_metrics.c - `trace gpu-metrics`: hardware metrics of GPU chips, and the passes that
 * collecting them takes. CUPTI, which libtrace-host loads, knows them without a GPU.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/gpu_metric_sets.h"
#include "reader/base/companion.h"
#include "reader/cli/base/message.h"
#include "reader/cli/commands.h"

#define ANSWER_BYTES (8u << 20) /* a chip has some 4,000 metrics, with a line of 150 bytes each */
#define PATIENCE_MS 60000
#define CUPTI_ERROR_CHIP 46 /* CUPTI_ERROR_INVALID_CHIP_NAME of cupti_result.h */

static bool is_set(const char *name)
{
	const struct gpu_metric_set *set;
	for (size_t i = 0; (set = gpu_metric_set(i)); i++)
		if (!strcmp(set->name, name))
			return true;
	return false;
}

/* Report an error of CUPTI: its number, and the name that it has for it. */
static int refused(const char *chip, const char *error)
{
	const int number = atoi(error);
	const char *name = error + strcspn(error, " ");
	if (number != CUPTI_ERROR_CHIP)
		cli_error("CUPTI lists no metrics%s%s: error %d%s", *chip ? " of " : "", chip,
			number, name);
	else if (is_set(chip))
		cli_error("'%s' is a set of metrics, not a chip; use 'trace gpu-metrics CHIP "
			  "--metrics %s' with a chip that 'trace gpu-metrics' lists",
			chip, chip);
	else
		cli_error("CUPTI does not know the chip '%s'; 'trace gpu-metrics' lists those that "
			  "it knows",
			chip);
	return STATUS_FAILED;
}

static void metric_print(char *line)
{
	const char *words[5] = {"", "", "", "", ""};
	for (size_t i = 0; i < 5 && line; i++)
		words[i] = strsep(&line, "\t");
	printf("%-60s %-10s %-12s %-8s %s\n", words[0], words[1], words[2], words[3], words[4]);
}

/* Print a line of the answer. Return an exit status. */
static int line_print(char *line, const char *chip)
{
	char *value = strchr(line, '=');
	if (!value)
		return 0;
	*value++ = 0;
	if (!strcmp(line, "error"))
		return refused(chip, value);
	if (!strcmp(line, "unknown")) {
		cli_error("%s has no metric '%s'; metrics need a suffix, such as .sum or .avg",
			chip, value);
		return STATUS_FAILED;
	}
	if (!strcmp(line, "metric"))
		metric_print(value);
	else if (!strcmp(line, "chip"))
		puts(value);
	else
		printf("%s: %s\n", line, value);
	return 0;
}

/* Print what libtrace-host says. Return an exit status. */
static int answer_print(char *answer, const char *const *arguments, const char *chip)
{
	int status = STATUS_OK;
	if (!companion_ask(arguments, PATIENCE_MS, answer, ANSWER_BYTES)) {
		cli_error(
			"cannot list metrics: there is no CUPTI of CUDA 12.6 or later; see 'trace "
			"doctor', or name it by '--cupti FILE'");
		return STATUS_FAILED;
	}
	for (char *next = answer, *line; (line = strsep(&next, "\n"));) {
		const int failed = line_print(line, chip);
		status = failed ? failed : status;
	}
	return status;
}

int command_gpu_metrics(const struct options *o)
{
	const char *chip = o->argc ? o->argv[0] : "", *metrics = o->value[OPT_gpu_metrics_metrics];
	const char *cupti = o->value[OPT_gpu_metrics_cupti];
	const char *arguments[] = {"metrics", cupti ? cupti : "", chip, metrics,
		o->value[OPT_gpu_metrics_sampled] ? "sampled" : NULL, NULL};
	if (!metrics && o->value[OPT_gpu_metrics_sampled]) {
		cli_error("--sampled needs --metrics");
		return STATUS_FAILED;
	}
	if (metrics && !*chip) {
		cli_error("--metrics needs a chip, such as GH100");
		return STATUS_FAILED;
	}
	char *answer = malloc(ANSWER_BYTES);
	if (!answer) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	const int status = answer_print(answer, arguments, chip);
	free(answer);
	return status;
}
