/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.c - recovery of a tree whose processes and writer have all died: its report is finished.
 *
 * It takes the same steps as following (tree.h), without the waiting. It continues the report that
 * the tree's writer began, or a copy of that report (-o).
 */
#define _GNU_SOURCE
#include "writer/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/sys.h"
#include "writer/adopt.h"
#include "writer/base/output.h"
#include "writer/base/writer.h"
#include "writer/diagnostics.h"
#include "writer/process/process.h"
#include "writer/tree.h"
#include "writer/windows.h"

#define RATE_NS 20000000u /* how long the rate of the counter is measured */

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "libtrace: recover: %s: %s\n", what, why);
	return 1;
}

/* Report that the report cannot be opened, and what to do: nothing is lost. */
static int complain_output(const char *path, int error)
{
	fprintf(stderr,
		"libtrace: recover: cannot write '%s': %s; the recording is kept: use --output "
		"FILE to write the report elsewhere\n",
		path,
		error == -EEXIST ? "the file exists and is not the report of this recording"
				 : strerror(-error));
	return RECOVER_NO_REPORT;
}

static bool same_boot(const struct tree_control *c)
{
	char id[64] = "";
	long length = sys_read_file("/proc/sys/kernel/random/boot_id", id, sizeof(id));
	id[length > 0 ? strcspn(id, "\n") : 0] = 0;
	return !strncmp(id, c->boot_id, sizeof(c->boot_id));
}

/* Fill the control page of a tree that has none: the beginning of the tree is that of the oldest
 * spool. */
static void control_guess(struct writer *w)
{
	struct tree_control *c = w->control;
	struct spools look;
	if (spools_init(&look, w->dir))
		return;
	spools_discover(&look);
	for (uint32_t i = 0; i < look.count; i++) {
		const struct spool_header *h = spool_header(look.all[i]);
		if (c->root_pid && h->first.mono_ns >= c->created_mono_ns)
			continue;
		c->root_pid = look.all[i]->pid;
		c->created_mono_ns = h->first.mono_ns;
		c->created_realtime_ns = h->start_realtime_ns;
	}
	spools_release(&look);
}

/* Measure the rate of this machine's counter, for spools with only one clock point. */
static void rate_measure(struct writer *w)
{
	struct clock_point a, b;
	clock_point_take(&a);
	sys_sleep_ns(RATE_NS);
	clock_point_take(&b);
	if (clock_is_tsc && b.tick > a.tick)
		w->clock.fit.fallback_slope =
			(uint64_t)((((unsigned __int128)b.mono_ns - a.mono_ns) << CLOCKFIT_SHIFT) /
				(b.tick - a.tick));
}

static int file_copy(const char *from, const char *to)
{
	static char buffer[1 << 16];
	int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (in < 0)
		return errno == ENOENT ? 0 : -errno;
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
	    error = out < 0 ? -errno : 0;
	for (ssize_t n = 1; n > 0 && !error;) {
		n = read(in, buffer, sizeof(buffer));
		if (n < 0 || (n > 0 && write(out, buffer, (size_t)n) != n))
			error = errno ? -errno : -ENOSPC;
	}
	close(in);
	if (out >= 0)
		close(out);
	return error;
}

/* Return true if a writer of this tree began the report. Leaves nothing open. */
static bool is_own_report(struct writer *w, const char *path)
{
	if (!*path || sink_open(&w->report.sink, path, w->control->report_inode))
		return false;
	bool own = adopt_report(w) == 0;
	sink_close(&w->report.sink);
	return own;
}

static int report_open(struct writer *w, const char *output)
{
	const char *begun = w->control->output;
	if (!output || !strcmp(output, begun))
		return writer_open_report(w, begun, w->control->overwrite != 0);
	if (is_own_report(w, begun)) {
		int error = file_copy(begun, output);
		if (error)
			return error;
		adopted_clear(&w->adopted);
		known_clear(&w->known);
	}
	return writer_open_report(w, output, false);
}

