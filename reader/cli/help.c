/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.c - `trace help`: options.def and env.def as help, manual page and shell completion.
 */
#include "reader/cli/help.h"

#include <stdbool.h>
#include <string.h>

#include "reader/cli/commands.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"

#define TEXT_COLUMN 32
#define WIDTH 100
#define LINE_BYTES 4096u /* of a paragraph of a command's text */

struct variable {
	const char *name, *otherwise, *meaning;
};

#define ENV(name, default, meaning) {#name, default, meaning},
static const struct variable variables[] = {
#include "common/env.def"
};
#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

/* Print the words of `text` from column `column` on, broken at WIDTH; the lines after the first
 * begin at `indent`. */
static void wrap(FILE *out, const char *text, size_t column, size_t indent)
{
	while (*text) {
		size_t word = strcspn(text, " ");
		if (column > indent && column + 1 + word > WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fwrite(text, 1, word, out);
		column += word;
		text += word + strspn(text + word, " ");
	}
	fputc('\n', out);
}

#define ITEM "  " /* begins a line of a command's text that is an item of a list */

/* Copy the next line of a command's text, and advance *text past it. Return false after the last
 * one. */
static bool next_line(const char **text, char *ret_line, size_t bytes)
{
	size_t length = strcspn(*text, "\n");
	if (!**text)
		return false;
	snprintf(ret_line, bytes, "%.*s", (int)length, *text);
	*text += length + ((*text)[length] == '\n');
	return true;
}

static bool is_item(const char *line)
{
	return !strncmp(line, ITEM, strlen(ITEM));
}

/* Print the text of a command: paragraphs, and items that are indented. */
static void command_text(FILE *out, const char *text)
{
	char line[LINE_BYTES];
	while (next_line(&text, line, sizeof(line))) {
		const size_t indent = is_item(line) ? strlen(ITEM) : 0;
		fprintf(out, "%*s", (int)indent, "");
		wrap(out, line + indent, indent, 2 * indent);
	}
}

static void entry(FILE *out, const char *name, const char *text)
{
	int used = fprintf(out, "  %s", name);
	if (used >= TEXT_COLUMN - 1) {
		fputc('\n', out);
		used = 0;
	}
	fprintf(out, "%*s", TEXT_COLUMN - used, "");
	wrap(out, text, TEXT_COLUMN, TEXT_COLUMN);
}

void help_overview(FILE *out)
{
	fputs("usage: trace COMMAND [OPTION...] [ARGUMENT...]\n\n", out);
	for (uint32_t i = 0; i < COMMANDS; i++)
		entry(out, command_rows[i].name, command_rows[i].title);
	fputs("\nSee 'trace help COMMAND' for a command, 'trace help env' for environment "
	      "variables,\n'trace help nvtx' for filters by NVTX ranges, and 'trace help metrics' "
	      "for derived metrics.\n",
		out);
}

static void option_name(const struct option_row *row, char *ret_name, size_t bytes)
{
	char letter[8] = "    ";
	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(ret_name, bytes, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
		row->argument ? row->argument : "");
}

void help_command(FILE *out, enum command_id command)
{
	const struct command_row *c = &command_rows[command];
	char name[128], text[1024];
	fprintf(out, "usage: trace %s [OPTION...]%s%s\n\n", c->name, *c->arguments ? " " : "",
		c->arguments);
	command_text(out, c->text);
	fputc('\n', out);
	for (uint32_t i = 0; i < OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];
		if (row->command != command)
			continue;
		const char *otherwise = option_default(row);
		option_name(row, name, sizeof(name));
		snprintf(text, sizeof(text), "%s%s%s%s%s%s%s%s%s", row->meaning,
			otherwise ? "; default " : "", otherwise ? otherwise : "",
			option_words(row) ? " [" : "", option_words(row) ? option_words(row) : "",
			option_words(row) ? "]" : "", row->variable ? " (" : "",
			row->variable ? row->variable : "", row->variable ? ")" : "");
		entry(out, name, text);
	}
	entry(out, "-h, --help", "print this help");
}

static void help_variables(FILE *out)
{
	char text[1024];
	for (size_t i = 0; i < VARIABLES; i++) {
		const struct variable *v = &variables[i];
		snprintf(text, sizeof(text), "%s%s%s", v->meaning,
			*v->otherwise ? "; default " : "", v->otherwise);
		entry(out, v->name, text);
	}
}

