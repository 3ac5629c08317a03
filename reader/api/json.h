/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - messages as JSON, by their descriptors.
 *
 * Only fields that are there, under their names in common/schema; numbers and enumerations as
 * numbers (what is no finite number as null), texts as print_json() has them, bytes as hexadecimal
 * digits. Any thread; allocates.
 */
#ifndef READER_API_JSON_H
#define READER_API_JSON_H

#include <protobuf-c/protobuf-c.h>

/* The message, or "{}" for NULL; the text is the caller's. Messages lie no deeper in each other
 * than the one who unpacked them checked. 0 or -ENOMEM. */
int json_message(const ProtobufCMessage *message, char **ret_json);

#endif
