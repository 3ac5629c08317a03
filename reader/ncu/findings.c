/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - insertion of the findings of rules into the results of a report. */
#include "reader/ncu/findings.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/varint.h"
#include "reader/ncu/depth.h"
#include "reader/ncu/rewrite.h"

#define NAMES_MAX 65536u /* more than any rule adds */

struct finding {
	size_t result, order; /* of rows about one metric or rule, the last is used */
	bool is_metric;
	uint32_t name_id; /* NameId of a metric */
	char *identifier; /* identifier of a rule */
	uint8_t *data;    /* the message */
	size_t bytes;
};

void findings_init(struct findings *f, const struct ncu_results *results)
{
	*f = (struct findings){.results = results};
}

void findings_release(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->rows[i].identifier);
		free(f->rows[i].data);
	}
	for (size_t i = 0; i < f->name_count; i++)
		free(f->names[i]);
	free(f->rows);
	free(f->names);
	*f = (struct findings){0};
}

/* ---- taking ---- */

static int row_add(struct findings *f, const struct finding *row)
{
	if (array_room(&f->rows, f->count, &f->capacity, sizeof(*f->rows)))
		return -ENOMEM;
	f->rows[f->count] = *row;
	f->rows[f->count].order = f->count;
	f->count++;
	return 0;
}

static int name_add(struct findings *f, const uint8_t *name, size_t bytes)
{
	if (f->name_count == NAMES_MAX)
		return -EBADMSG;
	if (array_room(&f->names, f->name_count, &f->name_capacity, sizeof(*f->names)))
		return -ENOMEM;
	f->names[f->name_count] = strndup((const char *)name, bytes);
	return f->names[f->name_count++] ? 0 : -ENOMEM;
}

static bool is_name(const char *text, const uint8_t *name, size_t bytes)
{
	return strlen(text) == bytes && !memcmp(text, name, bytes);
}

/* Find the NameId of a metric name, or assign a new one. */
static int name_find(struct findings *f, const uint8_t *name, size_t bytes, uint32_t *ret_id)
{
	if (!bytes || memchr(name, 0, bytes))
		return -EBADMSG;
	for (size_t i = 0; i < f->name_count; i++)
		if (is_name(f->names[i], name, bytes)) {
			*ret_id = (uint32_t)(f->results->name_count + i);
			return 0;
		}
	for (size_t i = 0; i < f->results->name_count; i++)
		if (is_name(f->results->names[i], name, bytes)) {
			*ret_id = (uint32_t)i;
			return 0;
		}
	*ret_id = (uint32_t)(f->results->name_count + f->name_count);
	return name_add(f, name, bytes);
}

static bool is_sound(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t bytes)
{
	if (!message_depth_is_sane(type, data, bytes))
		return false;
	ProtobufCMessage *message = protobuf_c_message_unpack(type, NULL, bytes, data);
	protobuf_c_message_free_unpacked(message, NULL);
	return message != NULL;
}

static int rule_take(struct findings *f, size_t result, const uint8_t *data, size_t bytes)
{
	struct finding row = {.result = result, .bytes = bytes};
	if (!message_depth_is_sane(&ncu__rule_result__descriptor, data, bytes))
		return -EBADMSG;
	Ncu__RuleResult *rule = ncu__rule_result__unpack(NULL, bytes, data);
	const bool is_named = rule && rule->identifier;
	if (is_named) {
		row.identifier = strdup(rule->identifier);
		row.data = malloc(bytes);
	}
	ncu__rule_result__free_unpacked(rule, NULL);
	if (!is_named)
		return -EBADMSG;
	int error = row.identifier && row.data ? row_add(f, &row) : -ENOMEM;
	if (error) {
		free(row.identifier);
		free(row.data);
		return error;
	}
	memcpy(row.data, data, bytes);
	f->rule_results++;
	return 0;
}

