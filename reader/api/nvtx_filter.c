/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_filter.c - selection of results by the NVTX ranges that were open.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "reader/api/api.h"
#include "reader/ncu/nvtx_match.h"

static int filter_add(struct nvtx_filter *f, const char *const *texts, size_t count, bool excludes,
	char *cause, size_t cause_bytes)
{
	int error = 0;
	for (size_t i = 0; !error && i < count; i++) {
		size_t at;
		const char *why;
		error = nvtx_filter_add(f, texts[i], excludes, &at, &why);
		if (error == -EINVAL && cause && cause_bytes)
			snprintf(cause, cause_bytes, "'%s': %s at %zu", texts[i], why, at);
	}
	return error;
}

/* Return a pointer to a field by its name, for messages of several types; NULL if the message has
 * no such field. */
static const void *member(const ProtobufCMessage *m, const char *name)
{
	const ProtobufCFieldDescriptor *f =
		protobuf_c_message_descriptor_get_field_by_name(m->descriptor, name);
	return f ? (const char *)m + f->offset : NULL;
}

static bool passes(const struct nvtx_filter *f, struct libtrace_result *result)
{
	ProtobufCMessage *message;
	if (api_result_unpack(result, "thread_id,nvtx", &message))
		return false;
	Ncu__NvtxState *const *state = member(message, "nvtx");
	const uint32_t *thread_id = member(message, "thread_id");
	const bool held = state && thread_id && ncu_nvtx_passes(f, *state, *thread_id);
	protobuf_c_message_free_unpacked(message, NULL);
	return held;
}

int libtrace_report_nvtx(struct libtrace_report *r, const char *const *includes,
	size_t include_count, const char *const *excludes, size_t exclude_count,
	uint8_t *ret_chosen, char *cause, size_t cause_bytes)
{
	struct nvtx_filter f;
	nvtx_filter_init(&f);
	int error = filter_add(&f, includes, include_count, false, cause, cause_bytes);
	if (!error)
		error = filter_add(&f, excludes, exclude_count, true, cause, cause_bytes);
	for (size_t i = 0; !error && i < r->results.count; i++) {
		struct libtrace_result *result;
		ret_chosen[i] = 0;
		if (libtrace_result_open(r, i, &result))
			continue;
		ret_chosen[i] = passes(&f, result);
		libtrace_result_close(result);
	}
	nvtx_filter_release(&f);
	return error;
}
