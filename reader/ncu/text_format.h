/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_format.h - a message as text, made into its bytes.
 *
 * Driven by the descriptor of the message. Names of fields are compared without case and
 * underscores, since our .proto files have underscores where the text has capitals. Any text may
 * come: messages lie no deeper in each other than MESSAGE_DEPTH_MAX, and a pass takes time
 * proportional to the text and its depth. One thread; allocates.
 *
 * Numbers, bool, enumerations, texts and messages; not bytes, nor what no .proto of ours has.
 */
#ifndef READER_NCU_TEXT_FORMAT_H
#define READER_NCU_TEXT_FORMAT_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_problem {
	uint32_t line, column; /* in bytes, from 1 */
	bool is_warning;       /* what it is about was left out, the rest counts */
	char text[192];
};

typedef void text_problem_told(void *user, const struct text_problem *problem);

/*
 * Makes the bytes of a message of `type`, which the caller frees. `problem` is told about each
 * field that the message does not have (a warning: later releases have more) and about the first
 * error. 0; -EINVAL behind an error; -ENOMEM.
 */
int text_format_pack(const ProtobufCMessageDescriptor *type, const char *text, size_t bytes,
	text_problem_told *problem, void *user, uint8_t **ret_bytes, size_t *ret_count);

#endif
