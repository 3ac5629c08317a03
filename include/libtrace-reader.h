/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtrace-reader.h - reader for reports of libtrace and of NVIDIA Nsight Compute, for programs in
 * C and in languages that call C.
 *
 * The library is libtrace-reader.so. This interface is stable: functions are only added, structures
 * keep their layout, and LIBTRACE_READER_VERSION counts the additions.
 *
 * Files are hostile: whatever a file contains, functions return an error or partial results, and
 * never read or write out of bounds. Functions that can fail return 0 or a negative errno: -EBADMSG
 * for invalid contents, -EINVAL for invalid arguments, and -ENOMEM, -EIO or others for system
 * failures. Results (ret_...) are unchanged on failure.
 *
 * A report, and everything opened from it, is used by one thread at a time. Different reports are
 * independent. Functions may block on the disk and allocate, unless stated otherwise. Texts end
 * with NUL; they are UTF-8 as far as the measured program wrote UTF-8.
 */
#ifndef LIBTRACE_READER_H
#define LIBTRACE_READER_H

#include <stddef.h>
#include <stdint.h>

#define LIBTRACE_READER_VERSION 3u

#define LIBTRACE_READER_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Return the version of the loaded library. If it is less than the version of the header that the
 * program was built with, functions are missing. Any thread; does not allocate. */
LIBTRACE_READER_API uint32_t libtrace_reader_version(void);

/* Free a text that a function below returned to the caller. Accepts NULL. */
LIBTRACE_READER_API void libtrace_text_free(char *text);

/* ---- a report ---- */

struct libtrace_report;

/*
 * Open a report and read its description; results and events are read on request. If a writer is
 * still active, wait up to 5 s for it. On failure, the reason is written to `cause` as one line
 * without a newline, at most `cause_bytes` bytes, including NUL. Close everything that was opened
 * from the report before libtrace_report_close(), which accepts NULL.
 */
LIBTRACE_READER_API int libtrace_report_open(
	const char *path, struct libtrace_report **ret_report, char *cause, size_t cause_bytes);
LIBTRACE_READER_API void libtrace_report_close(struct libtrace_report *report);

/* Return the number of problems: damaged parts of the file, which were skipped, and an early end of
 * the file or of the recording. Does not allocate. */
LIBTRACE_READER_API uint64_t libtrace_report_problems(const struct libtrace_report *report);

/* Return the description of problem `index`, from 0: "the file is cut off: what followed is missing
 * at offset 3204". Only the first 16 problems have a description; return NULL for all others. The
 * text is valid until the report is closed. Does not allocate. Since version 2. */
LIBTRACE_READER_API const char *libtrace_report_problem(
	const struct libtrace_report *report, size_t index);

/* Return the merged details of the session as JSON: the fields of SessionDetails in common/schema;
 * "{}" if there are none. The caller frees the text. */
LIBTRACE_READER_API int libtrace_report_session(
	const struct libtrace_report *report, char **ret_json);

/* Return the name of the metric with this number, from 0; NULL after the last metric. The name is
 * valid until the report is closed. Does not allocate. */
LIBTRACE_READER_API const char *libtrace_report_metric_name(
	const struct libtrace_report *report, uint32_t name_id);

/* Return all metric names, in order of their numbers, each followed by NUL: `ret_bytes` bytes. The
 * caller frees them with libtrace_text_free(). Since version 2. */
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

/* Values as two parallel arrays. */
struct libtrace_values {
	size_t count;
	const uint8_t *kinds; /* enum libtrace_value_kind */
	const uint64_t *bits; /* by kind: 0, address of a text, bits of a double, or the number */
};

/* Metrics of a result in the order of the file; a name may occur twice, with equal values. */
struct libtrace_metrics {
	struct libtrace_values values;   /* LIBTRACE_VALUE_NONE: the metric has only instances */
	const uint32_t *name_ids;        /* numbers for libtrace_report_metric_name() */
	const uint32_t *instance_counts; /* 0: the metric has no instances */
	const uint8_t *categories;       /* 0: counter or derived, 1: from samples */
};

/* Instances of metrics. The meaning of their keys depends on the metric: addresses of instructions,
 * numbers of units, times in ns, or names of opcodes. */
struct libtrace_instances {
	struct libtrace_values keys, values;
};

/* Return the number of results, which are in the order of the file. Does not allocate. */
LIBTRACE_READER_API size_t libtrace_report_result_count(const struct libtrace_report *report);

struct libtrace_result;

/* Open result `index`. Memory is proportional to the size of its entry in the file. Close the
 * result before its report; libtrace_result_close() accepts NULL. */
LIBTRACE_READER_API int libtrace_result_open(
	struct libtrace_report *report, size_t index, struct libtrace_result **ret_result);
LIBTRACE_READER_API void libtrace_result_close(struct libtrace_result *result);

/* Return the kind of a result, an enum libtrace_workload. Does not allocate. */
LIBTRACE_READER_API int libtrace_result_workload(const struct libtrace_result *result);

/* Return the metrics of a result. Arrays and texts are valid until the result is closed. */
LIBTRACE_READER_API int libtrace_result_metrics(
	struct libtrace_result *result, struct libtrace_metrics *ret_metrics);

/* Find the metric with this name, the last if several have it, and return its index. Return
 * -ENOENT if there is none, and -EINVAL before libtrace_result_metrics(). Does not allocate. Since
 * version 2. */
LIBTRACE_READER_API int libtrace_result_metric(
	struct libtrace_result *result, const char *name, size_t *ret_position);

/* Return the instances of all metrics, in the order of the metrics: instance_counts[0] instances of
 * the first one, and so on. Return -EINVAL before libtrace_result_metrics(). Arrays and texts are
 * valid until the result is closed. */
