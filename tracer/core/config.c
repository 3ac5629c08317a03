/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - the options: a table of LIBTRACE_* variables, and their parsing.
 */
#include "tracer/core/config.h"

#include <stddef.h>

#include "common/text.h"
#include "unwind/callchain.h"

const char *config_lookup(char **envp, const char *name)
{
	size_t length = text_length(name);
	for (; envp && *envp; envp++)
		if (text_begins(*envp, name) && (*envp)[length] == '=')
			return *envp + length + 1;
	return NULL;
}

/* Samples per second of processor time. The default divides neither the rate of the kernel's tick
 * nor other common rates, so that samples are not in step with periodic work. */
#define SAMPLE_HZ 97u
#define SAMPLE_HZ_MAX 10000u

#define MEMORY_BYTES (256u << 20)

/* An option: its variable, kind, unit and member. */
enum kind {
	KIND_BOOL,
	KIND_NUMBER,
	KIND_LIMIT, /* a number, or `none`: UINT64_MAX */
	KIND_TEXT,
	KIND_CHOICE, /* index of the value among the words, from 0 */
	KIND_WORD /* true if the value equals `word` */,
	KIND_LIST,   /* true if the list names `word` */
	KIND_CLASSES /* thresholds of callchains of CUDA API calls: kernel:500,memory */
};

struct option {
	const char *name;
	enum kind kind;
	uint64_t unit;
	const char *word;
	size_t offset;
	uint64_t most; /* maximum of a number, in its unit; a greater value is reduced to it; 0 =
			  none */
};

#define AT(field) offsetof(struct config, field), 0
#define UP_TO(most, field) offsetof(struct config, field), most

