/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_stack.c - the callchain of a launch in the form of Nsight Compute's results.
 */
#define _GNU_SOURCE
#include "writer/cuda/launch_stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/frame_address.h"
#include "common/python_lines.h"
#include "common/utf8.h"
#include "writer/base/names.h"
#include "writer/cuda/launches.h"
#include "writer/lane/callchains.h"
#include "writer/lane/modules.h"
#include "writer/lane/python.h"

/* Own a text. Return "" instead of NULL. */
static char *text_own(struct launch_stack *stack, char *text)
{
	if (!text)
		return (char *)(uintptr_t) ""; /* packing does not change the message */
	return stack->texts[stack->text_count++] = text;
}

/* Return a copy of a name of the spool as valid UTF-8; NULL = there is no such name, or no
 * memory. */
static char *name_copy(struct spool *spool, uint32_t ref)
{
	const char *text;
	uint32_t bytes = spool_name_text(spool, ref, &text);
	char *copy = bytes ? malloc(utf8_clean_bytes(text, bytes) + 1) : NULL;
	if (copy)
		utf8_clean(text, bytes, copy);
	return copy;
}

static void python_frame_fill(struct launch_stack *stack, Ncu__CpuStacktraceStackFrameMessage *f,
	struct spool *spool, uint64_t address)
{
	const struct python_code *code = python_code_find(spool, address);
	if (!code) {
		f->module_name = (char *)(uintptr_t) "[Python]";
		return;
	}
	const char *table = "";
	uint32_t bytes = spool_name_text(spool, code->table, &table);
	f->line = python_line((const uint8_t *)table, bytes, code->lines, code->first_line,
		PYTHON_INSTRUCTION_OF(address));
	f->file_name = f->module_name = text_own(stack, name_copy(spool, code->file));
	char *name = name_copy(spool, code->name), *function = NULL;
	const char *slash = strrchr(f->file_name, '/');
	if (!name ||
		asprintf(&function, f->line ? "%s%s (%s:%u)" : "%s%s (%s)",
			address & PYTHON_AWAITS ? "await " : "", name,
			slash ? slash + 1 : f->file_name, f->line) < 0)
		function = NULL;
	free(name);
	f->func_name = text_own(stack, function);
}

Ncu__CpuStacktraceStackMessage *launch_stack_fill(
	struct launch_stack *stack, struct spool *spool, const struct launch_call *call)
{
	uint64_t addresses[LAUNCH_FRAMES_MAX];
	uint32_t count = callchains_addresses(spool, call->chain, addresses, LAUNCH_FRAMES_MAX);
	ncu__cpu_stacktrace_stack_message__init(&stack->message);
	for (uint32_t i = 0; i < count; i++) {
		Ncu__CpuStacktraceStackFrameMessage *f = &stack->frames[i];
		ncu__cpu_stacktrace_stack_frame_message__init(f);
		f->file_name = f->func_name = (char *)(uintptr_t) "";
		f->has_pc = f->has_line = 1;
		f->pc = addresses[i];
		if (addresses[i] & ADDRESS_PYTHON)
			python_frame_fill(stack, f, spool, addresses[i]);
		else
			f->module_name = (char *)(uintptr_t)modules_path(
				spool, addresses[i] - 1, call->tick);
		stack->list[i] = f;
	}
	stack->message.n_frames = count;
	stack->message.frames = stack->list;
	return count ? &stack->message : NULL;
}

void launch_stack_release(struct launch_stack *stack)
{
	while (stack->text_count)
		free(stack->texts[--stack->text_count]);
}
