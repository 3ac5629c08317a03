/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - public functions that parse messages of Nsight Compute written as text.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libtrace-reader.h"
#include "ncu.pb-c.h"
#include "reader/ncu/text_format.h"

struct first_problem {
	char *cause;
	size_t cause_bytes;
};

static void note_problem(void *user, const struct text_problem *p)
{
	const struct first_problem *first = user;
	if (!p->is_warning && first->cause_bytes)
		snprintf(
			first->cause, first->cause_bytes, "%u:%u: %s", p->line, p->column, p->text);
}

int libtrace_body_item(const char *text, size_t bytes, void **ret_item, size_t *ret_bytes,
	char *cause, size_t cause_bytes)
{
	struct first_problem first = {cause, cause ? cause_bytes : 0};
	uint8_t *item;
	size_t count;
	if (first.cause_bytes)
		snprintf(cause, cause_bytes, "%s", strerror(ENOMEM));
	int error = text_format_pack(&ncu__rule_result_body_item__descriptor, text, bytes,
		note_problem, &first, &item, &count);
	if (error)
		return error;
	*ret_item = item;
	*ret_bytes = count;
	return 0;
}
