/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - one report from several: what is read before they are copied. */
#include "reader/merge/merge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define FLUSH_BYTES (1u << 20)

/* Forget the report that was written. */
static void written_release(struct merge *m)
{
	append_close(&m->append);
	pool_release(&m->texts);
	map_release(&m->text_ids);
	free(m->metric_names.data);
	m->metric_names = (struct buffer){0};
	m->last_text = m->last_process = 0;
	m->last_window = 0;
}

void merge_release(struct merge *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		free(m->inputs[i].name);
		libtrace__session__free_unpacked(m->inputs[i].session, NULL);
		if (m->inputs[i].details)
			libtrace__session_details__free_unpacked(m->inputs[i].details, NULL);
	}
	free(m->inputs);
	hosts_release(&m->hosts);
	edges_release(&m->edges);
	written_release(m);
	*m = (struct merge){.append.fd = -1};
}

/* ---- sessions ---- */

/* Find the session of a report in its first block. */
static int session_find(struct walk *w, Libtrace__Session **ret_session, const char **ret_cause)
{
	struct report_entry e;
	const int more = walk_next(w);
	*ret_cause = "no valid block";
	if (!more && w->tally.torn_bytes)
		*ret_cause = "it is truncated";
	if (more <= 0)
		return more ? more : -EBADMSG;
	*ret_cause = "not written by libtrace";
	if (!w->block.own)
		return -EBADMSG;
	while (report_block_entry(&w->block, &e, ret_cause) > 0)
		if (e.kind == ENTRY_SESSION) {
			*ret_session = libtrace__session__unpack(
				NULL, (size_t)(e.inner_end - e.inner), e.inner);
			break;
		}
	*ret_cause = "no session entry in its first block";
	return *ret_session && (*ret_session)->has_start_ns ? 0 : -EBADMSG;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Return whether two reports are of one recording: copies, or one of them a part of the other. */
static bool sessions_same(const Libtrace__Session *a, const Libtrace__Session *b)
{
	return a->start_ns == b->start_ns && a->root_pid == b->root_pid &&
		a->start_realtime_ns == b->start_realtime_ns &&
		!strcmp(a->boot_id ? a->boot_id : "", b->boot_id ? b->boot_id : "");
}

/* Return the report of the same recording as the last one; NULL = none. */
static const struct merge_input *repeated(const struct merge *m)
{
	for (uint32_t i = 0; i + 1 < m->count; i++)
		if (sessions_same(m->inputs[i].session, m->inputs[m->count - 1].session))
			return &m->inputs[i];
	return NULL;
}

int merge_peek(struct merge *m, const struct report *r, const char *name, const char **ret_cause)
{
	struct walk walk;
	*ret_cause = "too many reports";
	if (m->count == MERGE_INPUTS_MAX)
		return -EBADMSG;
	if (array_room(&m->inputs, m->count, &m->capacity, sizeof(*m->inputs)))
		return -ENOMEM;
	struct merge_input *in = &m->inputs[m->count];
	*in = (struct merge_input){.name = strdup(base_name(name)), .bytes = r->source.size};
	if (!in->name)
		return -ENOMEM;
	m->count++;
	walk_start(&walk, r);
	const int error = session_find(&walk, &in->session, ret_cause);
	walk_stop(&walk);
	if (error)
		return error;
	const struct merge_input *same = repeated(m);
	if (same) {
		snprintf(m->cause, sizeof(m->cause), "it is of the same recording as '%.400s'",
			same->name);
		*ret_cause = m->cause;
		return -EBADMSG;
	}
	*ret_cause = "too many hosts";
	in->host = hosts_find(&m->hosts, in->session->boot_id ? in->session->boot_id : "");
	if (in->host == UINT32_MAX)
		return -EBADMSG;
	struct host *host = &m->hosts.rows[in->host];
	if (!host->wall_ns)
		host->wall_ns = (int64_t)(in->session->start_realtime_ns - in->session->start_ns);
	return 0;
}

/* ---- survey ---- */

struct survey {
	struct merge *m;
	const char *problem; /* the first one */
};

static int survey_block(void *user, const struct report_block *block)
{
	struct survey *s = user;
	if (!block->own && !s->problem)
		s->problem = "it has blocks of Nsight Compute";
	return 0;
}

static int survey_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	struct survey *s = user;
	(void)walk;
	return s->m->hosts.count > 1 ? edges_note_batch(&s->m->edges, b) : 0;
}

static void survey_problem(void *user, uint64_t offset, const char *cause)
{
	struct survey *s = user;
	(void)offset;
	s->problem = s->problem ? s->problem : cause;
}

