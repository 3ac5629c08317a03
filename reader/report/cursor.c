/* SPDX-License-Identifier: Apache-2.0 */
/* cursor.c - merge of the events of all blocks in the order of their start. */
#include "reader/report/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

struct row_ref {
	int64_t start;
	uint32_t part, row;
};

/* Selected rows of one batch, column by column. */
struct part {
	const struct schema_event *event;
	const struct process *process;
	uint32_t tid, count;
	int64_t *columns;        /* `count` values each */
	const uint64_t *unknown; /* BATCH_UNKNOWN, after the columns; NULL = all are known */
};

struct cursor_rows {
	struct part *parts;
	struct row_ref *refs; /* sorted */
	uint32_t part_count, part_capacity;
	uint32_t count, capacity;
	uint64_t bytes;
};

void cursor_init(struct cursor *c, const struct report *report, struct contents *contents,
	const struct cursor_filter *filter)
{
	*c = (struct cursor){.report = report,
		.contents = contents,
		.filter = *filter,
		.names.pattern = filter->name,
		.bytes_max = CURSOR_BYTES_MAX};
	if (!c->filter.end_ns)
		c->filter.end_ns = UINT64_MAX;
	report_block_init(&c->block);
}

static void rows_free(struct cursor *c, struct cursor_block *b)
{
	struct cursor_rows *rows = b->rows;
	if (!rows)
		return;
	for (uint32_t i = 0; i < rows->part_count; i++)
		free(rows->parts[i].columns);
	c->loaded_bytes -= rows->bytes;
	free(rows->parts);
	free(rows->refs);
	free(rows);
	b->rows = NULL;
}

void cursor_release(struct cursor *c)
{
	for (size_t i = 0; i < c->count; i++)
		rows_free(c, &c->blocks[i]);
	free(c->blocks);
	name_filter_release(&c->names);
	report_block_release(&c->block);
	*c = (struct cursor){0};
}

int cursor_add_block(struct cursor *c, const struct report_block *block)
{
	const Libtrace__BlockExtension *own = block->own;
	if (!own || (!own->has_first_ns && !own->num_events))
		return 0;
	if (own->first_ns >= c->filter.end_ns ||
		(own->has_last_ns && own->last_ns < c->filter.start_ns))
		return 0;
	if (array_room(&c->blocks, c->count, &c->capacity, sizeof(*c->blocks)))
		return -ENOMEM;
	c->blocks[c->count++] =
		(struct cursor_block){.offset = block->offset, .next_ns = own->first_ns};
	return 0;
}

static bool is_before(const struct cursor_block *a, const struct cursor_block *b)
{
	return a->next_ns != b->next_ns ? a->next_ns < b->next_ns : a->offset < b->offset;
}

static void sift_down(struct cursor *c, size_t at)
{
	struct cursor_block moving = c->blocks[at];
	for (size_t child; (child = 2 * at + 1) < c->count; at = child) {
		if (child + 1 < c->count && is_before(&c->blocks[child + 1], &c->blocks[child]))
			child++;
		if (!is_before(&c->blocks[child], &moving))
			break;
		c->blocks[at] = c->blocks[child];
	}
	c->blocks[at] = moving;
}

void cursor_start(struct cursor *c)
{
	for (size_t i = c->count / 2; i-- > 0;)
		sift_down(c, i);
}

static int function_field(const struct schema_event *event)
{
	for (uint32_t i = 0; i < event->field_count; i++)
		if (event->fields[i].kind == FIELD_KIND_FUNCTION)
			return (int)i;
	return -1;
}

static bool batch_is_wanted(const struct cursor *c, const struct event_batch *b,
	const struct schema_event *event, const struct process *process)
{
	const struct cursor_filter *f = &c->filter;
	if (!event || !process || event->field_count > SCHEMA_FIELDS ||
		(f->kind && b->kind != f->kind))
		return false;
	if ((f->tid && b->tid != f->tid) || (f->pid && process->facts->pid != f->pid))
		return false;
	return !f->name || function_field(event) >= 0;
}

static bool row_is_wanted(struct cursor *c, const struct part *part, int function, uint32_t row)
{
	uint64_t start = (uint64_t)part->columns[row];
	if (start < c->filter.start_ns || start >= c->filter.end_ns)
		return false;
	return !c->filter.name ||
		name_filter_matches(&c->names, &c->contents->strings,
			(uint32_t)part->columns[(size_t)function * part->count + row]);
}

static int refs_add(struct cursor *c, struct cursor_rows *rows)
{
	const struct part *part = &rows->parts[rows->part_count - 1];
	int function = function_field(part->event);
	if (array_reserve(&rows->refs, &rows->capacity, (uint64_t)rows->count + part->count,
		    sizeof(*rows->refs)))
		return -ENOMEM;
	for (uint32_t i = 0; i < part->count; i++)
		if (row_is_wanted(c, part, function, i))
			rows->refs[rows->count++] =
				(struct row_ref){part->columns[i], rows->part_count - 1, i};
	return 0;
}

static struct part *part_new(struct cursor_rows *rows)
{
	if (array_room(&rows->parts, rows->part_count, &rows->part_capacity, sizeof(*rows->parts)))
		return NULL;
	return &rows->parts[rows->part_count];
}

