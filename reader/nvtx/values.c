/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - output of scalar values of NVTX payloads. */
#define _GNU_SOURCE
#include "reader/nvtx/values.h"

#include <string.h>

#include "common/nvtx/layout.h"
#include "reader/base/print.h"

uint64_t nvtx_unsigned(const uint8_t *at, uint32_t bytes)
{
	uint64_t value = 0;
	memcpy(&value, at, bytes < sizeof(value) ? bytes : sizeof(value));
	return value;
}

static int64_t signed_of(uint64_t value, uint32_t bytes)
{
	uint32_t unused = bytes < 8 ? 64 - 8 * bytes : 0;
	return (int64_t)(value << unused) >> unused;
}

static bool is_signed(uint64_t type)
{
	switch (type) {
	case NVTX_TYPE_SHORT:
	case NVTX_TYPE_INT:
	case NVTX_TYPE_LONG:
	case NVTX_TYPE_LONGLONG:
	case NVTX_TYPE_INT8:
	case NVTX_TYPE_INT16:
	case NVTX_TYPE_INT32:
	case NVTX_TYPE_INT64:
	case NVTX_TYPE_INT128:
		return true;
	default:
		return false;
	}
}

uint64_t nvtx_length(uint64_t type, const uint8_t *at, uint32_t bytes)
{
	uint64_t value = nvtx_unsigned(at, bytes);
	return is_signed(type) && signed_of(value, bytes) < 0 ? 0 : value;
}

bool nvtx_integer(uint64_t type, const uint8_t *at, uint32_t bytes, int64_t *ret_value)
{
	bool is_known = is_signed(type) || type == NVTX_TYPE_UCHAR || type == NVTX_TYPE_USHORT ||
		type == NVTX_TYPE_UINT || type == NVTX_TYPE_ULONG || type == NVTX_TYPE_ULONGLONG ||
		type == NVTX_TYPE_UINT8 || type == NVTX_TYPE_UINT16 || type == NVTX_TYPE_UINT32 ||
		type == NVTX_TYPE_UINT64 || type == NVTX_TYPE_SIZE ||
		(type >= NVTX_TYPE_RANGE_ID && type <= NVTX_TYPE_TID64);
	if (!is_known || !bytes || bytes > sizeof(uint64_t))
		return false;
	uint64_t value = nvtx_unsigned(at, bytes);
	*ret_value = is_signed(type) ? signed_of(value, bytes) : (int64_t)value;
	return true;
}

bool nvtx_is_character(uint64_t type)
{
	return type == NVTX_TYPE_CHAR || (type >= NVTX_TYPE_WCHAR && type <= NVTX_TYPE_CHAR32);
}

/* ---- texts ---- */

typedef void (*text_fn)(FILE *out, const char *text, size_t bytes);

static void part_write(FILE *out, const char *text, size_t bytes)
{
	fwrite(text, 1, bytes, out);
}

static void character_print(FILE *out, uint32_t c, text_fn print)
{
	char text[4];
	size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
		c = 0xfffd;
		bytes = 3;
	}
	for (size_t i = bytes - 1; i > 0; i--, c >>= 6)
		text[i] = (char)(0x80 | (c & 0x3f));
	text[0] = (char)(lead[bytes] | c);
	print(out, text, bytes);
}

