/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redact.h - arguments of programs whose names say that they are secret do not get into reports.
 *
 * The words are those of redact.c; a name's words are what lies between other characters than
 * letters and digits, so --hf-token and API_KEY are secret, --max-tokens and --tokenizer are not.
 * Any thread.
 */
#ifndef WRITER_REDACT_H
#define WRITER_REDACT_H

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

/* Changes the arguments in place: of NAME=VALUE the value, of --NAME VALUE the next argument. Their
 * bytes may be written to. */
void redact_arguments(ProtobufCBinaryData *arguments, size_t count);

#endif
