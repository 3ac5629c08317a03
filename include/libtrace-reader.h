/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtrace-reader.h - reports of libtrace and of NVIDIA Nsight Compute, for programs and for the
 * languages that call C.
 *
 * The library is libtrace-reader.so. This interface is stable: functions are only added, structures
 * keep their layout, and LIBTRACE_READER_VERSION counts the additions.
 *
 * Files are hostile: whatever one says, functions return an error or less than was hoped for, and
 * never read or write out of bounds. Functions that can fail return 0, or a negative errno:
 * -EBADMSG for what the file says, -ENOMEM, -EIO and others for the machine, -EINVAL for impossible
 * arguments. Results (ret_...) are left alone then.
 *
 * A report and what was opened of it are used by one thread at a time. Different reports are
 * independent. Functions may block on the disk and allocate, unless they say otherwise. Texts are
 * UTF-8 as far as the program that was measured wrote such, and end with a NUL.
 */
#ifndef LIBTRACE_READER_H
#define LIBTRACE_READER_H

#include <stddef.h>
#include <stdint.h>

#define LIBTRACE_READER_VERSION 2u

#define LIBTRACE_READER_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is loaded: at least that of the header a program was built with,
 * or functions are missing. Any thread; does not allocate. */
LIBTRACE_READER_API uint32_t libtrace_reader_version(void);

/* Gives back a text that a function below handed out as the caller's. NULL is nothing. */
LIBTRACE_READER_API void libtrace_text_free(char *text);

/* ---- a report ---- */

struct libtrace_report;

/*
 * Opens a report and reads what it says of itself; results and events are read when they are asked
 * for. Where a writer is still at work, waits up to 5 s for it. On failure a line without its end
 * is written to `cause` (at most `cause_bytes`, NUL included). libtrace_report_close() gives it
 * back, after all that was opened of it; NULL is nothing.
 */
LIBTRACE_READER_API int libtrace_report_open(
	const char *path, struct libtrace_report **ret_report, char *cause, size_t cause_bytes);
LIBTRACE_READER_API void libtrace_report_close(struct libtrace_report *report);

/* Places where the file is damaged, which were passed over; where it, or what was recorded, is cut
 * off, that is one, too. Does not allocate. */
LIBTRACE_READER_API uint64_t libtrace_report_problems(const struct libtrace_report *report);

/* What is wrong at one of them, from 0 on: "the file is cut off: what followed is missing at offset
 * 3204". The first 16 have a text; NULL behind these. It lives as long as the report. Does not
 * allocate. Since version 2. */
LIBTRACE_READER_API const char *libtrace_report_problem(
	const struct libtrace_report *report, size_t index);

/* The details of the session, merged, as JSON: the fields of SessionDetails in common/schema. "{}"
 * where there are none. The text is the caller's. */
LIBTRACE_READER_API int libtrace_report_session(
	const struct libtrace_report *report, char **ret_json);

/* The name that metrics of results have by number: 0, 1 ... NULL behind the last. It lives as long
 * as the report. Does not allocate. */
LIBTRACE_READER_API const char *libtrace_report_metric_name(
	const struct libtrace_report *report, uint32_t name_id);

/* All of these names at once, in order, each with a NUL behind it: `ret_bytes` of them. The
 * caller's by libtrace_text_free(). Since version 2. */
LIBTRACE_READER_API int libtrace_report_metric_names(
	const struct libtrace_report *report, char **ret_names, size_t *ret_bytes);

/* ---- results of Nsight Compute: kernels, ranges, command lists, graphs ---- */

enum libtrace_workload {
	LIBTRACE_WORKLOAD_KERNEL = 1,
	LIBTRACE_WORKLOAD_RANGE = 2,
	LIBTRACE_WORKLOAD_CMDLIST = 3,
	LIBTRACE_WORKLOAD_GRAPH = 4
};

