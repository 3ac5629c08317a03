/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - entries of the report about processes.
 */
#include "writer/process/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/redact.h"
#include "writer/base/notes.h"
#include "writer/process/receipt.h"
#include "writer/spool/liveness.h"

#define ARGUMENTS_MAX 1024u

static const char *verdict_text(uint32_t verdict)
{
	switch (verdict) {
#define VERDICT(number, id, text) \
	case number:              \
		return text;
#include "common/schema/events.def"
	default:
		return "not traced";
	}
}

bool process_known_since(const struct writer *w, uint32_t pid, uint64_t ns)
{
	const struct known_process *known = known_of_pid(&w->known, pid);
	return known && known->start_ns + KNOWN_SLACK_NS >= ns;
}

/* Mark the process as replaced by another program: the next process with its pid is its successor.
 * NULL = the process is not known. */
static struct known_process *known_replaced(struct writer *w, uint32_t id)
{
	struct known_process *known = known_of_id(&w->known, id);
	if (known)
		known->replaced = true;
	return known;
}

/* Expect the program that the process executed in place: it is reported if it records nothing. */
static void successor_expect(
	struct writer *w, uint32_t id, uint32_t parent_pid, const struct last_exec *exec)
{
	struct known_process *known = known_replaced(w, id);
	if (!known || exec->verdict == VERDICT_OWN_REPORT)
		return;
	known->parent_pid = parent_pid;
	known->replaced_ns = exec->ns;
	free(known->successor);
	known->successor = strdup(exec->path);
}

bool verdict_is_listed(uint32_t verdict)
{
	return verdict != VERDICT_TRACED && verdict_concerns_tree(verdict);
}

void process_expect(struct writer *w, const struct spool *spool, uint32_t parent_pid, uint32_t pid,
	uint32_t verdict, uint64_t ns, const char *path)
{
	const struct expected e = {.pid = pid,
		.parent_pid = parent_pid,
		.verdict = verdict,
		.ns = ns,
		.path = (char *)(uintptr_t)path};
	if (!verdict_concerns_tree(verdict))
		return;
	if (expected_add(&w->expected, &w->known, &e) && spool->same_namespace)
		process_watch_child(w, pid, ns);
}

/* Return true if a process with this pid began later. A vfork child may become known after its
 * program. */
static bool has_successor(const struct writer *w, const struct known_process *of)
{
	for (const struct known_process *p = known_of_pid(&w->known, of->pid); p;
		p = known_before(&w->known, p))
		if (p->start_ns > of->start_ns)
			return true;
	return false;
}

/* Add the programs that were started and have not appeared. */
static int put_expected(struct writer *w)
{
	char reason[128];
	int error = 0;
	expected_finish(&w->expected, &w->known);
	for (uint32_t i = 0; i < w->expected.count && !error; i++) {
		const struct expected *e = &w->expected.list[i];
		process_put_untraced(w, e->pid, e->parent_pid, 0,
			e->verdict == VERDICT_TRACED ? VERDICT_UNSEEN : e->verdict, e->ns,
			e->path ? e->path : "");
		error = writer_make_room(w);
	}
	if (!w->expected.unlisted || error)
		return error;
	snprintf(reason, sizeof(reason), "%u more programs that were started may be missing",
		w->expected.unlisted);
	process_put_untraced_reason(w, 0, w->clock.now.mono_ns, reason);
	return 0;
}

int process_put_unseen(struct writer *w)
{
	process_put_root(w, true);
	int error = writer_make_room(w);
	for (uint32_t i = 0, count = w->known.count; i < count && !error; i++) {
		const struct known_process known = w->known.rows[i];
		if (!known.successor || has_successor(w, &known))
			continue;
		process_put_untraced(w, known.pid, known.parent_pid, known.id, VERDICT_UNSEEN,
			known.replaced_ns, known.successor);
		error = writer_make_room(w);
	}
	if (!error)
		error = put_expected(w);
	return error;
}

void process_put_lost(struct writer *w)
{
	uint32_t made = __atomic_load_n(&w->control->spools, __ATOMIC_ACQUIRE),
		 seen = w->adopted.process_count + w->totals.spools;
	char reason[128];
	if (made <= seen)
		return;
	snprintf(reason, sizeof(reason),
		"%u of %u spools of the tree were not found; their processes are missing",
		made - seen, made);
	process_put_untraced_reason(w, 0, w->clock.now.mono_ns, reason);
}

