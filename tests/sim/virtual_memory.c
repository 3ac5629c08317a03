/* SPDX-License-Identifier: Apache-2.0 */
/*
 * virtual_memory.c - virtual memory management, and memory of other processes (IPC).
 *
 * CUPTI has no records of these: the log has. Physical memory counts as used until it has neither
 * references nor mappings. Its contents are not kept: each mapping has host memory of its own, and
 * so has each memory that another process shares.
 */
#include "tests/sim/driver.h"
#include "tests/sim/truth.h"
#include "impl.h"

#include <cupti_activity.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRANULARITY ((size_t)2 << 20)

/* Physical memory; its address is its handle. */
struct physical {
	size_t bytes;
	struct sim_device *device; /* NULL: memory of the host */
	unsigned uses;             /* references and mappings */
};

struct mapping {
	uintptr_t address;
	size_t bytes;
	struct physical *physical;
	struct mapping *next;
};

static struct mapping *mappings;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void physical_log(const struct physical *p, uint8_t operation)
{
	struct sim_op op = {.kind = SIM_MEMORY,
		.start_ns = sim_now_ns(),
		.correlation = sim_correlation(),
		.memory = {.operation = operation,
			.memory_kind = MEMORY_DEVICE,
			.address = (uint64_t)(uintptr_t)p,
			.bytes = p->bytes}};

	if (!p->device)
		return;
	op.end_ns = op.start_ns;
	op.device = p->device->facts.ordinal;
	op.memory.used_bytes = __atomic_load_n(&p->device->used_bytes, __ATOMIC_RELAXED);
	truth_op(&op);
}

static void physical_put(struct physical *p)
{
	if (--p->uses)
		return;
	if (p->device)
		memory_uncount(p->device, p->bytes);
	physical_log(p, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
	free(p);
}

CUresult impl_cuMemGetAllocationGranularity(size_t *ret_bytes,
	const CUmemAllocationProp *properties, CUmemAllocationGranularity_flags option)
{
	(void)properties, (void)option;
	*ret_bytes = GRANULARITY;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t bytes,
	const CUmemAllocationProp *properties, unsigned long long flags)
{
	const bool on_device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
	struct sim_device *device = on_device ? sim_device(properties->location.id) : NULL;
	struct physical *p = calloc(1, sizeof *p);

	if (!bytes || bytes % GRANULARITY || flags || (on_device && !device) || !p) {
		free(p);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (device && !memory_count(device, bytes)) {
		free(p);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*p = (struct physical){.bytes = bytes, .device = device, .uses = 1};
	*ret_handle = (CUmemGenericAllocationHandle)(uintptr_t)p;
	physical_log(p, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	pthread_mutex_lock(&mutex);
	physical_put((struct physical *)(uintptr_t)handle);
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemAddressReserve(CUdeviceptr *ret_address, size_t bytes, size_t alignment,
	CUdeviceptr wanted, unsigned long long flags)
{
	void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)alignment, (void)wanted, (void)flags;
	*ret_address = (CUdeviceptr)(uintptr_t)memory;
	return memory == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult impl_cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
	return munmap((void *)(uintptr_t)address, bytes) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult impl_cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
	CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct physical *p = (struct physical *)(uintptr_t)handle;
	struct mapping *m = calloc(1, sizeof *m);

	if (!m || offset || bytes > p->bytes || flags ||
		mprotect((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE)) {
		free(m);
		return CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_lock(&mutex);
	*m = (struct mapping){(uintptr_t)address, bytes, p, mappings};
	mappings = m;
	p->uses++;
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}

/* Remove all mappings that begin in the range, as one call may. */
CUresult impl_cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	bool found = false;

	pthread_mutex_lock(&mutex);
	for (struct mapping **at = &mappings; *at;) {
		struct mapping *m = *at;
		if (m->address < address || m->address >= address + bytes) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		physical_put(m->physical);
		free(m);
		found = true;
	}
	pthread_mutex_unlock(&mutex);
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuMemSetAccess(
	CUdeviceptr address, size_t bytes, const CUmemAccessDesc *accesses, size_t count)
{
	(void)address, (void)bytes, (void)accesses, (void)count;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret_handle, void *address)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&mutex);
	for (struct mapping *m = mappings; m; m = m->next)
		if ((uintptr_t)address >= m->address &&
			(uintptr_t)address < m->address + m->bytes) {
			m->physical->uses++;
			*ret_handle = (CUmemGenericAllocationHandle)(uintptr_t)m->physical;
			result = CUDA_SUCCESS;
		}
	pthread_mutex_unlock(&mutex);
	return result;
}

/* ---- memory of other processes ---- */

struct shared {
	uint64_t pid, address, bytes;
};

CUresult impl_cuIpcGetMemHandle(CUipcMemHandle *ret_handle, CUdeviceptr address)
{
	const struct allocation *found = memory_find((uintptr_t)address);
	struct shared shared = {(uint64_t)getpid(), address, found ? found->bytes : 0};

	if (!found || found->kind != MEMORY_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	memset(ret_handle, 0, sizeof *ret_handle);
	memcpy(ret_handle, &shared, sizeof shared);
	return CUDA_SUCCESS;
}

CUresult impl_cuIpcOpenMemHandle_v2(
	CUdeviceptr *ret_address, CUipcMemHandle handle, unsigned int flags)
{
	struct shared shared;
	void *memory;

	memcpy(&shared, &handle, sizeof shared);
	if (shared.pid == (uint64_t)getpid() || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	memory = malloc(shared.bytes);
	*ret_address = (CUdeviceptr)(uintptr_t)memory;
	return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult impl_cuIpcCloseMemHandle(CUdeviceptr address)
{
	free((void *)(uintptr_t)address);
	return CUDA_SUCCESS;
}
