/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - `trace run`: runs the program as a child, passes signals on, and waits for the report.
 *
 * Program and writer are children of this process. The program is in our process group: signals of
 * the terminal (^C, ^Z) reach it directly; a signal sent to us alone is passed on. The writer has a
 * session of its own, so that it finishes the report even if our group is killed. All signals of
 * interest are blocked and taken by sigtimedwait(), so no code runs in a handler.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/cuda/gpu_metric_sets.h"
#include "common/spool.h"
#include "common/tree.h"
#include "reader/base/print.h"
#include "reader/cli/commands.h"
#include "reader/cli/record/functions_unseen.h"
#include "reader/cli/record/gpu_facts.h"
#include "reader/cli/info/info.h"
#include "reader/cli/record/launch.h"
#include "reader/cli/record/program_end.h"
#include "reader/cli/record/program_find.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/metric_runs.h"
#include "reader/cli/stats/stats.h"

#define PRIMARY_WAIT_NS                                                                          \
	1000000000ull /* time for the writer to finish with `--wait primary`, and after a signal \
			 to us when the program has ended */

struct run {
	struct launch launch;
	pid_t program, writer;
	bool program_ended, writer_ended, given_up;
	bool untraced; /* no process loaded the library */
	int status;    /* wait status of the program */
	int writer_status;
	uint64_t kill_ns; /* when to send kill_signal; 0 = never */
	int kill_signal;
	uint64_t patience_ns;    /* when to stop waiting for the writer; 0 = never */
	const struct run *first; /* of a repeated run: the first one; NULL = it is the first */
};

static const int forwarded[] = {
	SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};
#define FORWARDED (sizeof(forwarded) / sizeof(forwarded[0]))

/* Return the signal of the capture range, which is for the tracer and not for the program. */
static int capture_signal(const struct launch *l)
{
	return l->control && l->capture.kind == CAPTURE_SIGNAL ? (int)l->capture.signal : 0;
}

static void signals_block(struct launch *l, sigset_t *ret_set)
{
	const struct sigaction normal = {.sa_handler = SIG_DFL};
	sigemptyset(ret_set);
	sigaddset(ret_set, SIGCHLD);
	for (size_t i = 0; i < FORWARDED; i++)
		sigaddset(ret_set, forwarded[i]);
	if (capture_signal(l))
		sigaddset(ret_set, capture_signal(l));
	sigaction(
		SIGCHLD, &normal, &l->child_action); /* if ignored, the exit status would be lost */
	sigprocmask(SIG_BLOCK, ret_set, &l->mask);
}

static int kill_parse(const char *text)
{
	char *end;
	if (!text || !strcmp(text, "none"))
		return 0;
	if (!strcmp(text, "sigkill") || !strcmp(text, "sigterm"))
		return text[3] == 'k' ? SIGKILL : SIGTERM;
	long number = strtol(text, &end, 10);
	return *end || end == text || number < 1 || number > SIGRTMAX ? -EINVAL : (int)number;
}

/* Pass a signal on, unless the terminal sent it to the whole group. */
static void pass_on(struct run *r, const siginfo_t *info)
{
	bool for_us_alone =
		info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
	if (!r->program_ended) {
		/* SIGCONT: a signal to the program alone may have stopped it; then the shell
		 * continues only us */
		if (for_us_alone || info->si_signo == SIGCONT)
			kill(r->program, info->si_signo);
	} else if (info->si_signo == SIGINT || info->si_signo == SIGTERM ||
		info->si_signo == SIGHUP || info->si_signo == SIGQUIT) {
		/* Only the rest of the tree is waited for. A signal to the whole tree may have
		 * ended the program just now; then the writer is about to finish. */
		r->given_up = r->patience_ns != 0;
		r->patience_ns = clock_monotonic_ns() + PRIMARY_WAIT_NS;
	}
}

/* Stop when the program has stopped, or the shell would keep waiting. */
static void stop_too(void)
{
	kill(getpid(), SIGSTOP);
}

static int is_spool(const struct dirent *entry)
{
	const char *suffix = strrchr(entry->d_name, '.');
	return suffix && !strcmp(suffix, ".spool");
}

