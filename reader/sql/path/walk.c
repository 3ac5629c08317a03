/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - steps of a walk; each finds what ended one wait. */
#include "reader/sql/path/walk.h"

#ifdef HAVE_SQLITE

void path_walk_begin(
	struct path_walk *w, struct path_graph *g, uint32_t track, int64_t start, int64_t end)
{
	*w = (struct path_walk){.graph = g, .start = start, .time = end, .track = track};
}

/* Return the last call of a track that begins before the walk's time; NULL = none. */
static const struct path_call *call_before(const struct path_walk *w)
{
	const struct path_track *t = &w->graph->tracks[w->track];
	uint32_t low = 0, high = t->outer;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (t->calls[middle].start < w->time)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &t->calls[low - 1] : NULL;
}

/* Move back to `start`, and return the segment from there, unless it is empty. */
static bool segment_end(struct path_walk *w, int64_t start, enum path_kind kind,
	const struct path_call *span, struct path_segment *ret_segment)
{
	const int64_t from = start > w->start ? start : w->start;
	if (from >= w->time)
		return false;
	*ret_segment = (struct path_segment){.number = w->number++,
		.start = from,
		.end = w->time,
		.gap_start = from,
		.gap_end = w->time,
		.track = w->track,
		.kind = kind,
		.span = span,
		.wait = w->wait && w->time > w->wait->start ? w->wait : NULL,
		.wait_track = w->wait_track};
	w->time = from;
	w->visits = 0;
	return true;
}

/* Return whether the walk may go on with a track: it has not been there at this time. */
static bool may_visit(const struct path_walk *w, uint32_t track)
{
	for (uint32_t i = 0; i < w->visits; i++)
		if (w->visited[i] == track)
			return false;
	return track != PATH_NOWHERE && track != w->track && w->visits < PATH_VISITS_MAX;
}

/* Go on with another track, of which may_visit() is true unless the walk has moved. */
static void visit(struct path_walk *w, uint32_t from, uint32_t track)
{
	w->visited[w->visits++] = from;
	w->track = track;
}

/* Go back through the time between two calls, or in a call (`span`) that nobody is known to have
 * ended, down to `start`. Where the kernel's counters or context switches cover it, it has parts,
 * whose order within the time is not known: running, without a CPU, neither. */
static bool parts_leave(struct path_walk *w, const struct path_call *span, int64_t start,
	struct path_segment *ret_segment)
{
	struct path_share share;
	bool has;
	if (!w->is_split) {
		start = start > w->start ? start : w->start;
		if (span)
			path_call_share_find(w->graph, w->track, start, w->time, &share);
		else
			path_share_find(w->graph, w->track, start, w->time, &share);
		w->running = share.start + share.running;
		w->runnable = w->running + share.runnable;
		w->split_start = share.start;
		w->split_end = w->time;
		w->split_how = share.is_exact ? HOW_EXACT : HOW_LIKELY;
	}
	w->is_split = true;
	if (w->time > w->runnable) {
		has = segment_end(w, w->runnable, span ? KIND_SPAN : KIND_OFF, span, ret_segment);
		ret_segment->how = HOW_UNKNOWN;
	} else if (w->time > w->running) {
		has = segment_end(w, w->running, KIND_RUNNABLE, span, ret_segment);
		ret_segment->how = w->split_how;
	} else {
		has = segment_end(w, w->split_start, KIND_BETWEEN, span, ret_segment);
		ret_segment->how = span ? w->split_how : HOW_NONE;
	}
	ret_segment->gap_start = w->split_start;
	ret_segment->gap_end = w->split_end;
	w->is_split = w->time > w->split_start;
	return has;
}

/* Go through a call of a thread that the walk is in: to what ended its wait, else to its start. */
static int call_leave(struct path_walk *w, const struct path_call *c,
	struct path_segment *ret_segment, bool *ret_has)
{
	struct path_wait wait;
	int code = path_wait_find(w->graph, w->track, c, &wait);
	if (code)
		return code;
	const bool follows = wait.track != PATH_NOWHERE && wait.time > c->start &&
		wait.time <= w->time && (wait.time < w->time || may_visit(w, wait.track));
	const uint32_t track = w->track;
	if (!follows && wait.how == HOW_UNKNOWN) {
		*ret_has = parts_leave(w, c, c->start, ret_segment);
		return SQLITE_OK;
	}
	*ret_has = segment_end(
		w, follows ? wait.time : c->start, follows ? KIND_WAKE : KIND_SPAN, c, ret_segment);
	if (follows)
		ret_segment->how = *ret_has ? wait.how : HOW_NONE;
	if (follows) {
		visit(w, track, wait.track);
		w->wait = c;
		w->wait_track = track;
	}
	return SQLITE_OK;
}

