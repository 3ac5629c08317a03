/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depth.h - check of the nesting and number of messages before they are unpacked.
 *
 * protobuf-c unpacks recursively and has no limit of its own; sections can nest items without end,
 * and an empty message of two bytes takes a hundred in memory. No state; any thread.
 */
#ifndef READER_NCU_DEPTH_H
#define READER_NCU_DEPTH_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#define MESSAGE_DEPTH_MAX 32u /* real messages have 8 */
#define MESSAGE_PARTS_MAX                                                                    \
	(16u << 20) /* messages, texts and bytes; real results have some per instruction and \
		       metric */

/* Return true if `bytes`, which should be a message of `type`, nest messages at most
 * MESSAGE_DEPTH_MAX deep and contain at most MESSAGE_PARTS_MAX messages and texts. Data that is
 * malformed at the wire level counts as flat, because unpacking rejects it. */
bool message_depth_is_sane(
	const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count);

#endif
