/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_api.c - tests of libtrace-reader.h.
 *
 * The values that it returns for a report with one result of each kind, the arguments that it
 * refuses, and that every damaged form of that report is read without an invalid access (sanitizer
 * builds detect these).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libtrace-reader.h"
#include "report.pb-c.h"
#include "tests/unit/make_report.h"
#include "tests/unit/tap.h"

#define FILE_BYTES_MAX 16384u

struct file {
	uint8_t data[FILE_BYTES_MAX];
	size_t bytes;
	char path[32];
};

static void put_u32(struct file *f, uint32_t value)
{
	memcpy(f->data + f->bytes, &value, sizeof(value));
	f->bytes += sizeof(value);
}

/* Append a message after its length. */
static void put_message(struct file *f, const ProtobufCMessage *m)
{
	put_u32(f, (uint32_t)protobuf_c_message_get_packed_size(m));
	f->bytes += protobuf_c_message_pack(m, f->data + f->bytes);
}

#define SIZE_OF(message) (4 + (uint32_t)protobuf_c_message_get_packed_size(&(message)->base))

static void value_real(Ncu__ProfileMetricValue *v, double value)
{
	ncu__profile_metric_value__init(v);
	v->has_double_value = 1;
	v->double_value = value;
}

static void value_whole(Ncu__ProfileMetricValue *v, uint64_t value)
{
	ncu__profile_metric_value__init(v);
	v->has_uint64_value = 1;
	v->uint64_value = value;
}

/* Two metrics: a real number, and a string with two instances whose keys are integers. */
struct metrics {
	Ncu__ProfileMetricValue values[2], keys[2], elements[2];
	Ncu__ProfileMetricListElement instances[2], *instance_list[2];
	Ncu__ProfileMetricResult rows[2], *list[2];
};

static void metrics_fill(struct metrics *m)
{
	value_real(&m->values[0], 2.5);
	ncu__profile_metric_value__init(&m->values[1]);
	m->values[1].string_value = (char *)"text";
	for (int i = 0; i < 2; i++) {
		value_whole(&m->keys[i], 100 + (uint64_t)i);
		value_real(&m->elements[i], i + 0.5);
		ncu__profile_metric_list_element__init(&m->instances[i]);
		m->instances[i].correlation_id = &m->keys[i];
		m->instances[i].element_value = &m->elements[i];
		m->instance_list[i] = &m->instances[i];
		ncu__profile_metric_result__init(&m->rows[i]);
		m->rows[i].has_name_id = 1;
		m->rows[i].name_id = (uint32_t)i;
		m->rows[i].metric_value = &m->values[i];
		m->list[i] = &m->rows[i];
	}
	m->rows[1].n_metric_value_list = 2;
	m->rows[1].metric_value_list = m->instance_list;
}

static void file_header(struct file *f)
{
	Libtrace__FileHeader header = LIBTRACE__FILE_HEADER__INIT;
	memcpy(f->data, "NVR", 4);
	f->bytes = 4;
	header.version = 7;
	put_message(f, &header.base);
}

/* Write one block: a kernel, a range, a graph. */
static void file_make(struct file *f)
{
	char *names[] = {(char *)"gpu__time_duration.sum", (char *)"made__text"};
	struct metrics m;
	Ncu__NvtxState nvtx = NCU__NVTX_STATE__INIT;
	Ncu__ProfileResult kernel = NCU__PROFILE_RESULT__INIT;
	Ncu__RangeResult range = NCU__RANGE_RESULT__INIT;
	Ncu__GraphResult graph = NCU__GRAPH_RESULT__INIT;
	Ncu__SourceFile file = NCU__SOURCE_FILE__INIT, *files = &file;
	Ncu__SourceFiles source_files = NCU__SOURCE_FILES__INIT;
	Ncu__SourceData module = NCU__SOURCE_DATA__INIT, reference = NCU__SOURCE_DATA__INIT;
	Libtrace__StringTable table = LIBTRACE__STRING_TABLE__INIT;
	Libtrace__SessionDetails details = LIBTRACE__SESSION_DETAILS__INIT;
	Libtrace__BlockHeader h = LIBTRACE__BLOCK_HEADER__INIT;
	metrics_fill(&m);
	nvtx.has_default_domain = 1;
	nvtx.default_domain = UINT64_MAX;
	kernel.kernel_function_name = (char *)"scale\"\n";
	kernel.nvtx = &nvtx;
	kernel.has_stream_id = range.has_context_id = 1;
	kernel.stream_id = 7;
	kernel.n_metric_results = range.n_metric_results = 2;
	kernel.metric_results = range.metric_results = m.list;
	file.file_name = (char *)"a.cu";
	file.content = (char *)"text";
	source_files.n_files = 1;
	source_files.files = &files;
	module.has_reference = reference.has_reference = 1;
	module.reference = reference.reference = 77;
	module.source_files = &source_files;
	kernel.source = &reference;
	table.n_strings = 2;
	table.strings = names;
	details.comments = (char *)"made for a test";
	h.string_table = &table;
	h.session_details = &details;
	h.has_num_results = h.has_num_range_results = h.has_num_graph_results = h.has_payload_size =
		1;
	h.has_num_sources = 1;
	h.num_sources = 1;
	h.num_results = h.num_range_results = h.num_graph_results = 1;
	h.payload_size = SIZE_OF(&module) + SIZE_OF(&kernel) + SIZE_OF(&range) + SIZE_OF(&graph);
	file_header(f);
	put_message(f, &h.base);
	put_message(f, &module.base);
	put_message(f, &kernel.base);
	put_message(f, &range.base);
	put_message(f, &graph.base);
}

