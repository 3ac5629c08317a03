/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - size and offset of the values of NVTX payloads: the rules of C compilers on
 * x86-64, to which NVTX refers.
 *
 * Any thread; no state. Numbers come from programs and files: none is trusted, and nothing
 * overflows.
 */
#ifndef COMMON_NVTX_LAYOUT_H
#define COMMON_NVTX_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/nvtx/ext.h"

struct nvtx_extent {
	uint64_t bytes; /* NVTX_BYTES_UNKNOWN = only the payload itself determines it */
	uint32_t align; /* a power of two */
};

/* Return the extent of a type below NVTX_TYPES_END; 0 bytes = unknown type. For texts: the extent
 * of one unit. */
static inline struct nvtx_extent nvtx_type_extent(uint64_t type)
{
	static const uint8_t bytes[NVTX_TYPE_SELECTOR + 1] = {[NVTX_TYPE_CHAR] = 1,
		[NVTX_TYPE_UCHAR] = 1,
		[NVTX_TYPE_SHORT] = 2,
		[NVTX_TYPE_USHORT] = 2,
		[NVTX_TYPE_INT] = 4,
		[NVTX_TYPE_UINT] = 4,
		[NVTX_TYPE_LONG] = 8,
		[NVTX_TYPE_ULONG] = 8,
		[NVTX_TYPE_LONGLONG] = 8,
		[NVTX_TYPE_ULONGLONG] = 8,
		[NVTX_TYPE_INT8] = 1,
		[NVTX_TYPE_UINT8] = 1,
		[NVTX_TYPE_INT16] = 2,
		[NVTX_TYPE_UINT16] = 2,
		[NVTX_TYPE_INT32] = 4,
		[NVTX_TYPE_UINT32] = 4,
		[NVTX_TYPE_INT64] = 8,
		[NVTX_TYPE_UINT64] = 8,
		[NVTX_TYPE_FLOAT] = 4,
		[NVTX_TYPE_DOUBLE] = 8,
		[NVTX_TYPE_LONGDOUBLE] = 16,
		[NVTX_TYPE_SIZE] = 8,
		[NVTX_TYPE_ADDRESS] = 8,
		[NVTX_TYPE_WCHAR] = 4,
		[NVTX_TYPE_CHAR8] = 1,
		[NVTX_TYPE_CHAR16] = 2,
		[NVTX_TYPE_CHAR32] = 4,
		[NVTX_TYPE_BYTE] = 1,
		[NVTX_TYPE_INT128] = 16,
		[NVTX_TYPE_UINT128] = 16,
		[NVTX_TYPE_FLOAT16] = 2,
		[NVTX_TYPE_FLOAT32] = 4,
		[NVTX_TYPE_FLOAT64] = 8,
		[NVTX_TYPE_FLOAT128] = 16,
		[NVTX_TYPE_BF16] = 2,
		[NVTX_TYPE_TF32] = 4,
		[NVTX_TYPE_RANGE_ID] = 8,
		[NVTX_TYPE_CATEGORY] = 4,
		[NVTX_TYPE_COLOR] = 4,
		[NVTX_TYPE_SCOPE] = 8,
		[NVTX_TYPE_PID32] = 4,
		[NVTX_TYPE_PID64] = 8,
		[NVTX_TYPE_TID32] = 4,
		[NVTX_TYPE_TID64] = 8,
		[NVTX_TYPE_CSTRING] = 1,
		[NVTX_TYPE_UTF8] = 1,
		[NVTX_TYPE_UTF16] = 2,
		[NVTX_TYPE_UTF32] = 4,
		[NVTX_TYPE_STRING_HANDLE] = 8,
		[NVTX_TYPE_SELECTOR] = 1};
	uint32_t size = type < sizeof(bytes) ? bytes[type] : 0;
	return (struct nvtx_extent){size, size ? size : 1};
}

/* Return true if values of this type (NVTX_TYPE_...) are characters. */
static inline bool nvtx_type_is_text(uint64_t type)
{
	return type >= NVTX_TYPE_CSTRING && type <= NVTX_TYPE_UTF32;
}

/* Return true if an entry is a pointer to a zero-terminated text: a text type with neither length
 * nor array. */
static inline bool nvtx_entry_is_text_pointer(uint64_t flags, uint64_t type, uint64_t detail)
{
	return nvtx_type_is_text(type) && !(flags & (NVTX_ENTRY_ARRAY | NVTX_ENTRY_ELSEWHERE)) &&
		!detail;
}

/* Return the extent of an entry at its offset; `element` is the extent of its type. */
static inline struct nvtx_extent nvtx_entry_extent(
	uint64_t flags, uint64_t type, uint64_t detail, struct nvtx_extent element)
{
	uint64_t array = flags & NVTX_ENTRY_ARRAY;
	if (flags & NVTX_ENTRY_ELSEWHERE || nvtx_entry_is_text_pointer(flags, type, detail))
		return (struct nvtx_extent){8, 8};
	if (!array && nvtx_type_is_text(type))
		array = NVTX_ARRAY_FIXED;
	if (!array)
		return element;
	bool known = array == NVTX_ARRAY_FIXED && element.bytes != NVTX_BYTES_UNKNOWN &&
		detail <= UINT32_MAX && element.bytes <= UINT32_MAX;
	return (struct nvtx_extent){
		known ? detail * element.bytes : NVTX_BYTES_UNKNOWN, element.align};
}

/* Return the offset of entry number `index`; the entries before it end at `end`. */
static inline uint64_t nvtx_entry_begin(
	uint64_t index, uint64_t offset, uint64_t end, uint32_t align, uint64_t pack)
{
	if (!index || offset)
		return offset;
	uint64_t unit = pack && pack < align ? pack : align;
	return unit && end < NVTX_BYTES_UNKNOWN - unit ? (end + unit - 1) / unit * unit : end;
}

#endif
