/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opengl.c - debug groups and messages of OpenGL (KHR_debug, EXT_debug_marker).
 */
#include "common/schema/libraries.h"
#include "common/text.h"
#include "tracer/core/call_hooks.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/state.h"
#include "tracer/graphics/hooks.h"
#include "tracer/graphics/labels.h"

enum opengl_hook { NONE = 0, GROUP_PUSH, GROUP_POP, MESSAGE, MARKER_PUSH, MARKER_INSERT };

static const struct {
	const char *name;
	uint32_t hook;
} hooked[] = {{"glPushDebugGroup", GROUP_PUSH}, {"glPopDebugGroup", GROUP_POP},
	{"glDebugMessageInsert", MESSAGE}, {"glPushDebugGroupKHR", GROUP_PUSH},
	{"glPopDebugGroupKHR", GROUP_POP}, {"glDebugMessageInsertKHR", MESSAGE},
	{"glPushGroupMarkerEXT", MARKER_PUSH}, {"glPopGroupMarkerEXT", GROUP_POP},
	{"glInsertEventMarkerEXT", MARKER_INSERT}};
#define HOOKED (sizeof(hooked) / sizeof(hooked[0]))

#define DEBUG_TYPE_MARKER 0x8268u
#define DEBUG_TYPE_PUSH_GROUP 0x8269u
#define DEBUG_SEVERITY_NOTIFICATION 0x826bu

/* A hook is 1 + the index of its row. */
static uint32_t hook_find(const char *name)
{
	for (uint32_t i = 0; i < HOOKED; i++)
		if (text_equal(name, hooked[i].name))
			return i + 1;
	return 0;
}

static const char *text_at(uint64_t word)
{
	return (const char *)(uintptr_t)word;
}

static int64_t length_of(uint64_t word)
{
	return (int32_t)(uint32_t)word;
}

static void before(uint32_t hook, struct hooked_call *call)
{
	const uint64_t *w = call->words, tick = call->is_recorded ? call->begin_tick : 0;
	struct graphics_label l = {.function = hooked[hook - 1].name,
		.form = OPENGL_RANGE,
		.source = (uint32_t)w[0],
		.type = DEBUG_TYPE_PUSH_GROUP,
		.id = (uint32_t)w[1],
		.severity = DEBUG_SEVERITY_NOTIFICATION};
	switch (hooked[hook - 1].hook) {
	case GROUP_PUSH:
		l.text_bytes = length_of(w[2]);
		l.text = text_at(w[3]);
		label_begin(&l, tick);
		break;
	case MARKER_PUSH:
	case MARKER_INSERT: /* a length of 0: the text is terminated */
		l.source = l.id = l.severity = 0;
		l.text_bytes = length_of(w[0]) > 0 ? length_of(w[0]) : -1;
		l.text = text_at(w[1]);
		if (hooked[hook - 1].hook == MARKER_PUSH) {
			label_begin(&l, tick);
			break;
		}
		l.form = OPENGL_MARK;
		l.type = DEBUG_TYPE_MARKER;
		label_mark(&l, tick);
		break;
	case MESSAGE:
		l.form = OPENGL_MARK;
		l.type = (uint32_t)w[1];
		l.id = (uint32_t)w[2];
		l.severity = (uint32_t)w[3];
		l.text_bytes = length_of(w[4]);
		l.text = text_at(w[5]);
		label_mark(&l, tick);
		break;
	default:
		label_end(OPENGL_RANGE, 0, tick);
		break;
	}
}

static void after(uint32_t hook, struct hooked_call *call)
{
	(void)hook;
	(void)call;
}

void opengl_start(void)
{
	static const struct call_hooks hooks = {.row = LIBRARY_opengl,
		.find = hook_find,
		.before = before,
		.after = after,
		.is_plain = true};
	if (!session.config.opengl)
		return;
	if (labels_start())
		call_hooks[CALL_HOOKS_OPENGL] = &hooks;
	else
		diagnostic_line("no memory for debug groups of OpenGL; only its calls are "
				"recorded");
}