/* Print text of a manual page. roff treats a point or quote at the start of a line, and
 * backslashes, as commands. */
static void roff(FILE *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", out);
	for (; *text; text++)
		fputs(*text == '\\' ? "\\e" : *text == '-' ? "\\-" : (const char[]){*text, 0}, out);
	fputc('\n', out);
}

static void man_text(FILE *out, const char *text)
{
	char line[LINE_BYTES];
	while (next_line(&text, line, sizeof(line))) {
		const bool item = is_item(line);
		fputs(item ? ".IP \"\" 2\n" : ".PP\n", out);
		roff(out, line + (item ? strlen(ITEM) : 0));
	}
}

static void man_option(FILE *out, const struct option_row *row)
{
	fputs(".TP\n", out);
	if (row->letter)
		fprintf(out, "\\fB\\-%c\\fR, ", row->letter);
	fputs("\\fB\\-\\-", out);
	for (const char *s = row->name; *s; s++)
		fputs(*s == '-' ? "\\-" : (const char[]){*s, 0}, out);
	fprintf(out, "\\fR %s%s%s\n", row->argument ? "\\fI" : "",
		row->argument ? row->argument : "", row->argument ? "\\fR" : "");
	roff(out, row->meaning);
	if (option_words(row)) {
		fputs(".br\nOne of: ", out);
		roff(out, option_words(row));
	}
	if (option_default(row)) {
		fputs(".br\nDefault: ", out);
		roff(out, option_default(row));
	}
	if (row->variable)
		fprintf(out, ".br\nSets %s.\n", row->variable);
}

static void help_man(FILE *out)
{
	fputs(".TH TRACE 1 \"\" \"libtrace\" \"User Commands\"\n.SH NAME\ntrace \\- record what a "
	      "program does, and read the reports\n"
	      ".SH SYNOPSIS\n.B trace\n.I command\n.RI [ option ...]\n.RI [ argument ...]\n.SH "
	      "COMMANDS\n",
		out);
	for (uint32_t i = 0; i < COMMANDS; i++) {
		fprintf(out, ".SS trace %s ", command_rows[i].name);
		roff(out, command_rows[i].arguments);
		man_text(out, command_rows[i].text);
		for (uint32_t n = 0; n < OPTIONS; n++)
			if (option_rows[n].command == i)
				man_option(out, &option_rows[n]);
	}
	fputs(".SH ENVIRONMENT\n", out);
	for (size_t i = 0; i < VARIABLES; i++) {
		fprintf(out, ".TP\n.B %s\n", variables[i].name);
		roff(out, variables[i].meaning);
		if (*variables[i].otherwise) {
			fputs(".br\nDefault: ", out);
			roff(out, variables[i].otherwise);
		}
	}
	fputs(".SH EXIT STATUS\n0: done; 1: the report is damaged (check: or truncated or "
	      "unfinished); "
	      "2: wrong usage, or a file cannot be read or written. "
	      "\n.BR \"trace run\" :\nthat of the program.\n",
		out);
}

static void completion_words(FILE *out, uint32_t command)
{
	fprintf(out, "\t%s) words='--help", command_rows[command].name);
	for (uint32_t i = 0; i < OPTIONS; i++)
		if (option_rows[i].command == command)
			fprintf(out, " --%s", option_rows[i].name);
	if (command == CMD_help) {
		fputs(" env metrics nvtx", out);
		for (uint32_t i = 0; i < COMMANDS; i++)
			fprintf(out, " %s", command_rows[i].name);
	}
	fputs("' ;;\n", out);
}

static void help_completion(FILE *out)
{
	fputs("# bash completion of trace, generated by `trace help --completion "
	      "bash`\n_trace()\n{\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
	      "words= i\n\tCOMPREPLY=()\n"
	      "\tfor ((i = 2; i < COMP_CWORD; i++)); do [ \"${COMP_WORDS[i]}\" != -- ] || return; "
	      "done\n"
	      "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\tCOMPREPLY=($(compgen -W '--help --version",
		out);
	for (uint32_t i = 0; i < COMMANDS; i++)
		fprintf(out, " %s", command_rows[i].name);
	fputs("' -- \"$word\"))\n\t\treturn\n\tfi\n\tcase \"${COMP_WORDS[1]} $before\" in\n", out);
	for (uint32_t i = 0; i < OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];
		if (!option_words(row))
			continue;
		fprintf(out, "\t'%s --%s'", command_rows[row->command].name, row->name);
		if (row->letter)
			fprintf(out, "|'%s -%c'", command_rows[row->command].name, row->letter);
		fprintf(out, ") COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n",
			option_words(row));
	}
	fputs("\tesac\n\tcase ${COMP_WORDS[1]} in\n", out);
	for (uint32_t i = 0; i < COMMANDS; i++)
		completion_words(out, i);
	fputs("\tesac\n\tcase $word in -*|'') COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;; "
	      "esac\n}\n"
	      "complete -o default -F _trace trace\n",
		out);
}

