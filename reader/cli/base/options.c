/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - the tables of options.def, and the parser of command lines.
 */
#define _GNU_SOURCE
#include "reader/cli/base/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/text.h"
#include "reader/base/regex.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/names_near.h"

/* clang-format off */
#define what_if what-if /* a hyphen cannot be in an identifier */
#define gpu_metrics gpu-metrics
/* clang-format on */
#define WORD_OF(name) #name
#define COMMAND(name, arguments, title, text) {WORD_OF(name), arguments, title, text},
const struct command_row command_rows[COMMANDS] = {
#include "reader/cli/base/options.def"
};

/* Choices of `run --trace`. */
static const char trace_choices[] = "LIST cuda nvtx osrt openmp openacc none"
#define LIBRARY(number, id, title, files, functions) " " #id
#include "common/schema/libraries.def"
	;

#define OPTION(command, id, short, long, argument, choices, variable, meaning) \
	{CMD_##command, short, long, argument, choices, variable, meaning},
const struct option_row option_rows[OPTIONS] = {
#include "reader/cli/base/options.def"
};

#define HELP_VALUE (OPTIONS + 256)
#define REGEX_BYTES_MAX 255u   /* of an option in a report */
#define CAPABILITY_END 60.     /* values from here on, such as 86, were typed without the point */
#define SECONDS_MAX 999999999. /* most seconds that launch.c and the tracer can count in ns */

static bool is_number(const char *value, bool fraction)
{
	bool digits = false;
	for (; *value; value++) {
		if (*value == '.' && fraction && digits)
			fraction = false;
		else if (*value >= '0' && *value <= '9')
			digits = true;
		else
			return false;
	}
	return digits;
}

static bool is_word(const char *words, const char *value, size_t length)
{
	for (const char *at = words; length && (at = strchr(at, value[0])); at++)
		if ((at == words || at[-1] == ' ') && !strncmp(at, value, length) &&
			(at[length] == ' ' || !at[length]))
			return true;
	return false;
}

/* Return whether each element of the comma-separated list is one of the words. */
static bool are_words(const char *words, const char *value)
{
	for (;; value++) {
		size_t length = strcspn(value, ",");
		if (!is_word(words, value, length))
			return false;
		value += length;
		if (!*value)
			return true;
	}
}

/* Return whether each element of the comma-separated list is one of the words, optionally followed
 * by ":NUMBER". "none" must be the only element. */
static bool are_classes(const char *words, const char *value)
{
	char item[64];
	uint64_t number;
	if (!strcmp(value, "none"))
		return true;
	for (;; value++) {
		size_t length = strcspn(value, ","), name = strcspn(value, ":,");
		snprintf(item, sizeof(item), "%.*s", (int)(length - name),
			value + name); /* ":NUMBER" or nothing */
		if (!is_word(words, value, name) || (*item && !text_to_number(item + 1, &number)))
			return false;
		value += length;
		if (!*value)
			return true;
	}
}

/* Get the range of choices "NUMBER 128" (at most 128) or "NUMBER 1-128". Return false for those
 * without a range: "NUMBER", "NUMBER none". */
static bool number_range(const char *choices, uint64_t *ret_least, uint64_t *ret_most)
{
	const char *more = choices[6] ? choices + 7 : choices + 6, *to = strchr(more, '-');
	*ret_least = to ? strtoull(more, NULL, 10) : 0;
	*ret_most = UINT64_MAX;
	return text_to_number(to ? to + 1 : more, ret_most);
}

/* Check a value by choices that begin with "NUMBER". */
static bool is_number_choice(const char *choices, const char *value)
{
	uint64_t number, least, most;
	number_range(choices, &least, &most);
	if (!text_to_number(value, &number))
		return choices[6] && !strcmp(value, choices + 7);
	return number >= least && number <= most;
}

/* Return why a value is no regular expression that a report can hold; NULL = it is one. */
static const char *regex_fault(const char *value)
{
	const char *cause;
	if (!*value || strlen(value) > REGEX_BYTES_MAX)
		return "1 to 255 bytes";
	regex_free(regex_compile(value, &cause));
	return cause;
}

const char *option_words(const struct option_row *row)
{
	const char *choices = row->choices ? row->choices : "";
	if (!strncmp(choices, "LIST ", 5))
		return choices + 5;
	return *choices >= 'a' && *choices <= 'z' ? choices : NULL;
}

static bool is_choice(const char *choices, const char *value)
{
	if (!choices || !strcmp(choices, "FILE") || !strcmp(choices, "REPEAT") ||
		!strcmp(choices, "NAMES"))
		return *value || !choices;
	if (!strncmp(choices, "NUMBER", 6))
		return is_number_choice(choices, value);
	if (!strcmp(choices, "REGEX"))
		return !regex_fault(value);
	if (!strcmp(choices, "SECONDS"))
		return is_number(value, true) && strtod(value, NULL) <= SECONDS_MAX;
	if (!strcmp(choices, "DECIMAL"))
		return is_number(value, true);
	if (!strcmp(choices, "CAPABILITY"))
		return is_number(value, true) && strtod(value, NULL) < CAPABILITY_END;
	if (!strcmp(choices, "PROBABILITY"))
		return is_number(value, true) && strtod(value, NULL) > 0 && strtod(value, NULL) < 1;
	if (!strncmp(choices, "CLASSES ", 8))
		return are_classes(choices + 8, value);
	if (!strncmp(choices, "LIST ", 5))
		return are_words(choices + 5, value);
	return is_word(choices, value, strlen(value));
}

/* The joined values of a repeatable option. They are never freed: `before` keeps them reachable. */
struct joined {
	struct joined *before;
	char text[];
};

/* Return both values joined by a comma (NAMES) or a newline (REPEAT); NULL = out of memory. */
static const char *joined(const char *choices, const char *before, const char *value)
{
	static struct joined *all;
	size_t bytes = strlen(before) + strlen(value) + 2;
	struct joined *both = malloc(sizeof(*both) + bytes);
	if (!both)
		return NULL;
	both->before = all;
	all = both;
	snprintf(
		both->text, bytes, "%s%c%s", before, !strcmp(choices, "NAMES") ? ',' : '\n', value);
	return both->text;
}

static bool may_repeat(const char *choices)
{
	return choices && (!strcmp(choices, "REPEAT") || !strcmp(choices, "NAMES"));
}

/* Return the permitted arguments, for a message about a value; `room` may receive the text. */
static const char *expected(
	const struct option_row *option, const char *value, char *room, size_t bytes)
{
	static const struct {
		const char *choices, *text;
	} texts[] = {{"SECONDS", "seconds, such as 10 or 0.5, at most 999999999"},
		{"DECIMAL", "a number, such as 10 or 0.5"},
		{"CAPABILITY", "a compute capability such as 8.6"},
		{"PROBABILITY", "a number between 0 and 1, such as 0.005"},
		{"NUMBER", "an unsigned integer"}};
	uint64_t least, most;
	const char *choices = option->choices ? option->choices : "";
	if (option_words(option)) {
		snprintf(room, bytes, "%s: %s",
			!strncmp(choices, "LIST ", 5) ? "a list of" : "one of",
			option_words(option));
		return room;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(choices, texts[i].choices))
			return texts[i].text;
	if (!strcmp(choices, "REGEX"))
		snprintf(room, bytes, "a regular expression (%s)", regex_fault(value));
	else if (!strncmp(choices, "CLASSES ", 8))
		snprintf(room, bytes, "none, or a list of %s, such as kernel:500,memory",
			choices + 8);
	else if (!strncmp(choices, "NUMBER ", 7) && !number_range(choices, &least, &most))
		snprintf(room, bytes, "an unsigned integer, or %s", choices + 7);
	else if (!strncmp(choices, "NUMBER ", 7) && least)
		snprintf(room, bytes, "an unsigned integer, %" PRIu64 " to %" PRIu64, least, most);
	else if (!strncmp(choices, "NUMBER ", 7))
		snprintf(room, bytes, "an unsigned integer, at most %" PRIu64, most);
	else
		return option->argument;
	return room;
}

bool option_variable_check(const struct option_row *row)
{
	const char *value = row->variable ? getenv(row->variable) : NULL;
	char room[256];
	if (!value || !*value || !row->choices ||
		(strncmp(row->choices, "LIST ", 5) != 0 && strcmp(row->choices, "REGEX") != 0) ||
		is_choice(row->choices, value))
		return true;
	cli_error("invalid value '%s' of %s: expected %s; see 'trace help %s'", value,
		row->variable, expected(row, value, room, sizeof(room)),
		command_rows[row->command].name);
	return false;
}

/* Return the argument that an invalid one stands for; NULL = unknown. */
static const char *hint(uint32_t row, const char *value)
{
	static const struct {
		enum option_id row;
		const char *word, *argument;
	} hints[] = {
#define HINT(command, option, word, argument) {OPT_##command##_##option, word, argument},
#include "reader/cli/base/option_hints.def"
#undef HINT
	};
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if ((uint32_t)hints[i].row == row && !strcasecmp(hints[i].word, value))
			return hints[i].argument;
	return NULL;
}

static int option_set(struct options *o, uint32_t row, const char *value)
{
	const struct option_row *option = &option_rows[row];
	char room[256];
	if (option->argument && !is_choice(option->choices, value)) {
		const char *meant = hint(row, value);
		cli_error("invalid argument '%s' for --%s: %s%s%sexpected %s; see 'trace help %s'",
			value, option->name, meant ? "did you mean '" : "", meant ? meant : "",
			meant ? "'? " : "", expected(option, value, room, sizeof(room)),
			command_rows[option->command].name);
		return -EINVAL;
	}
	if (o->value[row] && may_repeat(option->choices))
		value = joined(option->choices, o->value[row], value);
	o->value[row] = value ? value : "";
	return value || !option->argument ? 0 : -ENOMEM;
}

/* Fill the tables of getopt_long. The leading `+` stops it at the program of `run`, whose options
 * are not ours. */
static void tables_make(enum command_id command, struct option *ret_long, char *ret_short)
{
	*ret_short++ = '+';
	*ret_short++ = ':'; /* a missing argument is reported as ':' */
	*ret_short++ = 'h';
	*ret_long++ = (struct option){"help", no_argument, NULL, HELP_VALUE};
	for (uint32_t i = 0; i < OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];
		if (row->command != command)
			continue;
		*ret_long++ = (struct option){row->name,
			row->argument ? required_argument : no_argument, NULL, (int)(256 + i)};
		if (row->letter)
			*ret_short++ = row->letter;
		if (row->letter && row->argument)
			*ret_short++ = ':';
	}
	*ret_long = (struct option){0};
	*ret_short = 0;
}

