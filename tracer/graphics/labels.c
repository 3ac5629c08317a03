/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.c - the open ranges of each thread, and the rows of ranges and marks.
 */
#include "tracer/graphics/labels.h"

#include "common/spool.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/plain_row.h"
#include "tracer/core/state.h"
#include "tracer/graphics/hooks.h"

#define OPEN_MAX 64u /* as many as an OpenGL context may have; Vulkan has no maximum */
#define TEXT_BYTES_MAX 4000u

struct open_label {
	struct graphics_label label; /* its text is `text` */
	struct name *text;
	uint64_t tick; /* 0 = begun while nothing was recorded */
};

struct open_labels {
	uint64_t count;
	struct open_label rows[OPEN_MAX];
};
static struct open_labels *open_of_lanes; /* SPOOL_LANES_MAX; NULL = no labels are recorded */
static uint64_t last_number;

bool labels_start(void)
{
	if (!open_of_lanes)
		open_of_lanes = sys_mmap_beyond_data(SPOOL_LANES_MAX * sizeof(*open_of_lanes));
	return open_of_lanes != NULL;
}

void graphics_thread_start(const struct thread *t)
{
	if (open_of_lanes && open_of_lanes[t->lane->index % SPOOL_LANES_MAX].count)
		open_of_lanes[t->lane->index % SPOOL_LANES_MAX].count = 0;
}

void graphics_forked(void)
{
	for (uint32_t i = 0; open_of_lanes && i < SPOOL_LANES_MAX; i++)
		if (open_of_lanes[i].count)
			open_of_lanes[i].count = 0;
}

/* Return the thread, busy; NULL = nothing can be recorded now, which is counted. */
static struct thread *enter(void)
{
	struct thread *t = &thread_self;
	if (t->lane && thread_try_enter(t))
		return t;
	session_count_drop(DROP_NESTED);
	return NULL;
}

static struct open_labels *open_of(const struct thread *t)
{
	return &open_of_lanes[t->lane->index % SPOOL_LANES_MAX];
}

static struct name *text_of(const struct graphics_label *label)
{
	uint32_t bytes = 0;
	uint64_t most = label->text_bytes >= 0 && label->text_bytes < (int64_t)TEXT_BYTES_MAX
		? (uint64_t)label->text_bytes
		: TEXT_BYTES_MAX;
	while (label->text && bytes < most && (label->text_bytes >= 0 || label->text[bytes]))
		bytes++;
	return bytes ? names_intern_long(label->text, bytes, bytes == TEXT_BYTES_MAX) : NULL;
}

static void row_put(struct thread *t, const struct graphics_label *label, struct name *text,
	uint64_t tick, uint64_t ticks)
{
	struct plain_row r = {.names = 0};
	plain_set_text(&r, COLUMN_GRAPHICS_LABEL_FUNCTION, label->function);
	plain_set_name(&r, COLUMN_GRAPHICS_LABEL_TEXT, text);
	plain_set(&r, COLUMN_GRAPHICS_LABEL_FORM, label->form);
	plain_set(&r, COLUMN_GRAPHICS_LABEL_NUMBER,
		__atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED));
	plain_set(&r, COLUMN_GRAPHICS_LABEL_OBJECT, label->object);
	plain_set(&r, COLUMN_GRAPHICS_LABEL_COLOR, label->color);
	plain_set(&r, COLUMN_GRAPHICS_LABEL_SOURCE, label->source);
	plain_set(&r, COLUMN_GRAPHICS_LABEL_TYPE, label->type);
	plain_set(&r, COLUMN_GRAPHICS_LABEL_MESSAGE_ID, label->id);
	plain_set(&r, COLUMN_GRAPHICS_LABEL_SEVERITY, label->severity);
	plain_put(t, PLAIN_GRAPHICS_LABEL, tick, ticks, &r);
}

/* Take an open range out of the table. */
static struct open_label take(struct open_labels *open, uint64_t index)
{
	struct open_label taken = open->rows[index];
	open->count--;
	for (uint64_t i = index; i < open->count; i++)
		open->rows[i] = open->rows[i + 1];
	return taken;
}

void label_begin(const struct graphics_label *label, uint64_t tick)
{
	struct thread *t = enter();
	if (!t)
		return;
	struct open_labels *open = open_of(t);
	if (open->count >= OPEN_MAX)
		take(open, 0); /* probably nobody ends it any more */
	open->rows[open->count++] = (struct open_label){*label, tick ? text_of(label) : NULL, tick};
	thread_give(t);
}

void label_end(enum label_form form, uint64_t object, uint64_t tick)
{
	struct thread *t = enter();
	if (!t)
		return;
	struct open_labels *open = open_of(t);
	uint64_t at = open->count;
	while (at &&
		(open->rows[at - 1].label.form != form ||
			open->rows[at - 1].label.object != object))
		at--;
	if (at) {
		const struct open_label ended = take(open, at - 1);
		if (ended.tick && tick)
			row_put(t, &ended.label, ended.text, ended.tick, tick - ended.tick);
	}
	thread_give(t);
}

struct name *label_open(enum label_form form, uint64_t object)
{
	struct name *text = NULL;
	struct thread *t = &thread_self;
	if (!t->lane || !thread_try_enter(t))
		return NULL;
	const struct open_labels *open = open_of(t);
	for (uint64_t i = 0; i < open->count; i++)
		if (open->rows[i].label.form == form && open->rows[i].label.object == object)
			text = open->rows[i].text;
	thread_give(t);
	return text;
}

void label_mark(const struct graphics_label *label, uint64_t tick)
{
	struct thread *t = tick ? enter() : NULL;
	if (!t)
		return;
	row_put(t, label, text_of(label), tick, 0);
	thread_give(t);
}
