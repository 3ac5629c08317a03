/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - text output of untrusted bytes and of numbers. */
#include "reader/base/print.h"

#include <math.h>

#include <stdbool.h>
#include <string.h>

/* Return the length in bytes of the UTF-8 character at `text`; 0 if it is invalid. */
static size_t utf8_length(const char *text, size_t bytes)
{
	const uint8_t *p = (const uint8_t *)text;
	if (!bytes || p[0] < 0x80)
		return bytes ? 1 : 0;
	size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || length > bytes)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
		(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return length;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Return the length of the prefix that needs no JSON escape. */
static size_t plain_run(const char *text, size_t bytes)
{
	size_t n = 0;
	while (n < bytes && is_plain((unsigned char)text[n]))
		n++;
	return n;
}

/* Return the length of the printable ASCII prefix. Most texts consist of nothing else. */
static size_t ascii_run(const char *text, size_t bytes)
{
	size_t n = 0;
	while (n < bytes && text[n] >= 0x20 && text[n] < 0x7f)
		n++;
	return n;
}

void print_text(FILE *out, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes;) {
		size_t run = ascii_run(text + i, bytes - i);
		if (run) {
			fwrite(text + i, 1, run, out);
			i += run;
			continue;
		}
		unsigned char c = (unsigned char)text[i];
		size_t length = utf8_length(text + i, bytes - i);
		/* C1 controls (U+0080-U+009F) control terminals, too */
		bool control = c < 0x20 || c == 0x7f || !length ||
			(c == 0xc2 && (unsigned char)text[i + 1] < 0xa0);
		if (control) {
			fprintf(out, "\\x%02x", c);
			i++;
			continue;
		}
		fwrite(text + i, 1, length, out);
		i += length;
	}
}

static void print_json_escape(FILE *out, unsigned char c)
{
	static const char letters[] = "\b\t\n\f\r\"\\", names[] = "btnfr\"\\";
	const char *at = c ? strchr(letters, c) : NULL;
	if (at)
		fprintf(out, "\\%c", names[at - letters]);
	else
		fprintf(out, "\\u%04x", c >= 0x80 ? 0xdc00u + c : c);
}

void print_json_part(FILE *out, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes;) {
		size_t length = plain_run(text + i, bytes - i);
		if (!length && (unsigned char)text[i] >= 0x80)
			length = utf8_length(text + i, bytes - i);
		if (length)
			fwrite(text + i, 1, length, out);
		else
			print_json_escape(out, (unsigned char)text[i++]);
		i += length;
	}
}

void print_json(FILE *out, const char *text, size_t bytes)
{
	putc_unlocked('"', out);
	print_json_part(out, text, bytes);
	putc_unlocked('"', out);
}

void print_json_string(FILE *out, const char *text)
{
	if (text)
		print_json(out, text, strlen(text));
	else
		fputs("null", out);
}

void print_bytes(FILE *out, const char *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";
	putc_unlocked('"', out);
	for (size_t i = 0; i < count; i++) {
		putc_unlocked(digits[(uint8_t)bytes[i] >> 4], out);
		putc_unlocked(digits[bytes[i] & 15], out);
	}
	putc_unlocked('"', out);
}

void print_real(FILE *out, double value, int digits)
{
	if (isfinite(value))
		fprintf(out, "%.*g", digits, value);
	else
		fputs("null", out);
}

void print_u64(FILE *out, uint64_t number)
{
	char digits[20];
	size_t n = sizeof(digits);
	do
		digits[--n] = (char)('0' + number % 10);
	while (number /= 10);
	fwrite(digits + n, 1, sizeof(digits) - n, out);
}

void print_i64(FILE *out, int64_t number)
{
	if (number < 0)
		putc_unlocked('-', out);
	print_u64(out, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void print_grouped(FILE *out, uint64_t number)
{
	if (number >= 1000) {
		print_grouped(out, number / 1000);
		fprintf(out, ",%03u", (unsigned)(number % 1000));
	} else {
		fprintf(out, "%u", (unsigned)number);
	}
}