static int row_of(enum command_id command, int result)
{
	if (result >= 256)
		return result - 256;
	for (uint32_t i = 0; i < OPTIONS; i++)
		if (option_rows[i].command == command && option_rows[i].letter == result)
			return (int)i;
	return -1;
}

/* diff, why: the replacement of "--", which getopt_long() would treat as the end of the options. */
static char divider[] = "";

static void divider_put(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--")) {
			argv[i] = divider;
			return;
		}
}

/* Remove the divider from the remaining arguments. */
static void divider_take(struct options *o)
{
	for (int i = 0; i < o->argc; i++)
		if (o->argv[i] == divider) {
			memmove(o->argv + i, o->argv + i + 1,
				sizeof(*o->argv) * (size_t)(o->argc - i));
			o->argc--;
			o->before = i;
			return;
		}
}

/* Return the long options of the command that begin with the text, as "--a, --b"; "" = none. */
static const char *options_beginning(const struct option *longs, const char *text)
{
	static char list[400];
	size_t bytes = strcspn(text, "="), at = 0;
	for (*list = 0; longs->name && at < sizeof(list) - 1; longs++)
		if (!strncmp(longs->name, text, bytes))
			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s--%s",
				at ? ", " : "", longs->name);
	return list;
}

static const struct option *near_longs; /* the options that long_at() enumerates */