enum libtrace_value_kind {
	LIBTRACE_VALUE_NONE = 0,
	LIBTRACE_VALUE_STRING = 1,
	LIBTRACE_VALUE_FLOAT = 2, /* stored as a double */
	LIBTRACE_VALUE_DOUBLE = 3,
	LIBTRACE_VALUE_UINT32 = 4,
	LIBTRACE_VALUE_UINT64 = 5
};

/* Values in two arrays. */
struct libtrace_values {
	size_t count;
	const uint8_t *kinds; /* enum libtrace_value_kind */
	const uint64_t *bits; /* by kind: nothing, address of a text, bits of a double, number */
};

/* The metrics of a result in the order of the file; a name may come twice, with equal values. */
struct libtrace_metrics {
	struct libtrace_values values;   /* LIBTRACE_VALUE_NONE: only instances are there */
	const uint32_t *name_ids;        /* for libtrace_report_metric_name() */
	const uint32_t *instance_counts; /* 0: the value is all there is */
	const uint8_t *categories;       /* 0: counters and the like, 1: made of samples */
};

/* Instances of metrics. What their keys mean depends on the metric: addresses of instructions,
 * numbers of units, times in ns, names of opcodes. */
struct libtrace_instances {
	struct libtrace_values keys, values;
};

/* In the order of the file. Does not allocate. */
LIBTRACE_READER_API size_t libtrace_report_result_count(const struct libtrace_report *report);

struct libtrace_result;

/* Opens result `index`; its memory follows the size of its entry in the file.
 * libtrace_result_close() gives it back, before its report is closed; NULL is nothing. */
LIBTRACE_READER_API int libtrace_result_open(
	struct libtrace_report *report, size_t index, struct libtrace_result **ret_result);
LIBTRACE_READER_API void libtrace_result_close(struct libtrace_result *result);

/* Which of enum libtrace_workload it is. Does not allocate. */
LIBTRACE_READER_API int libtrace_result_workload(const struct libtrace_result *result);

/* The metrics; arrays and texts live until the result is closed. */
LIBTRACE_READER_API int libtrace_result_metrics(
	struct libtrace_result *result, struct libtrace_metrics *ret_metrics);

/* Which of these metrics is the first of that name; -ENOENT: none. Behind
 * libtrace_result_metrics(), else -EINVAL. Does not allocate. Since version 2. */
LIBTRACE_READER_API int libtrace_result_metric(
	struct libtrace_result *result, const char *name, size_t *ret_position);

/* The instances of all metrics, in the order of the metrics: instance_counts[0] of the first one,
 * and so on. Behind libtrace_result_metrics(), else -EINVAL; arrays and texts live until the result
 * is closed. */
LIBTRACE_READER_API int libtrace_result_instances(
	struct libtrace_result *result, struct libtrace_instances *ret_instances);

/* Values as numbers: `values->count` of them. Whole numbers are cut off behind the point; negative
 * ones count modulo 2^64; what is no number, or none of 64 bits, is 0. Any thread; does not
 * allocate. Since version 2. */
LIBTRACE_READER_API void libtrace_values_as_real(
	const struct libtrace_values *values, double *ret_reals);
LIBTRACE_READER_API void libtrace_values_as_whole(
	const struct libtrace_values *values, uint64_t *ret_wholes);

/*
 * A part of the result as JSON, the caller's: the fields of ProfileResult, RangeResult,
 * CmdlistResult or GraphResult in common/schema/ncu.proto that `part` names, separated by commas
 * ("nvtx", "grid_size,block_size"), each absent where the file has none. 64-bit numbers are written
 * as numbers, enumerations too, bytes as hexadecimal digits. -EINVAL: no such field, or
 * "metric_results".
 */
LIBTRACE_READER_API int libtrace_result_part(
	struct libtrace_result *result, const char *part, char **ret_json);

/* The source files that the report holds for the module of a kernel (ncu's --import-source), as
 * JSON, the caller's: {"files":[{"file_name":..., "content":...}]}; "{}" where it holds none. */
LIBTRACE_READER_API int libtrace_result_source_files(
	struct libtrace_result *result, char **ret_json);