static int metric_take(struct findings *f, size_t result, const uint8_t *data, size_t bytes)
{
	struct finding row = {.result = result, .is_metric = true};
	uint32_t name_bytes;
	if (bytes < sizeof(name_bytes))
		return -EBADMSG;
	memcpy(&name_bytes, data, sizeof(name_bytes));
	name_bytes = le32toh(name_bytes);
	data += sizeof(name_bytes);
	bytes -= sizeof(name_bytes);
	if (name_bytes > bytes)
		return -EBADMSG;
	const uint8_t *message = data + name_bytes;
	bytes -= name_bytes;
	if (!is_sound(&ncu__profile_metric_result__descriptor, message, bytes))
		return -EBADMSG;
	int error = name_find(f, data, name_bytes, &row.name_id);
	row.data = error ? NULL : malloc(bytes + 2 * VARINT_MAX);
	if (!error && !row.data)
		error = -ENOMEM;
	if (error)
		return error;
	uint8_t *end = varint_put(varint_put_tag(row.data, 1, WIRE_VARINT), row.name_id);
	memcpy(end, message, bytes);
	row.bytes = (size_t)(end - row.data) + bytes;
	error = row_add(f, &row);
	if (error)
		free(row.data);
	f->metrics += !error;
	return error;
}

int findings_take(struct findings *f, char letter, const uint8_t *data, size_t bytes)
{
	uint64_t result;
	if (bytes < sizeof(result))
		return -EBADMSG;
	memcpy(&result, data, sizeof(result));
	result = le64toh(result);
	if (result >= f->results->count || f->results->entries[result].kind != NCU_RESULT)
		return -EBADMSG;
	data += sizeof(result);
	bytes -= sizeof(result);
	if (letter == 'R')
		return rule_take(f, result, data, bytes);
	return letter == 'M' ? metric_take(f, result, data, bytes) : -EBADMSG;
}

/* ---- changing ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	if (x->result != y->result)
		return x->result < y->result ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Remove element `i` of an array of messages. */
static void element_drop(void *array, size_t *count, size_t i)
{
	ProtobufCMessage **all = array;
	protobuf_c_message_free_unpacked(all[i], NULL);
	memmove(all + i, all + i + 1, (*count - i - 1) * sizeof(*all));
	--*count;
}

/* Append the message of a row to an array of messages. */
static int element_add(void ***array, size_t *count, const ProtobufCMessageDescriptor *type,
	const struct finding *row)
{
	void **more = reallocarray(*array, *count + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*array = more;
	more[*count] = protobuf_c_message_unpack(type, NULL, row->bytes, row->data);
	if (!more[*count])
		return -ENOMEM; /* findings_take() has validated it */
	++*count;
	return 0;
}

static int rule_put(Ncu__ProfileResult *r, const struct finding *row)
{
	for (size_t i = r->n_rule_results; i-- > 0;)
		if (r->rule_results[i]->identifier &&
			!strcmp(r->rule_results[i]->identifier, row->identifier))
			element_drop(r->rule_results, &r->n_rule_results, i);
	return element_add(
		(void ***)&r->rule_results, &r->n_rule_results, &ncu__rule_result__descriptor, row);
}

static int metric_put(Ncu__ProfileResult *r, const struct finding *row)
{
	for (size_t i = r->n_metric_results; i-- > 0;)
		if (r->metric_results[i]->name_id == row->name_id)
			element_drop(r->metric_results, &r->n_metric_results, i);
	return element_add((void ***)&r->metric_results, &r->n_metric_results,
		&ncu__profile_metric_result__descriptor, row);
}

void findings_sort(struct findings *f)
{
	if (f->count)
		qsort(f->rows, f->count, sizeof(*f->rows), compare_rows);
	f->next = 0;
}

int findings_judge(void *user, size_t i, Ncu__ProfileResult *result)
{
	struct findings *f = user;
	int error = 0;
	while (f->next < f->count && f->rows[f->next].result < i)
		f->next++;
	if (f->next == f->count || f->rows[f->next].result != i)
		return NCU_KEEP;
	for (; !error && f->next < f->count && f->rows[f->next].result == i; f->next++)
		error = f->rows[f->next].is_metric ? metric_put(result, &f->rows[f->next])
						   : rule_put(result, &f->rows[f->next]);
	f->results_changed++;
	return error ? error : NCU_CHANGED;
}
