/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.c - selection of NVTX domains and capture ranges, by the options.
 */
#include "tracer/nvtx/select.h"

#include "common/text.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/gate.h"
#include "tracer/core/range_hooks.h"
#include "tracer/core/state.h"
#include "tracer/nvtx/hooks.h"
#include "tracer/nvtx/text.h"
#include "tracer/core/window.h"

#define LIST_BYTES 1024u
#define DEFAULT_DOMAIN "default"

bool nvtx_selects;

static char list[LIST_BYTES]; /* the list of the option; empty = all domains */
static bool list_excludes;

void nvtx_select_start(void)
{
	const struct config *c = &session.config;
	const char *given =
		c->nvtx_domain_include ? c->nvtx_domain_include : c->nvtx_domain_exclude;
	list_excludes = !c->nvtx_domain_include;
	if (given && text_append(list, sizeof(list), 0, given) < text_length(given))
		diagnostic_line(
			"the list of NVTX domains is too long; domains at its end are ignored");
	if (c->nvtx_domain_include && c->nvtx_domain_exclude)
		diagnostic_line("LIBTRACE_NVTX_DOMAIN_EXCLUDE is ignored, since "
				"LIBTRACE_NVTX_DOMAIN_INCLUDE is set");
	nvtx_selects =
		list[0] || session.control->capture.kind == CAPTURE_NVTX || c->gpu_metrics_range;
}

/* Return true if the element at `item` is the domain's name. *ret_next is after the comma, or the
 * end. A name with a backslash is a plain name: "\default" is a domain with the name "default". */
static bool item_is(const char *item, const char *name, uint32_t bytes, const char **ret_next)
{
	bool same = true, escaped = false;
	uint32_t at = 0;
	const char *begin = item;
	for (; *item && *item != ','; item++, at++) {
		if (*item == '\\' && item[1]) {
			item++;
			escaped = true;
		}
		same = same && at < bytes && name[at] == *item;
	}
	*ret_next = *item ? item + 1 : item;
	if (!escaped && at == sizeof(DEFAULT_DOMAIN) - 1 && text_begins(begin, DEFAULT_DOMAIN))
		return !bytes;
	return same && at == bytes && bytes;
}

bool nvtx_select_includes(const char *name, uint32_t bytes)
{
	bool named = false;
	for (const char *at = list; *at && !named;)
		named = item_is(at, name, bytes, &at);
	return !list[0] || named != list_excludes;
}

static bool name_is(const char *text, uint32_t bytes, const char *wanted)
{
	uint32_t at = 0;
	while (at < bytes && wanted[at] && text[at] == wanted[at])
		at++;
	return at == bytes && !wanted[at];
}

/* Find the message of an event whose text was copied to *text, with a struct nvtx_long behind it if
 * it is longer: set both to the message. Return its name, or NULL. */
static struct name *message_find(const struct nvtx_event *event, const char **text, uint32_t *bytes)
{
	struct name *name = NULL;
	if (event->kind == NVTX_TEXT_NAME)
		name = (struct name *)(uintptr_t)event->text;
	if (__builtin_expect(*bytes > NVTX_TEXT_BYTES, 0)) {
		*bytes = ((const struct nvtx_long *)(const void *)(*text + NVTX_TEXT_BYTES))->bytes;
		name = nvtx_long_name(event->kind, event->text);
	}
	if (name) {
		*text = name->text;
		*bytes = name->bytes;
	}
	return name;
}

static bool is_capture_range(const struct capture_spec *s, const struct name *domain,
	const struct nvtx_event *event, const char *text, uint32_t bytes)
{
	message_find(event, &text, &bytes);
	return name_is(text, bytes, s->range) &&
		(s->is_any_domain ||
			name_is(domain ? domain->text : "", domain ? domain->bytes : 0, s->domain));
}

uint32_t nvtx_select_range(
	const struct name *domain, const struct nvtx_event *event, const char *text, uint32_t bytes)
{
	const struct capture_spec *s = window_in_force();
	uint32_t flags = nvtx_select_excludes(domain) ? FRAME_SILENT : 0;
	if (s && s->kind == CAPTURE_NVTX && is_capture_range(s, domain, event, text, bytes) &&
		window_range_begin())
		flags |= FRAME_CAPTURE;
	return flags;
}

uint32_t nvtx_select_push(
	struct name *domain, const struct nvtx_event *event, const char *text, uint32_t bytes)
{
	uint32_t flags = nvtx_select_range(domain, event, text, bytes);
	if (!range_hooks || flags & FRAME_SILENT || !GATE_LOOKS_OPEN(session_mask))
		return flags;
	struct name *message = message_find(event, &text, &bytes);
	return range_hooks->begin(domain, message, text, bytes) ? flags | FRAME_HOOKED : flags;
}

void nvtx_select_pop(uint32_t flags, bool is_left)
{
	if (flags & FRAME_HOOKED)
		range_hooks->end(is_left);
	if (flags & FRAME_CAPTURE)
		window_range_end();
}
