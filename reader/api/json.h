/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - conversion of messages to JSON, driven by their descriptors.
 *
 * Only fields that are present are written, under their names in common/schema; numbers and
 * enumerations as numbers (null if not finite), texts as print_json() writes them, bytes as hex
 * digits. Any thread; allocates.
 */
#ifndef READER_API_JSON_H
#define READER_API_JSON_H

#include <protobuf-c/protobuf-c.h>

/* Return the message as JSON, or "{}" for NULL; the caller frees the text. The recursion depth is
 * that of the message, which the caller checked when unpacking it. Returns 0 or -ENOMEM. */
int json_message(const ProtobufCMessage *message, char **ret_json);

#endif
