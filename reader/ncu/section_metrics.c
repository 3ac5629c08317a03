/* SPDX-License-Identifier: Apache-2.0 */
/* section_metrics.c - iteration over every metric that a section requests. */
#include "reader/ncu/section_metrics.h"

#include <stdbool.h>

struct visiting {
	section_metric_visit *one;
	void *user;
	const Ncu__MetricOptionFilter *item_filter;
};

/* Visit the metrics of a message. Recursion is bounded: messages deeper than MESSAGE_DEPTH_MAX
 * are rejected when they are read. */
static int visit_message(const ProtobufCMessage *m, struct visiting v)
{
	const ProtobufCMessageDescriptor *d = m->descriptor;
	int result = 0;
	if (d == &ncu__profiler_section_metric__descriptor)
		return v.one(v.user, (const Ncu__ProfilerSectionMetric *)m, v.item_filter);
	if (d == &ncu__profiler_section_body_item__descriptor) {
		const Ncu__ProfilerSectionBodyItem *item = (const void *)m;
		v.item_filter = item->filter ? item->filter : v.item_filter;
	}
	for (unsigned i = 0; !result && i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &d->fields[i];
		const char *member = (const char *)m + f->offset;
		const bool is_repeated = f->label == PROTOBUF_C_LABEL_REPEATED;
		if (f->type != PROTOBUF_C_TYPE_MESSAGE)
			continue;
		ProtobufCMessage *const *messages = is_repeated
			? *(ProtobufCMessage *const *const *)member
			: (ProtobufCMessage *const *)member;
		size_t count = is_repeated
			? *(const size_t *)((const char *)m + f->quantifier_offset)
			: *messages != NULL;
		for (size_t n = 0; !result && n < count; n++)
			result = visit_message(messages[n], v);
	}
	return result;
}

int ncu_section_each_metric(
	const Ncu__ProfilerSection *section, section_metric_visit *one, void *user)
{
	return visit_message(&section->base, (struct visiting){one, user, NULL});
}
