/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depth.h - how deep messages lie in each other, and how many they are, before they are unpacked.
 *
 * protobuf-c unpacks by recursion and has no limit of its own; sections can hold items in items
 * without end, and an empty message of two bytes becomes a hundred in memory. No state; any thread.
 */
#ifndef READER_NCU_DEPTH_H
#define READER_NCU_DEPTH_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#define MESSAGE_DEPTH_MAX 32u /* real ones: 8 */
#define MESSAGE_PARTS_MAX \
	(16u << 20) /* messages, texts and bytes; real ones: some per instruction and metric */

/* Do messages in `bytes`, which should be one of `type`, lie no deeper than MESSAGE_DEPTH_MAX, and
 * are they and their texts together no more than MESSAGE_PARTS_MAX? What is malformed at the wire
 * level counts as shallow: unpacking refuses it. */
bool message_depth_is_sane(
	const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count);

#endif