static bool has_spools(const char *tree)
{
	struct dirent **names = NULL;
	int count = scandir(tree, &names, is_spool, NULL);
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	return count > 0;
}

/* Return whether the report contains a traced process. A spool is removed only after its process is
 * in the report. Prints nothing, as the writer may be at work on the file. */
static bool has_traced(const char *path)
{
	const struct contents_visitor nobody = {NULL, NULL, NULL, NULL};
	struct report report;
	struct contents contents;
	const char *cause;
	bool found = false;
	if (report_open(&report, path, 0, &cause))
		return false;
	contents_init(&contents);
	if (contents_read(&contents, &report, &nobody))
		found = true; /* unknown */
	for (size_t n = 0; n < contents.processes.count; n++)
		found |= contents.processes.rows[n]->facts->spool != NULL;
	contents_release(&contents);
	report_close(&report);
	return found;
}

/* End the wait if no process of the tree could be traced. The count of spools alone does not prove
 * that, since any process of the tree can write it. */
static void end_if_untraced(struct run *r)
{
	struct tree_control *control = r->launch.control;
	if (!control || r->writer <= 0 || __atomic_load_n(&control->spools, __ATOMIC_ACQUIRE) ||
		has_spools(r->launch.tree) || has_traced(r->launch.output))
		return;
	kill(r->writer, SIGKILL);
	waitpid(r->writer, NULL, 0);
	r->writer_ended = r->untraced = true;
	if (!has_spools(r->launch.tree))
		launch_undo(&r->launch);
}

static void program_has_ended(struct run *r, int status)
{
	r->program_ended = true;
	r->status = status;
	const char *wait = r->launch.options->value[OPT_run_wait];
	if (wait && !strcmp(wait, "primary"))
		r->patience_ns = clock_monotonic_ns() + PRIMARY_WAIT_NS;
	end_if_untraced(r);
}

static void writer_has_ended(struct run *r, int status)
{
	r->writer_ended = true;
	r->writer_status = status;
}

static void children_reap(struct run *r)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid == r->program && WIFSTOPPED(status))
			stop_too();
		else if (pid == r->program)
			program_has_ended(r, status);
		else if (pid == r->writer && !WIFSTOPPED(status))
			writer_has_ended(r, status);
	}
}

/* Write the time until the next deadline. Returns false if there is none. */
static bool timeout_get(const struct run *r, struct timespec *ret_timeout)
{
	uint64_t now = clock_monotonic_ns(), due = r->program_ended ? r->patience_ns : r->kill_ns;
	if (!due)
		return false;
	uint64_t left = due > now ? due - now : 0;
	*ret_timeout = (struct timespec){(time_t)(left / 1000000000), (long)(left % 1000000000)};
	return true;
}

static void due_do(struct run *r)
{
	uint64_t now = clock_monotonic_ns();
	if (!r->program_ended && r->kill_ns && now >= r->kill_ns) {
		kill(r->program, r->kill_signal);
		r->kill_ns = 0;
	}
	if (r->program_ended && r->patience_ns && now >= r->patience_ns)
		r->given_up = true;
}

static void wait_for_all(struct run *r, const sigset_t *set)
{
	while (!r->program_ended || (!r->writer_ended && !r->given_up)) {
		struct timespec timeout;
		siginfo_t info;
		bool limited = timeout_get(r, &timeout);
		int number = sigtimedwait(set, &info, limited ? &timeout : NULL);
		if (number > 0 && number == capture_signal(&r->launch))
			capture_toggle(r->launch.control);
		else if (number > 0 && number != SIGCHLD)
			pass_on(r, &info);
		children_reap(r);
		due_do(r);
	}
}

