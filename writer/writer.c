/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "writer/writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/schema/functions.h"
#include "common/sys.h"

#define DOUBTS_MAX 8
#define DOUBT_NS 20000u

int writer_init(struct writer *w, const char *dir)
{
	memset(w, 0, sizeof(*w));
	w->dir = dir;
	w->sink.fd = w->control_fd = -1;
	w->next_process_id = 1;
	snprintf(w->producer, sizeof(w->producer), "libtrace %s", LIBTRACE_VERSION);
	for (uint32_t fn = 0; fn < fn_count(); fn++)
		w->functions[fn].is_lock = fn_is_lock(fn);
	clockfit_init(&w->clock);
	clock_init();
	for (uint32_t kind = 1; kind < EVENT_KINDS; kind++) {
		w->batches[kind] = calloc(1, batch_bytes(kind));
		if (!w->batches[kind])
			return -ENOMEM;
		w->batches[kind]->kind = kind;
	}
	int error = strings_init(&w->strings);
	return error ? error : spools_init(&w->spools, dir);
}

void writer_release(struct writer *w)
{
	for (uint32_t kind = 1; kind < EVENT_KINDS; kind++)
		free(w->batches[kind]);
	children_release(w);
	sink_close(&w->sink);
	block_release(&w->block);
	strings_release(&w->strings);
	spools_release(&w->spools);
	free(w->cuda_origins);
	free(w->cubin_hashes);
	known_clear(&w->known);
	free(w->adopted_lanes);
	free(w->adopted_processes);
	tree_writer_holds(NULL);
	if (w->control)
		munmap(w->control, TREE_CONTROL_BYTES);
	if (w->control_fd >= 0)
		close(w->control_fd);
	w->control = NULL;
}

int writer_open_report(struct writer *w, const char *path, bool overwrite)
{
	snprintf(w->report, sizeof(w->report), "%s", path);
	int error = w->block.positions ? 0 : block_init(&w->block, w->control->compress == 1);
	if (error)
		return error;
	error = sink_open(&w->sink, path, w->control->report_inode);
	if (!error) {
		error = adopt_report(w);
		if (!error) {
			w->has_header = true;
			session_put(w);
			return 0;
		}
		uint64_t bytes = (uint64_t)lseek(w->sink.fd, 0, SEEK_END);
		sink_close(&w->sink);
		if (error != -ENOMSG)
			return error;
		overwrite |= bytes ==
			0; /* nothing to lose; perhaps a predecessor died before its first write */
	} else if (error != -ENOENT && error != -EPERM) {
		return error;
	}
	error = sink_create(&w->sink, path, overwrite);
	if (error)
		return error;
	w->control->report_inode = w->sink.inode;
	session_put(w);
	return writer_flush(w, false);
}

void writer_take_time(struct writer *w)
{
	clock_point_take(&w->now);
	/* When recovering, what the machine did since the processes died is of no interest. */
	if (!clock_is_tsc || w->other_boot || (w->recovering && w->clock.count >= 2))
		return;
	/* A reading that contradicts the others is doubted until some more agree with it. */
	for (int i = 0; clockfit_follow(&w->clock, &w->now) == -EINVAL && i < DOUBTS_MAX; i++) {
		sys_sleep_ns(DOUBT_NS);
		clock_point_take(&w->now);
	}
}

static int seal(struct writer *w)
{
	struct block_identity identity = {
		.sequence = w->next_sequence,
		.root_pid = w->control->root_pid,
		.hostname = w->hostname,
		.process_name = w->process_name,
		.producer = w->has_header ? NULL : w->producer,
		.session = w->has_header ? NULL : w->session_details,
	};
	int error = block_seal(&w->block, &w->strings, &identity);
	if (!error && w->block.broken)
		error = -ENOMEM;
	w->sealed = !error;
	return error;
}

static void set_sink_state(struct writer *w, enum sink_state state)
{
	__atomic_store_n(&w->control->sink_state, state, __ATOMIC_RELEASE);
}

/* What is in the file need not be kept in the spools. */
static void tails_advance(struct writer *w)
{
	for (uint32_t i = 0; i < w->spools.count; i++) {
		struct spool *spool = w->spools.all[i];
		for (uint32_t j = 0; j < spool->lane_count; j++) {
			struct lane_view *view = spool->lanes[j];
			struct lane *lane = view->touched ? lane_of(spool, view) : NULL;
			if (lane)
				__atomic_store_n(&lane->tail, view->position, __ATOMIC_RELEASE);
			view->touched = false;
		}
	}
	__atomic_add_fetch(&w->control->blocks, 1, __ATOMIC_RELEASE);
}

