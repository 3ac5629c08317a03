/*
 * symbolize.c - `trace symbolize`: stores the names of all addresses of callchains in the report.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "reader/cli/cli.h"
#include "reader/symbolize.h"

struct job {
	struct cli_report r; /* for messages; its report is not open */
	struct append append;
};

static int note_block(void *user, const struct report_block *block)
{
	struct job *job = user;
	append_note(&job->append, block);
	return 0;
}

static void note_problem(void *user, uint64_t offset, const char *cause)
{
	struct job *job = user;
	cli_problem(&job->r, offset, cause);
}

static int open_failed(const char *path, int error, const char *cause)
{
	if (error == -EBADMSG)
		cli_error("'%s': %s at offset 0", path, cause);
	else if (error == -EBUSY)
		cli_error("'%s' is still being written; nothing was changed", path);
	else if (error == -ESPIPE)
		cli_error("'%s': not a regular file", path);
	else
		cli_error("cannot open '%s': %s", path, strerror(-error));
	return STATUS_FAILED;
}

static void print_tally(const char *path, const struct symbolize_tally *t)
{
	uint64_t shown = 0;
	printf("%s: %" PRIu64 " addresses: %" PRIu64 " resolved, %" PRIu64 " not, %" PRIu64
	       " were there\n",
		path, t->addresses, t->resolved, t->unresolved, t->known);
	for (uint32_t i = 0; i < SYMBOLIZE_REASONS && t->reasons[i].reason; i++) {
		printf("  %" PRIu64 ": %s\n", t->reasons[i].count, t->reasons[i].reason);
		shown += t->reasons[i].count;
	}
	if (shown < t->unresolved)
		printf("  %" PRIu64 ": for other reasons\n", t->unresolved - shown);
}

static bool may_be_changed(struct job *job, const struct contents *c)
{
	if (job->r.problems) {
		cli_error("'%s' is damaged; nothing was changed", job->r.path);
		return false;
	}
	if (!c->session) {
		cli_error("'%s' holds no data of libtrace; nothing was changed", job->r.path);
		return false;
	}
	if (c->tally.torn_bytes)
		cli_note("'%s': the last block is cut off (%" PRIu64 " bytes); it goes",
			job->r.path, c->tally.torn_bytes);
	return true;
}

static int job_run(struct job *job, const char *symbol_path)
{
	struct contents c;
	struct symbols symbols;
	struct symbolize_tally tally;
	const struct contents_visitor visitor = {job, note_block, NULL, note_problem};
	int status = STATUS_DAMAGED;
	contents_init(&c);
	symbols_init(&symbols, &c, symbol_path);
	int error = contents_read(&c, &job->append.report, &visitor);
	if (!error && may_be_changed(job, &c)) {
		error = symbolize(&symbols, &job->append, &tally);
		if (!error)
			error = append_commit(
				&job->append, job->append.report.source.size - c.tally.torn_bytes);
		if (!error)
			print_tally(job->r.path, &tally);
		status = error ? STATUS_FAILED : cli_finish(stdout, "standard output");
	}
	if (error) {
		cli_error("cannot add names to '%s': %s", job->r.path, strerror(-error));
		status = STATUS_FAILED;
	}
	symbols_release(&symbols);
	contents_release(&c);
	return status;
}

int command_symbolize(const struct options *o)
{
	struct job job = {.r.path = option_file(o)};
	const char *cause;
	if (!job.r.path)
		return STATUS_FAILED;
	signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is an error like others */
	int error = append_open(&job.append, job.r.path,
		o->value[OPT_symbolize_no_wait] ? 0 : REPORT_WAIT_NS, &cause);
	int status = error ? open_failed(job.r.path, error, cause)
			   : job_run(&job, o->value[OPT_symbolize_symbol_path]);
	append_close(&job.append);
	return status;
}