static const char *long_at(size_t n)
{
	return near_longs[n].name;
}

/* Report an unknown long option, and those with a similar name. */
static void unknown_option(const struct option *longs, const char *argument, const char *command)
{
	near_longs = longs;
	char *near = names_near(argument + 2, strcspn(argument + 2, "="), long_at);
	cli_error("unknown option '%s'; %s%s%ssee 'trace help %s'", argument,
		near ? "did you mean " : "", near ? near : "", near ? "? " : "", command);
	free(near);
}

/* Print why getopt_long() refused an option. result: '?' or ':'; argument: the last one that it
 * read. */
static void option_refused(
	enum command_id command, const struct option *longs, int result, const char *argument)
{
	const char *name = command_rows[command].name;
	if (result == ':' && optopt < 256)
		cli_error("option '-%c' needs an argument; see 'trace help %s'", optopt, name);
	else if (result == ':')
		cli_error("option '%s' needs an argument; see 'trace help %s'", argument, name);
	else if (optopt >= 256)
		cli_error("option '%s' takes no argument; see 'trace help %s'", argument, name);
	else if (optopt)
		cli_error("unknown option '-%c'; see 'trace help %s'", optopt, name);
	else if (*options_beginning(longs, argument + 2))
		cli_error("ambiguous option '%s': %s; see 'trace help %s'", argument,
			options_beginning(longs, argument + 2), name);
	else
		unknown_option(longs, argument, name);
}

