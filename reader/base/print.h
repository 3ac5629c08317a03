/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.h - output of texts and numbers of reports to a stream.
 *
 * Texts of a report are untrusted. print_text() escapes control characters, which protects
 * terminals; print_json() writes a JSON string (bytes that are not UTF-8 as lone surrogates
 * \udc80-\udcff, which Python's surrogateescape reads). One thread per stream; errors remain set in
 * the stream.
 */
#ifndef READER_BASE_PRINT_H
#define READER_BASE_PRINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Print a text; control characters and invalid UTF-8 as \xNN. */
void print_text(FILE *out, const char *text, size_t bytes);
/* Print a text as a JSON string, with its quotes. */
void print_json(FILE *out, const char *text, size_t bytes);

/* Like print_json(), but without quotes, for a string that is assembled from parts. */
void print_json_part(FILE *out, const char *text, size_t bytes);

/* Like print_json(), for a C string; NULL prints null. */
void print_json_string(FILE *out, const char *text);

/* Print bytes as hex digits in quotes: "00ff..". */
void print_bytes(FILE *out, const char *bytes, size_t count);

/* Print a number with at most `digits` significant digits; print null if it is not finite, which
 * JSON cannot represent. */
void print_real(FILE *out, double value, int digits);

/* Print a decimal number, faster than fprintf(). */
void print_u64(FILE *out, uint64_t number);
void print_i64(FILE *out, int64_t number);

/* Print a number with grouped digits: "1,234,567". */
void print_grouped(FILE *out, uint64_t number);

#endif
