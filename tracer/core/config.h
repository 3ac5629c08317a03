/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - the options of this process, from LIBTRACE_* variables (common/env.def).
 */
#ifndef TRACER_CORE_CONFIG_H
#define TRACER_CORE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/schema/libraries.h"

enum backtrace {
	BACKTRACE_RULES = 0,      /* uses the unwind tables of the program */
	BACKTRACE_FRAME_POINTERS, /* trusts rbp */
	BACKTRACE_LIBUNWIND,      /* as BACKTRACE_RULES; libunwind where no rule is found */
	BACKTRACE_CHECK,          /* compares the rules with libunwind: slow, for our tests */
	BACKTRACE_NONE
};

enum python_backtrace { PYTHON_BACKTRACE_AUTO = 0, PYTHON_BACKTRACE_OFF };
enum pytorch { PYTORCH_NONE = 0, PYTORCH_AUTOGRAD_NVTX };

/* Classes of callchains: each has a threshold. Calls of the CUDA APIs are divided by what they
 * do. */
enum chain_class {
	CHAIN_OSRT,
	CHAIN_NVTX,
	CHAIN_FUNCTION, /* functions of libraries */
	CHAIN_OPENMP,
	CHAIN_CUDA_KERNEL, /* launches */
	CHAIN_CUDA_MEMORY, /* allocation, copies, sets */
	CHAIN_CUDA_SYNC,   /* waiting for the device */
	CHAIN_CUDA_OTHER,
	CHAIN_CLASSES
};

