/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.h - texts and numbers of reports on an output stream.
 *
 * Bytes of a report were chosen by whoever was traced: print_text() makes control characters
 * visible, so that a terminal is safe; print_json() gives a JSON string (bytes that are not UTF-8
 * as lone surrogates \udc80-\udcff, as Python's surrogateescape reads them). One thread per stream;
 * errors stay with the stream.
 */
#ifndef READER_BASE_PRINT_H
#define READER_BASE_PRINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void print_text(FILE *out, const char *text, size_t bytes);
void print_json(FILE *out, const char *text, size_t bytes);

/* The same without the quotes around it, for a string made of parts. */
void print_json_part(FILE *out, const char *text, size_t bytes);

/* The same for a C string; NULL prints null. */
void print_json_string(FILE *out, const char *text);

/* "00ff..": bytes as hex digits, with quotes. */
void print_bytes(FILE *out, const char *bytes, size_t count);

/* With so many digits; null for what is no finite number, as JSON cannot have it. */
void print_real(FILE *out, double value, int digits);

void print_u64(FILE *out, uint64_t number);
void print_i64(FILE *out, int64_t number);

/* "1,234,567" */
void print_grouped(FILE *out, uint64_t number);

#endif
