/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyze.c - `trace analyze`: rules over a report or a database.
 *
 * Each rule is a SQL file of reader/reports/rules with advice and a severity.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/base/print.h"
#include "reader/cli/base/output.h"
#include "reader/cli/commands.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/names_near.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/select.h"
#include "reader/cli/database/rows.h"
#include "reader/cli/database/stats.h"

#define STATUS_FOUND 3 /* a rule of at least the severity of --fail-on has findings */
#define ADVICE_WIDTH 100u
#define ROWS_SHOWN 10u    /* rows printed of a rule by default */
#define ROWS_COUNTED 1000 /* rows left out are counted up to this number */
#define ROWS_MAX ((uint64_t)INT64_MAX - ROWS_COUNTED)

static const char *const severities[] = {"info", "warning", "error"};
#define SEVERITIES (sizeof(severities) / sizeof(severities[0]))

struct analysis {
	struct stats_form form;
	const char *rules; /* names separated by commas; NULL = all */
	const char *rows;  /* value of --rows: digits, or "all"; NULL = not given */
	bool json;
	unsigned width; /* width of the terminal; 0 = no limit */
	size_t fail_on; /* SEVERITIES = never */
	bool any;       /* whether a rule was printed */
	bool found;     /* whether a printed rule has at least the severity fail_on */
};

/* The context of a finding: what is printed around the rows of one rule. */
struct finding {
	struct sql *sql;
	const struct sql_report *rule;
	const char *severity;
	unsigned width;
};

static size_t severity_rank(const char *name)
{
	size_t rank = 0;
	while (rank < SEVERITIES && strcmp(severities[rank], name))
		rank++;
	return rank;
}

/* Print the words of a text as lines. */
static void lines_print(const char *text, unsigned width)
{
	size_t column = 0, most = width && width < ADVICE_WIDTH ? width : ADVICE_WIDTH;
	for (size_t bytes; *text; text += bytes + strspn(text + bytes, " ")) {
		bytes = strcspn(text, " ");
		if (column && column + 1 + bytes > most) {
			putchar('\n');
			column = 0;
		}
		column += (size_t)printf("%s%.*s", column ? " " : "", (int)bytes, text);
	}
	putchar('\n');
}

static void heading_print(void *user)
{
	const struct finding *f = user;
	char *title = sql_report_title(f->sql, f->rule), *advice = sql_rule_advice(f->sql, f->rule);
	printf("\n ** %s (%s): %s\n\n", title ? title : "", f->rule->name, f->severity);
	lines_print(advice ? advice : "", f->width);
	putchar('\n');
	free(advice);
	free(title);
}

static void json_member(const char *name, const char *value)
{
	printf("\"%s\": ", name);
	print_json_string(stdout, value);
	fputs(", ", stdout);
}

static void json_begin(const struct analysis *a, const char *file, const struct finding *f)
{
	char *title = sql_report_title(f->sql, f->rule), *advice = sql_rule_advice(f->sql, f->rule);
	fputs(a->any ? ",\n{" : "[\n{", stdout);
	json_member("file", file);
	json_member("rule", f->rule->name);
	json_member("title", title);
	json_member("severity", f->severity);
	json_member("advice", advice);
	fputs("\"rows\": ", stdout);
	free(advice);
	free(title);
}

/* Return whether the arguments of the rule set its number of rows. */
static bool sets_rows(const char *arguments)
{
	for (const char *at = arguments; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL)
		if (!strncmp(at, "rows=", 5))
			return true;
	return false;
}

/* Return the number of rows of a rule to print; 0 = all. */
static uint64_t rows_shown(const struct analysis *a, const char *arguments)
{
	if (a->json || sets_rows(arguments) || (a->rows && !strcmp(a->rows, "all")))
		return 0;
	uint64_t rows = a->rows ? strtoull(a->rows, NULL, 10) : ROWS_SHOWN;
	return rows < ROWS_MAX ? rows : ROWS_MAX;
}

/* Build the arguments that set a rule's number of rows: its own number, or that of --rows. Text
 * output requests more rows, so that the remaining ones can be counted. The caller frees the text;
 * NULL = the rule's default, or no memory. */