static struct libtrace_report *file_open(struct file *f, size_t bytes)
{
	struct libtrace_report *report = NULL;
	char cause[128];
	FILE *out = fopen(f->path, "wb");
	if (!out || fwrite(f->data, 1, bytes, out) != bytes || fclose(out))
		abort();
	return libtrace_report_open(f->path, &report, cause, sizeof(cause)) ? NULL : report;
}

static void metrics_as_made(struct libtrace_result *result)
{
	struct libtrace_metrics m = {0};
	struct libtrace_instances i = {0};
	double real = 0, instance = 0;
	int error = libtrace_result_metrics(result, &m);
	if (!check(!error && m.values.count == 2, "the result of a kernel has its metrics"))
		return;
	memcpy(&real, &m.values.bits[0], sizeof(real));
	check(m.name_ids[0] == 0 && m.name_ids[1] == 1 &&
			m.values.kinds[0] == LIBTRACE_VALUE_DOUBLE && real >= 2.5 && real <= 2.5 &&
			!m.instance_counts[0],
		"a number");
	check(m.values.kinds[1] == LIBTRACE_VALUE_STRING &&
			!strcmp((const char *)(uintptr_t)m.values.bits[1], "text"),
		"a text");
	error = libtrace_result_instances(result, &i);
	if (!error)
		memcpy(&instance, &i.values.bits[1], sizeof(instance));
	check(!error && m.instance_counts[1] == 2 && i.keys.count == 2 && i.keys.bits[1] == 101 &&
			i.keys.kinds[1] == LIBTRACE_VALUE_UINT64 && instance >= 1.5 &&
			instance <= 1.5,
		"a metric has its instances with their keys");
}

/* Check the values that functions for one type return. */
static void numbers_as_asked(void)
{
	static const double reals[] = {2.9, -2.9, 0x1p64, -0x1p64, NAN};
	uint8_t kinds[7] = {LIBTRACE_VALUE_UINT64, LIBTRACE_VALUE_STRING};
	uint64_t bits[7] = {UINT64_MAX, 1}, wholes[7];
	double as_reals[7];
	const struct libtrace_values v = {7, kinds, bits};
	memset(kinds + 2, LIBTRACE_VALUE_DOUBLE, 5);
	memcpy(bits + 2, reals, sizeof(reals));
	libtrace_values_as_real(&v, as_reals);
	libtrace_values_as_whole(&v, wholes);
	check(as_reals[0] > 0x1.fp63 && !(as_reals[1] < 0) && !(as_reals[1] > 0) &&
			!memcmp(as_reals + 2, reals, sizeof(reals)),
		"values are returned as real numbers");
	check(wholes[0] == UINT64_MAX && !wholes[1] && wholes[2] == 2 &&
			wholes[3] == UINT64_MAX - 1 && !wholes[4] &&
			wholes[5] == UINT64_C(1) << 63 && wholes[6] == UINT64_C(1) << 63,
		"values are returned as integers, 2^63 for NaN, as NVIDIA's module does");
}

static void names_as_made(struct libtrace_report *report, struct libtrace_result *result)
{
	static const char wanted[] = "gpu__time_duration.sum\0made__text";
	struct libtrace_metrics m;
	size_t bytes = 0, at = 0;
	char *names = NULL;
	check(libtrace_result_metric(result, "made__text", &at) == -EINVAL,
		"positions after the last metric have no name");
	check(!libtrace_report_metric_names(report, &names, &bytes) && bytes == sizeof(wanted) &&
			!memcmp(names, wanted, sizeof(wanted)),
		"the names of all metrics are returned: %s", names);
	libtrace_text_free(names);
	check(!libtrace_result_metrics(result, &m) &&
			!libtrace_result_metric(result, "made__text", &at) && at == 1 &&
			libtrace_result_metric(result, "made__tex", &at) == -ENOENT && at == 1,
		"a metric is found by its name");
}

