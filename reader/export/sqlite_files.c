/* Calls that worked on files whose paths were recorded (option file access), as nsys tells them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/schema/fn_groups.h"
#include "reader/export/sqlite_writing.h"

/* ENUM_OSRT_FILE_ACCESS_EVENT_TYPE */
enum access_type {
	ACCESS_NONE,
	ACCESS_OPEN,
	ACCESS_CLOSE,
	ACCESS_READ,
	ACCESS_WRITE,
	ACCESS_OTHER = 6
};

/* Functions of libc.def; `arguments` begins with "(FD," where the object of a call is a descriptor.
 */
static const struct {
	const char *name, *arguments;
	enum group group;
} functions[] = {
#define FN(ret, name, version, group, rule, alias, ...) {#alias, #__VA_ARGS__, group},
#define FNV(name, version, group, rule, alias, ...) {#alias, #__VA_ARGS__, group},
#define HAND(ret, name, version, group, rule, alias, ...) {#alias, #__VA_ARGS__, group},
#include "common/schema/libc.def"
};

/* What a function does to a file. */
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

/* Types are kept by the id of the name in the report. 0 or -ENOMEM. */
static int type_find(struct writing *w, uint32_t function, enum access_type *ret_type)
{
	uint32_t found = map_get(&w->file_types, function, 0);
	*ret_type = found ? found - 1 : ACCESS_NONE;
	if (found)
		return 0;
	struct string_ref name = string_table_get(&w->contents.strings, function);
	*ret_type = name.bytes ? type_of(name.text) : ACCESS_NONE;
	return map_put(&w->file_types, function, 0, *ret_type + 1);
}

static int file_add(struct writing *w, const struct writing_file *file)
{
	if (array_room(&w->files, w->file_count, &w->file_capacity, sizeof(*w->files)))
		return -ENOMEM;
	w->files[w->file_count++] = *file;
	return 0;
}

int files_collect(struct writing *w, const struct event_batch *batch)
{
	struct writing_batch b;
	int error = batch->kind == KIND_FILE_PATH ? writing_decode(w, batch, &b) : -EBADMSG;
	if (error)
		return error == -EBADMSG ? 0 : error;
	const int64_t *descriptors = writing_column(&b, FIELD_FILE_PATH_DESCRIPTOR),
		      *paths = writing_column(&b, FIELD_FILE_PATH_PATH);
	for (uint32_t i = 0; !error && i < batch->count; i++) {
		const struct writing_file file = {.process = batch->process,
			.descriptor = descriptors[i],
			.open_ns = (uint64_t)b.columns[0][i],
			.path = (uint32_t)paths[i]};
		if (descriptors[i] >= 0)
			error = file_add(w, &file);
	}
	return error;
}

static int compare_files(const void *a, const void *b)
{
	const struct writing_file *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->descriptor != y->descriptor)
		return x->descriptor < y->descriptor ? -1 : 1;
	return (x->open_ns > y->open_ns) - (x->open_ns < y->open_ns);
}

/* The last opening of the descriptor before that time; NULL = none. */
static struct writing_file *file_at(
	const struct writing *w, uint32_t process, int64_t descriptor, uint64_t ns)
{
	const struct writing_file wanted = {
		.process = process, .descriptor = descriptor, .open_ns = ns};
	uint32_t low = 0, high = w->file_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (compare_files(&w->files[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	struct writing_file *f = low ? &w->files[low - 1] : NULL;
	return f && f->process == process && f->descriptor == descriptor ? f : NULL;
}

int files_closed(struct writing *w, const struct event_batch *batch)
{
	struct writing_batch b;
	enum access_type type;
	int error = batch->kind == KIND_OSRT_CALL ? writing_decode(w, batch, &b) : -EBADMSG;
	if (error)
		return error == -EBADMSG ? 0 : error;
	const int64_t *names = writing_column(&b, FIELD_OSRT_CALL_FUNCTION),
		      *objects = writing_column(&b, FIELD_OSRT_CALL_OBJECT);
	for (uint32_t i = 0; !error && i < batch->count; i++) {
		const uint64_t ns = (uint64_t)b.columns[0][i];
		error = type_find(w, (uint32_t)names[i], &type);
		struct writing_file *f = !error && type == ACCESS_CLOSE
			? file_at(w, batch->process, objects[i], ns)
			: NULL;
		const uint64_t end = ns + (uint64_t)b.duration[i];
		if (f && (!f->close_ns || end < f->close_ns))
			f->close_ns = end;
	}
	return error;
}

int files_number(struct writing *w)
{
	const int descriptors = NSYS_OSRT_FILE_ACCESS_DESCRIPTORS;
	struct page_table *t = &w->tables[descriptors];
	int error = 0;
	for (uint32_t i = 0; !error && t->columns && i < w->file_count; i++) {
		struct writing_file *f = &w->files[i];
		const struct process *p = process_find(&w->contents.processes, f->process);
		/* fileAccessId, processId, openedAt, closedAt, filePath */
		struct page_value values[5] = {{.kind = PAGE_NULL}};
		f->id = w->file_ids++;
		put_number(&values[0], f->id);
		put_number(&values[1], p ? p->facts->pid : 0);
		put_number(&values[2], writing_time(w, f->open_ns));
		put_number(&values[3], f->close_ns ? writing_time(w, f->close_ns) : 0);
		values[4].kind = PAGE_TEXT;
		values[4].text = writing_utf8(w, f->path, &values[4].bytes);
		if (!values[4].text)
			return -ENOMEM;
		error = page_table_values(t, 0, values);
		w->output_failed |= error != 0;
	}
	return error;
}

void files_sort(struct writing *w)
{
	if (w->file_count)
		qsort(w->files, w->file_count, sizeof(*w->files), compare_files);
}

int files_call(struct writing *w, const struct writing_batch *b, uint32_t row)
{
	struct page_table *t = &w->tables[NSYS_OSRT_FILE_ACCESS_EVENTS];
	const uint32_t function = (uint32_t)writing_column(b, FIELD_OSRT_CALL_FUNCTION)[row];
	const int64_t result = writing_column(b, FIELD_OSRT_CALL_RETURN)[row];
	const uint64_t start = (uint64_t)b->columns[0][row];
	enum access_type type;
	uint32_t name = 0;
	int error = t->columns ? type_find(w, function, &type) : 0;
	if (error || !t->columns || type == ACCESS_NONE)
		return error;
	const int64_t descriptor =
		type == ACCESS_OPEN ? result : writing_column(b, FIELD_OSRT_CALL_OBJECT)[row];
	const struct writing_file *f = file_at(w, b->batch->process, descriptor, start);
	if (!f || (type == ACCESS_OPEN && f->open_ns != start) ||
		(f->close_ns && start > f->close_ns))
		return 0;
	error = writing_string(w, function, &name);
	/* fileAccessId, threadId, startedAt, endedAt, eventType, apiCallId, bytesProcessed,
	 * context */
	const int64_t numbers[] = {f->id, b->batch->tid, writing_time(w, start),
		writing_time(w, start + (uint64_t)b->duration[row]), type, name,
		(type == ACCESS_READ || type == ACCESS_WRITE) && result > 0 ? result : 0};
	struct page_value values[8] = {{.kind = PAGE_NULL}};
	for (uint32_t i = 0; i < 7; i++)
		put_number(&values[i], numbers[i]);
	values[7] = (struct page_value){PAGE_TEXT, 0, {.text = ""}};
	if (!error)
		error = page_table_values(t, 0, values);
	w->output_failed |= error != 0;
	return error;
}