int options_parse(struct options *o, enum command_id command, int argc, char **argv)
{
	struct option longs[OPTIONS + 2];
	char shorts[2 * OPTIONS + 8];
	int result;
	*o = (struct options){.command = command, .before = -1};
	if (command == CMD_nightly ||
		command == CMD_recipe) { /* the package parses all of their options */
		o->argc = argc - 1;
		o->argv = argv + 1;
		return 0;
	}
	tables_make(command, longs, shorts);
	if (command == CMD_diff || command == CMD_why)
		divider_put(argc, argv);
	/* Options may follow the file, too; but options after the program of `run` belong to the
	 * program. */
	char *order = command == CMD_run ? shorts : shorts + 1;
	optind = 0;
	opterr = 0;
	while ((result = getopt_long(argc, argv, order, longs, NULL)) != -1) {
		if (result == 'h' || result == HELP_VALUE)
			return 1;
		int row = row_of(command, result);
		if (row < 0)
			option_refused(command, longs, result, argv[optind - 1]);
		if (row < 0 || option_set(o, (uint32_t)row, optarg))
			return -EINVAL;
	}
	o->argc = argc - optind;
	o->argv = argv + optind;
	divider_take(o);
	return 0;
}

const char *option_default(const struct option_row *row)
{
	static const struct {
		const char *name, *value;
	} variables[] = {
#define ENV(name, value, meaning) {#name, value},
#include "common/env.def"
	};
	for (size_t i = 0; row->variable && i < sizeof(variables) / sizeof(variables[0]); i++)
		if (!strcmp(variables[i].name, row->variable))
			return *variables[i].value ? variables[i].value : NULL;
	return NULL;
}

const char *option_or_variable(const struct options *o, enum option_id id)
{
	const char *value = o->value[id];
	if (!value && option_rows[id].variable)
		value = getenv(option_rows[id].variable);
	return value && *value ? value : NULL;
}

uint64_t option_number(const struct options *o, enum option_id id, uint64_t otherwise)
{
	uint64_t number = otherwise;
	if (o->value[id])
		text_to_number(o->value[id], &number);
	return number;
}

bool option_is(const struct options *o, enum option_id id, const char *value)
{
	return o->value[id] && !strcmp(o->value[id], value);
}

int option_files(const struct options *o, int (*one)(const struct options *, const char *, void *),
	void *user)
{
	int worst = 0;
	if (!o->argc)
		return option_file(o) ? 0 : STATUS_FAILED;
	for (int i = 0; i < o->argc; i++) {
		int status = one(o, o->argv[i], user);
		worst = status > worst ? status : worst;
	}
	return worst;
}

const char *option_file(const struct options *o)
{
	if (o->argc == 1)
		return o->argv[0];
	cli_error("%s; see 'trace help %s'",
		o->argc ? "too many arguments: expected one FILE ('trace merge' joins reports)"
			: "no FILE given",
		command_rows[o->command].name);
	return NULL;
}
