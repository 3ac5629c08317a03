/* SPDX-License-Identifier: Apache-2.0 */
/* libcufile_stub.c - a stand-in for cuFile: it reads nothing. */
#include "tests/cuda/library_calls.h"

long cuFileRead(stub_handle file, void *buffer, size_t bytes, long file_offset, long buffer_offset)
{
	(void)file, (void)buffer, (void)file_offset, (void)buffer_offset;
	return (long)bytes;
}