/* Go on from the start of an operation of a stream: to the operation before, the one of another
 * stream that an event is for, or the launch, whatever was last. */
static bool operation_leave(struct path_walk *w, struct path_segment *ret_segment)
{
	uint32_t lane = w->track;
	const struct path_call *c = w->operation,
			       *before = path_stream_before(w->graph, w->track, w->time, &lane);
	const struct path_launch *launch = path_launch_of(w->graph, w->track, c);
	const uint32_t track = w->track;
	uint32_t other = PATH_NOWHERE;
	const struct path_call *event = path_event_find(w->graph, track, c, before, &other);
	const int64_t launched = launch ? path_launch_time(launch, c) : INT64_MIN;
	w->operation = NULL;
	if (event && (!before || event->end > before->end) && event->end >= launched &&
		may_visit(w, other)) {
		const bool has = segment_end(w, event->end, KIND_QUEUE, c, ret_segment);
		visit(w, track, other);
		return has;
	}
	if (!launch || (before && before->end >= launched) || !may_visit(w, launch->track)) {
		const bool leaves = may_visit(w, lane);
		const bool has =
			segment_end(w, before ? before->end : w->start, KIND_QUEUE, c, ret_segment);
		if (leaves)
			visit(w, track, lane);
		return has;
	}
	const bool has = segment_end(w, launch->end, KIND_LAUNCH, c, ret_segment);
	visit(w, track, launch->track);
	return has;
}

/* Go back through an operation of a stream: to its start, or, of a wait for another rank, to the
 * operation whose start ended it. */
static bool work_leave(
	struct path_walk *w, const struct path_call *c, struct path_segment *ret_segment)
{
	const struct path_rank *r = path_rank_of(w->graph, &w->graph->tracks[w->track], c);
	const bool waits = r && path_waits_for_rank(w->graph, c);
	struct path_wait wait;
	const struct path_call *other = waits ? path_rank_find(w->graph, c, &wait) : NULL;
	if (other && wait.time == w->time && may_visit(w, wait.track)) {
		w->wait = c;
		w->wait_track = w->track;
		w->operation = other;
		visit(w, w->track, wait.track);
		return false;
	}
	const bool follows = r && !waits && r->cause != PATH_NOWHERE;
	const bool has = segment_end(w, c->start, follows ? KIND_WAKE : KIND_SPAN, c, ret_segment);
	if (has)
		ret_segment->how = follows ? (enum path_how)r->how : waits ? HOW_UNKNOWN : HOW_NONE;
	w->operation = c;
	return has;
}

/* Go from the start of a track to the one that started it. */
static bool track_leave(struct path_walk *w, struct path_segment *ret_segment)
{
	const struct path_track *t = &w->graph->tracks[w->track];
	const uint32_t track = w->track;
	if (!may_visit(w, t->parent))
		return segment_end(w, w->start, KIND_BEFORE, NULL, ret_segment);
	const bool has = segment_end(w, t->parent_time, KIND_BEGIN, NULL, ret_segment);
	visit(w, track, t->parent);
	w->wait = NULL;
	return has;
}

/* Go one step back. Sets *ret_has if that made a segment. */
static int step_back(struct path_walk *w, struct path_segment *ret_segment, bool *ret_has)
{
	const struct path_track *t = &w->graph->tracks[w->track];
	const struct path_call *c = call_before(w);
	spill_use(&w->graph->spill, PATH_STEP_PAGES);
	if (!t->is_stream && t->start >= w->time) {
		*ret_has = track_leave(w, ret_segment);
		return SQLITE_OK;
	}
	if (c && c->end >= w->time && !t->is_stream)
		return call_leave(w, c, ret_segment, ret_has);
	if (w->operation) {
		*ret_has = operation_leave(w, ret_segment);
	} else if (c && c->end >= w->time) {
		*ret_has = work_leave(w, c, ret_segment);
	} else if (t->is_stream) {
		*ret_has = segment_end(
			w, c ? c->end : w->start, c ? KIND_QUEUE : KIND_BEFORE, NULL, ret_segment);
	} else {
		*ret_has = parts_leave(
			w, NULL, c && c->end > t->start ? c->end : t->start, ret_segment);
	}
	return SQLITE_OK;
}

int path_walk_next(struct path_walk *w, struct path_segment *ret_segment)
{
	bool has = false;
	int code = SQLITE_OK;
	while (!code && !has && w->track != PATH_NOWHERE && w->time > w->start)
		code = step_back(w, ret_segment, &has);
	return code ? code : has ? SQLITE_ROW : SQLITE_DONE;
}

#endif
