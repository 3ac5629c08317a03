/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - options.def as tables, and the parser made from them.
 *
 * options_parse() permutes and points into argv, which must live as long as the result. One thread.
 */
#ifndef READER_CLI_BASE_OPTIONS_H
#define READER_CLI_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define OPTION(command, id, short, long, argument, choices, variable, meaning) OPT_##command##_##id,
enum option_id {
#include "reader/cli/base/options.def"
	OPTIONS
};

#define COMMAND(name, arguments, title, text) CMD_##name,
enum command_id {
#include "reader/cli/base/options.def"
	COMMANDS
};

struct option_row {
	enum command_id command;
	char letter;
	const char *name, *argument, *choices, *variable, *meaning;
};

struct options {
	enum command_id command;
	const char *value[OPTIONS]; /* NULL = not given; "" for a switch that is */
	int argc;
	char **argv; /* what is left: arguments of the command */
	int before;  /* diff: how many of them stood in front of "--"; -1 = there was none */
};

struct command_row {
	const char *name, *arguments, *title, *text;
};

extern const struct command_row command_rows[COMMANDS];
extern const struct option_row option_rows[OPTIONS];

/* argv[0] is the command's name. 0; 1 when --help was asked for; -EINVAL after a message on stderr.
 */
int options_parse(struct options *o, enum command_id command, int argc, char **argv);

/* What the argument may be, separated by blanks; NULL where that is not a matter of words. */
const char *option_words(const struct option_row *row);

/* Number of an option that was given. Only for choices "NUMBER", which the parser has checked. */
uint64_t option_number(const struct options *o, enum option_id id, uint64_t otherwise);
bool option_is(const struct options *o, enum option_id id, const char *value);

/* The one argument FILE, or NULL after a message. */
const char *option_file(const struct options *o);

/* Calls `one` for every argument FILE, `user` passed on. Returns the worst exit status. */
int option_files(const struct options *o, int (*one)(const struct options *, const char *, void *),
	void *user);

#endif