int writer_flush(struct writer *w, bool last)
{
	static const uint8_t start[] = {
		'N', 'V', 'R', 0, 2, 0, 0, 0, 8, 7}; /* magic, length, FileHeader{version = 7} */
	if (!w->sealed) {
		if (block_is_empty(&w->block) && !w->strings.pending_count)
			return 0;
		int error = seal(w);
		if (error)
			return error;
	}
	struct iovec parts[1 + BLOCK_PARTS] = {{(void *)start, w->has_header ? 0 : sizeof(start)},
		w->block.parts[0], w->block.parts[1], w->block.parts[2], w->block.parts[3],
		w->block.parts[4]};
	int error = sink_append(&w->sink, parts, 1 + BLOCK_PARTS, last);
	set_sink_state(w, error ? SINK_STALLED : SINK_OK);
	if (error)
		return error;
	w->sealed = false;
	w->has_header = true;
	w->next_sequence++;
	block_reset(&w->block);
	tails_advance(w);
	return 0;
}

void writer_discard(struct writer *w)
{
	block_reset(&w->block);
	strings_forget_pending(&w->strings);
	w->sealed = false;
	for (uint32_t i = 0; i < w->spools.count; i++)
		for (uint32_t j = 0; j < w->spools.all[i]->lane_count; j++)
			w->spools.all[i]->lanes[j]->touched = false;
}

int writer_make_room(struct writer *w)
{
	return block_is_full(&w->block, &w->strings) ? writer_flush(w, false) : 0;
}

static void put_diagnostic(
	struct writer *w, uint32_t pid, uint64_t time_ns, char *text, bool is_damage)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Diagnostic message = LIBTRACE__DIAGNOSTIC__INIT;
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
			*p = '?';
	message.has_time_ns = time_ns != 0;
	message.time_ns = time_ns;
	message.has_pid = pid != 0;
	message.pid = pid;
	message.text = text;
	message.has_damage = message.damage = is_damage;
	entry.diagnostic = &message;
	block_put_entry(&w->block, &entry);
}

void writer_note(struct writer *w, uint32_t pid, uint64_t time_ns, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	put_diagnostic(w, pid, time_ns, text, false);
}

void writer_note_damage(struct writer *w, uint32_t pid, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	put_diagnostic(w, pid, clock_monotonic_ns(), text, true);
}

/* Has a process written over what all share? Reported once. */
static void shared_check(struct writer *w)
{
	const struct tree_control *c = w->control;
	uint32_t count = __atomic_load_n(&c->diagnostic_count, __ATOMIC_ACQUIRE);
	bool is_kept = __atomic_load_n(&c->guard_first, __ATOMIC_RELAXED) == TREE_GUARD &&
		__atomic_load_n(&c->guard_last, __ATOMIC_RELAXED) == TREE_GUARD;
	if ((is_kept && count >= w->diagnostics_counted) || w->shared_damaged)
		w->diagnostics_counted = count;
	else {
		w->shared_damaged = true;
		writer_note_damage(w, 0,
			"a process has written over the memory that all of the tree share: "
			"diagnostics, windows of capture ranges and processes that could not be "
			"traced may be missing or invented");
	}
}

static void take_diagnostic(struct writer *w, const struct tree_diagnostic *d, uint32_t kind)
{
	char text[sizeof(d->text) + 1] = "";
	const uint32_t pid = d->pid;
	const uint64_t time_ns = d->mono_ns;
	memcpy(text, d->text, sizeof(d->text));
	put_diagnostic(w, pid, time_ns, text, false);
	if (kind == TREE_NOTE_UNTRACED)
		process_told_untraced(w, pid, time_ns, text);
}

/* Processes that could not be traced, and found no room to say why. */
static void take_unsaid(struct writer *w)
{
	uint32_t unsaid = __atomic_load_n(&w->control->untraced_unsaid, __ATOMIC_ACQUIRE);
	char reason[] = "its reason, and perhaps those of others, had no room";
	if (unsaid)
		process_told_untraced(w, 0, w->now.mono_ns, reason);
}

void writer_collect_diagnostics(struct writer *w)
{
	struct tree_control *c = w->control;
	uint32_t count = __atomic_load_n(&c->diagnostic_count, __ATOMIC_ACQUIRE), kind;
	shared_check(w);
	for (; w->diagnostics_seen < count && w->diagnostics_seen < TREE_DIAGNOSTICS;
		w->diagnostics_seen++) {
		struct tree_diagnostic *d = &c->diagnostics[w->diagnostics_seen];
		kind = __atomic_load_n(&d->ready, __ATOMIC_ACQUIRE);
		if (!kind && !w->spools.at_end)
			return; /* its maker is between counting and storing, or was killed there */
		if (kind)
			take_diagnostic(w, d, kind);
	}
	if (w->spools.at_end)
		take_unsaid(w);
	if (count > TREE_DIAGNOSTICS && w->diagnostics_seen == TREE_DIAGNOSTICS) {
		w->diagnostics_seen++;
		writer_note(w, 0, w->now.mono_ns, "more than %u diagnostics: the others are lost",
			TREE_DIAGNOSTICS);
	}
}