static int part_add(struct cursor *c, struct cursor_rows *rows, const struct event_batch *b)
{
	const struct schema_event *event = schema_event(b->kind);
	const struct process *process = process_find(&c->contents->processes, b->process);
	if (!batch_is_wanted(c, b, event, process) || !b->count)
		return 0;
	const bool partly = c->report->partly[b->kind] != 0;
	size_t bytes = (size_t)(event->field_count + partly) * b->count * sizeof(int64_t);
	if (rows->bytes + bytes > c->bytes_max) /* only a hostile block decodes to that much */
		return 0;
	struct part *part = part_new(rows);
	if (!part)
		return -ENOMEM;
	*part = (struct part){event, process, b->tid, b->count, malloc(bytes), NULL};
	if (!part->columns)
		return -ENOMEM;
	int64_t *last = part->columns + (size_t)event->field_count * b->count;
	part->unknown = partly ? (const uint64_t *)last : NULL;
	for (uint32_t i = 0; i < event->field_count + partly; i++)
		if (event_batch_column(b,
			    i < event->field_count ? event->fields[i].number : BATCH_UNKNOWN,
			    part->columns + (size_t)i * b->count)) {
			free(part->columns); /* contents_read() has already reported the damage */
			return 0;
		}
	rows->part_count++;
	rows->bytes += bytes + b->count * sizeof(struct row_ref);
	return refs_add(c, rows);
}

static int compare_refs(const void *a, const void *b)
{
	const struct row_ref *x = a, *y = b;
	if (x->start != y->start)
		return (uint64_t)x->start < (uint64_t)y->start ? -1 : 1;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int rows_read(struct cursor *c, struct cursor_rows *rows)
{
	struct report_entry e;
	struct event_batch b;
	const char *cause;
	int error = 0;
	while (!error && report_block_entry(&c->block, &e, &cause) > 0)
		if (e.kind == ENTRY_BATCH && !event_batch_parse(&b, e.inner, e.inner_end, &cause) &&
			report_choose_rows(c->report, &b))
			error = part_add(c, rows, &b);
	for (uint32_t i = 1; i < rows->count; i++)
		if (compare_refs(&rows->refs[i - 1], &rows->refs[i]) > 0) {
			qsort(rows->refs, rows->count, sizeof(*rows->refs), compare_refs);
			break;
		}
	return error;
}

/* Unload the blocks that are needed last until loaded rows fit the limit. `keep`, the top of the
 * heap, stays loaded. */
static void blocks_unload(struct cursor *c, const struct cursor_block *keep)
{
	while (c->loaded_bytes > c->bytes_max) {
		struct cursor_block *last = NULL;
		for (size_t i = 0; i < c->count; i++)
			if (c->blocks[i].rows && &c->blocks[i] != keep &&
				(!last || is_before(last, &c->blocks[i])))
				last = &c->blocks[i];
		if (!last)
			return;
		rows_free(c, last);
	}
}

static int load(struct cursor *c, struct cursor_block *b)
{
	const char *cause;
	c->loads++;
	b->rows = calloc(1, sizeof(*b->rows));
	int error = b->rows ? report_block_find(&c->block, &c->report->source, b->offset, &cause)
			    : -ENOMEM;
	if (!error)
		error = report_block_load(&c->block, &c->report->source, &cause);
	if (!error)
		error = rows_read(c, b->rows);
	if (b->rows)
		c->loaded_bytes += b->rows->bytes;
	if (!error)
		blocks_unload(c, b);
	return error;
}

/* Update the time of the top block to that of its next row; remove the block if it has no more
 * rows. */
static void top_update(struct cursor *c)
{
	struct cursor_block *top = &c->blocks[0];
	if (top->taken < top->rows->count) {
		top->next_ns = (uint64_t)top->rows->refs[top->taken].start;
	} else {
		rows_free(c, top);
		*top = c->blocks[--c->count];
	}
	if (c->count)
		sift_down(c, 0);
}

static void row_get(const struct cursor *c, const struct cursor_rows *rows,
	const struct row_ref *ref, struct event_row *ret_row)
{
	const struct part *part = &rows->parts[ref->part];
	ret_row->event = part->event;
	ret_row->unknown = c->report->unknown[part->event->number] |
		(part->unknown ? part->unknown[ref->row] : 0);
	ret_row->process = part->process;
	ret_row->tid = part->tid;
	for (uint32_t i = 0; i < part->event->field_count; i++) {
		ret_row->values[i] = part->columns[(size_t)i * part->count + ref->row];
		/* The method of a callchain has no meaning without the callchain, which is the
		 * column before. */
		if (part->event->fields[i].kind == FIELD_KIND_METHOD && !ret_row->values[i - 1])
			ret_row->values[i] = 0;
	}
}

int cursor_next(struct cursor *c, struct event_row *ret_row)
{
	while (c->count) {
		struct cursor_block *top = &c->blocks[0];
		if (!top->rows) {
			int error = load(c, top);
			if (error)
				return error;
			top_update(c);
			continue;
		}
		row_get(c, top->rows, &top->rows->refs[top->taken++], ret_row);
		top_update(c);
		return 1;
	}
	return 0;
}