LIBTRACE_READER_API int libtrace_result_instances(
	struct libtrace_result *result, struct libtrace_instances *ret_instances);

/* Convert values to numbers, `values->count` of them. Conversion to integers truncates fractions
 * and represents negative values modulo 2^64. A value of another type becomes 0, and so does a
 * value of 2^64 or more; NaN and values below -2^63 become 2^63, as with NVIDIA's module. Any
 * thread; does not allocate. Since version 2. */
LIBTRACE_READER_API void libtrace_values_as_real(
	const struct libtrace_values *values, double *ret_reals);
LIBTRACE_READER_API void libtrace_values_as_whole(
	const struct libtrace_values *values, uint64_t *ret_wholes);

/*
 * Return a part of the result as JSON, which the caller frees. `part`: comma-separated names of
 * fields of ProfileResult, RangeResult, CmdlistResult or GraphResult in common/schema/ncu.proto,
 * for example "nvtx" or "grid_size,block_size". Fields that the file lacks are omitted. 64-bit
 * integers and enumerations are written as numbers, bytes as hex digits. Return -EINVAL for an
 * unknown field and for "metric_results".
 */
LIBTRACE_READER_API int libtrace_result_part(
	struct libtrace_result *result, const char *part, char **ret_json);

/* Return the source files that the report contains for the module of a kernel (ncu's
 * --import-source) as JSON, which the caller frees: {"files":[{"file_name":..., "content":...}]};
 * "{}" if there are none. */
LIBTRACE_READER_API int libtrace_result_source_files(
	struct libtrace_result *result, char **ret_json);

/*
 * Return the SASS, PTX or source line of the instruction at an address, as in the keys of metrics
 * by instruction. The caller frees texts. A text is NULL if it is not known: the result is not a
 * kernel, the report does not contain its code, or no instruction contains the address (sass:
 * begins there). Since version 2.
 *
 * sass: as disassembled by NVIDIA's nvdisasm, which is started once per module; labels are
 * addresses. Return -ENOENT if nvdisasm is neither in PATH nor in /usr/local/cuda/bin; -EIO if it
 * failed.
 * ptx: the line of PTX that the instruction was compiled from, if the compiler recorded it.
 * line: file and line (from 1) of the source, for code that was built with -lineinfo.
 */
LIBTRACE_READER_API int libtrace_result_sass(
	struct libtrace_result *result, uint64_t address, char **ret_text);
LIBTRACE_READER_API int libtrace_result_ptx(
	struct libtrace_result *result, uint64_t address, char **ret_text);
LIBTRACE_READER_API int libtrace_result_line(
	struct libtrace_result *result, uint64_t address, char **ret_file, uint32_t *ret_line);

/*
 * Select results by an NVTX filter in the language of ncu's --nvtx-include ('trace help nvtx'):
 * results that match any of `includes` (all results if there are none), and none of `excludes`.
 * Set one byte per result, 0 or 1; results that cannot be read are not selected. Return -EINVAL
 * for an invalid filter, with the cause as in libtrace_report_open().
 */
LIBTRACE_READER_API int libtrace_report_nvtx(struct libtrace_report *report,
	const char *const *includes, size_t include_count, const char *const *excludes,
	size_t exclude_count, uint8_t *ret_chosen, char *cause, size_t cause_bytes);

/* Write the unit of a metric, by its name, in base units (byte, nsecond, cycle/second); "" if it
 * has none. Truncated to `unit_bytes`, including NUL. Any thread; does not allocate. */
LIBTRACE_READER_API void libtrace_metric_unit(const char *name, char *unit, size_t unit_bytes);

/* ---- events of libtrace: calls, ranges, kernels ... ---- */

/* Filter of events; 0 and NULL select all. */
struct libtrace_event_filter {
	const char *kind; /* kind as in 'trace dump --kind' */
	const char *name; /* shell pattern for the function; events without a function are
			   * filtered out */
	uint32_t pid, tid;
	uint64_t start_ns, end_ns; /* start_ns <= start of the event < end_ns, relative to the start
				    * of the session */
	uint32_t no_symbols;       /* 1: callchains as addresses only */
	uint32_t callchains; /* frames of callchains: 0 all, 1 without Python frames, 2 only those
			      * of Python. Since version 3 */
};

struct libtrace_events;

/*
 * Open the events of a report, in order of their start. Return -EINVAL for an unknown kind. Reads
 * the report once. Memory is limited to 256 MiB of rows, plus names. Callchains have the names that
 * 'trace symbolize' stored in the report. Close the events before the report;
 * libtrace_events_close() accepts NULL.
 */
LIBTRACE_READER_API int libtrace_events_open(struct libtrace_report *report,
	const struct libtrace_event_filter *filter, struct libtrace_events **ret_events);
LIBTRACE_READER_API void libtrace_events_close(struct libtrace_events *events);

/* Return the next events, at most `count`, as lines of JSON, as printed by 'trace dump --json'. The
 * caller frees *ret_json; it is NULL after the last event. */
LIBTRACE_READER_API int libtrace_events_next(
	struct libtrace_events *events, size_t count, char **ret_json);

/*
 * Convert the chart file of a rule, which is text, to a serialized RuleResultBodyItem (ncu.proto),
 * which the caller frees with libtrace_data_free(). Return -EINVAL with line, column and the error
 * in `cause`, as above. Unknown fields are ignored. Any thread.
 */
LIBTRACE_READER_API int libtrace_body_item(const char *text, size_t bytes, void **ret_item,
	size_t *ret_bytes, char *cause, size_t cause_bytes);
LIBTRACE_READER_API void libtrace_data_free(void *data);

#ifdef __cplusplus
}
#endif

#endif
