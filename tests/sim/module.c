/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - modules and functions: images are PTX text, cubins (ELF) or fatbins, of which only
 * names and sizes matter here.
 */
#include "tests/sim/driver.h"
#include "impl.h"

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic uint32_t last_module_id;

enum { FATBIN_WRAPPER = 0x466243b1, FATBIN = (int)0xba55ed50 };

/* Find the first ELF file in a fatbin that is not compressed. An entry begins with two half words,
 * then the sizes of header and payload. */
static void find_cubin(struct CUmod_st *module, const unsigned char *fatbin)
{
	uint64_t total, at;

	memcpy(&total, fatbin + 8, sizeof total);
	module->image = fatbin;
	module->image_bytes = 16 + total;
	for (at = 16; at + 16 < module->image_bytes;) {
		uint32_t header_bytes;
		uint64_t payload_bytes;

		memcpy(&header_bytes, fatbin + at + 4, sizeof header_bytes);
		memcpy(&payload_bytes, fatbin + at + 8, sizeof payload_bytes);
		if (at + header_bytes + payload_bytes > module->image_bytes)
			return;
		if (!memcmp(fatbin + at + header_bytes, ELFMAG, SELFMAG)) {
			module->image = fatbin + at + header_bytes;
			module->image_bytes = payload_bytes;
			return;
		}
		at += header_bytes + payload_bytes;
	}
}

static void find_image(struct CUmod_st *module, const void *image)
{
	uint32_t magic;

	memcpy(&magic, image, sizeof magic);
	if (magic == FATBIN_WRAPPER) {
		memcpy(&image, (const char *)image + 8, sizeof image);
		memcpy(&magic, image, sizeof magic);
	}
	module->image = image;
	if (magic == (uint32_t)FATBIN) {
		find_cubin(module, image);
	} else if (!memcmp(image, ELFMAG, SELFMAG)) {
		const Elf64_Ehdr *header = image;
		uint64_t sections =
			header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;
		uint64_t segments =
			header->e_phoff + (uint64_t)header->e_phnum * header->e_phentsize;

		module->image_bytes = sections > segments ? sections : segments;
	} else {
		module->image_bytes = strlen(image) + 1;
	}
}

static bool is_elf(const struct CUmod_st *module)
{
	return !memcmp(module->image, ELFMAG, SELFMAG);
}

static void log_module(struct CUmod_st *module, uint32_t cbid)
{
	struct sim_resource resource = {.cbid = cbid,
		.context = module->context,
		.context_id = module->context->id,
		.device_id = module->context->device->facts.ordinal,
		.module_id = module->id,
		.cubin = module->image,
		.cubin_bytes = is_elf(module) ? module->image_bytes : 0,
		.correlation = sim_correlation()};

	sim_log_resource(&resource);
}

/* Compile PTX, which takes time and is recorded. */
static void compile(struct CUmod_st *module)
{
	struct sim_op op = {.kind = SIM_JIT,
		.start_ns = sim_now_ns(),
		.device = module->context->device->facts.ordinal,
		.context = module->context->id,
		.correlation = sim_correlation(),
		.jit = {.entry = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN,
			.operation = CUPTI_ACTIVITY_JIT_OPERATION_COMPILE,
			.cache_bytes = module->image_bytes}};

	sim_wait_until(op.start_ns + 200000);
	op.end_ns = sim_now_ns();
	sim_log_op(&op);
	sim_log_overhead(CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, op.start_ns);
}

static bool is_of_runtime(void)
{
	const struct sim_call *call = sim_current_call();

	return call && call->outer && call->outer->domain == SIM_RUNTIME_API;
}

CUresult impl_cuModuleLoadData(CUmodule *ret_module, const void *image)
{
	uint64_t start_ns = sim_now_ns();
	CUmodule module;

	if (!driver_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	module = calloc(1, sizeof *module);
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->id = ++last_module_id;
	module->context = driver_context();
	find_image(module, image);
	if (!is_elf(module) && !memcmp(module->image, "//", 2))
		compile(module);
	log_module(module, CUPTI_CBID_RESOURCE_MODULE_LOADED);
	if (is_of_runtime())
		sim_log_overhead(
			CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING, start_ns);
	*ret_module = module;
	return CUDA_SUCCESS;
}

CUresult impl_cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned int count,
	CUjit_option *options, void **values)
{
	(void)count, (void)options, (void)values;
	return impl_cuModuleLoadData(ret_module, image);
}

CUresult impl_cuModuleLoadFatBinary(CUmodule *ret_module, const void *image)
{
	return impl_cuModuleLoadData(ret_module, image);
}

