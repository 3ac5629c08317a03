/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - files that were opened, from the recorded paths and calls. */
#include "reader/export/sqlite/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/schema/fn_groups.h"
#include "reader/export/sqlite/export_state.h"

/* ENUM_OSRT_FILE_ACCESS_EVENT_TYPE */
enum access_type {
	ACCESS_NONE,
	ACCESS_OPEN,
	ACCESS_CLOSE,
	ACCESS_READ,
	ACCESS_WRITE,
	ACCESS_OTHER = 6
};

/* Functions of libc.def; `arguments` begins with "(FD," if the object of a call is a descriptor. */
static const struct {
	const char *name, *arguments;
	enum group group;
} functions[] = {
#define FN(ret, name, version, group, rule, alias, ...) {#alias, #__VA_ARGS__, group},
#define FNV(name, version, group, rule, alias, ...) {#alias, #__VA_ARGS__, group},
#define HAND(ret, name, version, group, rule, alias, ...) {#alias, #__VA_ARGS__, group},
#include "common/schema/libc.def"
};

/* Return the kind of access of a function. */
static enum access_type type_of(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		const enum group group = functions[i].group;
		if (strcmp(functions[i].name, name) ||
			(group != OPEN && group != IO && group != SYNC))
			continue;
		if (strstr(functions[i].arguments, "(PATH,"))
			return ACCESS_OPEN;
		if (!strstr(functions[i].arguments, "(FD,"))
			return ACCESS_NONE;
		if (!strcmp(name, "close"))
			return ACCESS_CLOSE;
		return group != IO              ? ACCESS_OTHER
			: strstr(name, "read")  ? ACCESS_READ
			: strstr(name, "write") ? ACCESS_WRITE
						: ACCESS_OTHER;
	}
	return ACCESS_NONE;
}

/* Look up the kind of access of a function by the string id of its name. Returns 0 or -ENOMEM. */
static int type_find(struct sqlite_export *x, uint32_t function, enum access_type *ret_type)
{
	uint32_t found = map_get(&x->files.types, function, 0);
	*ret_type = found ? found - 1 : ACCESS_NONE;
	if (found)
		return 0;
	struct string_ref name = string_table_get(&x->contents.strings, function);
	*ret_type = name.bytes ? type_of(name.text) : ACCESS_NONE;
	return map_put(&x->files.types, function, 0, *ret_type + 1);
}

static int file_add(struct sqlite_export *x, const struct opened_file *file)
{
	if (array_room(&x->files.rows, x->files.count, &x->files.capacity, sizeof(*x->files.rows)))
		return -ENOMEM;
	x->files.rows[x->files.count++] = *file;
	return 0;
}

int files_collect(struct sqlite_export *x, const struct event_batch *batch)
{
	struct decoded_batch b;
	int error = batch->kind == KIND_FILE_PATH ? batch_decode(x, batch, &b) : -EBADMSG;
	if (error)
		return error == -EBADMSG ? 0 : error;
	const int64_t *descriptors = decoded_column(&b, FIELD_FILE_PATH_DESCRIPTOR),
		      *paths = decoded_column(&b, FIELD_FILE_PATH_PATH);
	for (uint32_t i = 0; !error && i < batch->count; i++) {
		const struct opened_file file = {.process = batch->process,
			.descriptor = descriptors[i],
			.open_ns = (uint64_t)b.columns[0][i],
			.path = (uint32_t)paths[i]};
		if (descriptors[i] >= 0)
			error = file_add(x, &file);
	}
	return error;
}

static int compare_files(const void *a, const void *b)
{
	const struct opened_file *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->descriptor != y->descriptor)
		return x->descriptor < y->descriptor ? -1 : 1;
	return (x->open_ns > y->open_ns) - (x->open_ns < y->open_ns);
}