/* Decode one UTF-16 character, which may be a surrogate pair. */
static uint32_t utf16_take(const uint8_t *at, uint64_t bytes, uint64_t *ret_taken)
{
	uint32_t c = (uint32_t)nvtx_unsigned(at, 2);
	*ret_taken = 2;
	if (c < 0xd800 || c >= 0xdc00 || bytes < 4)
		return c;
	uint32_t low = (uint32_t)nvtx_unsigned(at + 2, 2);
	if (low < 0xdc00 || low >= 0xe000)
		return c;
	*ret_taken = 4;
	return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

static void text_print(FILE *out, uint64_t type, const uint8_t *at, uint64_t bytes, text_fn print)
{
	uint64_t unit = nvtx_type_extent(type).bytes;
	if (unit <= 1) {
		print(out, (const char *)at, strnlen((const char *)at, bytes));
		return;
	}
	for (uint64_t n = 0, taken = unit; n + unit <= bytes; n += taken) {
		uint32_t c = unit == 2 ? utf16_take(at + n, bytes - n, &taken)
				       : (uint32_t)nvtx_unsigned(at + n, 4);
		if (!c)
			break;
		character_print(out, c, print);
	}
}

void nvtx_text_write(FILE *out, uint64_t type, const uint8_t *at, uint64_t bytes)
{
	text_print(out, type, at, bytes, part_write);
}

void nvtx_text_print(FILE *out, uint64_t type, const uint8_t *at, uint64_t bytes)
{
	putc_unlocked('"', out);
	text_print(out, type, at, bytes, print_json_part);
	putc_unlocked('"', out);
}

/* ---- numbers ---- */

static void wide_print(FILE *out, const uint8_t *at, bool has_sign)
{
	unsigned __int128 value;
	char digits[40], *p = digits + sizeof(digits);
	memcpy(&value, at, sizeof(value));
	bool negative = has_sign && (value >> 127);
	if (negative)
		value = -value;
	do {
		*--p = (char)('0' + (int)(value % 10));
		value /= 10;
	} while (value);
	if (negative)
		*--p = '-';
	fwrite(p, 1, (size_t)(digits + sizeof(digits) - p), out);
}

static double half_real(uint32_t bits)
{
	uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
	uint32_t single = exponent == 31 ? 0x7f800000 | fraction << 13
					 : (exponent + 112) << 23 | fraction << 13;
	float value;
	if (!exponent) /* zero and subnormal numbers */
		value = (float)fraction * 0x1p-24f;
	else
		memcpy(&value, &single, sizeof(value));
	return (double)(bits >> 15 ? -value : value);
}

static double single_real(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

#if __LDBL_MANT_DIG__ == 113
typedef long double quad_real; /* IEEE 754 binary128 */
#else
typedef __float128 quad_real;
#endif

static void real_print(FILE *out, uint64_t type, const uint8_t *at)
{
	double value;
	long double extended;
	quad_real quad;
	switch (type) {
	case NVTX_TYPE_FLOAT16:
		print_real(out, half_real((uint32_t)nvtx_unsigned(at, 2)), 5);
		break;
	case NVTX_TYPE_BF16:
		print_real(out, single_real((uint32_t)nvtx_unsigned(at, 2) << 16), 4);
		break;
	case NVTX_TYPE_DOUBLE:
	case NVTX_TYPE_FLOAT64:
		memcpy(&value, at, sizeof(value));
		print_real(out, value, 17);
		break;
	case NVTX_TYPE_LONGDOUBLE:
		memcpy(&extended, at, sizeof(extended));
		print_real(out, (double)extended, 17);
		break;
	case NVTX_TYPE_FLOAT128:
		memcpy(&quad, at, sizeof(quad));
		print_real(out, (double)quad, 17);
		break;
	default:
		print_real(out, single_real((uint32_t)nvtx_unsigned(at, 4)), 9);
	}
}

static bool is_real(uint64_t type)
{
	return (type >= NVTX_TYPE_FLOAT && type <= NVTX_TYPE_LONGDOUBLE) ||
		(type >= NVTX_TYPE_FLOAT16 && type <= NVTX_TYPE_FLOAT128) ||
		type == NVTX_TYPE_BF16 || type == NVTX_TYPE_TF32;
}

void nvtx_value_print(FILE *out, uint64_t type, const uint8_t *at, uint64_t bytes)
{
	uint32_t size = (uint32_t)nvtx_type_extent(type).bytes;
	if (!size || bytes < size)
		fputs("null", out);
	else if (nvtx_is_character(type) || nvtx_type_is_text(type))
		nvtx_text_print(out, type, at, size);
	else if (is_real(type))
		real_print(out, type, at);
	else if (type == NVTX_TYPE_ADDRESS || type == NVTX_TYPE_COLOR ||
		type == NVTX_TYPE_STRING_HANDLE)
		fprintf(out, "\"0x%llx\"", (unsigned long long)nvtx_unsigned(at, size));
	else if (type == NVTX_TYPE_BYTE)
		print_bytes(out, (const char *)at, 1);
	else if (size == 16)
		wide_print(out, at, is_signed(type));
	else if (is_signed(type))
		print_i64(out, signed_of(nvtx_unsigned(at, size), size));
	else
		print_u64(out, nvtx_unsigned(at, size));
}
