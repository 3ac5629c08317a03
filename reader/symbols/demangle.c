/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.c - demangling of names by libiberty. */
#include "reader/symbols/demangle.h"

#include <string.h>

#ifdef HAVE_LIBIBERTY

#include <libiberty/demangle.h>
#include <setjmp.h>

/* libiberty keeps parts of a name on the stack. Its own limit rejects names of more than 1000
 * characters, but templates have longer ones. */
#define BYTES_UNDER_LIMIT 1000u
#define MANGLED_BYTES_MAX 4096u

struct output {
	char *text;
	size_t bytes;
	jmp_buf full;
};

/* Collect the output of libiberty, and leave it by longjmp() at the limit, because it offers no
 * other way to stop. Its callback interface allocates nothing, so nothing leaks. */
static void output_add(const char *text, size_t bytes, void *user)
{
	struct output *o = user;
	if (bytes >= DEMANGLED_BYTES_MAX - o->bytes)
		longjmp(o->full, 1);
	memcpy(o->text + o->bytes, text, bytes);
	o->bytes += bytes;
}

size_t demangle(const char *name, char *out)
{
	size_t bytes = strlen(name);
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO |
		(bytes > BYTES_UNDER_LIMIT ? DMGL_NO_RECURSE_LIMIT : 0);
	struct output o = {.text = out};
	if (bytes > MANGLED_BYTES_MAX || name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') ||
		setjmp(o.full))
		return 0;
	if (!rust_demangle_callback(name, options, output_add, &o)) {
		o.bytes = 0;
		if (!cplus_demangle_v3_callback(name, options, output_add, &o))
			return 0;
	}
	out[o.bytes] = 0;
	return o.bytes;
}

#else

size_t demangle(const char *name, char *out)
{
	(void)name;
	(void)out;
	return 0;
}

#endif

/* Return the opening bracket of the list whose closing bracket is the last character before `end`;
 * NULL = none. */
static const char *brackets_begin(const char *from, const char *end, char open, char close)
{
	int depth = 0;
	for (const char *at = end; at > from;) {
		at--;
		depth += (*at == close) - (*at == open);
		if (!depth)
			return at;
	}
	return NULL;
}

size_t demangled_base(const char *name, const char **ret_begin)
{
	const char *end = strrchr(name, ')'), *begin = name, *open;
	end = end ? brackets_begin(name, end + 1, '(', ')') : NULL;
	end = end && end > name ? end : name + strlen(name);
	if (end[-(end > name)] == '>' && (open = brackets_begin(name, end, '<', '>')))
		end = open;
	for (const char *at = end; at > name && begin == name; at--)
		if (at[-1] == ' ' || at[-1] == ':')
			begin = at;
	*ret_begin = begin;
	return (size_t)(end - begin);
}