/* Note what is missing in a report, and how exact its times are. */
static void receipts_take(struct merge *m, struct merge_input *in, const struct contents *c)
{
	struct host *host = &m->hosts.rows[in->host];
	for (size_t i = 0; i < c->processes.count; i++) {
		const struct process *p = c->processes.rows[i];
		const Libtrace__Receipt *receipt = p->receipt;
		in->complete &= p->facts->traced == LIBTRACE__TRACED__TRACED_YES &&
			!process_dropped(p) &&
			(!receipt || (!receipt->damaged_lanes && !receipt->unaccounted));
		if (receipt && receipt->clock_error_ns > host->clock_error_ns)
			host->clock_error_ns = receipt->clock_error_ns;
	}
}

static void survey_end(
	struct merge *m, struct merge_input *in, const struct report *r, struct contents *c)
{
	struct host *host = &m->hosts.rows[in->host];
	in->complete = !r->unfinished && !c->tally.torn_bytes && !c->damage_count &&
		!processes_unended(&c->processes);
	receipts_take(m, in, c);
	in->first_ns = (int64_t)(c->first_ns < in->session->start_ns ? c->first_ns
								     : in->session->start_ns);
	in->last_ns = c->last_ns > (uint64_t)in->first_ns ? (int64_t)c->last_ns : in->first_ns;
	if (in->first_ns < host->first_ns)
		host->first_ns = in->first_ns;
	if (in->last_ns > host->last_ns)
		host->last_ns = in->last_ns;
	if (m->surveyed == 0 || m->is_separate) {
		in->details = c->details;
		c->details = NULL;
	}
}

int merge_survey(struct merge *m, const struct report *r, const char **ret_cause)
{
	struct survey s = {.m = m};
	struct contents c;
	const struct contents_visitor visitor = {&s, survey_block, survey_batch, survey_problem};
	struct merge_input *in = &m->inputs[m->surveyed];
	contents_init(&c);
	int error = r->source.size == in->bytes ? contents_read(&c, r, &visitor) : -EBADMSG;
	*ret_cause = error ? "it changes while it is read" : s.problem;
	if (!error && s.problem)
		error = -EBADMSG;
	if (!error && c.session && c.session->n_facts > in->session->n_facts) {
		libtrace__session__free_unpacked(in->session, NULL);
		in->session = c.session; /* with facts of later blocks */
		c.session = NULL;
	}
	if (!error)
		survey_end(m, in, r, &c);
	if (!error && m->hosts.count > 1)
		error = edges_read(&m->edges, r, &c, in->host);
	contents_release(&c);
	m->surveyed++;
	return error;
}

int merge_align(struct merge *m)
{
	return hosts_align(&m->hosts, &m->edges);
}

/* ---- the merged report ---- */

int merge_flush(struct merge *m, bool all)
{
	struct buffer *out = &m->append.out;
	if (m->append.broken)
		return -ENOMEM;
	if (!out->bytes || (!all && out->bytes < FLUSH_BYTES))
		return 0;
	const bool written = fwrite(out->data, 1, out->bytes, m->out) == out->bytes;
	out->bytes = 0;
	return written ? 0 : errno ? -errno : -EIO;
}

uint32_t merge_text(struct merge *m, const char *text, size_t bytes, bool *ret_is_new)
{
	/* pool_text() ends texts at a NUL; bytes that contain one are stored each time */
	const bool is_plain = !memchr(text, 0, bytes);
	const char *pooled = is_plain ? pool_text(&m->texts, text, bytes) : NULL;
	uint32_t id = pooled ? map_get(&m->text_ids, (uintptr_t)pooled, 0) : 0;
	*ret_is_new = !id;
	if (id)
		return id;
	if ((is_plain && !pooled) || m->last_text == UINT32_MAX)
		return 0;
	id = ++m->last_text;
	return pooled && map_put(&m->text_ids, (uintptr_t)pooled, 0, id) ? 0 : id;
}

static uint64_t first_of(const struct merge *m)
{
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; i < m->count; i++) {
		const struct merge_input *in = &m->inputs[i];
		const int64_t start = clock_map_time(
			&m->hosts.rows[in->host].map, (int64_t)in->session->start_ns);
		least = start < least ? start : least;
	}
	return least == INT64_MAX ? 0 : (uint64_t)least;
}

/* Write the session: that of a report, from the first start of any. */
static void session_put(struct merge *m, const struct merge_input *in)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Session session = *in->session;
	const struct host *host = &m->hosts.rows[in->host];
	const uint64_t own = (uint64_t)clock_map_time(&host->map, (int64_t)session.start_ns);
	const uint64_t first = first_of(m);
	session.start_realtime_ns -= own - first;
	session.start_ns = first;
	entry.session = &session;
	append_entry(&m->append, &entry);
}

static uint64_t rounded(double ns)
{
	return ns < 9e18 ? (uint64_t)ceil(fmax(ns, 0)) : UINT64_MAX;
}