/* Return the length of the UTF-8 sequence at `p`; 0 if it is invalid. */
static unsigned utf8_length(const unsigned char *p)
{
	unsigned length = *p < 0x80       ? 1
		: *p >= 0xc2 && *p < 0xe0 ? 2
		: *p >= 0xe0 && *p < 0xf0 ? 3
		: *p >= 0xf0 && *p < 0xf5 ? 4
					  : 0;
	for (unsigned i = 1; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

/* Replace invalid UTF-8 by '?', because strict readers would refuse the whole entry. */
static char *utf8_clean(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p;) {
		unsigned length = utf8_length(p);
		if (!length)
			*p = '?';
		p += length ? length : 1;
	}
	return text;
}

struct texts { /* a checked copy of spool_header.text */
	char data[SPOOL_TEXT_BYTES + 1];
	char *exe, *cwd;
	ProtobufCBinaryData arguments[ARGUMENTS_MAX];
	size_t count;
	bool truncated;
};

/* Return the next `bytes` of the text as a string; NULL if the string does not end within them. */
static char *text_cut(struct texts *t, size_t *at, uint32_t bytes)
{
	if (!bytes || bytes > SPOOL_TEXT_BYTES - *at)
		return NULL;
	char *text = t->data + *at;
	*at += bytes;
	return memchr(text, 0, bytes) ? text : NULL;
}

static void texts_load(struct texts *t, const struct spool_header *h)
{
	size_t at = 0;
	memcpy(t->data, h->text, SPOOL_TEXT_BYTES);
	t->data[SPOOL_TEXT_BYTES] = 0;
	t->exe = text_cut(t, &at, h->exe_bytes);
	t->cwd = text_cut(t, &at, h->cwd_bytes);
	size_t end = at + h->argv_bytes;
	t->count = 0;
	t->truncated = h->argv_truncated != 0 || end > SPOOL_TEXT_BYTES;
	if (end > SPOOL_TEXT_BYTES)
		end = SPOOL_TEXT_BYTES;
	while (at < end && t->count < ARGUMENTS_MAX) {
		size_t bytes = strnlen(t->data + at, end - at);
		t->arguments[t->count++] = (ProtobufCBinaryData){bytes, (uint8_t *)t->data + at};
		at += bytes + 1;
	}
	t->truncated |= at < end;
	bool hide = false;
	for (size_t i = 1; i < t->count; i++) {
		ProtobufCBinaryData *a = &t->arguments[i];
		a->data = (uint8_t *)redact_argument(&hide, (char *)a->data, &a->len);
	}
}

static void put_process(struct writer *w, Libtrace__Process *message)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	entry.process = message;
	block_put_entry(&w->report.block, &entry);
}

/* Return the process that this process replaced by exec: it has the same pid, and has ended by exec
 * or is about to. */
static uint32_t previous_of(struct writer *w, const struct spool *spool)
{
	for (uint32_t i = w->spools.count; i-- > 0;) {
		struct spool *other = w->spools.all[i];
		if (other != spool && other->pid == spool->pid && other->id &&
			other->start_ns <= spool->start_ns &&
			other->pid_namespace == spool->pid_namespace && spool_is_replaced(other)) {
			other->dead = true;
			return other->id;
		}
	}
	const struct known_process *known = known_of_pid(&w->known, spool->pid);
	return known && known->replaced ? known->id : 0;
}

static void fill_begin(
	struct writer *w, const struct spool *spool, Libtrace__Process *m, struct texts *texts)
{
	const struct spool_header *h = spool_header(spool);
	texts_load(texts, h);
	m->has_pid = m->has_parent_pid = m->has_start_ns = m->has_traced = m->has_uid =
		m->has_threshold_ns = m->has_clock_kind = 1;
	m->pid = spool->pid;
	m->parent_pid = spool->ppid;
	m->start_ns = spool->start_ns;
	m->executable = texts->exe && *texts->exe ? utf8_clean(texts->exe) : NULL;
	m->work_directory = texts->cwd && *texts->cwd ? utf8_clean(texts->cwd) : NULL;
	m->n_arguments = texts->count;
	m->arguments = texts->arguments;
	m->has_arguments_truncated = m->arguments_truncated = texts->truncated;
	m->traced = LIBTRACE__TRACED__TRACED_YES;
	m->has_forked = m->forked = h->forked != 0;
	m->uid = h->uid;
	m->threshold_ns = h->threshold_ns;
	m->clock_kind = h->clock_kind;
	m->previous_id = previous_of(w, spool);
	m->has_previous_id = m->previous_id != 0;
	m->spool = (char *)spool->name;
}

