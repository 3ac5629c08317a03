/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_end.c - how the program of `trace run` ended, added to its report.
 */
#include "reader/cli/record/program_end.h"

#include <stddef.h>
#include <sys/wait.h>

#include "reader/cli/base/change.h"

/* Find the last program that ran under this pid; NULL unless it ended without an exit record, or
 * was not traced. */
static const struct process *unexplained_process(const struct info *i, pid_t pid)
{
	const struct process *last = process_find_pid(&i->c.processes, (uint32_t)pid);
	if (!last)
		return NULL;
	const bool is_killed = last->facts->spool && last->facts->has_end &&
		last->facts->end == LIBTRACE__PROCESS_END__END_KILLED;
	const bool is_untraced =
		!last->facts->has_end && last->facts->traced == LIBTRACE__TRACED__TRACED_NO;
	return is_killed || is_untraced ? last : NULL;
}

void program_end_add(const char *path, const struct info *i, pid_t pid, int status)
{
	const struct process *p = unexplained_process(i, pid);
	struct change g;
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Process message = LIBTRACE__PROCESS__INIT;
	if (!p || i->r.problems || i->r.report.unfinished || i->c.tally.torn_bytes)
		return;
	message.has_id = 1;
	message.id = p->id;
	message.has_term_signal = WIFSIGNALED(status);
	message.term_signal = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0;
	message.has_exit_status = WIFEXITED(status);
	message.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	message.has_end = !p->facts->has_end;
	message.end = WIFEXITED(status) ? LIBTRACE__PROCESS_END__END_EXIT
					: LIBTRACE__PROCESS_END__END_KILLED;
	entry.process = &message;
	if (!change_open(&g, path, path, true)) {
		append_entry(&g.append, &entry);
		change_commit(&g, "the end of the program");
	}
	change_close(&g);
}
