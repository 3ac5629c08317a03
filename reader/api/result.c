/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.c - public functions that read a result: metrics as columns, parsed from the bytes of the
 * file without unpacking them, and other parts as JSON.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/varint.h"
#include "reader/api/api.h"
#include "reader/api/json.h"
#include "reader/ncu/depth.h"
#include "reader/ncu/wire.h"

int libtrace_result_open(
	struct libtrace_report *report, size_t index, struct libtrace_result **ret_result)
{
	if (index >= report->results.count)
		return -EINVAL;
	struct libtrace_result *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->of = report;
	r->entry = &report->results.entries[index];
	int error = ncu_entry_load(&report->results, index, &r->bytes);
	if (error)
		free(r);
	else
		*ret_result = r;
	return error;
}

static void values_release(struct api_values *v)
{
	free(v->kinds);
	free(v->bits);
	*v = (struct api_values){0};
}

static void metrics_release(struct libtrace_result *r)
{
	values_release(&r->values);
	free(r->name_ids);
	free(r->instance_counts);
	free(r->categories);
	free(r->messages);
	r->name_ids = r->instance_counts = NULL;
	r->categories = NULL;
	r->messages = NULL;
	r->count = 0;
}

void libtrace_result_close(struct libtrace_result *r)
{
	if (!r)
		return;
	metrics_release(r);
	values_release(&r->instance_keys);
	values_release(&r->instance_values);
	pool_release(&r->pool);
	free(r->bytes);
	free(r);
}

int libtrace_result_workload(const struct libtrace_result *r)
{
	return r->entry->kind; /* the enumerations have the same numbers */
}

_Static_assert((int)NCU_RESULT == (int)LIBTRACE_WORKLOAD_KERNEL &&
		(int)NCU_GRAPH == (int)LIBTRACE_WORKLOAD_GRAPH,
	"workloads are kinds of entries");

/* Return the descriptor of the message type of a result. */
static const ProtobufCMessageDescriptor *result_type(const struct libtrace_result *r)
{
	switch (r->entry->kind) {
	case NCU_RANGE:
		return &ncu__range_result__descriptor;
	case NCU_CMDLIST:
		return &ncu__cmdlist_result__descriptor;
	case NCU_GRAPH:
		return &ncu__graph_result__descriptor;
	default:
		return &ncu__profile_result__descriptor;
	}
}

/* Return the number of the field that contains the metrics. */
static uint32_t metrics_field(const struct libtrace_result *r)
{
	return r->entry->kind == NCU_RESULT ? 13 : 4;
}

/* ---- metrics ---- */

static int text_keep(struct pool *pool, const struct wire_field *f, uint64_t *ret_bits)
{
	const char *text = pool_text(pool, (const char *)f->at, (size_t)(f->end - f->at));
	*ret_bits = (uint64_t)(uintptr_t)text;
	return text ? 0 : -ENOMEM;
}

/* Parse a ProfileMetricValue. */
static int value_read(
	struct pool *pool, const struct wire_field *message, uint8_t *ret_kind, uint64_t *ret_bits)
{
	static const uint8_t types[] = {[LIBTRACE_VALUE_STRING] = WIRE_BYTES,
		[LIBTRACE_VALUE_FLOAT] = WIRE_FIXED32,
		[LIBTRACE_VALUE_DOUBLE] = WIRE_FIXED64,
		[LIBTRACE_VALUE_UINT32] = WIRE_VARINT,
		[LIBTRACE_VALUE_UINT64] = WIRE_VARINT};
	const uint8_t *at = message->at;
	struct wire_field f;
	int more, error = 0;
	*ret_kind = LIBTRACE_VALUE_NONE;
	*ret_bits = 0;
	if (message->type != WIRE_BYTES)
		return -EBADMSG;
	while (!error && (more = wire_next(&at, message->end, &f)) > 0) {
		if (!f.number || f.number >= sizeof(types) || f.type != types[f.number])
			continue;
		*ret_kind = (uint8_t)f.number;
		*ret_bits = f.value;
		if (f.number == LIBTRACE_VALUE_STRING) {
			error = text_keep(pool, &f, ret_bits);
		} else if (f.number == LIBTRACE_VALUE_FLOAT) {
			const uint32_t half = (uint32_t)f.value;
			float real;
			double wide;
			memcpy(&real, &half, sizeof(real));
			wide = (double)real;
			memcpy(ret_bits, &wide, sizeof(wide));
		} else if (f.number == LIBTRACE_VALUE_UINT32) {
			*ret_bits = (uint32_t)f.value;
		}
	}
	return error ? error : more;
}

static int values_room(struct api_values *v, size_t count)
{
	values_release(v);
	v->kinds = calloc(count + 1, sizeof(*v->kinds));
	v->bits = calloc(count + 1, sizeof(*v->bits));
	return v->kinds && v->bits ? 0 : -ENOMEM;
}