void process_begin(struct writer *w, struct spool *spool)
{
	static struct texts texts;
	const struct spool_header *h = spool_header(spool);
	const struct adopted_process *adopted = adopted_find(w, spool);
	spool->start_ns = h->first.mono_ns;
	spool->announced = true;
	children_forget(&w->children, spool->pid);
	if (adopted) {
		spool->id = adopted->id;
		spool->finished = adopted->is_finished;
		struct known_process *again =
			known_add(&w->known, spool->pid, spool->id, spool->start_ns);
		if (again)
			again->is_claimed = true; /* the earlier writer knew it */
		return;
	}
	Libtrace__Process message = LIBTRACE__PROCESS__INIT;
	w->totals.spools++;
	spool->id = known_new_id(&w->known);
	message.has_id = 1;
	message.id = spool->id;
	fill_begin(w, spool, &message, &texts);
	put_process(w, &message);
	struct known_process *known = known_add(&w->known, spool->pid, spool->id, spool->start_ns);
	if (!known)
		return;
	known->parent_pid = spool->ppid;
	known->is_program = !message.forked && !message.has_previous_id;
	known->is_claimed = spool->pid == w->control->root_pid; /* nobody announces it */
	expected_arrived(&w->expected, known);
}

/* Set how a process without an exit record ended. */
static void fill_status(Libtrace__Process *m, int status)
{
	m->has_term_signal = WIFSIGNALED(status);
	m->term_signal = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0;
	m->has_exit_status = WIFEXITED(status);
	m->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* Get the status of a process that has ended: from the kernel, else from who has waited for it. */
static bool end_status(struct writer *w, const struct spool *spool, int *ret_status)
{
	const struct waited *waited = waited_for(w->waited, spool);
	if (spool_end_status(spool, ret_status))
		return true;
	if (waited)
		*ret_status = waited->status;
	return waited != NULL;
}

static void fill_killed(struct writer *w, const struct spool *spool, Libtrace__Process *m)
{
	struct known_process *known = known_of_id(&w->known, spool->id);
	int status;
	m->end = LIBTRACE__PROCESS_END__END_KILLED;
	if (end_status(w, spool, &status))
		fill_status(m, status);
	else if (known)
		known->is_unexplained = spool->same_namespace;
}

void process_waited(struct writer *w, const struct spool *spool, const struct waited *waited)
{
	Libtrace__Process message = LIBTRACE__PROCESS__INIT;
	struct known_process *known = known_of_pid(&w->known, waited->pid);
	*waited_row(w->waited, waited->pid) = *waited;
	if (!known || !known->is_unexplained || !spool->same_namespace)
		return;
	known->is_unexplained = false;
	message.has_id = 1;
	message.id = known->id;
	fill_status(&message, waited->status);
	put_process(w, &message);
}

static void fill_end(
	struct writer *w, const struct spool *spool, Libtrace__Process *m, char *reason)
{
	const struct spool_header *h = spool_header(spool);
	m->has_end = 1;
	switch (__atomic_load_n(&h->state, __ATOMIC_ACQUIRE)) {
	case SPOOL_EXITED:
		m->end = LIBTRACE__PROCESS_END__END_EXIT;
		m->has_exit_status = 1;
		m->exit_status = h->exit_status;
		break;
	case SPOOL_EXEC:
		m->end = LIBTRACE__PROCESS_END__END_EXEC;
		break;
	case SPOOL_OFF:
		m->end = LIBTRACE__PROCESS_END__END_KILLED;
		m->has_traced = 1;
		m->traced = LIBTRACE__TRACED__TRACED_PARTLY;
		memcpy(reason, h->off_reason, sizeof(h->off_reason));
		m->reason = utf8_clean(reason);
		break;
	default:
		fill_killed(w, spool, m);
	}
}

static void missing_chains_note(struct writer *w, const struct spool *spool, uint64_t end_ns)
{
	const struct spool_header *h = spool_header(spool);
	uint32_t forbidden = h->chains_forbidden, full = h->chains_full;
	uint32_t without_memory = h->chains_without_memory;
	if (forbidden)
		writer_note(w, spool->pid, end_ns,
			"%u events have no callchain, since a system call filter (seccomp) was "
			"active and may forbid the calls that callchains need",
			forbidden);
	if (full)
		writer_note(w, spool->pid, end_ns,
			"%u events have no callchain, since the process has more than %u different "
			"callers in its callchains",
			full, CALLCHAIN_CHUNKS_MAX * CALLCHAIN_CHUNK_NODES);
	if (without_memory)
		writer_note(w, spool->pid, end_ns,
			"%u events have no callchain, since the spool had no room for more "
			"callers: LIBTRACE_MEMORY is too small, or the spool's file system full",
			without_memory);
}

void process_end(
	struct writer *w, struct spool *spool, const struct process_end *end, uint64_t unaccounted)
{
	const uint64_t end_ns = end->ns;
	Libtrace__Process message = LIBTRACE__PROCESS__INIT;
	char reason[sizeof(spool_header(spool)->off_reason) + 1] = "";
	message.has_id = message.has_end_ns = 1;
	message.id = spool->id;
	message.end_ns = end_ns;
	w->totals.last_end_ns = end_ns > w->totals.last_end_ns ? end_ns : w->totals.last_end_ns;
	fill_end(w, spool, &message, reason);
	message.has_end_earliest_ns = end->is_bounded;
	message.end_earliest_ns = end->earliest_ns;
	message.has_end_latest_ns = end->is_bounded && end->latest_ns;
	message.end_latest_ns = end->latest_ns;
	put_process(w, &message);
	if (message.end == LIBTRACE__PROCESS_END__END_EXEC)
		successor_expect(w, spool->id, spool->ppid, &spool->exec);
	if (message.end == LIBTRACE__PROCESS_END__END_EXEC &&
		verdict_is_listed(spool->exec.verdict))
		process_put_untraced(w, spool->pid, spool->ppid, spool->id, spool->exec.verdict,
			spool->exec.ns, spool->exec.path);
	if (spool->damaged || spool->damaged_lanes)
		writer_note_damage(w, spool->pid,
			"spool '%s' is damaged: %llu of its %u lanes could not be read completely",
			spool->name, (unsigned long long)spool->damaged_lanes, spool->lane_count);
	missing_chains_note(w, spool, end_ns);
	clock_points_put(w, spool, end_ns);
	receipt_put(w, spool, unaccounted);
}

uint32_t process_guest(struct writer *w, const struct spool *spool, uint32_t pid, uint64_t start_ns)
{
	Libtrace__Process message = LIBTRACE__PROCESS__INIT;
	message.has_id = message.has_pid = message.has_parent_pid = message.has_start_ns =
		message.has_traced = message.has_forked = message.has_memory_of = 1;
	message.id = known_new_id(&w->known);
	message.pid = pid;
	message.parent_pid = spool->pid;
	message.start_ns = start_ns;
	message.traced = LIBTRACE__TRACED__TRACED_YES;
	message.forked = 1;
	message.memory_of = spool->id;
	put_process(w, &message);
	known_add(&w->known, pid, message.id, message.start_ns);
	return message.id;
}

/* Link a vfork child to the program that it became, whose spool may have been found before the
 * child's own records were read; otherwise expect that program. */
static void successor_link(struct writer *w, const struct spool *spool, uint32_t pid,
	uint32_t guest, const struct last_exec *exec)
{
	struct known_process *p = known_of_pid(&w->known, pid);
	while (p && (p->id == guest || p->start_ns + KNOWN_SLACK_NS < exec->ns))
		p = known_before(&w->known, p); /* a process that had this pid before */
	if (p) {
		Libtrace__Process message = LIBTRACE__PROCESS__INIT;
		message.has_id = message.has_previous_id = 1;
		message.id = p->id;
		message.previous_id = guest;
		put_process(w, &message);
		p->is_claimed = true;
		return;
	}
	successor_expect(w, guest, spool->pid, exec);
	if (spool->same_namespace)
		process_watch_child(w, pid, exec->ns);
}

void process_guest_end(struct writer *w, const struct spool *spool, struct lane_view *view,
	uint64_t end_ns, bool killed)
{
	Libtrace__Process message = LIBTRACE__PROCESS__INIT;
	message.has_id = message.has_end_ns = message.has_end = 1;
	message.id = view->owner;
	message.end_ns = end_ns;
	message.end = view->guest_execs ? LIBTRACE__PROCESS_END__END_EXEC
		: killed                ? LIBTRACE__PROCESS_END__END_KILLED
					: LIBTRACE__PROCESS_END__END_EXIT;
	put_process(w, &message);
	receipt_put_guest(w, view->owner, &view->guest);
	const struct last_exec *exec = &view->guest_exec;
	if (view->guest_execs && exec->verdict == VERDICT_TRACED)
		successor_link(w, spool, view->owner_pid, view->owner, exec);
	if (view->guest_execs && verdict_is_listed(exec->verdict))
		process_put_untraced(w, view->owner_pid, spool->pid, view->owner, exec->verdict,
			exec->ns, exec->path);
}

/* A program that was killed so soon after its start need not have reached the library. */
#define BEGIN_NS 100000000u

/* Return whether the wait status is of a signal that processes send to end another one. */
static bool is_killed_by_other(int status)
{
	static const int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP};
	for (size_t i = 0; WIFSIGNALED(status) && i < sizeof(signals) / sizeof(signals[0]); i++)
		if (WTERMSIG(status) == signals[i])
			return true;
	return false;
}