static void help_nvtx(FILE *out)
{
	fputs("--nvtx-include and --nvtx-exclude select events by the NVTX ranges that their "
	      "thread is in\n"
	      "when they begin.\n\n"
	      "  [DOMAIN@]RANGES   without DOMAIN, the default domain\n"
	      "  A/                push/pop range A is open, at any depth\n"
	      "  [A    A]          A is the outermost range, the innermost range\n"
	      "  A/B               B is directly inside A\n"
	      "  A/+/B  A/*/B      exactly one range is between A and B; any number of ranges\n"
	      "  A   A,B           without '/' and brackets: start/end ranges that are open in "
	      "the\n"
	      "                    process; all of them must be\n"
	      "  regex:...         domain and names are extended regular expressions, matched\n"
	      "                    anywhere in the text; write '/[' and '/]' for brackets of an\n"
	      "                    expression at the very beginning or end\n\n"
	      "A backslash before @ , [ ] / * + makes them part of a name. Both options may be "
	      "repeated:\n"
	      "an event is selected if any include matches, or there is none, and no exclude "
	      "matches. A\n"
	      "range is inside itself. With --nvtx-push-pop-scope process, push/pop ranges of all "
	      "threads\n"
	      "of the process count. GPU work is selected with the API call that launched it.\n"
	      "Sums of calls that were not recorded one by one are left out.\n",
		out);
}

static void help_metrics(FILE *out)
{
	fputs("Expressions of --metrics in 'trace details' and 'trace derive', and of Expression "
	      "in section\n"
	      "files. They compute metrics from the metrics of a result.\n\n"
	      "  NAME=EXPRESSION   a name consists of letters, digits, '_', '.' and ':'\n"
	      "  + - * / ( )       * and / bind more tightly than + and -; left to right\n"
	      "  METRIC  2  2.5    integers are unsigned with 64 bits; other numbers are double\n"
	      "  revise_min(E)  revise_max(E)  revise_avg(E)  revise_sum(E)\n"
	      "                    replace the aggregate by that of the instances\n"
	      "  simplify(E)       the aggregate alone\n"
	      "  nan_as_zero(E)    0 instead of NaN\n\n"
	      "The result has the wider type of both operands (uint32, uint64, float, double). The "
	      "quotient\n"
	      "of two integers is an integer; division of an integer by zero returns the "
	      "dividend.\n"
	      "A negative result of unsigned operands becomes a double. A metric with instances "
	      "is\n"
	      "combined with a number instance by instance, and with another metric by "
	      "correlation\n"
	      "id: + and - keep instances that only one operand has, * and / drop them. The\n"
	      "aggregate is then the sum of the instances.\n",
		out);
}

int command_help(const struct options *o)
{
	if (o->value[OPT_help_man]) {
		help_man(stdout);
	} else if (o->value[OPT_help_completion]) {
		help_completion(stdout);
	} else if (!o->argc) {
		help_overview(stdout);
	} else if (!strcmp(o->argv[0], "env")) {
		help_variables(stdout);
	} else if (!strcmp(o->argv[0], "nvtx")) {
		help_nvtx(stdout);
	} else if (!strcmp(o->argv[0], "metrics")) {
		help_metrics(stdout);
	} else {
		uint32_t i = 0;
		while (i < COMMANDS && strcmp(command_rows[i].name, o->argv[0]))
			i++;
		if (i == COMMANDS) {
			cli_error("unknown command '%s'; see 'trace help'", o->argv[0]);
			return STATUS_FAILED;
		}
		help_command(stdout, (enum command_id)i);
	}
	return cli_finish(stdout, "standard output");
}