static int metrics_room(struct libtrace_result *r, size_t count)
{
	r->name_ids = calloc(count + 1, sizeof(*r->name_ids));
	r->instance_counts = calloc(count + 1, sizeof(*r->instance_counts));
	r->categories = calloc(count + 1, sizeof(*r->categories));
	r->messages = calloc(count + 1, sizeof(*r->messages));
	if (!r->name_ids || !r->instance_counts || !r->categories || !r->messages)
		return -ENOMEM;
	return values_room(&r->values, count);
}

enum { METRIC_NAME = 1, METRIC_VALUE = 2, METRIC_INSTANCE = 3, METRIC_CATEGORY = 4 };
enum { INSTANCE_KEY = 1, INSTANCE_VALUE = 2 };

/* Parse metric `i`, a ProfileMetricResult. */
static int metric_read(struct libtrace_result *r, size_t i, const struct wire_field *message)
{
	const uint8_t *at = message->at;
	struct wire_field f;
	int more, error = 0;
	r->messages[i].at = message->at;
	r->messages[i].end = message->end;
	r->name_ids[i] = UINT32_MAX; /* no metric name has this id */
	while (!error && (more = wire_next(&at, message->end, &f)) > 0) {
		if (f.number == METRIC_NAME && f.type == WIRE_VARINT)
			r->name_ids[i] = (uint32_t)f.value;
		else if (f.number == METRIC_VALUE)
			error = value_read(&r->pool, &f, &r->values.kinds[i], &r->values.bits[i]);
		else if (f.number == METRIC_INSTANCE && f.type == WIRE_BYTES)
			r->instance_counts[i]++;
		else if (f.number == METRIC_CATEGORY && f.type == WIRE_VARINT)
			r->categories[i] = f.value == 1;
	}
	return error ? error : more;
}

/* Call metric_read() for each metric, or only count the metrics. */
static int metrics_walk(struct libtrace_result *r, bool reads, size_t *ret_count)
{
	const uint32_t number = metrics_field(r);
	const uint8_t *at = r->bytes, *end = r->bytes + r->entry->bytes;
	struct wire_field f;
	size_t count = 0;
	int more, error = 0;
	while (!error && (more = wire_next(&at, end, &f)) > 0) {
		if (f.number != number || f.type != WIRE_BYTES)
			continue;
		if (reads)
			error = metric_read(r, count, &f);
		count++;
	}
	*ret_count = count;
	return error ? error : more;
}

int libtrace_result_metrics(struct libtrace_result *r, struct libtrace_metrics *ret_metrics)
{
	if (!r->messages) {
		size_t count;
		int error = metrics_walk(r, false, &count);
		if (!error)
			error = metrics_room(r, count);
		if (!error)
			error = metrics_walk(r, true, &r->count);
		if (error) {
			metrics_release(r);
			return error;
		}
	}
	*ret_metrics = (struct libtrace_metrics){{r->count, r->values.kinds, r->values.bits},
		r->name_ids, r->instance_counts, r->categories};
	return 0;
}

int libtrace_result_metric(struct libtrace_result *r, const char *name, size_t *ret_position)
{
	const struct ncu_results *of = &r->of->results;
	for (size_t i = r->messages ? r->count : 0; i-- > 0;)
		if (r->name_ids[i] < of->name_count && !strcmp(of->names[r->name_ids[i]], name)) {
			*ret_position = i;
			return 0;
		}
	return r->messages ? -ENOENT : -EINVAL;
}

/* Parse instance `i`, a ProfileMetricListElement. */
static int instance_read(struct libtrace_result *r, size_t i, const struct wire_field *message)
{
	const uint8_t *at = message->at;
	struct wire_field f;
	int more, error = 0;
	while (!error && (more = wire_next(&at, message->end, &f)) > 0) {
		struct api_values *v = f.number == INSTANCE_KEY ? &r->instance_keys
			: f.number == INSTANCE_VALUE            ? &r->instance_values
								: NULL;
		if (v)
			error = value_read(&r->pool, &f, &v->kinds[i], &v->bits[i]);
	}
	return error ? error : more;
}

/* Parse the instances of a metric. *first: index of its first instance among all instances; on
 * return, index of the next metric's first instance. */
static int instances_read(struct libtrace_result *r, size_t metric, size_t *first)
{
	const uint8_t *at = r->messages[metric].at, *end = r->messages[metric].end;
	const size_t after = *first + r->instance_counts[metric];
	struct wire_field f;
	int more, error = 0;
	while (!error && *first < after && (more = wire_next(&at, end, &f)) > 0)
		if (f.number == METRIC_INSTANCE && f.type == WIRE_BYTES)
			error = instance_read(r, (*first)++, &f);
	return error;
}