static void part_is(struct libtrace_result *result, const char *part, const char *wanted)
{
	char *json = NULL;
	int error = libtrace_result_part(result, part, &json);
	check(!error && !strcmp(json, wanted), "%s: %s", part, error ? strerror(-error) : json);
	libtrace_text_free(json);
}

/* Check a module without code: nothing is known about any address, and no program is started. */
static void no_code(struct libtrace_result *result)
{
	char *texts[3] = {(char *)1, (char *)1, (char *)1};
	uint32_t line = 1;
	check(!libtrace_result_sass(result, 4096, &texts[0]) &&
			!libtrace_result_ptx(result, 4096, &texts[1]) &&
			!libtrace_result_line(result, UINT64_MAX, &texts[2], &line) && !texts[0] &&
			!texts[1] && !texts[2] && !line,
		"a module without code has no instructions");
}

static void as_made(struct file *f)
{
	struct libtrace_report *report = file_open(f, f->bytes);
	struct libtrace_result *result = NULL;
	struct libtrace_metrics m;
	char *json = NULL;
	if (!check(report && libtrace_report_result_count(report) == 3,
		    "the report has three results"))
		return;
	check(!libtrace_report_problems(report) && !libtrace_report_problem(report, 0),
		"an intact report has no problems");
	check(!strcmp(libtrace_report_metric_name(report, 1), "made__text") &&
			!libtrace_report_metric_name(report, 2),
		"there is no name after that of the last metric");
	int error = libtrace_report_session(report, &json);
	check(!error && !strcmp(json, "{\"comments\":\"made for a test\"}"), "session: %s", json);
	libtrace_text_free(json);
	check(!libtrace_result_open(report, 0, &result), "the first result opens");
	check(libtrace_result_workload(result) == LIBTRACE_WORKLOAD_KERNEL,
		"the first result is a kernel");
	check(libtrace_result_instances(result, &(struct libtrace_instances){0}) == -EINVAL,
		"metrics after the last one have no instances");
	names_as_made(report, result);
	numbers_as_asked();
	metrics_as_made(result);
	part_is(result, "stream_id", "{\"stream_id\":7}");
	part_is(result, "kernel_function_name", "{\"kernel_function_name\":\"scale\\\"\\n\"}");
	part_is(result, "nvtx,context_id", "{\"nvtx\":{\"default_domain\":18446744073709551615}}");
	check(!libtrace_result_source_files(result, &json) &&
			!strcmp(json,
				"{\"files\":[{\"file_name\":\"a.cu\",\"content\":\"text\"}]}"),
		"the source files of a kernel are returned");
	libtrace_text_free(json);
	no_code(result);
	check(libtrace_result_part(result, "metric_results", &json) == -EINVAL &&
			libtrace_result_part(result, "nothing", &json) == -EINVAL &&
			libtrace_result_part(result, "", &json) == -EINVAL &&
			libtrace_result_part(result, ",,,", &json) == -EINVAL,
		"a kernel has no other parts");
	libtrace_result_close(result);
	check(!libtrace_result_open(report, 1, &result) &&
			libtrace_result_workload(result) == LIBTRACE_WORKLOAD_RANGE &&
			!libtrace_result_metrics(result, &m) && m.values.count == 2,
		"the result of a range has its metrics");
	libtrace_result_close(result);
	check(!libtrace_result_open(report, 2, &result) &&
			libtrace_result_workload(result) == LIBTRACE_WORKLOAD_GRAPH &&
			!libtrace_result_metrics(result, &m) && m.values.count == 0,
		"the result of a graph may have no metrics");
	libtrace_result_close(result);
	check(libtrace_result_open(report, 3, &result) == -EINVAL, "there is no fourth result");
	libtrace_report_close(report);
}

static void events_read(struct libtrace_report *report)
{
	const struct libtrace_event_filter all = {0};
	struct libtrace_events *events;
	char *json;
	if (libtrace_events_open(report, &all, &events))
		return;
	while (!libtrace_events_next(events, 100, &json) && json)
		libtrace_text_free(json);
	libtrace_events_close(events);
}