/* Load a file, which stays mapped: a tool may read the cubin at any time. */
CUresult impl_cuModuleLoad(CUmodule *ret_module, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *image;

	if (fd < 0)
		return CUDA_ERROR_FILE_NOT_FOUND;
	if (fstat(fd, &status) || !status.st_size) {
		close(fd);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	/* One byte more than the file, so that PTX text ends with a zero. */
	image = mmap(NULL, (size_t)status.st_size + 1, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return image == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY
				   : impl_cuModuleLoadData(ret_module, image);
}

/* Unload a module, but keep it in memory, since a kernel of it may still run. */
CUresult impl_cuModuleUnload(CUmodule module)
{
	static CUmodule unloaded;

	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	log_module(module, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
	pthread_mutex_lock(&driver_mutex);
	module->next = unloaded;
	unloaded = module;
	pthread_mutex_unlock(&driver_mutex);
	return CUDA_SUCCESS;
}

/* Return whether a module has a name: it is among the strings of a cubin and in the text of PTX. In
 * a compressed fatbin it cannot be found, so any name is accepted. */
static bool has_name(const struct CUmod_st *module, const char *name)
{
	return !memcmp(module->image, "\x50\xed\x55\xba", 4) ||
		memmem(module->image, module->image_bytes, name, strlen(name));
}

static const struct sim_kernel *find_emulation(const char *name)
{
	char symbol[1024];

	snprintf(symbol, sizeof symbol, "sim_kernel_%s", name);
	return dlsym(RTLD_DEFAULT, symbol);
}

CUresult impl_cuModuleGetFunction(CUfunction *ret_function, CUmodule module, const char *name)
{
	CUfunction function;

	if (!module || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!has_name(module, name))
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&driver_mutex);
	for (function = module->functions; function; function = function->next)
		if (!strcmp(function->name, name))
			break;
	pthread_mutex_unlock(&driver_mutex);
	*ret_function = function;
	if (function)
		return CUDA_SUCCESS;
	function = calloc(1, sizeof *function);
	if (!function)
		return CUDA_ERROR_OUT_OF_MEMORY;
	function->name = strdup(name);
	function->module = module;
	function->registers = 16 + (uint32_t)strlen(name) % 8;
	function->emulation = find_emulation(name);
	pthread_mutex_lock(&driver_mutex);
	function->next = module->functions;
	module->functions = function;
	pthread_mutex_unlock(&driver_mutex);
	*ret_function = function;
	return CUDA_SUCCESS;
}

/* ---- libraries: modules of every context; here of the current context ---- */

CUresult impl_cuLibraryLoadData(CUlibrary *ret_library, const void *code, CUjit_option *jit_options,
	void **jit_values, unsigned int jit_count, CUlibraryOption *options, void **values,
	unsigned int count)
{
	(void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values,
		(void)count;
	return impl_cuModuleLoadData((CUmodule *)ret_library, code);
}

CUresult impl_cuLibraryGetModule(CUmodule *ret_module, CUlibrary library)
{
	*ret_module = (CUmodule)library;
	return CUDA_SUCCESS;
}

CUresult impl_cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary library, const char *name)
{
	return impl_cuModuleGetFunction((CUfunction *)ret_kernel, (CUmodule)library, name);
}

CUresult impl_cuLibraryUnload(CUlibrary library)
{
	return impl_cuModuleUnload((CUmodule)library);
}

CUresult impl_cuKernelGetFunction(CUfunction *ret_function, CUkernel kernel)
{
	*ret_function = (CUfunction)kernel;
	return CUDA_SUCCESS;
}

/* ---- functions ---- */

CUresult impl_cuFuncGetName(const char **ret_name, CUfunction function)
{
	*ret_name = function->name;
	return CUDA_SUCCESS;
}

CUresult impl_cuFuncGetModule(CUmodule *ret_module, CUfunction function)
{
	*ret_module = function->module;
	return CUDA_SUCCESS;
}

CUresult impl_cuFuncGetAttribute(
	int *ret_value, CUfunction_attribute attribute, CUfunction function)
{
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
		: attribute == CU_FUNC_ATTRIBUTE_NUM_REGS                 ? (int)function->registers
		: attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
		? (int)function->static_shared_bytes
		: attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION ? 90
								: 0;
	return CUDA_SUCCESS;
}

CUresult impl_cuKernelGetAttribute(
	int *ret_value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device)
{
	(void)device;
	return impl_cuFuncGetAttribute(ret_value, attribute, (CUfunction)kernel);
}

CUresult impl_cuKernelSetAttribute(
	CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device)
{
	(void)device;
	return impl_cuFuncSetAttribute((CUfunction)kernel, attribute, value);
}

CUresult impl_cuKernelGetName(const char **ret_name, CUkernel kernel)
{
	return impl_cuFuncGetName(ret_name, (CUfunction)kernel);
}

CUresult impl_cuKernelGetLibrary(CUlibrary *ret_library, CUkernel kernel)
{
	*ret_library = (CUlibrary)((CUfunction)kernel)->module;
	return CUDA_SUCCESS;
}

CUresult impl_cuFuncLoad(CUfunction function)
{
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuFuncIsLoaded(CUfunctionLoadingState *ret_state, CUfunction function)
{
	*ret_state = CU_FUNCTION_LOADING_STATE_LOADED;
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuModuleGetLoadingMode(CUmoduleLoadingMode *ret_mode)
{
	*ret_mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult impl_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	(void)attribute, (void)value;
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
	(void)config;
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuOccupancyMaxActiveBlocksPerMultiprocessor(
	int *ret_blocks, CUfunction function, int block_size, size_t shared_bytes)
{
	/* 64 warps, 32 blocks and 228 KiB, in units of 128 bytes, with 1 KiB of each block for the
	 * system; registers are never the limit. */
	size_t shared = (shared_bytes + 1024 + 127) / 128 * 128;
	int by_warps, by_shared;

	(void)function;
	if (block_size <= 0 || block_size > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	by_warps = 64 / ((block_size + 31) / 32);
	by_shared = (int)(233472 / shared);
	*ret_blocks = by_warps < by_shared ? by_warps : by_shared;
	if (*ret_blocks > 32)
		*ret_blocks = 32;
	return CUDA_SUCCESS;
}

CUresult impl_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks,
	CUfunction function, int block_size, size_t shared_bytes, unsigned int flags)
{
	(void)flags;
	return impl_cuOccupancyMaxActiveBlocksPerMultiprocessor(
		ret_blocks, function, block_size, shared_bytes);
}