struct config {
/* A member for each source, set by LIBTRACE_TRACE; cpu and sched also by LIBTRACE_SAMPLE and
 * LIBTRACE_THREAD_TIME, streams by LIBTRACE_STREAMS, functions only by LIBTRACE_FUNCTIONS or
 * `libraries`. */
#define PRODUCER(name, ...) bool name;
#include "tracer/producers.def"
	bool libraries[LIBRARY_ROWS]; /* named in LIBTRACE_TRACE: their calls are recorded */
	uint64_t sample_hz;           /* LIBTRACE_SAMPLING_FREQUENCY */
	bool sample_by_event;         /* LIBTRACE_SAMPLING_TRIGGER=perf: not by timers */
	const char *log_events;       /* LIBTRACE_LOG_EVENTS; NULL = none */
	uint64_t streams_bytes;       /* LIBTRACE_STREAMS_LIMIT (KiB) of each stream */
	bool cpuctxsw;                /* LIBTRACE_CPUCTXSW: record context switches */
	bool vulkan_workload;         /* LIBTRACE_VULKAN_GPU_WORKLOAD=batch */
	bool gpuctxsw;                /* LIBTRACE_GPUCTXSW: say why those of the GPU are not */
	bool cpu_counters;            /* LIBTRACE_CPU_COUNTERS */
	bool overwrite;               /* LIBTRACE_FORCE_OVERWRITE */
	bool filtered;         /* LIBTRACE_SECCOMP=trace: record under system call filters, too */
	bool follow;           /* LIBTRACE_FOLLOW: trace children, too */
	bool writer;           /* LIBTRACE_HELPER: start a writer when there is none */
	bool all_locks;        /* LIBTRACE_OSRT_LOCKS=all: time and record free locks, too */
	bool nccl_steps;       /* LIBTRACE_NCCL_STEPS */
	bool file_access;      /* LIBTRACE_OSRT_FILE_ACCESS */
	bool log_stderr;       /* LIBTRACE_LOG=stderr: write diagnostics there at once, too */
	bool compress;         /* LIBTRACE_COMPRESS=zstd */
	bool cuda_all_calls;   /* LIBTRACE_CUDA_TRIVIAL=record */
	bool cuda_graph_nodes; /* LIBTRACE_CUDA_GRAPH=node */
	bool cuda_memory;      /* LIBTRACE_CUDA_MEMORY: allocations and pools */
	bool cuda_unified_memory;      /* LIBTRACE_CUDA_UNIFIED_MEMORY: migrations and faults */
	bool cuda_cubins;              /* LIBTRACE_CUDA_CUBINS: keep the code of modules */
	const char *gpu_metrics;       /* LIBTRACE_GPU_METRICS; NULL = none */
	const char *gpu_metrics_range; /* LIBTRACE_GPU_METRICS_RANGE; NULL = kernels */
	uint64_t gpu_metrics_pass;     /* LIBTRACE_GPU_METRICS_PASS, from 1 */
	uint64_t gpu_metrics_hz;       /* LIBTRACE_GPU_METRICS_FREQUENCY; 0 = by kernel */
	uint64_t cuda_flush_ns;        /* LIBTRACE_CUDA_FLUSH (ms) */
	uint64_t cuda_buffers_bytes;   /* LIBTRACE_CUDA_BUFFERS (MiB) */
	const char *cupti;             /* LIBTRACE_CUPTI; NULL = search for it */
	uint64_t threshold_ns;         /* LIBTRACE_OSRT_THRESHOLD */
	uint64_t backtrace_ns[CHAIN_CLASSES]; /* LIBTRACE_*_BACKTRACE_THRESHOLD (ns) */
	uint64_t backtrace_depth;      /* LIBTRACE_OSRT_BACKTRACE_DEPTH, of all classes; 0 = none */
	enum backtrace backtrace;      /* LIBTRACE_BACKTRACE */
	uint64_t memory_bytes;         /* LIBTRACE_MEMORY (MiB) */
	uint64_t delay_ns;             /* LIBTRACE_DELAY (s) */
	uint64_t duration_ns;          /* LIBTRACE_DURATION (s) */
	uint64_t flush_interval_ns;    /* LIBTRACE_FLUSH_INTERVAL (ms) */
	uint64_t exit_wait_ns;         /* LIBTRACE_EXIT_WAIT (ms) */
	const char *capture_range;     /* LIBTRACE_CAPTURE_RANGE; NULL = none, also below */
	const char *nvtx_capture;      /* LIBTRACE_NVTX_CAPTURE */
	const char *capture_range_end; /* LIBTRACE_CAPTURE_RANGE_END */
	const char *nvtx_domain_include; /* LIBTRACE_NVTX_DOMAIN_INCLUDE */
	const char *nvtx_domain_exclude; /* LIBTRACE_NVTX_DOMAIN_EXCLUDE */
	const char *function_patterns;   /* LIBTRACE_FUNCTIONS */
	const char *output;              /* LIBTRACE_OUTPUT; NULL = default */
	const char *tree;                /* LIBTRACE_TREE; NULL = start one */
	const char *spool_dir;           /* LIBTRACE_SPOOL_DIR; NULL = /dev/shm */
	/* LIBTRACE_PYTHON_BACKTRACE */
	enum python_backtrace python_backtrace;
	uint32_t machine_samples; /* LIBTRACE_MACHINE_SAMPLES, which the writer reads: only checked
				     here */
	enum pytorch pytorch;     /* LIBTRACE_PYTORCH */
	uint64_t cut;    /* bit n: the value of the n-th option exceeded the maximum; the maximum is
			    used */
	const char *bad; /* the first variable with an invalid value; its default is used, and a
			    diagnostic says so */
};

/* Return true if any source is to record. */
static inline bool config_has_source(const struct config *c)
{
#define PRODUCER(name, ...) || c->name
	return c->cpuctxsw
#include "tracer/producers.def"
		;
}

/* Fill `c` from the environment. Strings still belong to the environment. */
void config_read(struct config *c, char **envp);

/* Write "NAME exceeds 128; using 128" for the n-th option, n from 0 to 63. Return false if its
 * value did not exceed the maximum. */
bool config_cut_text(const struct config *c, uint32_t n, char *ret_text, size_t bytes);

/* Return true if the environment asks for calls of libraries' functions. */
bool config_wants_functions(char **envp);

/* Return true if the environment asks for OpenMP, which looks at calls of libgomp's functions. */
bool config_wants_openmp(char **envp);

/* Return the value of `name` in the environment, or NULL. */
const char *config_lookup(char **envp, const char *name);

#endif
