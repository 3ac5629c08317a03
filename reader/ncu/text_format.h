/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_format.h - conversion of a message in protobuf's text format to its wire format.
 *
 * Driven by the descriptor of the message. Field names are compared ignoring case and underscores,
 * because our .proto files have underscores where the text has capitals. The text may be hostile:
 * messages nest at most MESSAGE_DEPTH_MAX deep, and a pass takes time proportional to the size of
 * the text and its depth. One thread; allocates.
 *
 * Supports numbers, bool, enumerations, texts and messages; not bytes, nor types that no .proto of
 * this project uses.
 */
#ifndef READER_NCU_TEXT_FORMAT_H
#define READER_NCU_TEXT_FORMAT_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_problem {
	uint32_t line, column; /* counted from 1; columns in bytes */
	bool is_warning;       /* the field was skipped, the rest is valid */
	char text[192];
};

typedef void text_problem_visitor(void *user, const struct text_problem *problem);

/*
 * Convert the text to a message of `type`, whose bytes the caller frees. `problem` is called for
 * each field that the message does not have (a warning: later releases have more fields) and for
 * the first error. Returns 0; -EINVAL after an error; -ENOMEM.
 */
int text_format_pack(const ProtobufCMessageDescriptor *type, const char *text, size_t bytes,
	text_problem_visitor *problem, void *user, uint8_t **ret_bytes, size_t *ret_count);

#endif