int libtrace_result_instances(struct libtrace_result *r, struct libtrace_instances *ret_instances)
{
	if (!r->messages)
		return -EINVAL;
	size_t count = 0, first = 0;
	for (size_t i = 0; i < r->count; i++)
		count += r->instance_counts[i];
	if (!r->instance_values.bits) {
		int error = values_room(&r->instance_keys, count);
		if (!error)
			error = values_room(&r->instance_values, count);
		for (size_t i = 0; !error && i < r->count; i++)
			error = instances_read(r, i, &first);
		if (error) {
			values_release(&r->instance_keys);
			values_release(&r->instance_values);
			return error;
		}
	}
	*ret_instances =
		(struct libtrace_instances){{count, r->instance_keys.kinds, r->instance_keys.bits},
			{count, r->instance_values.kinds, r->instance_values.bits}};
	return 0;
}

/* ---- values as numbers ---- */

void libtrace_values_as_real(const struct libtrace_values *v, double *ret_reals)
{
	for (size_t i = 0; i < v->count; i++) {
		const uint8_t kind = v->kinds[i];
		if (kind == LIBTRACE_VALUE_FLOAT || kind == LIBTRACE_VALUE_DOUBLE)
			memcpy(&ret_reals[i], &v->bits[i], sizeof(*ret_reals));
		else
			ret_reals[i] =
				kind == LIBTRACE_VALUE_UINT32 || kind == LIBTRACE_VALUE_UINT64
				? (double)v->bits[i]
				: 0;
	}
}

/* Truncate a floating point number to an integer, modulo 2^64, as NVIDIA's module does on x86-64: 0
 * from 2^64 on, 2^63 for NaN and below -2^63. */
static uint64_t whole_of(double real)
{
	if (real >= 0)
		return real < 0x1p64 ? (uint64_t)real : 0;
	return real >= -0x1p63 ? -(uint64_t)-real : UINT64_C(1) << 63;
}

void libtrace_values_as_whole(const struct libtrace_values *v, uint64_t *ret_wholes)
{
	for (size_t i = 0; i < v->count; i++) {
		const uint8_t kind = v->kinds[i];
		double real;
		memcpy(&real, &v->bits[i], sizeof(real));
		if (kind == LIBTRACE_VALUE_UINT32 || kind == LIBTRACE_VALUE_UINT64)
			ret_wholes[i] = v->bits[i];
		else
			ret_wholes[i] =
				kind == LIBTRACE_VALUE_FLOAT || kind == LIBTRACE_VALUE_DOUBLE
				? whole_of(real)
				: 0;
	}
}

/* ---- other parts ---- */

#define PARTS_MAX 32u

/* Parse comma-separated field names to field numbers. Returns their count, or -EINVAL. */
static int parts_parse(const struct libtrace_result *r, const char *part, uint32_t *ret_numbers)
{
	const ProtobufCMessageDescriptor *type = result_type(r);
	char name[64];
	int count = 0;
	while (*part) {
		const size_t bytes = strcspn(part, ",");
		if (bytes >= sizeof(name) || count == PARTS_MAX)
			return -EINVAL;
		memcpy(name, part, bytes);
		name[bytes] = 0;
		const ProtobufCFieldDescriptor *f =
			protobuf_c_message_descriptor_get_field_by_name(type, name);
		if (!f || f->id == metrics_field(r))
			return -EINVAL;
		ret_numbers[count++] = f->id;
		part += bytes + (part[bytes] == ',');
	}
	return count ? count : -EINVAL;
}

static bool is_wanted(const uint32_t *numbers, int count, uint64_t number)
{
	for (int i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* Collect the requested fields into a message that contains nothing else. */
static int fields_gather(const struct libtrace_result *r, const uint32_t *numbers, int count,
	uint8_t *out, size_t *ret_bytes)
{
	const uint8_t *at = r->bytes, *end = r->bytes + r->entry->bytes;
	struct wire_field f;
	size_t bytes = 0;
	int more;
	while ((more = wire_next(&at, end, &f)) > 0)
		if (is_wanted(numbers, count, f.number)) {
			memcpy(out + bytes, f.start, (size_t)(f.end - f.start));
			bytes += (size_t)(f.end - f.start);
		}
	*ret_bytes = bytes;
	return more;
}

int api_result_unpack(struct libtrace_result *r, const char *part, ProtobufCMessage **ret_message)
{
	const ProtobufCMessageDescriptor *type = result_type(r);
	uint32_t numbers[PARTS_MAX];
	size_t bytes;
	const int count = parts_parse(r, part, numbers);
	if (count < 0)
		return count;
	uint8_t *gathered = malloc(r->entry->bytes + 1u);
	int error = gathered ? fields_gather(r, numbers, count, gathered, &bytes) : -ENOMEM;
	*ret_message = NULL;
	if (!error && message_depth_is_sane(type, gathered, bytes))
		*ret_message = protobuf_c_message_unpack(type, NULL, bytes, gathered);
	free(gathered);
	return error || *ret_message ? error : -EBADMSG;
}

int libtrace_result_part(struct libtrace_result *r, const char *part, char **ret_json)
{
	ProtobufCMessage *message;
	int error = api_result_unpack(r, part, &message);
	if (error)
		return error;
	error = json_message(message, ret_json);
	protobuf_c_message_free_unpacked(message, NULL);
	return error;
}