static void verdict_message(const struct info *i, const char *report)
{
	char verdict[512];
	bool is_complete = info_verdict(i, verdict, sizeof(verdict));
	const uint64_t processes = processes_apart(&i->c.processes);
	fprintf(stderr, "report: %s (%llu events, %llu process%s; %s%s%s%s)\n", report,
		(unsigned long long)i->c.events_total, (unsigned long long)processes,
		processes == 1 ? "" : "es", is_complete ? "complete" : verdict,
		info_never_began(i) ? "; recording never began" : "",
		is_complete && info_is_empty(i) && !info_never_began(i)
			? ", but nothing was recorded; see 'trace info'"
			: "",
		i->c.diagnostic_count ? "; with diagnostics; see 'trace info'" : "");
	if (info_unsampled(i, verdict, sizeof(verdict)))
		cli_note("%s", verdict);
}

/* Report why the program was not recorded, as far as its file shows it. */
static void untraced_message(const struct launch *l)
{
	const char *name = l->program[0];
	const uint32_t verdict = l->control->root_verdict;
	if (verdict == VERDICT_TRACED || verdict == VERDICT_UNREADABLE || verdict == VERDICT_UNSEEN)
		cli_error("no report: '%s' did not load the tracer; it may be statically linked, "
			  "set-user-id, or for another architecture",
			name);
	else
		cli_error("no report: '%s' did not load the tracer: it is %s", name,
			schema_verdict(verdict));
}

/* Report what the writer could not write, and what to do about it. */
static void incomplete_message(const struct launch *l)
{
	const char *why = l->control->writer_error;
	const size_t room = sizeof(l->control->writer_error), length = strlen(l->output);
	char error[sizeof(l->control->writer_error) + 1];
	snprintf(error, sizeof(error), "%.*s", (int)room, why);
	/* The writer's message begins with the name of the report. */
	const bool is_named = !strncmp(error, l->output, length) && error[length] == ':';
	cli_error("report '%s' is incomplete: %s; run 'trace recover' to add the events left in "
		  "'%s'",
		l->output,
		!*error            ? "nothing was recorded"
			: is_named ? error + length + 2
				   : error,
		l->tree);
}

/* Print one line about the report on stderr; nothing on stdout. */
static void end_summary_print(const struct run *r)
{
	const struct launch *l = &r->launch;
	struct info i = {0};
	struct stat status;
	if (!l->makes_tree) {
		fprintf(stderr, "report: one per process, '%s'\n", launch_value(l, OPT_run_output));
		return;
	}
	if (r->untraced) {
		unlink(l->output); /* created before it was known that there would be no events */
		const char *sources = launch_value(l, OPT_run_trace);
		if (sources && !strcmp(sources, "none"))
			return;
		untraced_message(l);
		return;
	}
	if (!r->writer_ended) {
		fprintf(stderr,
			"report: %s (still being written: processes of the tree are still "
			"running)\n",
			l->output);
		return;
	}
	if (l->control->writer_error[0] || access(l->output, F_OK)) {
		incomplete_message(l);
		if (stat(l->output, &status) || !status.st_size)
			return;
	}
	if (info_gather(&i, l->output, true))
		return;
	verdict_message(&i, l->output);
	functions_note_unmatched(l->functions, &i);
	program_end_add(l->output, &i, r->program, r->status);
	functions_add_static(l->output, l->functions, launch_value(l, OPT_run_trace), &i);
	if (i.c.events[KIND_CUDA_SETUP] && !r->writer_status)
		gpu_facts_add(l->output);
	info_release(&i);
	if (option_is(l->options, OPT_run_stats, "true"))
		stats_print(l->output, "osrt_sum", &(struct stats_form){.no_wait = true}, stderr,
			"standard error");
}

static int end_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* End as the program did: with its exit status, or by its signal. */
static int end_like(int status, const struct launch *l)
{
	if (!WIFSIGNALED(status))
		return end_status(status);
	const struct rlimit no_core = {0, 0};
	int number = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &no_core); /* the program's own core dump is enough */
	signal(number, SIG_DFL);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return end_status(status);
}