/* Return the last file that was opened as this descriptor up to a time; NULL = none. */
static struct opened_file *file_at(
	const struct sqlite_export *x, uint32_t process, int64_t descriptor, uint64_t ns)
{
	const struct opened_file wanted = {
		.process = process, .descriptor = descriptor, .open_ns = ns};
	uint32_t low = 0, high = x->files.count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (compare_files(&x->files.rows[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	struct opened_file *f = low ? &x->files.rows[low - 1] : NULL;
	return f && f->process == process && f->descriptor == descriptor ? f : NULL;
}

static int closes_note(struct sqlite_export *x, const struct event_batch *batch)
{
	struct decoded_batch b;
	enum access_type type;
	int error = batch->kind == KIND_OSRT_CALL ? batch_decode(x, batch, &b) : -EBADMSG;
	if (error)
		return error == -EBADMSG ? 0 : error;
	const int64_t *names = decoded_column(&b, FIELD_OSRT_CALL_FUNCTION),
		      *objects = decoded_column(&b, FIELD_OSRT_CALL_OBJECT);
	for (uint32_t i = 0; !error && i < batch->count; i++) {
		const uint64_t ns = (uint64_t)b.columns[0][i];
		error = type_find(x, (uint32_t)names[i], &type);
		struct opened_file *f = !error && type == ACCESS_CLOSE
			? file_at(x, batch->process, objects[i], ns)
			: NULL;
		const uint64_t end = ns + (uint64_t)b.duration[i];
		if (f && (!f->close_ns || end < f->close_ns))
			f->close_ns = end;
	}
	return error;
}

static int files_put(struct sqlite_export *x)
{
	const int descriptors = NSYS_OSRT_FILE_ACCESS_DESCRIPTORS;
	struct bulk_table *t = &x->nsys.tables[descriptors];
	int error = 0;
	for (uint32_t i = 0; !error && bulk_table_is_open(t) && i < x->files.count; i++) {
		struct opened_file *f = &x->files.rows[i];
		const struct process *p = process_find(&x->contents.processes, f->process);
		/* fileAccessId, processId, openedAt, closedAt, filePath */
		struct cell values[5] = {{.kind = CELL_NULL}};
		f->id = x->files.next_id++;
		cell_set_number(&values[0], f->id);
		cell_set_number(&values[1], p ? p->facts->pid : 0);
		cell_set_number(&values[2], export_time(x, f->open_ns));
		cell_set_number(&values[3], f->close_ns ? export_time(x, f->close_ns) : 0);
		values[4].kind = CELL_TEXT;
		values[4].text = text_of_string(&x->texts, f->path, &values[4].bytes);
		if (!values[4].text)
			return -ENOMEM;
		error = bulk_table_row(t, values);
	}
	return error;
}

static int visit_closes(void *user, struct walk *walk, const struct event_batch *b)
{
	(void)walk;
	return closes_note(user, b);
}

/* Return whether the session says that paths were recorded of opened files only. */
static bool is_unasked(const Libtrace__Session *s)
{
	for (size_t i = 0; s && i < s->n_options; i++)
		if (!strcmp(s->options[i], "osrt_file_access=false"))
			return true;
	return false;
}

int files_find(struct sqlite_export *x)
{
	const struct contents_visitor closes = {x, NULL, visit_closes, NULL};
	if (is_unasked(x->contents.session))
		x->files.count = 0; /* and spare the report another pass */
	if (!x->files.count)
		return 0;
	qsort(x->files.rows, x->files.count, sizeof(*x->files.rows), compare_files);
	int error = contents_batches(x->source->report, &closes);
	return error ? error : files_put(x);
}

int files_call(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row)
{
	struct bulk_table *t = &x->nsys.tables[NSYS_OSRT_FILE_ACCESS_EVENTS];
	const uint32_t function = (uint32_t)decoded_column(b, FIELD_OSRT_CALL_FUNCTION)[row];
	const int64_t result = decoded_column(b, FIELD_OSRT_CALL_RETURN)[row];
	const uint64_t start = (uint64_t)b->columns[0][row];
	enum access_type type;
	uint32_t name = 0;
	int error = bulk_table_is_open(t) ? type_find(x, function, &type) : 0;
	if (error || !bulk_table_is_open(t) || type == ACCESS_NONE)
		return error;
	const int64_t descriptor =
		type == ACCESS_OPEN ? result : decoded_column(b, FIELD_OSRT_CALL_OBJECT)[row];
	const struct opened_file *f = file_at(x, b->batch->process, descriptor, start);
	if (!f || (type == ACCESS_OPEN && f->open_ns != start) ||
		(f->close_ns && start > f->close_ns))
		return 0;
	error = text_id_of_string(&x->texts, function, &name);
	/* fileAccessId, threadId, startedAt, endedAt, eventType, apiCallId, bytesProcessed,
	 * context */
	const int64_t numbers[] = {f->id, b->batch->tid, export_time(x, start),
		export_time(x, start + (uint64_t)b->duration[row]), type, name,
		(type == ACCESS_READ || type == ACCESS_WRITE) && result > 0 ? result : 0};
	struct cell values[8] = {{.kind = CELL_NULL}};
	for (uint32_t i = 0; i < 7; i++)
		cell_set_number(&values[i], numbers[i]);
	values[7] = (struct cell){CELL_TEXT, 0, {.text = ""}};
	if (!error)
		error = bulk_table_row(t, values);
	return error;
}

void files_report_end(struct opened_files *f)
{
	map_release(&f->types);
	f->count = 0;
}

void files_release(struct opened_files *f)
{
	map_release(&f->types);
	free(f->rows);
}