/* Call every function; the results do not matter. */
static void read_all(struct libtrace_report *report)
{
	const char *const include = "A/";
	uint8_t chosen[16];
	char *json;
	if (libtrace_report_result_count(report) <= sizeof(chosen))
		libtrace_report_nvtx(report, &include, 1, NULL, 0, chosen, NULL, 0);
	events_read(report);
	for (size_t i = 0; i <= libtrace_report_problems(report) && i < 100; i++) {
		const char *text = libtrace_report_problem(report, i);
		(void)(text && strlen(text));
	}
	if (!libtrace_report_session(report, &json))
		libtrace_text_free(json);
	for (size_t r = 0; r < libtrace_report_result_count(report); r++) {
		struct libtrace_result *result;
		struct libtrace_metrics m = {0};
		struct libtrace_instances i;
		uint32_t line;
		if (libtrace_result_open(report, r, &result))
			continue;
		if (libtrace_result_metrics(result, &m))
			m.values.count = 0;
		for (size_t k = 0; k < m.values.count; k++) {
			libtrace_report_metric_name(report, m.name_ids[k]);
			if (m.values.kinds[k] == LIBTRACE_VALUE_STRING)
				(void)strlen((const char *)(uintptr_t)m.values.bits[k]);
		}
		libtrace_result_instances(result, &i);
		if (!libtrace_result_source_files(result, &json))
			libtrace_text_free(json);
		if (!libtrace_result_ptx(result, 4096, &json))
			libtrace_text_free(json);
		if (!libtrace_result_line(result, 4096, &json, &line))
			libtrace_text_free(json);
		if (!libtrace_result_part(result, "thread_id,nvtx,cpu_stack", &json))
			libtrace_text_free(json);
		libtrace_result_close(result);
	}
	libtrace_report_close(report);
}

/* Read the events of a generated report, and of damaged forms of it. */
static void own_events(struct file *f)
{
	const struct libtrace_event_filter calls = {.kind = "osrt_call", .no_symbols = 1},
					   none = {.kind = "no_kind"};
	struct libtrace_report *report;
	struct libtrace_events *events = NULL;
	struct make_report made;
	char *json = NULL;
	size_t lines = 0;
	make_sample(&made, false);
	if (made.bytes > sizeof(f->data))
		abort();
	memcpy(f->data, made.data, made.bytes);
	f->bytes = made.bytes;
	make_release(&made);
	report = file_open(f, f->bytes);
	check(report && libtrace_events_open(report, &none, &events) == -EINVAL,
		"an unknown kind of event is refused");
	int error = libtrace_events_open(report, &calls, &events);
	while (!error && !(error = libtrace_events_next(events, 2, &json)) && json) {
		for (const char *at = json; (at = strchr(at, '\n')); at++)
			lines++;
		libtrace_text_free(json);
	}
	check(!error && lines > 2, "%zu calls are read two at a time", lines);
	libtrace_events_close(events);
	libtrace_events_close(NULL);
	libtrace_report_close(report);
}

static void damaged(struct file *f)
{
	static const uint8_t changes[] = {0x01, 0x80, 0xff};
	size_t opened = 0, tried = 0;
	for (size_t at = 0; at < f->bytes; at++)
		for (size_t i = 0; i < sizeof(changes); i++, tried++) {
			f->data[at] ^= changes[i];
			struct libtrace_report *report = file_open(f, f->bytes);
			f->data[at] ^= changes[i];
			opened += report != NULL;
			if (report)
				read_all(report);
		}
	check(opened > tried / 2, "damaged reports are read without a crash: %zu of %zu open",
		opened, tried);
	for (size_t bytes = 0; bytes < f->bytes; bytes++) {
		struct libtrace_report *report = file_open(f, bytes);
		if (report)
			read_all(report);
	}
	check(true, "a report that is cut off at any offset is read without a crash");
}

static void refused(void)
{
	struct libtrace_report *report = NULL;
	char cause[64] = "", unit[8];
	check(libtrace_report_open("/nonexistent/r", &report, cause, sizeof(cause)) == -ENOENT &&
			!report && strstr(cause, "/nonexistent/r"),
		"a missing file is an error: %s", cause);
	check(libtrace_report_open("/nonexistent/r", &report, NULL, 0) == -ENOENT,
		"an error without room for its cause is still an error");
	libtrace_report_close(NULL);
	libtrace_result_close(NULL);
	libtrace_text_free(NULL);
	libtrace_metric_unit("gpu__time_duration.sum", unit, sizeof(unit));
	check(!strcmp(unit, "nsecond"), "the unit of a time: %s", unit);
	libtrace_metric_unit("gpu__time_duration.sum", unit, 4);
	check(!strcmp(unit, "nse"), "a unit is cut to the buffer: %s", unit);
	check(libtrace_reader_version() == LIBTRACE_READER_VERSION, "version");
}

int main(void)
{
	struct file f = {.path = "/dev/shm/test_api.XXXXXX"};
	int fd = mkstemp(f.path);
	if (fd < 0)
		return 1;
	close(fd);
	file_make(&f);
	as_made(&f);
	damaged(&f);
	own_events(&f);
	damaged(&f);
	refused();
	unlink(f.path);
	return tap_done();
}