static void clock_describe(
	const struct hosts *h, const struct merge_input *in, Libtrace__Merged *merged)
{
	const struct host *host = &h->rows[in->host];
	const int64_t start = (int64_t)in->session->start_ns;
	merged->has_host = merged->has_clock_group = merged->has_clock = merged->has_offset_ns =
		true;
	merged->host = in->host + 1;
	merged->clock_group = host->group + 1;
	merged->clock = host->is_fitted ? LIBTRACE__MERGED_CLOCK__MERGED_CLOCK_MESSAGES
		: in->host              ? LIBTRACE__MERGED_CLOCK__MERGED_CLOCK_WALL
					: LIBTRACE__MERGED_CLOCK__MERGED_CLOCK_SAME;
	merged->offset_ns =
		(int64_t)((uint64_t)start - (uint64_t)clock_map_time(&host->map, start));
	merged->has_drift_ppb = host->is_fitted && host->has_drift;
	merged->drift_ppb = (int64_t)llround(host->drift * 1e9);
	merged->has_error_ns = merged->has_error_ends_ns = host->is_fitted || !in->host;
	merged->error_ns = rounded(host->error_ns);
	merged->error_ends_ns = rounded(host->error_ends_ns);
	merged->has_bounds = host->is_fitted;
	merged->bounds = host->bounds;
}

/* Return whether a report is the first one of its host. */
static bool is_first_of_host(const struct merge *m, uint32_t report)
{
	for (uint32_t i = 0; i < report; i++)
		if (m->inputs[i].host == m->inputs[report].host)
			return false;
	return true;
}

/* Set the errors beside the hosts before this one; `errors` has room for 2 numbers of each. */
static void pairs_describe(
	const struct hosts *h, uint32_t host, uint64_t *errors, Libtrace__Merged *merged)
{
	merged->n_pair_error_ns = merged->n_pair_error_ends_ns = host;
	merged->pair_error_ns = errors;
	merged->pair_error_ends_ns = errors + host;
	for (uint32_t i = 0; i < host; i++) {
		const struct host_pair *pair = host_pair(h, i, host);
		errors[i] = pair->error_ns < 0 ? UINT64_MAX : rounded(pair->error_ns);
		errors[host + i] =
			pair->error_ends_ns < 0 ? UINT64_MAX : rounded(pair->error_ends_ns);
	}
}

/* Write the description of a report, which gets a number. */
static int input_put(struct merge *m, uint32_t i, uint32_t number)
{
	struct merge_input *in = &m->inputs[i];
	const struct clock_map *map = &m->hosts.rows[in->host].map;
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Merged merged = LIBTRACE__MERGED__INIT;
	uint64_t *times = calloc(2 * (size_t)map->count + 1, sizeof(*times));
	uint64_t *errors = calloc(2 * (size_t)in->host + 1, sizeof(*errors));
	if (!times || !errors) {
		free(times);
		free(errors);
		return -ENOMEM;
	}
	merged.has_number = merged.has_name = merged.has_complete = true;
	merged.number = number;
	merged.name = (ProtobufCBinaryData){strlen(in->name), (uint8_t *)in->name};
	merged.session = in->session;
	merged.complete = in->complete;
	clock_describe(&m->hosts, in, &merged);
	if (m->is_separate || is_first_of_host(m, i))
		pairs_describe(&m->hosts, in->host, errors, &merged);
	merged.n_own_ns = merged.n_merged_ns = map->count;
	merged.own_ns = times;
	merged.merged_ns = times + map->count;
	for (uint32_t k = 0; k < map->count; k++) {
		times[k] = (uint64_t)map->knots[k].from;
		times[map->count + k] = (uint64_t)(map->knots[k].to + map->shift);
	}
	entry.merged = &merged;
	append_entry(&m->append, &entry);
	free(errors);
	free(times);
	return merge_flush(m, false);
}

/* Write the session of a report, and the descriptions of `count` reports from that one on. */
static int begin(struct merge *m, uint32_t first, uint32_t count, FILE *out)
{
	append_start(&m->append);
	m->append.details = m->inputs[first].details;
	m->append.compress = true;
	m->out = out;
	if (fwrite(append_file_begin, 1, sizeof(append_file_begin), out) !=
		sizeof(append_file_begin))
		return errno ? -errno : -EIO;
	session_put(m, &m->inputs[first]);
	int error = 0;
	for (uint32_t i = 0; !error && i < count; i++)
		error = input_put(m, first + i, i + 1);
	append_seal(&m->append);
	return error;
}

int merge_begin(struct merge *m, FILE *out)
{
	return begin(m, 0, m->count, out);
}

int merge_begin_one(struct merge *m, uint32_t index, FILE *out)
{
	written_release(m);
	return begin(m, index, 1, out);
}

int merge_end(struct merge *m)
{
	append_seal(&m->append);
	return merge_flush(m, true);
}