/*
 * What the module of a kernel says of the instruction at an address: metrics by instruction have
 * such addresses as keys. Texts are the caller's; NULL: it is not known, since the result is of no
 * kernel, the report has no code of it, or no instruction begins (sass) or lies there. Since
 * version 2.
 *
 * sass: as NVIDIA's nvdisasm writes it, which is started once for a module; labels are addresses.
 * -ENOENT: there is no nvdisasm in PATH or /usr/local/cuda/bin; -EIO: it failed.
 * ptx: the line of PTX that the instruction was made of, where the compiler has left that.
 * line: file and line (from 1) of its source, of code that was built with -lineinfo.
 */
LIBTRACE_READER_API int libtrace_result_sass(
	struct libtrace_result *result, uint64_t address, char **ret_text);
LIBTRACE_READER_API int libtrace_result_ptx(
	struct libtrace_result *result, uint64_t address, char **ret_text);
LIBTRACE_READER_API int libtrace_result_line(
	struct libtrace_result *result, uint64_t address, char **ret_file, uint32_t *ret_line);

/*
 * Which results an NVTX filter chooses: those that any of `includes` holds for (all, without any)
 * and none of `excludes`, in the language of ncu's --nvtx-include ('trace help nvtx'). Sets one
 * byte per result, 0 or 1. -EINVAL for a filter that cannot be understood, with the cause as in
 * libtrace_report_open(). Results that cannot be read are not chosen.
 */
LIBTRACE_READER_API int libtrace_report_nvtx(struct libtrace_report *report,
	const char *const *includes, size_t include_count, const char *const *excludes,
	size_t exclude_count, uint8_t *ret_chosen, char *cause, size_t cause_bytes);

/* The unit of a metric by its name, in base units (byte, nsecond, cycle/second), "" without one. A
 * longer one is cut to `unit_bytes`, NUL included. Any thread; does not allocate. */
LIBTRACE_READER_API void libtrace_metric_unit(const char *name, char *unit, size_t unit_bytes);

/* ---- events of libtrace: calls, ranges, kernels ... ---- */

/* Which events are wanted; 0 and NULL: all. */
struct libtrace_event_filter {
	const char *kind; /* as 'trace dump --kind' has it */
	const char *name; /* shell pattern for the function; events without one are left out */
	uint32_t pid, tid;
	uint64_t start_ns,
		end_ns; /* start_ns <= start of the event < end_ns, since the session's start */
	uint32_t no_symbols; /* 1: callchains as addresses alone */
};

struct libtrace_events;

/*
 * Opens the events of a report in order of their start. -EINVAL: no such kind. Reads the report
 * once; what it holds is bounded (256 MiB of rows), but
 * for names. Callchains have the names that 'trace symbolize' has stored in the report.
 * libtrace_events_close() gives it back, before the report is closed; NULL is nothing.
 */
LIBTRACE_READER_API int libtrace_events_open(struct libtrace_report *report,
	const struct libtrace_event_filter *filter, struct libtrace_events **ret_events);
LIBTRACE_READER_API void libtrace_events_close(struct libtrace_events *events);

/* The next events, at most `count`, as lines of JSON: what 'trace dump --json' prints. *ret_json is
 * the caller's; NULL behind the last event. */
LIBTRACE_READER_API int libtrace_events_next(
	struct libtrace_events *events, size_t count, char **ret_json);

/*
 * The bytes of a RuleResultBodyItem (ncu.proto) that a chart file of a rule holds as text, the
 * caller's by libtrace_data_free(). -EINVAL: with line, column and what is wrong in `cause`, as
 * above. Fields that are not known are left out. Any thread.
 */
LIBTRACE_READER_API int libtrace_body_item(const char *text, size_t bytes, void **ret_item,
	size_t *ret_bytes, char *cause, size_t cause_bytes);
LIBTRACE_READER_API void libtrace_data_free(void *data);

#ifdef __cplusplus
}
#endif

#endif
