/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - the functions of the CUDA APIs by CUPTI's numbers: names and treatments.
 */
#include "tracer/cuda/functions.h"

#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/bounded_lock.h"
#include "tracer/core/names.h"
#include "tracer/core/state.h"
#include "tracer/cuda/cuda.h"
#include "tracer/cuda/function_name.h"
#include "tracer/cuda/memory_calls.h"

#define FUNCTIONS_MAX 2048u /* CUDA 13.0 has 806 */

/* One byte for each of the last million ids: activity of calls that were not recorded is not
 * recorded either. */
#define IDS_KEPT (1u << 20)

/* Memory that only programs with CUDA map. */
struct api {
	struct function functions[2][FUNCTIONS_MAX]; /* functions by API row and cbid */
	uint8_t is_recorded[IDS_KEPT];
};
static struct api *api_memory;

bool cuda_functions_start(void)
{
	api_memory = sys_mmap_private(sizeof(*api_memory));
	return api_memory != NULL;
}

static uint32_t learning; /* a lock */

/* Reset the table in a forked child. Counts are in the parent's page: a counted function is learned
 * again. */
void cuda_functions_forked(void)
{
	bounded_lock_give(&learning);
	for (uint32_t i = 0; api_memory && i < 2 * FUNCTIONS_MAX; i++)
		if (api_memory->functions[i / FUNCTIONS_MAX][i % FUNCTIONS_MAX].treatment ==
			TREAT_COUNT)
			api_memory->functions[i / FUNCTIONS_MAX][i % FUNCTIONS_MAX].treatment =
				TREAT_UNKNOWN;
}

void cuda_call_set_recorded(uint32_t correlation, bool recorded)
{
	api_memory->is_recorded[correlation % IDS_KEPT] = recorded;
}

bool cuda_call_is_recorded(uint32_t correlation)
{
	return api_memory->is_recorded[correlation % IDS_KEPT];
}

static bool has(const char *text, const char *part)
{
	return text_find(text, part) != NULL;
}

static enum chain_class class_of(const char *name)
{
	if (has(name, "Launch"))
		return CHAIN_CUDA_KERNEL;
	if (has(name, "Synchronize") || has(name, "Wait") || has(name, "Query"))
		return CHAIN_CUDA_SYNC;
	if (has(name, "Mem") || has(name, "Alloc") || has(name, "Free") || has(name, "Array"))
		return CHAIN_CUDA_MEMORY;
	return CHAIN_CUDA_OTHER;
}

static enum launch launch_of(const char *name)
{
	if (text_begins(name, "cuStreamBeginCapture"))
		return LAUNCH_CAPTURE_BEGINS;
	if (text_begins(name, "cuStreamEndCapture"))
		return LAUNCH_CAPTURE_ENDS;
	if (!has(name, "Launch") || has(name, "HostFunc"))
		return LAUNCH_NONE;
	return has(name, "Graph") ? LAUNCH_GRAPH : LAUNCH_KERNEL;
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (cuda_function_is(name, *list))
			return true;
	return false;
}

static enum treatment treatment_of(const char *name)
{
	/* Functions that only look something up in the process: tens of nanoseconds, many times per
	 * launch. */
	static const char *const trivial[] = {"cudaGetLastError", "cudaPeekAtLastError",
		"cudaGetDevice", "cudaDeviceGetAttribute", "cudaStreamIsCapturing",
		"cudaStreamGetCaptureInfo", "__cudaPushCallConfiguration",
		"__cudaPopCallConfiguration", "cuCtxGetCurrent", "cuCtxSetCurrent",
		"cuCtxGetDevice", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuDeviceGet",
		"cuDeviceGetAttribute", "cuDevicePrimaryCtxGetState", "cuGetProcAddress",
		"cuKernelGetAttribute", "cuStreamIsCapturing", "cuStreamGetCaptureInfo", NULL};
	static const char *const ends[] = {"cudaDeviceReset", "cudaThreadExit", "cuCtxDestroy",
		"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxReset", NULL};
	static const char *const starts[] = {"cudaProfilerStart", "cuProfilerStart", NULL};
	static const char *const stops[] = {"cudaProfilerStop", "cuProfilerStop", NULL};
	if (is_one_of(name, trivial))
		return session.config.cuda_all_calls ? TREAT_RECORD : TREAT_COUNT;
	if (is_one_of(name, ends))
		return TREAT_FLUSH;
	if (is_one_of(name, starts))
		return TREAT_START;
	return is_one_of(name, stops) ? TREAT_STOP : TREAT_RECORD;
}

static uint32_t number_of(uint32_t cbid)
{
	return cbid < FUNCTIONS_MAX ? cbid : 0;
}

/* Find or add the function's counter in the page that outlives the process. Return false if there
 * is no room: the calls are recorded. */
static bool counted_make(struct function *f, uint32_t api, uint32_t cbid)
{
	struct cuda_page *page = cuda.page;
	bool made = false;
	uint32_t count = page->counted_count;
	for (uint32_t i = 0; i < count; i++)
		if (page->counted[i].cbid == cbid && page->counted[i].api == api) {
			f->counted = (uint16_t)i;
			made = true;
		}
	if (!made && count < CUDA_COUNTED_MAX) {
		page->counted[count] = (struct cuda_counted){
			.name = names_ref(f->name), .cbid = (uint16_t)cbid, .api = (uint16_t)api};
		f->counted = (uint16_t)count;
		__atomic_store_n(&page->counted_count, count + 1, __ATOMIC_RELEASE);
		made = true;
	}
	return made;
}

/* Fill the entry of a function, once; `treatment` is stored last. */
static void function_fill(struct function *f, uint32_t api, uint32_t domain, uint32_t cbid)
{
	const char *text = NULL;
	if (cupti.GetCallbackName(domain, cbid, &text) != CUPTI_OK || !text)
		text = "?";
	f->name = names_intern(false, NULL, text, (uint32_t)text_length(text), false, NULL);
	f->class = (uint8_t)class_of(text);
	f->memory = (uint8_t)memory_call_of(text);
	f->launch = (uint8_t)launch_of(text);
	enum treatment treatment = treatment_of(text);
	if (treatment == TREAT_COUNT && (!cuda.page || !counted_make(f, api, cbid)))
		treatment = TREAT_RECORD;
	__atomic_store_n(&f->treatment, treatment, __ATOMIC_RELEASE);
}

void cuda_function_learn(struct function *f, uint32_t domain, uint32_t cbid)
{
	if (!bounded_lock_take(&learning))
		return;
	if (!f->treatment)
		function_fill(f, domain == CUPTI_DRIVER_API, domain, number_of(cbid));
	bounded_lock_give(&learning);
}

struct function *cuda_function_at(uint32_t domain, uint32_t cbid)
{
	return &api_memory->functions[domain == CUPTI_DRIVER_API][number_of(cbid)];
}