/* Set how a program that recorded nothing ended, if a process has waited for it since `ns`. */
static void fill_unseen(struct writer *w, uint64_t ns, Libtrace__Process *m)
{
	const struct waited *waited = waited_row(w->waited, m->pid);
	if (!m->pid || waited->pid != m->pid || waited->ns < ns ||
		waited->pid_namespace != w->spools.pid_namespace)
		return;
	m->has_end = 1;
	m->end = WIFEXITED(waited->status) ? LIBTRACE__PROCESS_END__END_EXIT
					   : LIBTRACE__PROCESS_END__END_KILLED;
	fill_status(m, waited->status);
	if (is_killed_by_other(waited->status) && waited->ns - ns < BEGIN_NS)
		m->reason = (char *)verdict_text(VERDICT_KILLED);
}

void process_put_untraced(struct writer *w, uint32_t pid, uint32_t parent_pid, uint32_t previous_id,
	uint32_t verdict, uint64_t ns, const char *path)
{
	Libtrace__Process message = LIBTRACE__PROCESS__INIT;
	char executable[512];
	snprintf(executable, sizeof(executable), "%s", path);
	message.has_id = message.has_pid = message.has_parent_pid = message.has_start_ns =
		message.has_traced = 1;
	message.id = known_new_id(&w->known);
	message.pid = pid;
	message.parent_pid = parent_pid;
	message.start_ns = ns;
	message.has_previous_id = previous_id != 0;
	message.previous_id = previous_id;
	message.executable = *executable ? utf8_clean(executable) : NULL;
	message.traced = LIBTRACE__TRACED__TRACED_NO;
	message.reason = (char *)verdict_text(verdict);
	if (verdict == VERDICT_UNSEEN)
		fill_unseen(w, ns, &message);
	put_process(w, &message);
	known_add(&w->known, pid, message.id, message.start_ns);
}