static int run_start(struct run *r, sigset_t *set)
{
	struct launch *l = &r->launch;
	int error = launch_prepare(l);
	if (error)
		return STATUS_FAILED;
	signals_block(l, set);
	if (r->first) { /* whose signals are still blocked */
		l->mask = r->first->launch.mask;
		l->child_action = r->first->launch.child_action;
	}
	r->program = launch_program(l);
	if (r->program < 0) {
		launch_undo(l);
		return r->program == -ENOENT ? 127 : 126;
	}
	if (r->kill_signal && launch_seconds_ns(l, OPT_run_duration))
		r->kill_ns = clock_monotonic_ns() + launch_seconds_ns(l, OPT_run_delay) +
			launch_seconds_ns(l, OPT_run_duration);
	const char *wait = l->options->value[OPT_run_wait];
	if (l->makes_tree)
		r->writer = launch_writer(l, !wait || strcmp(wait, "primary"));
	r->writer_ended = r->writer <= 0;
	r->writer_status = r->writer <= 0 ? -1 : 0;
	return 0;
}

/* Return whether the text is "A=B,C=D", or NULL. */
static bool are_assignments(const char *list)
{
	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		size_t name = strcspn(at, "=,");
		if (!name || at[name] != '=')
			return false;
	}
	return true;
}

/* Print what would be recorded, and run nothing. */
static int run_print(struct run *r)
{
	struct launch *l = &r->launch;
	char place[PATH_MAX];
	int error = program_find(l->program[0], l->options->value[OPT_run_env_var], place);
	if (error) {
		cli_error("cannot run '%s': %s", l->program[0], strerror(-error));
		return error == -ENOENT ? 127 : 126;
	}
	if (launch_check(l))
		return STATUS_FAILED;
	fputs("program:", stdout);
	for (char **word = l->program; *word; word++) {
		putchar(' ');
		print_text(stdout, *word, strlen(*word));
	}
	fputs("\nreport: ", stdout);
	const char *name = l->makes_tree ? l->output : launch_value(l, OPT_run_output);
	print_text(stdout, name, strlen(name));
	puts(l->makes_tree ? "" : " (one per process)");
	return cli_finish(stdout, "standard output");
}

/* Run the program and wait for its report. Returns 0, or an exit status after a message. */
static int run_record(struct run *r)
{
	sigset_t set;
	const int status = run_start(r, &set);
	if (status)
		return status;
	wait_for_all(r, &set);
	signal(SIGPIPE, SIG_IGN); /* a closed stderr must not end us: we end as the program did */
	return 0;
}

static int run_once(struct run *r)
{
	const int status = run_record(r);
	if (status)
		return status;
	end_summary_print(r);
	return end_like(r->status, &r->launch);
}

/* ---- a run for each group of hardware metrics ---- */

static bool is_repeated(const struct launch *l)
{
	const char *pass = launch_value(l, OPT_run_gpu_metrics_pass);
	return pass && !strcmp(pass, "all");
}

static bool can_repeat(const struct launch *l)
{
	const char *output = launch_value(l, OPT_run_output), *why = NULL;
	if (launch_value(l, OPT_run_gpu_metrics_frequency))
		why = "samples in time (--gpu-metrics-frequency) are not joined";
	else if (output && strstr(output, "%p"))
		why = "needs one report of all processes (no %p in its name)";
	if (why)
		cli_error("--gpu-metrics-pass all: %s", why);
	return !why;
}

/* Return the number of groups that the metrics were divided into: the most of a process. */
static uint32_t groups_of(const char *path)
{
	const struct contents_visitor nobody = {NULL, NULL, NULL, NULL};
	struct report report;
	struct contents c;
	const char *cause;
	uint32_t most = 1, groups;
	if (report_open(&report, path, 0, &cause))
		return most;
	contents_init(&c);
	contents_read(&c, &report, &nobody);
	for (uint64_t i = 0; i < c.diagnostic_count && i < DIAGNOSTICS_KEPT; i++) {
		const char *text = c.diagnostics[i]->text ? c.diagnostics[i]->text : "";
		if (sscanf(text, GPU_METRICS_GROUP "%*u of %u", &groups) == 1 && groups > most)
			most = groups < GPU_METRICS_MAX ? groups : GPU_METRICS_MAX;
	}
	contents_release(&c);
	report_close(&report);
	return most;
}