static char *arguments_make(const struct analysis *a, const char *arguments)
{
	char *text = NULL;
	long long rows = a->json ? 0 : (long long)rows_shown(a, NULL) + ROWS_COUNTED;
	if (sets_rows(arguments) || (a->json && !a->rows))
		return arguments ? strdup(arguments) : NULL;
	if (a->rows)
		rows = !strcmp(a->rows, "all") ? -1 : rows + (a->json ? atoll(a->rows) : 0);
	if (asprintf(&text, "%s%srows=%lld", arguments ? arguments : "", arguments ? ":" : "",
		    rows) < 0)
		return NULL;
	return text;
}

static void rest_print(const struct sql_report *rule, uint64_t rows, uint64_t shown)
{
	printf("%s%" PRIu64
	       " more; --rows all prints all of them, -r %s:rows=N the first N of this rule\n",
		rows - shown >= ROWS_COUNTED ? "at least " : "", rows - shown, rule->name);
}

static int reason_print(void *user, const struct sql_value *values, int count)
{
	(void)user;
	if (count == 1 && values[0].type == SQL_TEXT)
		printf(": %s", values[0].text);
	return 0;
}

/* Print a line for a rule without rows: what it lacks, or that there is nothing. The statement
 * `few:` of a rule returns a text if there is too little data to find anything. Returns 0 or a
 * negative errno. */
static int nothing_print(struct sql *s, const struct sql_report *rule, bool skipped)
{
	const struct sql_visitor visitor = {NULL, NULL, reason_print};
	char *data = stats_data_name(s, rule), *few = report_header(rule, "few");
	char *cause = skipped || few ? stats_missing_cause(s, rule) : NULL;
	int error = 0;
	printf("%s: %s", rule->name, skipped ? "no data" : "nothing found");
	if (skipped && data && !cause)
		printf(": %s", data);
	else if (!skipped && few && *few)
		error = sql_run(s, few, &visitor);
	if (cause)
		printf("%s %s", skipped ? ":" : ";", cause);
	putchar('\n');
	free(cause);
	free(few);
	free(data);
	return error;
}

/* Print a rule. Returns 0, or a negative errno after a message. */
static int rule_print(struct analysis *a, struct stats_database *d, const struct sql_report *rule,
	const char *given)
{
	char *severity = report_header(rule, "severity"), what[80];
	char *arguments = arguments_make(a, given);
	const struct finding finding = {&d->sql, rule, severity ? severity : "", a->width};
	const struct sql_form form = {.format = a->json ? TABLE_JSON : TABLE_ALIGNED,
		.time = a->form.time,
		.width = a->width,
		.rows_most = rows_shown(a, given)};
	struct sql_outcome outcome;
	if (a->json)
		json_begin(a, d->file, &finding);
	int error = sql_report_print(
		&d->sql, rule, arguments, &form, heading_print, (void *)&finding, stdout, &outcome);
	if (a->json)
		printf(", \"data\": %s}", outcome.skipped ? "false" : "true");
	else if (!error && outcome.rows) {
		if (form.rows_most && outcome.rows > form.rows_most)
			rest_print(rule, outcome.rows, form.rows_most);
		putchar('\n');
	} else if (!error)
		error = nothing_print(&d->sql, rule, outcome.skipped);
	a->any = true;
	a->found |= !error && outcome.rows && severity_rank(finding.severity) >= a->fail_on;
	snprintf(what, sizeof(what), "run the rule %s", rule->name);
	if (error)
		sql_file_failed(&d->sql, d->file, what, error);
	free(arguments);
	free(severity);
	return error;
}

#define CUDA_TABLES                                                                          \
	"CUPTI_ACTIVITY_KIND_RUNTIME CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_MEMCPY " \
	"CUPTI_ACTIVITY_KIND_MEMSET"

static bool is_about_cuda(const struct sql_report *rule)
{
	char *needs = report_header(rule, "needs");
	bool cuda = needs && !strncmp(needs, "CUPTI_", 6);
	free(needs);
	return cuda;
}

/* Print all rules. In text output, print one line instead of the rules about CUDA if the file has
 * no data for any of them. */
