/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopted.c - the state of processes and lanes in the report of a killed writer.
 */
#include "writer/base/adopted.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "writer/base/known.h"
#include "writer/base/notes.h"
#include "writer/base/writer.h"
#include "writer/spool/lanes.h"

#define LANES_SEARCHED 4096u /* searched from the end; an older position is stored twice */

void adopted_add_position(struct adopted *a, const Libtrace__LanePosition *p)
{
	Libtrace__LanePosition copy = *p;
	copy.base.n_unknown_fields = 0;
	copy.base.unknown_fields = NULL;
	for (uint32_t i = 0; i < a->lane_count && i < LANES_SEARCHED; i++) {
		Libtrace__LanePosition *other = &a->lanes[a->lane_count - 1 - i];
		if (other->process == p->process && other->lane == p->lane) {
			*other = copy;
			return;
		}
	}
	if (array_room(&a->lanes, a->lane_count, &a->lane_capacity, sizeof(copy)))
		return;
	a->lanes[a->lane_count++] = copy;
}

void adopted_add_process(struct adopted *a, struct known *known, const Libtrace__Process *p)
{
	if (p->id > known->last_id)
		known->last_id = p->id;
	if (!p->spool) {
		struct known_process *noted = p->has_pid && p->traced == LIBTRACE__TRACED__TRACED_NO
			? known_add(known, p->pid, p->id, p->start_ns)
			: NULL;
		if (noted)
			noted->is_noted = true;
		return;
	}
	if (array_room(&a->processes, a->process_count, &a->process_capacity,
		    sizeof(struct adopted_process)))
		return;
	struct adopted_process *adopted = &a->processes[a->process_count++];
	*adopted = (struct adopted_process){.id = p->id, .pid = p->pid};
	strncpy(adopted->spool, p->spool, sizeof(adopted->spool) - 1);
	struct known_process *row = known_add(known, p->pid, p->id, p->start_ns);
	if (!row)
		return;
	row->adopted = a->process_count;
	row->parent_pid = p->parent_pid;
	row->is_program = !p->forked && !p->previous_id;
}

void adopted_add_receipt(struct adopted *a, const struct known *known, const Libtrace__Receipt *r)
{
	const struct known_process *row = known_of_id(known, r->process);
	if (row && row->adopted)
		a->processes[row->adopted - 1].is_finished = true;
}

void adopted_clear(struct adopted *a)
{
	free(a->lanes);
	free(a->processes);
	*a = (struct adopted){0};
}

const struct adopted_process *adopted_find(const struct writer *w, const struct spool *spool)
{
	for (const struct known_process *p = known_of_pid(&w->known, spool->pid); p;
		p = known_before(&w->known, p))
		if (p->adopted && !strcmp(w->adopted.processes[p->adopted - 1].spool, spool->name))
			return &w->adopted.processes[p->adopted - 1];
	return NULL;
}

static const Libtrace__LanePosition *position_find(
	const struct writer *w, uint32_t process, uint32_t lane)
{
	for (uint32_t i = w->adopted.lane_count; i-- > 0;)
		if (w->adopted.lanes[i].process == process && w->adopted.lanes[i].lane == lane)
			return &w->adopted.lanes[i];
	return NULL;
}

void adopted_apply(struct writer *w, const struct spool *spool, struct lane_view *view)
{
	const Libtrace__LanePosition *p =
		adopted_find(w, spool) ? position_find(w, spool->id, view->index) : NULL;
	if (!p)
		return;
	view->tid = p->tid;
	view->owner = p->owner;
	view->own = (struct tally){p->events, p->events, p->summarized, p->abandoned,
		p->impossible_times, p->unfinished, p->callchains, p->callchains_cut};
	view->guest = (struct tally){.produced = p->owner_events, .written = p->owner_events};
	view->closed = p->closed;
	if (p->position >= view->position) {
		view->position = p->position / RECORD_BYTES * RECORD_BYTES;
		view->touched = true;
	} else {
		writer_note(w, spool->pid, 0,
			"%llu bytes of records of lane %u were read by an earlier writer and are "
			"not in this report",
			(unsigned long long)(view->position - p->position), view->index);
	}
	const struct known_process *owner =
		view->owner ? known_of_id(&w->known, view->owner) : NULL;
	if (owner)
		view->owner_pid = owner->pid;
}
