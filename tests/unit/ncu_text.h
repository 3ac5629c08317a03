/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ncu_text.h - messages of Nsight Compute built from text, for tests.
 */
#ifndef TESTS_UNIT_NCU_TEXT_H
#define TESTS_UNIT_NCU_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ncu.pb-c.h"
#include "reader/ncu/text_format.h"

/* Collect problems as "line:column text; " in user, which has NCU_PROBLEM_BYTES. */
#define NCU_PROBLEM_BYTES 1000u
__attribute__((unused)) static void ncu_text_problem(void *user, const struct text_problem *p)
{
	size_t at = strlen(user);
	snprintf((char *)user + at, NCU_PROBLEM_BYTES - at, "%s%u:%u %s%s", at ? "; " : "", p->line,
		p->column, p->is_warning ? "warning: " : "", p->text);
}

/* Build the message that the text describes. Return NULL after an error. The caller frees it. */
__attribute__((unused)) static void *ncu_text_message(
	const ProtobufCMessageDescriptor *type, const char *text, char *problems)
{
	uint8_t *bytes;
	size_t count;
	*problems = 0;
	if (text_format_pack(type, text, strlen(text), ncu_text_problem, problems, &bytes, &count))
		return NULL;
	void *message = protobuf_c_message_unpack(type, NULL, count, bytes);
	free(bytes);
	return message;
}

#endif
