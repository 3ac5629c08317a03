/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_plan.c - which hardware metrics one pass collects, by the host part of CUPTI's profiler.
 */
#include "tracer/cuda/metrics.h"

#include "common/cuda/gpu_metric_sets.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/diagnostic.h"

/* ---- the wanted metrics ---- */

static bool is_listed(const struct metrics_plan *p, const char *name)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (text_equal(p->names[i], name))
			return true;
	return false;
}

/* Divide the text at its commas, without what is in it twice. Return false if there are too many
 * names. */
static bool names_divide(struct metrics_plan *p)
{
	for (char *next = p->text; next && *next;) {
		char *name = next;
		while (*next && *next != ',')
			next++;
		if (*next)
			*next++ = 0;
		if (!*name || is_listed(p, name))
			continue;
		if (p->count == GPU_METRICS_MAX)
			return false;
		p->names[p->count++] = name;
	}
	return true;
}

/* ---- CUPTI ---- */

static void *host_start(const struct metrics_plan *p)
{
	struct profiler_host_start start = {.size = PROFILER_SIZE(profiler_host_start, host),
		.profiler = p->profiler,
		.chip = p->chip};
	return cupti.ProfilerHostInitialize(&start) == CUPTI_OK ? start.host : NULL;
}

static void host_end(void *host)
{
	cupti.ProfilerHostDeinitialize(&(struct profiler_host_end){
		.size = PROFILER_SIZE(profiler_host_end, host), .host = host});
}

/* Return the configuration of the metrics, mapped, or NULL; the caller unmaps it. */
static uint8_t *config_make(void *host, const char **names, size_t count, size_t *ret_bytes)
{
	struct profiler_addition all = {.size = PROFILER_SIZE(profiler_addition, count),
		.host = host,
		.names = names,
		.count = count};
	struct profiler_image_size needed = {
		.size = PROFILER_SIZE(profiler_image_size, bytes), .host = host};
	if (cupti.ProfilerHostConfigAddMetrics(&all) != CUPTI_OK ||
		cupti.ProfilerHostGetConfigImageSize(&needed) != CUPTI_OK || !needed.bytes)
		return NULL;
	struct profiler_image image = {.size = PROFILER_SIZE(profiler_image, data),
		.host = host,
		.bytes = needed.bytes,
		.data = sys_mmap_private(needed.bytes)};
	*ret_bytes = needed.bytes;
	if (image.data && cupti.ProfilerHostGetConfigImage(&image) != CUPTI_OK) {
		sys_munmap(image.data, needed.bytes);
		return NULL;
	}
	return image.data;
}

/* Return the number of passes that the metrics need together, 0 = they cannot be collected. */
static size_t passes_of(const void *plan, const char **names, size_t count)
{
	const struct metrics_plan *p = plan;
	struct profiler_passes passes = {.size = PROFILER_SIZE(profiler_passes, count)};
	void *host = host_start(p);
	if (!host)
		return 0;
	passes.data = config_make(host, names, count, &passes.bytes);
	if (!passes.data || cupti.ProfilerHostGetNumOfPasses(&passes) != CUPTI_OK)
		passes.count = 0;
	if (passes.data)
		sys_munmap(passes.data, passes.bytes);
	host_end(host);
	return passes.count;
}

/* ---- the plan ---- */

static void left_out_note(const struct metrics_plan *p, const char *name, size_t passes)
{
	char text[320];
	size_t at = text_append(text, sizeof(text), 0, "hardware metric '");
	at = text_append(text, sizeof(text), at, name);
	at = text_append(text, sizeof(text), at, "' is not recorded: ");
	at = text_append(text, sizeof(text), at, p->chip);
	if (passes) {
		at = text_append(text, sizeof(text), at, " needs ");
		at = text_append_number(text, sizeof(text), at, passes, 10);
		text_append(text, sizeof(text), at, " passes for it");
	} else {
		text_append(text, sizeof(text), at, " does not have it ('trace gpu-metrics')");
	}
	diagnostic_line(text);
}

static void names_check(struct metrics_plan *p)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		size_t passes = passes_of(p, &p->names[i], 1);
		if (passes == 1)
			p->names[kept++] = p->names[i];
		else
			left_out_note(p, p->names[i], passes);
	}
	p->count = kept;
}

/* Keep only the metrics of one group. */
static void group_keep(struct metrics_plan *p, uint64_t pass)
{
	size_t ends[GPU_METRICS_MAX];
	p->groups = (uint32_t)gpu_metric_groups(p->names, p->count, passes_of, p, ends);
	if (!p->groups)
		return;
	p->group = (uint32_t)(pass % p->groups);
	size_t begin = p->group ? ends[p->group - 1] : 0;
	p->count = (uint32_t)(ends[p->group] - begin);
	for (uint32_t i = 0; i < p->count; i++)
		p->names[i] = p->names[begin + i];
}

const char *metrics_plan_make(const char *chip, int profiler, const char *wanted, uint64_t pass,
	struct metrics_plan *ret_plan)
{
	struct metrics_plan *p = ret_plan;
	*p = (struct metrics_plan){.chip = chip, .profiler = profiler};
	if (!gpu_metric_sets_expand(wanted, p->text, sizeof(p->text)) || !names_divide(p))
		return "LIBTRACE_GPU_METRICS names too many";
	void *host = host_start(p);
	if (!host)
		return "CUPTI does not know the chip";
	names_check(p);
	group_keep(p, pass);
	p->config = p->count ? config_make(host, p->names, p->count, &p->config_bytes) : NULL;
	if (p->config) {
		p->host = host;
		return NULL;
	}
	host_end(host);
	return p->count ? "CUPTI cannot collect them" : "none of them can be collected";
}
