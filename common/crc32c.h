/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c.h - CRC-32C (Castagnoli), the checksum of a report's payloads.
 *
 * Uses the processor's instruction if it has one (SSE4.2, 8 bytes in 3 cycles), else a table. Any
 * thread, no allocation.
 */
#ifndef COMMON_CRC32C_H
#define COMMON_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continue `crc` (0 for the first piece) over `bytes` bytes. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

/* Compute crc32c() without the instruction; for tests, and for processors without it. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t bytes);

#endif