/* Return the name of the report of a group, as a pattern; the caller frees both. NULL = no
 * memory. */
static char *group_name(const char *output, uint32_t group, char **ret_pattern)
{
	char *name, *to;
	if (asprintf(&name, "%s.group-%u.rep", output, group) < 0)
		return NULL;
	*ret_pattern = to = malloc(2 * strlen(name) + 1);
	for (const char *from = name; to && *from; *to++ = *from++)
		if (*from == '%')
			*to++ = '%';
	if (to) {
		*to = 0;
		return name;
	}
	free(name);
	return NULL;
}

/* Run the program for a group. Returns 0 and the name of the report, which the caller removes and
 * frees; or an exit status after a message: the program ended otherwise than in the first run. */
static int group_record(const struct run *first, uint32_t group, uint32_t groups, char **ret_name)
{
	struct options o = *first->launch.options;
	struct run r = {.launch = {.options = &o, .program = o.argv},
		.kill_signal = first->kill_signal,
		.first = first};
	char number[16], *pattern = NULL;
	*ret_name = group_name(first->launch.output, group, &pattern);
	if (!*ret_name) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	snprintf(number, sizeof(number), "%u", group);
	o.value[OPT_run_gpu_metrics_pass] = number;
	o.value[OPT_run_output] = pattern;
	cli_note("run %u of %u, for the next group of hardware metrics", group, groups);
	int status = run_record(&r);
	free(pattern);
	if (status) { /* there is no report, or a file that is not ours */
		free(*ret_name);
		*ret_name = NULL;
		return status;
	}
	if (r.status == first->status && r.writer_ended && !r.untraced)
		return 0;
	cli_error("run %u did not end as the first one: its hardware metrics are missing in '%s'",
		group, first->launch.output);
	return r.status == first->status ? STATUS_FAILED : end_status(r.status);
}

/* Run the program once for each group of metrics, and join them. Returns an exit status. */
static int run_each_group(struct run *first)
{
	struct options o = *first->launch.options;
	char *names[GPU_METRICS_MAX] = {NULL};
	if (!can_repeat(&first->launch))
		return STATUS_FAILED;
	o.value[OPT_run_gpu_metrics_pass] = "1";
	first->launch.options = &o;
	int status = run_record(first);
	if (status)
		return status;
	end_summary_print(first);
	const bool can_go_on =
		first->writer_ended && !first->untraced && !WIFSIGNALED(first->status);
	const uint32_t groups = can_go_on ? groups_of(first->launch.output) : 1;
	uint32_t count = 0, tried = 0;
	for (uint32_t group = 2; group <= groups && !status; group++, tried++) {
		status = group_record(first, group, groups, &names[tried]);
		count += !status;
	}
	const char *output = first->launch.output;
	if (count && metric_runs_join(output, output, names, (int)count, true))
		status = STATUS_FAILED;
	for (uint32_t i = 0; i < tried; i++) {
		if (names[i])
			unlink(names[i]);
		free(names[i]);
	}
	return status ? status : end_like(first->status, &first->launch);
}

int command_run(const struct options *o)
{
	struct run r = {.launch = {.options = o, .program = o->argv}};
	r.kill_signal = kill_parse(o->value[OPT_run_kill]);
	if (r.kill_signal < 0) {
		cli_error("invalid argument '%s' for --kill: expected none, sigkill, sigterm or a "
			  "signal number",
			o->value[OPT_run_kill]);
		return STATUS_FAILED;
	}
	if (!are_assignments(o->value[OPT_run_env_var])) {
		cli_error("invalid argument '%s' for --env-var: expected A=B,...",
			o->value[OPT_run_env_var]);
		return STATUS_FAILED;
	}
	if (option_is(o, OPT_run_gpuctxsw, "true"))
		cli_note("%s", TREE_NOTE_GPUCTXSW);
	if (!o->argc) {
		cli_error("no PROGRAM given; see 'trace help run'");
		return STATUS_FAILED;
	}
	if (o->value[OPT_run_dry_run])
		return run_print(&r);
	return is_repeated(&r.launch) ? run_each_group(&r) : run_once(&r);
}
