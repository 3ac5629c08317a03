/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnostics.c - copying of diagnostics from the control page to the report.
 */
#include "writer/diagnostics.h"

#include <stdio.h>
#include <string.h>

#include "writer/base/notes.h"
#include "writer/base/writer.h"
#include "writer/process/process.h"

/* Add a note, once, that a process has written over the control page. */
static void shared_check(struct writer *w)
{
	const struct tree_control *c = w->control;
	uint32_t count = __atomic_load_n(&c->diagnostic_count, __ATOMIC_ACQUIRE);
	bool is_kept = __atomic_load_n(&c->guard_first, __ATOMIC_RELAXED) == TREE_GUARD &&
		__atomic_load_n(&c->guard_last, __ATOMIC_RELAXED) == TREE_GUARD;
	if ((is_kept && count >= w->seen.diagnostics_counted) || w->seen.is_damaged)
		w->seen.diagnostics_counted = count;
	else {
		w->seen.is_damaged = true;
		writer_note_damage(w, 0,
			"a process has overwritten the memory that the tree shares; diagnostics, "
			"windows of capture ranges and untraced processes may be missing or wrong");
	}
}

static void take_diagnostic(struct writer *w, const struct tree_diagnostic *d, uint32_t kind)
{
	char text[sizeof(d->text) + 1] = "";
	const uint32_t pid = d->pid;
	const uint64_t time_ns = d->mono_ns;
	memcpy(text, d->text, sizeof(d->text));
	writer_note(w, pid, time_ns, "%s", text);
	if (kind == TREE_NOTE_UNTRACED || kind == TREE_NOTE_UNTRACED_COPY)
		process_put_untraced_reason(w, pid, time_ns, text);
	struct known_process *known =
		kind == TREE_NOTE_UNTRACED_COPY ? known_of_pid(&w->known, pid) : NULL;
	if (known)
		known->is_copy = true;
}

/* Report processes that could not be traced and had no room to store the reason. */
static void take_unsaid(struct writer *w)
{
	uint32_t unsaid = __atomic_load_n(&w->control->untraced_unsaid, __ATOMIC_ACQUIRE);
	char reason[] = "there was no space to store the reason; reasons of other processes may be "
			"missing, too";
	if (unsaid)
		process_put_untraced_reason(w, 0, w->clock.now.mono_ns, reason);
}

/* Report forked children that made calls and never got a spool. */
static void take_unrecorded(struct writer *w)
{
	const int64_t calls = (int64_t)__atomic_load_n(&w->control->unrecorded, __ATOMIC_ACQUIRE);
	char reason[128];
	if (calls <= 0)
		return;
	snprintf(reason, sizeof(reason),
		"forked children that never created a spool made %lld calls; see the diagnostics",
		(long long)calls);
	process_put_untraced_reason(w, 0, w->clock.now.mono_ns, reason);
}

void diagnostics_collect(struct writer *w)
{
	struct tree_control *c = w->control;
	uint32_t count = __atomic_load_n(&c->diagnostic_count, __ATOMIC_ACQUIRE), kind;
	shared_check(w);
	for (; w->seen.diagnostics < count && w->seen.diagnostics < TREE_DIAGNOSTICS;
		w->seen.diagnostics++) {
		struct tree_diagnostic *d = &c->diagnostics[w->seen.diagnostics];
		kind = __atomic_load_n(&d->ready, __ATOMIC_ACQUIRE);
		if (!kind && !w->spools.at_end)
			return; /* the process is between counting and storing it, or was killed
				   there */
		if (kind)
			take_diagnostic(w, d, kind);
	}
	if (w->spools.at_end) {
		take_unsaid(w);
		take_unrecorded(w);
	}
	if (count > TREE_DIAGNOSTICS && w->seen.diagnostics == TREE_DIAGNOSTICS) {
		w->seen.diagnostics++;
		writer_note(w, 0, w->clock.now.mono_ns,
			"more than %u diagnostics; the others are lost", TREE_DIAGNOSTICS);
	}
}
