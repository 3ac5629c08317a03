/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - the choice of results for `trace details`: by kernel, index of the launch, and NVTX
 * ranges.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/pages/details.h"
#include "reader/ncu/nvtx_match.h"

#define REGEX "regex:"

/* ---- patterns ---- */

static int pattern_compile(
	struct details_pattern *p, const char *option, const char *expression, bool whole)
{
	char *text = NULL, cause[128];
	if (asprintf(&text, whole ? "^(%s)$" : "%s", expression) < 0)
		return -ENOMEM;
	int code = regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB);
	free(text);
	p->is_regex = !code;
	if (!code)
		return 0;
	regerror(code, &p->regex, cause, sizeof(cause));
	cli_error("--%s '%s': %s", option, expression, cause);
	return -EINVAL;
}

/* Set a pattern: a name, or "regex:" and an expression that matches anywhere in a name. */
static int pattern_set(struct details_pattern *p, const char *option, const char *text)
{
	p->text = text;
	return strncmp(text, REGEX, strlen(REGEX))
		? 0
		: pattern_compile(p, option, text + strlen(REGEX), false);
}

/* Match a name. Shell patterns are our extension; a kernel's exact name with such characters still
 * matches. */
static bool pattern_matches(const struct details_pattern *p, const char *text)
{
	if (!p->text)
		return true;
	if (p->is_regex)
		return !regexec(&p->regex, text, 0, NULL, 0);
	return !strcmp(p->text, text) || !fnmatch(p->text, text, 0);
}

static void pattern_release(struct details_pattern *p)
{
	if (p->is_regex)
		regfree(&p->regex);
}

/* ---- --kernel-id CONTEXT:STREAM:[regex:]NAME:INVOCATION ---- */

static bool number_or_any(const char *text, bool *ret_given, uint32_t *ret_number)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	*ret_given = *text;
	*ret_number = (uint32_t)number;
	return !*end && *text != '-' && *text != '+' && number <= UINT32_MAX;
}

/* Split the text into its parts. */
static bool id_cut(struct details_filter *f, char **ret_name, char **ret_invocation)
{
	char *context = f->id_text, *stream = strchr(context, ':');
	char *name = stream ? strchr(stream + 1, ':') : NULL;
	char *invocation = name ? strrchr(name + 1, ':') : NULL;
	if (!invocation)
		return false;
	*stream++ = *name++ = *invocation++ = 0;
	*ret_name = name;
	*ret_invocation = invocation;
	return number_or_any(context, &f->has_context, &f->context) &&
		number_or_any(stream, &f->has_stream, &f->stream);
}

static int id_set(struct details_filter *f, const char *text)
{
	char *name, *invocation;
	f->id_text = strdup(text);
	if (!f->id_text)
		return -ENOMEM;
	if (!id_cut(f, &name, &invocation)) {
		cli_error("invalid argument '%s' for --kernel-id: expected "
			  "CONTEXT:STREAM:[regex:]NAME:INVOCATION; parts may be empty",
			text);
		return -EINVAL;
	}
	f->has_id = true;
	int error = *name ? pattern_set(&f->id_name, "kernel-id", name) : 0;
	if (!error && *invocation) {
		f->invocation.text = invocation;
		error = pattern_compile(&f->invocation, "kernel-id", invocation, true);
	}
	return error;
}

/* ---- a result ---- */

const char *details_name_by(enum details_base base, const Ncu__ProfileResult *r)
{
	const char *name = base == BASE_MANGLED ? r->kernel_mangled_name : r->kernel_function_name;
	return base == BASE_DEMANGLED ? ncu_kernel_name(r) : name ? name : "";
}

static bool id_matches(struct details_filter *f, const Ncu__ProfileResult *r)
{
	char number[24];
	if ((f->has_context && r->context_id != f->context) ||
		(f->has_stream && r->stream_id != f->stream) ||
		!pattern_matches(&f->id_name, details_name_by(f->base, r)))
		return false;
	snprintf(number, sizeof(number), "%" PRIu64, ++f->invocations);
	return pattern_matches(&f->invocation, number);
}

static bool wants(struct details_filter *f, const Ncu__ProfileResult *r)
{
	if (f->nvtx && !ncu_nvtx_passes(f->nvtx, r->nvtx, r->thread_id))
		return false;
	if (f->seen++ < f->skip_before_match)
		return false;
	if (f->has_id ? !id_matches(f, r) : !pattern_matches(&f->name, details_name_by(f->base, r)))
		return false;
	return f->matched++ >= f->skip && f->matched - f->skip <= f->count;
}

bool details_wants(struct details_filter *f, const Ncu__ProfileResult *r)
{
	const bool is_wanted = wants(f, r);
	f->is_asked = true;
	f->any |= is_wanted;
	return is_wanted;
}

void details_filter_again(struct details_filter *f)
{
	f->seen = f->matched = f->invocations = 0;
}

static enum details_base base_of(const char *text)
{
	if (text && !strcmp(text, "demangled"))
		return BASE_DEMANGLED;
	return text && !strcmp(text, "mangled") ? BASE_MANGLED : BASE_FUNCTION;
}

int details_filter_set(struct details_filter *f, const struct options *o)
{
	const char *name = o->value[OPT_details_kernel_name], *id = o->value[OPT_details_kernel_id];
	int error = 0;
	*f = (struct details_filter){
		.base = base_of(o->value[OPT_details_kernel_name_base]),
		.skip_before_match = option_number(o, OPT_details_launch_skip_before_match, 0),
		.skip = option_number(o, OPT_details_launch_skip, 0),
		.count = option_number(o, OPT_details_launch_count, UINT64_MAX),
	};
	if (name)
		error = pattern_set(&f->name, "kernel-name", name);
	if (!error && id)
		error = id_set(f, id);
	if (!error && select_nvtx(o, OPT_details_nvtx_include, OPT_details_nvtx_exclude, &f->nvtx))
		error = -EINVAL;
	return error;
}

void details_filter_release(struct details_filter *f)
{
	pattern_release(&f->name);
	pattern_release(&f->id_name);
	pattern_release(&f->invocation);
	free(f->id_text);
}
