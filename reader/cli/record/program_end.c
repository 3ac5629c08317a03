/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_end.c - how the program of `trace run` ended, added to its report.
 */
#include "reader/cli/record/program_end.h"

#include <stddef.h>
#include <sys/wait.h>

#include "reader/cli/base/change.h"

/* Find the last program that ran under this pid; NULL unless it ended without an exit record. */
static const struct process *killed_process(const struct info *i, pid_t pid)
{
	const struct process *last = NULL;
	for (size_t n = 0; n < i->c.processes.count; n++) {
		const struct process *p = i->c.processes.rows[n];
		if (p->facts->spool && p->facts->pid == (uint32_t)pid &&
			(!last || p->id > last->id))
			last = p;
	}
	return last && last->facts->has_end && last->facts->end == LIBTRACE__PROCESS_END__END_KILLED
		? last
		: NULL;
}

void program_end_add(const char *path, const struct info *i, pid_t pid, int status)
{
	const struct process *p = killed_process(i, pid);
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
	entry.process = &message;
	if (!change_open(&g, path, path, true)) {
		append_entry(&g.append, &entry);
		change_commit(&g, "the end of the program");
	}
	change_close(&g);
}