static const struct option options[] = {
#define PRODUCER(name, ...) {"LIBTRACE_TRACE", KIND_LIST, 0, #name, AT(name)},
#include "tracer/producers.def"
	{"LIBTRACE_SAMPLE", KIND_WORD, 0, "process-tree", AT(cpu)},
	{"LIBTRACE_THREAD_TIME", KIND_WORD, 0, "process-tree", AT(sched)},
	{"LIBTRACE_STREAMS", KIND_WORD, 0, "process-tree", AT(streams)},
	{"LIBTRACE_LOG_EVENTS", KIND_TEXT, 0, NULL, AT(log_events)},
	{"LIBTRACE_STREAMS_LIMIT", KIND_NUMBER, 1024, NULL, AT(streams_bytes)},
	{"LIBTRACE_CPUCTXSW", KIND_WORD, 0, "process-tree", AT(cpuctxsw)},
	{"LIBTRACE_SAMPLING_TRIGGER", KIND_WORD, 0, "perf", AT(sample_by_event)},
	{"LIBTRACE_SAMPLING_FREQUENCY", KIND_NUMBER, 1, NULL, UP_TO(SAMPLE_HZ_MAX, sample_hz)},
	{"LIBTRACE_FORCE_OVERWRITE", KIND_BOOL, 0, NULL, AT(overwrite)},
	{"LIBTRACE_FOLLOW", KIND_BOOL, 0, NULL, AT(follow)},
	{"LIBTRACE_SECCOMP", KIND_WORD, 0, "trace", AT(filtered)},
	{"LIBTRACE_HELPER", KIND_BOOL, 0, NULL, AT(writer)},
	{"LIBTRACE_OSRT_LOCKS", KIND_WORD, 0, "all", AT(all_locks)},
	{"LIBTRACE_OSRT_FILE_ACCESS", KIND_BOOL, 0, NULL, AT(file_access)},
	{"LIBTRACE_LOG", KIND_WORD, 0, "stderr", AT(log_stderr)},
	{"LIBTRACE_COMPRESS", KIND_WORD, 0, "zstd", AT(compress)},
	{"LIBTRACE_OSRT_THRESHOLD", KIND_NUMBER, 1, NULL, AT(threshold_ns)},
	{"LIBTRACE_OSRT_BACKTRACE_THRESHOLD", KIND_LIMIT, 1, NULL, AT(backtrace_ns[CHAIN_OSRT])},
	{"LIBTRACE_NVTX_BACKTRACE_THRESHOLD", KIND_LIMIT, 1, NULL, AT(backtrace_ns[CHAIN_NVTX])},
	{"LIBTRACE_OSRT_BACKTRACE_DEPTH", KIND_NUMBER, 1, NULL,
		UP_TO(CALLCHAIN_DEPTH_MAX, backtrace_depth)},
	{"LIBTRACE_BACKTRACE", KIND_CHOICE, 0, "dwarf,fp,libunwind,check,none", AT(backtrace)},
	{"LIBTRACE_PYTHON_BACKTRACE", KIND_CHOICE, 0, "auto,off", AT(python_backtrace)},
	{"LIBTRACE_PYTORCH", KIND_CHOICE, 0, "none,autograd-nvtx", AT(pytorch)},
	{"LIBTRACE_CUDA_BACKTRACE", KIND_CLASSES, 1, NULL, AT(backtrace_ns)},
	{"LIBTRACE_CUDA_TRIVIAL", KIND_WORD, 0, "record", AT(cuda_all_calls)},
	{"LIBTRACE_CUDA_GRAPH", KIND_WORD, 0, "node", AT(cuda_graph_nodes)},
	{"LIBTRACE_CUDA_MEMORY", KIND_BOOL, 0, NULL, AT(cuda_memory)},
	{"LIBTRACE_CUDA_UNIFIED_MEMORY", KIND_BOOL, 0, NULL, AT(cuda_unified_memory)},
	{"LIBTRACE_CUDA_CUBINS", KIND_BOOL, 0, NULL, AT(cuda_cubins)},
	{"LIBTRACE_CUDA_FLUSH", KIND_NUMBER, 1000000u, NULL, AT(cuda_flush_ns)},
	{"LIBTRACE_CUDA_BUFFERS", KIND_NUMBER, 1u << 20, NULL, UP_TO(256, cuda_buffers_bytes)},
	{"LIBTRACE_CUPTI", KIND_TEXT, 0, NULL, AT(cupti)},
	{"LIBTRACE_MEMORY", KIND_NUMBER, 1u << 20, NULL, UP_TO(1024, memory_bytes)},
	{"LIBTRACE_DELAY", KIND_NUMBER, 1000000000u, NULL, AT(delay_ns)},
	{"LIBTRACE_DURATION", KIND_NUMBER, 1000000000u, NULL, AT(duration_ns)},
	{"LIBTRACE_FLUSH_INTERVAL", KIND_NUMBER, 1000000u, NULL, UP_TO(1000000, flush_interval_ns)},
	{"LIBTRACE_EXIT_WAIT", KIND_NUMBER, 1000000u, NULL, AT(exit_wait_ns)},
	{"LIBTRACE_CAPTURE_RANGE", KIND_TEXT, 0, NULL, AT(capture_range)},
	{"LIBTRACE_NVTX_CAPTURE", KIND_TEXT, 0, NULL, AT(nvtx_capture)},
	{"LIBTRACE_CAPTURE_RANGE_END", KIND_TEXT, 0, NULL, AT(capture_range_end)},
	{"LIBTRACE_NVTX_DOMAIN_INCLUDE", KIND_TEXT, 0, NULL, AT(nvtx_domain_include)},
	{"LIBTRACE_NVTX_DOMAIN_EXCLUDE", KIND_TEXT, 0, NULL, AT(nvtx_domain_exclude)},
	{"LIBTRACE_FUNCTIONS", KIND_TEXT, 0, NULL, AT(function_patterns)},
	{"LIBTRACE_FUNCTIONS_BACKTRACE_THRESHOLD", KIND_LIMIT, 1, NULL,
		AT(backtrace_ns[CHAIN_FUNCTION])},
	{"LIBTRACE_NCCL_STEPS", KIND_BOOL, 0, NULL, AT(nccl_steps)},
	{"LIBTRACE_OPENMP_BACKTRACE_THRESHOLD", KIND_LIMIT, 1, NULL,
		AT(backtrace_ns[CHAIN_OPENMP])},
	{"LIBTRACE_OUTPUT", KIND_TEXT, 0, NULL, AT(output)},
	{"LIBTRACE_TREE", KIND_TEXT, 0, NULL, AT(tree)},
	{"LIBTRACE_SPOOL_DIR", KIND_TEXT, 0, NULL, AT(spool_dir)},
	/* Last: they have no maximum, and need no bit of config.cut, which has 64. */
	{"LIBTRACE_GPU_METRICS", KIND_TEXT, 0, NULL, AT(gpu_metrics)},
	{"LIBTRACE_GPU_METRICS_RANGE", KIND_TEXT, 0, NULL, AT(gpu_metrics_range)},
	{"LIBTRACE_GPU_METRICS_PASS", KIND_NUMBER, 1, NULL, AT(gpu_metrics_pass)},
	{"LIBTRACE_GPU_METRICS_FREQUENCY", KIND_NUMBER, 1, NULL, AT(gpu_metrics_hz)},
	{"LIBTRACE_CPU_COUNTERS", KIND_WORD, 0, "process-tree", AT(cpu_counters)},
	{"LIBTRACE_MACHINE_SAMPLES", KIND_CHOICE, 0, "auto,always,none", AT(machine_samples)},
	{"LIBTRACE_VULKAN_GPU_WORKLOAD", KIND_WORD, 0, "batch", AT(vulkan_workload)},
	{"LIBTRACE_GPUCTXSW", KIND_BOOL, 0, NULL, AT(gpuctxsw)},
#define LIBRARY(number, id, title, files, functions) \
	{"LIBTRACE_TRACE", KIND_LIST, 0, #id, AT(libraries[LIBRARY_##id])},
#include "common/schema/libraries.def"
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

/* Return true if `word` is an element of the comma-separated list. */
static bool list_names(const char *list, const char *word)
{
	size_t length = text_length(word);
	for (const char *s = list; *s;) {
		if (text_begins(s, word) && (s[length] == ',' || !s[length]))
			return true;
		while (*s && *s != ',')
			s++;
		if (*s)
			s++;
	}
	return false;
}

/* Return true if each element is "none" or the word of an option of this name. */
static bool list_is_known(const char *list, const char *name)
{
	while (*list) {
		size_t length = 0;
		bool known = text_begins(list, "none") && (!list[4] || list[4] == ',');
		while (list[length] && list[length] != ',')
			length++;
		for (size_t i = 0; i < OPTIONS && !known; i++)
			known = text_equal(options[i].name, name) &&
				text_length(options[i].word) == length &&
				text_begins(list, options[i].word);
		if (!known)
			return false;
		list += length + (list[length] != 0);
	}
	return true;
}

/* Parse a number. If the unit is more than 1, the number may have a fraction: "0.5". */
static bool parse_number(const char *value, uint64_t unit, uint64_t *ret_number)
{
	uint64_t number = 0, fraction = 0, scale = 1;
	const char *s = value;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (number > UINT64_MAX / 16)
			return false;
		number = number * 10 + (uint64_t)(*s - '0');
	}
	if (s == value || (unit > 1 && number > UINT64_MAX / unit))
		return false;
	if (*s == '.' && unit > 1)
		for (s++; *s >= '0' && *s <= '9' && scale < 1000000000u; s++, scale *= 10)
			fraction = fraction * 10 + (uint64_t)(*s - '0');
	if (*s)
		return false;
	*ret_number = number * unit + fraction * unit / scale;
	return true;
}

/* Return the index of `value` among the words, or -1. */
static int choice_of(const char *words, const char *value)
{
	size_t length = text_length(value);
	int number = 0;
	for (const char *s = words; *s; s++) {
		if ((s == words || s[-1] == ',') && text_begins(s, value) &&
			(s[length] == ',' || !s[length]))
			return number;
		number += *s == ',';
	}
	return -1;
}

static bool choice_apply(unsigned *place, const char *words, const char *value)
{
	int choice = choice_of(words, value);
	if (choice >= 0)
		*place = (unsigned)choice;
	return choice >= 0;
}

/* Apply one element of a list of classes, with a threshold in ns or without (then 0). */
static bool class_apply(uint64_t *backtrace_ns, const char *item, size_t length)
{
	static const char *const classes[] = {[CHAIN_CUDA_KERNEL] = "kernel",
		[CHAIN_CUDA_MEMORY] = "memory",
		[CHAIN_CUDA_SYNC] = "sync",
		[CHAIN_CUDA_OTHER] = "other"};
	char word[32] = "";
	uint64_t ns = 0;
	size_t at = 0;
	bool known = false;
	if (length >= sizeof(word))
		return false;
	bytes_copy(word, item, length);
	while (word[at] && word[at] != ':')
		at++;
	if (word[at] && !parse_number(word + at + 1, 1, &ns))
		return false;
	word[at] = 0;
	for (int i = CHAIN_CUDA_KERNEL; i <= CHAIN_CUDA_OTHER; i++)
		if (text_equal(word, classes[i]) || text_equal(word, "all")) {
			backtrace_ns[i] = ns;
			known = true;
		}
	return known;
}

static bool classes_apply(uint64_t *backtrace_ns, const char *list)
{
	for (int i = CHAIN_CUDA_KERNEL; i <= CHAIN_CUDA_OTHER; i++)
		backtrace_ns[i] = UINT64_MAX;
	if (!*list || text_equal(list, "none"))
		return true;
	for (const char *s = list;; s++) {
		const char *item = s;
		while (*s && *s != ',')
			s++;
		if (!class_apply(backtrace_ns, item, (size_t)(s - item)))
			return false;
		if (!*s)
			return true;
	}
}

static bool option_apply(struct config *c, const struct option *o, const char *value)
{
	char *place = (char *)c + o->offset;
	switch (o->kind) {
	case KIND_BOOL:
		*(bool *)place = text_is_true(value);
		return text_is_true(value) || text_equal(value, "0") ||
			text_equal(value, "false") || text_equal(value, "no") ||
			text_equal(value, "off") || !*value;
	case KIND_WORD:
		*(bool *)place = text_equal(value, o->word);
		return true;
	case KIND_CHOICE:
		return choice_apply((unsigned *)(void *)place, o->word, value);
	case KIND_CLASSES:
		return classes_apply((uint64_t *)(void *)place, value);
	case KIND_LIST:
		if (!list_is_known(value, o->name))
			return false;
		*(bool *)place = list_names(value, o->word);
		return true;
	case KIND_LIMIT:
		if (text_equal(value, "none")) {
			*(uint64_t *)(void *)place = UINT64_MAX;
			return true;
		}
		return parse_number(value, o->unit, (uint64_t *)(void *)place);
	case KIND_NUMBER:
		if (!parse_number(value, o->unit, (uint64_t *)(void *)place))
			return false;
		if (o->most && *(uint64_t *)(void *)place > o->most * o->unit) {
			*(uint64_t *)(void *)place = o->most * o->unit;
			c->cut |= UINT64_C(1) << (o - options);
		}
		return true;
	case KIND_TEXT:
		*(const char **)(void *)place = *value ? value : NULL;
		return true;
	}
	return false;
}

bool config_wants_functions(char **envp)
{
	const char *patterns = config_lookup(envp, "LIBTRACE_FUNCTIONS");
	const char *list = config_lookup(envp, "LIBTRACE_TRACE");
	bool wants = patterns && *patterns;
	for (uint32_t i = 0; list && i < LIBRARY_ROWS && !wants; i++)
		wants = list_names(list, library_rows[i].name);
	return wants;
}

bool config_wants_openmp(char **envp)
{
	const char *list = config_lookup(envp, "LIBTRACE_TRACE");
	return list && list_names(list, "openmp");
}

void config_read(struct config *c, char **envp)
{
	*c = (struct config){
#define PRODUCER(name, is_default, ...) .name = is_default,
#include "tracer/producers.def"
		.sample_hz = SAMPLE_HZ,
		.streams_bytes = 1u << 20,
		.cuda_memory = true,
		.cuda_unified_memory = true,
		.cuda_flush_ns = 500000000u,
		.cuda_buffers_bytes = 64u << 20,
		.follow = true,
		.writer = true,
		.threshold_ns = 1000,
		.backtrace_ns = {80000, [1 ... CHAIN_CLASSES - 1] = UINT64_MAX},
		.backtrace_depth = 64,
		.memory_bytes = MEMORY_BYTES,
		.flush_interval_ns = 1000000000u,
		.exit_wait_ns = 2000000000u};
	c->backtrace_ns[CHAIN_OPENMP] = 80000;
	for (size_t i = 0; i < OPTIONS; i++) {
		const char *value = config_lookup(envp, options[i].name);
		if (value && !option_apply(c, &options[i], value) && !c->bad)
			c->bad = options[i].name;
	}
	c->functions = config_wants_functions(envp);
	c->streams |= c->log_events != NULL;
	if (!c->openmp)
		c->backtrace_ns[CHAIN_OPENMP] = UINT64_MAX;
	if (!config_lookup(envp, "LIBTRACE_THREAD_TIME"))
		c->sched |= c->cpu | c->cpu_counters;
	if (!c->sample_hz) {
		c->sample_hz = SAMPLE_HZ;
		c->bad = c->bad ? c->bad : "LIBTRACE_SAMPLING_FREQUENCY";
	}
	if (!c->memory_bytes) {
		c->memory_bytes = MEMORY_BYTES;
		c->bad = c->bad ? c->bad : "LIBTRACE_MEMORY";
	}
}

bool config_cut_text(const struct config *c, uint32_t n, char *ret_text, size_t bytes)
{
	enum { NEVER_CUT = LIBRARY_ROWS + 8 }; /* the last rows */
	_Static_assert(OPTIONS - NEVER_CUT <= 64, "a bit for each that may be cut");
	if (n >= OPTIONS - NEVER_CUT || !(c->cut >> n & 1))
		return false;
	size_t at = text_append(ret_text, bytes, 0, options[n].name);
	at = text_append(ret_text, bytes, at, " exceeds ");
	at = text_append_number(ret_text, bytes, at, options[n].most, 10);
	at = text_append(ret_text, bytes, at, "; using ");
	at = text_append_number(ret_text, bytes, at, options[n].most, 10);
	return true;
}