static int all_rules_print(struct analysis *a, struct stats_database *d)
{
	const struct sql_report *rule;
	int has_cuda = a->json ? 1 : sql_needs_met(&d->sql, CUDA_TABLES);
	int error = has_cuda < 0 ? has_cuda : 0;
	if (!has_cuda)
		puts("No CUDA data: CUDA was not used or not recorded; its rules are skipped");
	for (size_t i = 0; !error && (rule = report_at(i)); i++)
		if (rule->is_rule && (has_cuda || !is_about_cuda(rule)))
			error = rule_print(a, d, rule, NULL);
	return error;
}

/* Print the named rules, or all of them. */
static int rules_print(struct analysis *a, struct stats_database *d)
{
	int error = a->rules ? 0 : all_rules_print(a, d);
	for (const char *at = a->rules; at && !error; at++) {
		size_t bytes = strcspn(at, ","), name = strcspn(at, ",:");
		char *arguments = name < bytes ? strndup(at + name + 1, bytes - name - 1) : NULL;
		error = rule_print(a, d, report_find(at, name, true), arguments);
		free(arguments);
		at += bytes;
		if (!*at)
			break;
	}
	return error;
}

static const char *rule_name_at(size_t n)
{
	const struct sql_report *r;
	for (size_t i = 0; (r = report_at(i)); i++)
		if (r->is_rule && !n--)
			return r->name;
	return NULL;
}

static bool rules_are_known(const char *rules)
{
	for (const char *at = rules; at; at++) {
		size_t bytes = strcspn(at, ","), name = strcspn(at, ",:");
		if (!report_find(at, name, true)) {
			char *near = names_near(at, name, rule_name_at);
			cli_error("unknown rule '%.*s'%s%s%s see 'trace analyze --list'", (int)name,
				at, near ? "; did you mean " : "", near ? near : "",
				near ? "?" : ";");
			free(near);
			return false;
		}
		at += bytes;
		if (!*at)
			break;
	}
	return true;
}

static int rules_list(void)
{
	const struct sql_report *r;
	for (size_t i = 0; (r = report_at(i)); i++) {
		char *severity = r->is_rule ? report_header(r, "severity") : NULL;
		char *title = report_title(r);
		if (r->is_rule)
			printf("%-20s%-10s%s\n", r->name, severity ? severity : "",
				title ? title : "");
		free(title);
		free(severity);
	}
	return cli_finish(stdout, "standard output");
}

static int analyze_file(const struct options *o, const char *file, void *user)
{
	struct analysis *a = user;
	struct stats_database d;
	if (stats_database_open(&d, file, &a->form, o->value[OPT_analyze_no_symbols]))
		return STATUS_FAILED;
	if (!a->json)
		printf("Analyzing [%s]\n", file);
	int status = rules_print(a, &d) ? STATUS_FAILED : d.status;
	stats_database_close(&d);
	return status;
}

int command_analyze(const struct options *o)
{
	const char *window = o->value[OPT_analyze_filter_time],
		   *unit = o->value[OPT_analyze_time_unit],
		   *fail_on = o->value[OPT_analyze_fail_on];
	struct analysis a = {
		.form = {.symbol_path = o->value[OPT_analyze_symbol_path],
			.no_wait = o->value[OPT_analyze_no_wait],
			.window = {.all = true},
			.nvtx_window = o->value[OPT_analyze_filter_nvtx]},
		.rules = o->value[OPT_analyze_rule],
		.rows = o->value[OPT_analyze_rows],
		.json = option_is(o, OPT_analyze_format, "json"),
		.fail_on = fail_on ? severity_rank(fail_on) : SEVERITIES,
	};
	if (o->value[OPT_analyze_list])
		return rules_list();
	select_callchains(o->value[OPT_analyze_callchains]);
	if (!stats_rows_option(a.rows))
		return STATUS_FAILED;
	a.width = !a.json && isatty(STDOUT_FILENO) ? cli_terminal_width(0) : 0;
	if (!rules_are_known(a.rules) ||
		!stats_window_options(window, unit, &a.form.window, &a.form.time))
		return STATUS_FAILED;
	int status = option_files(o, analyze_file, &a);
	if (a.json)
		fputs(a.any ? "\n]\n" : "[]\n", stdout);
	int finished = cli_finish(stdout, "standard output");
	status = status > finished ? status : finished;
	return status == STATUS_OK && a.found ? STATUS_FOUND : status;
}