static const char *end_text(uint32_t state)
{
	switch (state) {
	case SPOOL_EXITED:
		return "exited";
	case SPOOL_EXEC:
		return "replaced by exec";
	case SPOOL_OFF:
		return "switched off";
	default:
		return "killed";
	}
}

static void line_print(const struct spool *spool)
{
	const struct spool_header *h = spool_header(spool);
	char exe[256] = "?";
	if (h->exe_bytes && h->exe_bytes < sizeof(exe))
		memcpy(exe, h->text, h->exe_bytes);
	for (char *p = exe; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	printf("%u %s: %s, %" PRIu64 " events recovered%s\n", spool->pid, exe, end_text(h->state),
		spool->events, spool->damaged || spool->damaged_lanes ? ", damaged" : "");
}

static int spools_recover(struct writer *w)
{
	int error = 0;
	/* A process may have waited for another one, and recorded how that ended. */
	for (uint32_t i = 0; i < w->spools.count && !error; i++)
		if (!w->spools.all[i]->finished)
			error = tree_drain_spool(w, w->spools.all[i]);
	for (uint32_t i = 0; i < w->spools.count && !error; i++) {
		struct spool *spool = w->spools.all[i];
		spool->dead = true;
		error = spool->finished ? 0 : tree_end_spool(w, spool);
		if (!error)
			line_print(spool);
	}
	if (error)
		return error;
	return tree_end_dead(w);
}

static const struct spool *living(struct writer *w)
{
	for (uint32_t i = 0; i < w->spools.count; i++)
		if (!w->spools.all[i]->dead)
			return w->spools.all[i];
	return NULL;
}

/* Prepare lock, clocks, spools and report. Return 0, or an exit status, with the reason on stderr.
 */
static int prepare(struct writer *w, const char *output)
{
	int missing = tree_open_control(w);
	if (missing == -EPERM || missing == -ELOOP)
		return complain(w->dir, "others own its control page or have rights on it");
	if (!w->control || (missing && !output))
		return complain(w->dir,
			"cannot read its control page; use --output FILE to name the report");
	if (w->control_fd >= 0 && flock(w->control_fd, LOCK_EX | LOCK_NB))
		return complain(w->dir, "a writer is still running");
	w->recovering = w->spools.at_end = true;
	w->clock.other_boot = !missing && !same_boot(w->control);
	spools_guard(&w->spools);
	rate_measure(w);
	if (missing)
		control_guess(w);
	int error = report_open(w, output);
	if (error)
		return complain_output(output ? output : w->control->output, error);
	process_put_root(w, false);
	if (tree_discover(w) < 0)
		return complain(w->dir, "cannot be read");
	if (!living(w))
		return 0;
	fprintf(stderr, "libtrace: recover: %s: process %u is still running\n", w->dir,
		living(w)->pid);
	return 1;
}

static int finish(struct writer *w)
{
	uint32_t processes = w->spools.count;
	int error = spools_recover(w);
	diagnostics_collect(w);
	windows_finish(w);
	if (!error)
		error = process_put_unseen(w);
	if (!error)
		process_put_lost(w);
	if (!error)
		error = writer_flush(w, true);
	if (error)
		return complain(w->report.path, strerror(-error));
	sink_close(&w->report.sink);
	printf("%u process%s, %" PRIu64 " events, %" PRIu64 " dropped: '%s'\n", processes,
		processes == 1 ? "" : "es", w->totals.events, w->totals.dropped, w->report.path);
	if (w->spools.refused_count)
		return complain(w->dir, w->spools.refused[0].reason);
	__atomic_store_n(&w->control->writer_state, WRITER_FINISHED, __ATOMIC_RELEASE);
	tree_remove(w);
	return 0;
}

int recover_tree(const char *dir, const char *output)
{
	static struct writer w;
	int error = writer_init(&w, dir), status = 1;
	if (error)
		complain(dir, strerror(-error));
	else if (!(status = prepare(&w, output)))
		status = finish(&w);
	writer_release(&w);
	return status;
}
