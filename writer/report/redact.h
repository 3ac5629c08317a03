/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redact.h - keeps arguments with secret names out of reports.
 *
 * The secret words are those of redact.c. A name is split into words at every character except
 * letters and digits, so --hf-token and API_KEY are secret, --max-tokens and --tokenizer are not.
 * Any thread.
 */
#ifndef WRITER_REDACT_H
#define WRITER_REDACT_H

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

/* Replace secrets in place: the value of NAME=VALUE, the argument after --NAME. Bytes of arguments
 * are overwritten. */
void redact_arguments(ProtobufCBinaryData *arguments, size_t count);

#endif
