/* SPDX-License-Identifier: Apache-2.0 */
/* libnccl_stub.c - a stand-in for NCCL: it launches a kernel. */
#include "tests/cuda/library_calls.h"
#include "tests/cuda/library_stub.h"

int ncclCommInitRank(stub_handle *comm, int ranks, struct stub_id id, int rank)
{
	*comm = comm;
	return ranks > rank && id.bytes[127] == 5 ? 0 : 4;
}

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, stub_handle comm,
	void *stream)
{
	(void)send, (void)receive, (void)count, (void)type, (void)op, (void)comm, (void)stream;
	stub_launch(1);
	return 0;
}
