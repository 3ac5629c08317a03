/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_section.c - fuzz target of section files: a section that is read without an error can be
 * unpacked, and each of its metrics is resolved for an architecture.
 *
 * clang -fsanitize=fuzzer provides main().
 */
#include <errno.h>
#include <stdlib.h>

#include "reader/ncu/depth.h"
#include "reader/ncu/displayed_metrics.h"
#include "reader/ncu/section_metrics.h"
#include "reader/ncu/text_format.h"

static void note_problem(void *user, const struct text_problem *p)
{
	unsigned *errors = user;
	*errors += !p->is_warning;
	if (!p->line || !p->column || !p->text[0] || *errors > 1)
		abort();
}

static int look(
	void *user, const Ncu__ProfilerSectionMetric *m, const Ncu__MetricOptionFilter *item_filter)
{
	const Ncu__ProfilerSection *section = user;
	const Ncu__ProfilerSectionMetricOption *option;
	const struct ncu_target target = {.architecture = 86,
		.scope = NCU__COLLECTION_SCOPE__CollectionScope_Range,
		.item_filter = item_filter,
		.section_filter = section->filter};
	const char *name = ncu_shown_name(m, &target, &option);
	if (name && !*name)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const ProtobufCMessageDescriptor *type = &ncu__profiler_section__descriptor;
	unsigned errors = 0;
	uint8_t *packed;
	size_t count;
	int error = text_format_pack(
		type, (const char *)data, size, note_problem, &errors, &packed, &count);
	if ((error == -EINVAL) != (errors == 1) || (error && packed))
		abort();
	if (error)
		return 0;
	Ncu__ProfilerSection *section = ncu__profiler_section__unpack(NULL, count, packed);
	if (!section || !message_depth_is_sane(type, packed, count))
		abort();
	ncu_section_each_metric(section, look, section);
	ncu__profiler_section__free_unpacked(section, NULL);
	free(packed);
	return 0;
}
