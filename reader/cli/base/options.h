/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the tables of options.def, and the parser of command lines.
 *
 * options_parse() permutes argv and the result points into it, so argv must live as long as the
 * result. One thread.
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
	const char *value[OPTIONS]; /* NULL = not given; "" = a switch that was given */
	int argc;
	char **argv; /* the remaining arguments of the command */
	int before;  /* diff, why: number of arguments before "--"; -1 = no "--" */
};

struct command_row {
	const char *name, *arguments, *title, *text;
};

extern const struct command_row command_rows[COMMANDS];
extern const struct option_row option_rows[OPTIONS];

/* Parse the arguments of a command; argv[0] is its name. Returns 0; 1 if --help was given; -EINVAL
 * after a message on stderr. */
int options_parse(struct options *o, enum command_id command, int argc, char **argv);

/* Return the words that the option's argument may be, separated by blanks; NULL if it is not one of
 * a fixed set of words. */
const char *option_words(const struct option_row *row);

/* Return the value that applies if neither the option nor its variable is given; NULL = none. */
const char *option_default(const struct option_row *row);

/* Return the option's value, else that of its variable, else NULL; an empty one is none. */
const char *option_or_variable(const struct options *o, enum option_id id);

/* Return the number given for an option, or `otherwise` if the option is not given. Only for
 * options with the choices "NUMBER", which the parser has checked. */
uint64_t option_number(const struct options *o, enum option_id id, uint64_t otherwise);

/* Check the variable that stands for an option, if it is a list of words. (The tracer accepts more
 * words and numbers than an option, and reports those that it does not.) Return false after a
 * message. */
bool option_variable_check(const struct option_row *row);

/* Return whether the option was given with this value. */
bool option_is(const struct options *o, enum option_id id, const char *value);

/* Return the argument FILE, or NULL after a message unless there is exactly one argument. */
const char *option_file(const struct options *o);

/* Call `one` for each argument FILE; `user` is passed on. Returns the greatest exit status. */
int option_files(const struct options *o, int (*one)(const struct options *, const char *, void *),
	void *user);

#endif
