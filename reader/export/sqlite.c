#include "reader/export/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/utf8.h"
#include "reader/export/sqlite_writing.h"

int writing_text(struct writing *w, const char *text, uint32_t *ret_id)
{
	struct writing_texts *t = &w->texts;
	const char *kept = pool_text(&t->pool, text, SIZE_MAX);
	uint32_t found = kept ? map_get(&t->ids, (uintptr_t)kept, 0) : 0;
	*ret_id = found - 1;
	if (found)
		return 0;
	if (!kept || array_room(&t->texts, t->count, &t->capacity, sizeof(*t->texts)))
		return -ENOMEM;
	t->texts[t->count] = kept;
	*ret_id = t->count++;
	return map_put(&t->ids, (uintptr_t)kept, 0, t->count);
}

int writing_string(struct writing *w, uint32_t string, uint32_t *ret_id)
{
	char unnamed[32];
	uint32_t found = map_get(&w->strings, string, 0);
	*ret_id = found - 1;
	if (found)
		return 0;
	struct string_ref ref = string_table_get(&w->contents.strings, string);
	snprintf(unnamed, sizeof(unnamed), "[string %u]", string);
	int error = writing_text(w, ref.bytes ? ref.text : unnamed, ret_id);
	return error ? error : map_put(&w->strings, string, 0, *ret_id + 1);
}

const char *writing_utf8(struct writing *w, uint32_t string, uint32_t *ret_bytes)
{
	struct string_ref ref = string_table_get(&w->contents.strings, string);
	size_t clean_bytes = utf8_clean_bytes(ref.text, ref.bytes);
	*ret_bytes = (uint32_t)clean_bytes;
	if (clean_bytes == ref.bytes)
		return ref.text;
	char *clean = malloc(clean_bytes + 1);
	if (!clean)
		return NULL;
	utf8_clean(ref.text, ref.bytes, clean);
	const char *kept = pool_text(&w->texts.pool, clean, clean_bytes);
	free(clean);
	return kept;
}

static int visit_block(void *user, const struct report_block *block)
{
	const struct writing *w = user;
	const struct contents_visitor *v = &w->source->visitor;
	return v->block ? v->block(v->user, block) : 0;
}

static int visit_first_block(void *user, const struct report_block *block)
{
	int error = results_note(user, block);
	return error ? error : visit_block(user, block);
}

static int visit_second_block(void *user, const struct report_block *block)
{
	int error = results_rows(user, block);
	return error ? error : visit_block(user, block);
}

static void visit_problem(void *user, uint64_t offset, const char *cause)
{
	const struct writing *w = user;
	const struct contents_visitor *v = &w->source->visitor;
	if (v->problem)
		v->problem(v->user, offset, cause);
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	(void)walk;
	return writing_batch(user, b);
}

static int visit_first(void *user, struct walk *walk, const struct event_batch *b)
{
	(void)walk;
	int error = nvtx_domains_collect(user, b);
	if (!error)
		error = nvtx_payloads_take(&((struct writing *)user)->payloads, b);
	if (!error)
		error = files_collect(user, b);
	return error ? error : cuda_collect(user, b);
}

static int visit_closes(void *user, struct walk *walk, const struct event_batch *b)
{
	(void)walk;
	return files_closed(user, b);
}

/* Which files were open from when until when. */
static int files_find(struct writing *w)
{
	const struct contents_visitor closes = {w, NULL, visit_closes, NULL};
	files_sort(w);
	int error = w->file_count ? contents_batches(w->source->report, &closes) : 0;
	return error ? error : files_number(w);
}

/* Start of the session on both clocks, from the first block; 0 where that does not say: reports of
 * Nsight Compute have the second alone. */
static int session_times(const struct report *r, uint64_t *ret_start, uint64_t *ret_real)
{
	struct walk walk;
	struct report_entry entry;
	const char *cause;
	*ret_start = *ret_real = 0;
	walk_start(&walk, r);
	int found = walk_next(&walk);
	const Libtrace__SessionDetails *d = found > 0 ? walk.block.header->session_details : NULL;
	if (d && d->creation_time_s < INT64_MAX / 1000000000u)
		*ret_real = d->creation_time_s * 1000000000u;
	while (found > 0 && report_block_entry(&walk.block, &entry, &cause) > 0) {
		Libtrace__Session *s = entry.kind == ENTRY_SESSION
			? libtrace__session__unpack(
				  NULL, (size_t)(entry.inner_end - entry.inner), entry.inner)
			: NULL;
		if (!s)
			continue;
		*ret_start = s->start_ns;
		*ret_real = s->start_realtime_ns;
		libtrace__session__free_unpacked(s, NULL);
	}
	walk_stop(&walk);
	return found < 0 ? found : 0;
}

static int base_find(struct writing *w)
{
	for (uint32_t i = 0; i < w->job->count; i++) {
		uint64_t start, real;
		w->source = &w->job->sources[i];
		int error = session_times(w->source->report, &start, &real);
		if (error)
			return error;
		if (!i || (real && (!w->base_real_ns || real < w->base_real_ns))) {
			w->base_real_ns = real;
			w->base_clock_ns = start;
		}
	}
	return 0;
}

static void report_begin(struct writing *w, uint32_t index)
{
	const struct sqlite_source *s = &w->job->sources[index];
	w->source = s;
	w->vid = writing_vid(w->vids++);
	contents_init(&w->contents);
	nvtx_payloads_init(&w->payloads, &w->contents);
	symbols_init(&w->symbols, &w->contents, w->job->symbol_path);
	results_begin(w);
}

