/*
 * info_empty.c - a report that is whole, and holds nothing that anybody wanted: why that may be.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reader/cli/info.h"

/* What every process has, whatever it did. */
static bool is_background(uint32_t kind)
{
	switch (kind) {
	case KIND_THREAD_START:
	case KIND_THREAD_END:
	case KIND_THREAD_NAME:
	case KIND_GAP:
	case KIND_CHILD:
	case KIND_MODULE_LOAD:
	case KIND_MODULE_UNLOAD:
	case KIND_CUDA_SETUP:
	case KIND_CUDA_RECEIPT:
		return true;
	default:
		return false;
	}
}

bool info_events_empty(const uint64_t *events)
{
	for (uint32_t kind = 0; kind < SCHEMA_KINDS; kind++)
		if (events[kind] && !is_background(kind))
			return false;
	return true;
}

/* Events that cannot be read any more may be all there were. */
static bool is_whole(const struct info *i)
{
	return !i->r.problems && !i->r.report.unfinished && !i->c.tally.torn_bytes && !i->dropped &&
		!i->damaged_lanes && !i->unended;
}

bool info_is_empty(const struct info *i)
{
	return is_whole(i) && i->c.session && i->c.tally.blocks && !i->c.tally.results &&
		info_events_empty(i->c.events);
}

/* The value of an option of the recording; "" = not told. */
static const char *option_of(const Libtrace__Session *s, const char *name)
{
	size_t bytes = strlen(name);
	for (size_t n = 0; s && n < s->n_options; n++)
		if (!strncmp(s->options[n], name, bytes) && s->options[n][bytes] == '=')
			return s->options[n] + bytes + 1;
	return "";
}

__attribute__((format(printf, 3, 4))) static void reason_add(
	char *text, size_t bytes, const char *format, ...)
{
	va_list arguments;
	size_t used = strlen(text);
	if (used)
		used += (size_t)snprintf(text + used, bytes - used, "; ");
	if (used >= bytes)
		return;
	va_start(arguments, format);
	vsnprintf(text + used, bytes - used, format, arguments);
	va_end(arguments);
}

static void sources_add(const Libtrace__Session *s, char *text, size_t bytes)
{
	const char *sources = option_of(s, "trace");
	bool of_domains =
		*option_of(s, "nvtx_domain_include") || *option_of(s, "nvtx_domain_exclude");
	if (!strcmp(sources, "none"))
		reason_add(text, bytes, "nothing was to be recorded (trace=none)");
	if (strstr(sources, "osrt"))
		reason_add(text, bytes,
			"no call of the C library was seen (statically linked programs and raw "
			"system calls make none that is)");
	if (strstr(sources, "nvtx"))
		reason_add(text, bytes, "no NVTX call was made%s",
			of_domains ? " in the domains asked for" : "");
	if (strstr(sources, "cuda"))
		reason_add(text, bytes, "CUDA was not used, or could not be recorded");
	if (*sources && strcmp(sources, "none") != 0 && !strstr(sources, "osrt"))
		reason_add(text, bytes, "other events were not asked for (trace=%.40s)", sources);
}

void info_empty_reasons(const struct info *i, char *ret_text, size_t bytes)
{
	*ret_text = 0;
	if (info_never_began(i)) {
		reason_add(ret_text, bytes,
			"recording never began: the delay did not end, or no capture range began");
		return;
	}
	if (i->c.windows.told)
		reason_add(ret_text, bytes, "only what began in its windows was to be recorded");
	if (i->untraced)
		reason_add(ret_text, bytes, "%llu processes were not traced",
			(unsigned long long)i->untraced);
	sources_add(i->c.session, ret_text, bytes);
	if (i->c.diagnostic_count)
		reason_add(ret_text, bytes, "see the diagnostics of 'trace info'");
}