/* A program that executes another one is listed beside that one: it has done something before. */
void process_put_root(struct writer *w, bool at_end)
{
	const struct tree_control *c = w->control;
	const uint32_t verdict = c->root_verdict;
	const bool is_certain = verdict == VERDICT_STATIC || verdict == VERDICT_MUSL ||
		verdict == VERDICT_OTHER_ARCH;
	if (verdict == VERDICT_TRACED || (!at_end && !is_certain) ||
		known_of_pid(&w->known, c->root_pid))
		return;
	process_put_untraced(w, c->root_pid, 0, 0, verdict, c->created_mono_ns, c->root_path);
	struct known_process *known = known_of_pid(&w->known, c->root_pid);
	if (known)
		known->replaced = true; /* if another program appears with its pid */
}

void process_put_untraced_reason(struct writer *w, uint32_t pid, uint64_t time_ns, char *reason)
{
	Libtrace__Process message = LIBTRACE__PROCESS__INIT;
	struct known_process *copy = pid ? known_of_pid(&w->known, pid) : NULL;
	const bool is_new = !copy || !copy->is_copy;
	message.has_id = message.has_pid = message.has_traced = 1;
	message.has_start_ns = is_new;
	message.id = is_new ? known_new_id(&w->known) : copy->id;
	message.pid = pid;
	message.start_ns = time_ns;
	message.traced = LIBTRACE__TRACED__TRACED_NO;
	message.reason = utf8_clean(reason);
	put_process(w, &message);
	if (!is_new) {
		copy->is_copy = false;
		return;
	}
	struct known_process *known = known_add(&w->known, pid, message.id, message.start_ns);
	if (!known || !pid)
		return;
	known->is_noted = true;
	expected_arrived(&w->expected, known);
}

static void watch(struct writer *w, uint32_t pid, uint64_t earliest_ns, uint64_t latest_ns)
{
	if (!w->recovering && children_watch(&w->children, pid, earliest_ns, latest_ns))
		writer_note(w, pid, w->clock.now.mono_ns,
			"out of memory; this process may be missing from the report");
}

void process_watch(struct writer *w, uint32_t pid)
{
	watch(w, pid, 0, UINT64_MAX);
}

void process_watch_child(struct writer *w, uint32_t pid, uint64_t latest_ns)
{
	watch(w, pid, w->control->created_mono_ns, latest_ns);
}