static void report_end(struct writing *w)
{
	results_end(w);
	nvtx_payloads_release(&w->payloads);
	symbols_release(&w->symbols);
	contents_release(&w->contents);
	map_release(&w->strings);
	map_release(&w->chains);
	map_release(&w->domains);
	map_release(&w->lives);
	map_release(&w->file_types);
	w->file_count = 0;
	w->vids += w->lives_most;
	w->lives_most = 0;
	cuda_report_end(w);
	w->libc_process = 0;
	w->domain_count = 0;
	w->chain_count = 0;
}

static void clock_set(struct writing *w)
{
	const struct contents *c = &w->contents;
	const Libtrace__Session *s = c->session;
	w->start_ns = s ? s->start_ns : c->first_ns <= c->last_ns ? c->first_ns : 0;
	w->shift_ns = s && s->start_realtime_ns && w->base_real_ns
		? (int64_t)(s->start_realtime_ns - w->base_real_ns)
		: 0;
	int64_t last = c->first_ns <= c->last_ns ? writing_time(w, c->last_ns) : 0;
	w->last_ns = last > w->last_ns ? last : w->last_ns;
}

/* Runs of pages and statements take turns: SQLite fills the small tables. */
static int output(struct writing *w, int error)
{
	w->output_failed |= error != 0;
	return error;
}

static int report_write(struct writing *w)
{
	const struct contents_visitor *v = &w->source->visitor,
				      first = {w, visit_first_block, visit_first, visit_problem},
				      second = {w, visit_second_block, visit_batch, NULL};
	int error = contents_read(&w->contents, w->source->report, &first);
	if (!error) {
		clock_set(w);
		nvtx_payloads_ready(&w->payloads);
		error = writing_lives(w);
	}
	if (!error)
		error = nvtx_domains_number(w);
	if (!error)
		error = files_find(w);
	if (!error)
		error = results_ready(w);
	if (!error)
		error = contents_batches(w->source->report, &second);
	if (error)
		return error;
	if (w->source->ended)
		w->source->ended(v->user, &w->contents);
	error = pages_stop(&w->pages);
	if (!error)
		error = database_resume(&w->database);
	if (!error)
		error = writing_report_facts(w);
	if (!error)
		error = results_facts(w);
	if (!error)
		error = database_pause(&w->database);
	if (!error)
		error = pages_start(&w->pages, w->fd);
	return output(w, error);
}

static int write_begin(struct writing *w)
{
	int error = database_create(&w->database, w->job->output, w->job->overwrite);
	w->database.generation = w->job->generation;
	if (!error)
		error = writing_tables_begin(w);
	if (!error)
		error = database_pause(&w->database);
	if (error)
		return output(w, error);
	w->fd = open(w->database.temporary, O_RDWR | O_CLOEXEC);
	return output(w, w->fd < 0 ? -errno : pages_start(&w->pages, w->fd));
}

static int write_end(struct writing *w)
{
	int error = writing_tables_end(w);
	if (!error)
		error = pages_stop(&w->pages);
	if (!error)
		error = database_resume(&w->database);
	if (!error)
		error = writing_tables_drop_empty(w);
	if (!error)
		error = writing_common_facts(w);
	if (!error)
		error = database_finish(&w->database);
	return output(w, error);
}

static uint64_t rows_count(const struct writing *w)
{
	uint64_t rows = 0;
	for (uint32_t i = 0; i < NSYS_TABLES; i++)
		rows += w->tables[i].rows;
	for (uint32_t i = 0; i < SCHEMA_KINDS; i++)
		rows += w->facts[i].rows + w->others[i].rows;
	for (uint32_t i = 0; i < RESULTS_TABLES; i++)
		rows += w->results.tables[i].rows;
	return rows;
}

static void writing_release(struct writing *w)
{
	writing_tables_release(w);
	pages_release(&w->pages);
	if (w->fd >= 0)
		close(w->fd);
	database_abandon(&w->database);
	pool_release(&w->texts.pool);
	map_release(&w->texts.ids);
	cuda_release(w);
	map_release(&w->thread_ids);
	free(w->texts.texts);
	free(w->threads);
	free(w->chain_list);
	free(w->columns);
	free(w->domain_list);
	free(w->files);
	free(w->json);
	free(w);
}

int sqlite_export(const struct sqlite_job *job, struct sqlite_result *ret_result)
{
	struct writing *w = calloc(1, sizeof(*w));
	*ret_result = (struct sqlite_result){0};
	if (!w)
		return -ENOMEM;
	w->job = job;
	w->fd = -1;
	int error = job->count > SQLITE_REPORTS_MAX ? -E2BIG : base_find(w);
	if (!error)
		error = write_begin(w);
	for (uint32_t i = 0; !error && i < job->count; i++) {
		report_begin(w, i);
		error = report_write(w);
		report_end(w);
	}
	if (!error)
		error = write_end(w);
	if (error && !w->output_failed && w->source)
		ret_result->failed = w->source->report;
	if (error)
		snprintf(ret_result->cause, sizeof(ret_result->cause), "%s",
			w->output_failed && *w->database.cause ? w->database.cause
							       : strerror(-error));
	ret_result->rows = rows_count(w);
	ret_result->results = w->results.tally;
	ret_result->impossible = w->impossible;
	writing_release(w);
	return error;
}
