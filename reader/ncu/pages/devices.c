/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices.c - tables of `trace details` about the devices of the machine: NUMA nodes and NVLink.
 *
 * The rows are instances of metrics: of a device, of a logical NVLink or of a port of the result's
 * device. As in ncu, the position of an instance counts, not its key.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/base/message.h"
#include "reader/ncu/pages/details.h"

static const Ncu__ProfileMetricValue *value_at(const Ncu__ProfileMetricResult *m, uint64_t place)
{
	return m && place < m->n_metric_value_list ? m->metric_value_list[place]->element_value
						   : NULL;
}

static void table_print(const struct details_item *item, const char *body, const char *name,
	const struct details_rows *rows)
{
	FILE *out = item->s->d->out;
	details_section_title(item->s, body);
	fprintf(out, "    Table Name : %s\n", name);
	details_rows_print(rows, out, 4, 0, false);
	fputc('\n', out);
}

/* ---- NUMA ---- */

static int numa_cell(struct details_rows *rows, const Ncu__ProfileMetricResult *m, size_t device)
{
	const Ncu__ProfileMetricValue *v = value_at(m, device);
	double number;
	char text[NCU_NUMBER_BYTES] = "";
	if (v && v->string_value)
		return details_rows_add(rows, v->string_value);
	if (v && ncu_value_number(v, &number))
		ncu_number_text(number, text);
	return details_rows_add(rows, text);
}

static void rows_csv(const struct details_rows *t, FILE *out)
{
	for (size_t i = 0; i < t->columns; i++)
		csv_cell(out, i == 0, t->titles[i]);
	for (size_t i = 0; i < t->count; i++) {
		if (i % t->columns == 0)
			fputc('\n', out);
		csv_cell(out, i % t->columns == 0, t->cells[i]);
	}
	fputc('\n', out);
}

int details_numa_table(const struct details_item *item)
{
	static const char *const titles[] = {"GPU ID", "GPU Name", "NUMA ID by CPU Affinity",
		"CPU Affinity", "NUMA ID by Memory Affinity"},
				 *const names[] = {"numa__dev_display_name_all", "numa__id_cpu",
					 "numa__cpu_affinity", "numa__id_memory"};
	const struct details_section *s = item->s;
	struct details_rows rows = {
		.titles = titles, .columns = 5, .left = 2, .lines = LINES_ROUND_ALL};
	const Ncu__ProfileMetricResult *m[4];
	int error = 0;
	for (size_t k = 0; k < 4; k++)
		m[k] = ncu_metric_find(s->target.results, s->result, names[k]);
	for (size_t i = 0; m[0] && !error && i < m[0]->n_metric_value_list; i++) {
		char gpu[24];
		snprintf(gpu, sizeof(gpu), "%zu", i);
		error = details_rows_add(&rows, gpu);
		for (size_t k = 0; !error && k < 4; k++)
			error = numa_cell(&rows, m[k], i);
	}
	if (!error && rows.count && s->d->csv)
		rows_csv(&rows, s->d->out);
	else if (!error && rows.count)
		table_print(item, NULL, "NUMA Affinity", &rows);
	details_rows_release(&rows);
	return error;
}

/* ---- NVLink ---- */

enum end_type { END_GPU = 1, END_CPU = 2 };

#define NVLINK_METRICS(X)                              \
	/* of each logical link */                     \
	X(ID1, "nvlink__dev0Id")                       \
	X(ID2, "nvlink__dev1Id")                       \
	X(TYPE1, "nvlink__dev0type")                   \
	X(TYPE2, "nvlink__dev1type")                   \
	X(PORTS1, "nvlink__source_ports")              \
	X(PORTS2, "nvlink__destination_ports")         \
	X(IS_DIRECT, "nvlink__is_direct_link")         \
	X(PHYSICAL, "nvlink__count_physical")          \
	X(PEER_ACCESS, "nvlink__peer_access")          \
	X(SYSTEM_ACCESS, "nvlink__system_access")      \
	X(PEER_ATOMIC, "nvlink__peer_atomic")          \
	X(SYSTEM_ATOMIC, "nvlink__system_atomic")      \
	X(BANDWIDTH, "nvlink__bandwidth")              \
	/* of each device */                           \
	X(DEVICE_NAME, "nvlink__dev_display_name_all") \
	X(ENABLED_MASK, "nvlink__enabled_mask")        \
	X(PORT_COUNT, "nvlink__max_count")             \
	/* of each port of the result's device */      \
	X(RECEIVED, "nvlrx__bytes.sum.per_second")     \
	X(TRANSFERRED, "nvltx__bytes.sum.per_second")  \
	/* of the result */                            \
	X(DEVICE, "device__attribute_device_index")    \
	X(IS_SWITCH, "nvlink__is_nvswitch_connected")

enum nvlink_metric {
#define X(id, name) NVLINK_##id,
	NVLINK_METRICS(X)
#undef X
		NVLINK_METRIC_COUNT
};

#define CPUS_MAX 64u /* of more CPUs, the ids are printed */

struct nvlink {
	const Ncu__ProfileMetricResult *metrics[NVLINK_METRIC_COUNT];
	uint64_t cpus[CPUS_MAX]; /* ids of the CPUs at second ends, which are numbered from 0 */
	size_t cpu_count;
	struct details_rows rows;
};

static bool nvlink_integer(const Ncu__ProfileMetricValue *v, uint64_t *ret_number)
{
	double number;
	if (v && v->has_uint64_value) {
		*ret_number = v->uint64_value;
		return true;
	}
	if (!v || !ncu_value_number(v, &number) || !(number >= 0 && number < 0x1p64))
		return false;
	*ret_number = (uint64_t)number;
	return true;
}

static bool nvlink_get(
	const struct nvlink *n, enum nvlink_metric metric, uint64_t place, uint64_t *ret_number)
{
	return nvlink_integer(value_at(n->metrics[metric], place), ret_number);
}

static const char *nvlink_text(const struct nvlink *n, enum nvlink_metric metric, uint64_t place)
{
	const Ncu__ProfileMetricValue *v = value_at(n->metrics[metric], place);
	return v && v->string_value ? v->string_value : "";
}

/* Read the next port of a list such as "2,3", and advance. Return false at its end. */
static bool port_next(const char **list, uint64_t *ret_port)
{
	char *end;
	while (**list == ',' || **list == ' ')
		(*list)++;
	*ret_port = strtoul(*list, &end, 10);
	if (end == *list)
		return false;
	*list = end;
	return true;
}

/* Return whether a port of the link is enabled at its first end. */
static bool nvlink_is_enabled(const struct nvlink *n, size_t link)
{
	const char *ports = nvlink_text(n, NVLINK_PORTS1, link);
	uint64_t device, mask, port;
	if (!nvlink_get(n, NVLINK_ID1, link, &device) ||
		!nvlink_get(n, NVLINK_ENABLED_MASK, device, &mask))
		return false;
	while (port_next(&ports, &port))
		if (port < 64 && mask >> port & 1)
			return true;
	return false;
}

/* Return the ports of the result's device that belong to the link; NULL = none. */
static const char *nvlink_own_ports(const struct nvlink *n, size_t link, uint64_t device)
{
	for (unsigned end = 0; end < 2; end++) {
		uint64_t id, type;
		if (nvlink_get(n, NVLINK_TYPE1 + end, link, &type) && type == END_GPU &&
			nvlink_get(n, NVLINK_ID1 + end, link, &id) && id == device)
			return nvlink_text(n, NVLINK_PORTS1 + end, link);
	}
	return NULL;
}

static size_t count_of(const Ncu__ProfileMetricResult *m)
{
	return m ? m->n_metric_value_list : 0;
}

/* Add up what the result's device received and sent by the ports of a link, in bytes per second.
 * Return false if that is unknown: it is 0 for a link that is off if no port was measured. */
static bool nvlink_rates(const struct nvlink *n, size_t link, bool is_on, double ret_rates[2])
{
	const Ncu__ProfileMetricResult *of[] = {
		n->metrics[NVLINK_RECEIVED], n->metrics[NVLINK_TRANSFERRED]};
	const Ncu__ProfileMetricResult *m = n->metrics[NVLINK_DEVICE];
	const char *ports;
	uint64_t device, count, port;
	if (!m || !nvlink_integer(m->metric_value, &device) ||
		!nvlink_get(n, NVLINK_PORT_COUNT, device, &count) ||
		!(ports = nvlink_own_ports(n, link, device)))
		return false;
	ret_rates[0] = ret_rates[1] = 0;
	if (!is_on && !count_of(of[0]) && !count_of(of[1]))
		return true;
	if (count_of(of[0]) != count || count_of(of[1]) != count)
		return false;
	while (port_next(&ports, &port))
		for (unsigned way = 0; way < 2; way++) {
			const Ncu__ProfileMetricValue *v = value_at(of[way], port);
			double rate;
			if (!v || !ncu_value_number(v, &rate))
				return false;
			ret_rates[way] += rate;
		}
	return true;
}

static int nvlink_rate_cell(struct nvlink *n, double rate)
{
	static const char *const units[] = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
	char text[400];
	size_t unit = 0;
	for (; rate >= 1000 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		rate /= 1000;
	snprintf(text, sizeof(text), "%.2f %s", rate, units[unit]);
	return details_rows_add(&n->rows, text);
}

static int nvlink_rate_cells(struct nvlink *n, size_t link, bool is_on)
{
	const Ncu__ProfileMetricValue *v = value_at(n->metrics[NVLINK_BANDWIDTH], link);
	double peak = 0, rates[2];
	const bool has_peak = v && ncu_value_number(v, &peak);
	char text[400] = "-";
	int error = has_peak ? nvlink_rate_cell(n, peak) : details_rows_add(&n->rows, "-");
	const bool is_known = nvlink_rates(n, link, is_on, rates);
	for (unsigned way = 0; way < 2 && !error; way++)
		error = is_known ? nvlink_rate_cell(n, rates[way])
				 : details_rows_add(&n->rows, "-");
	if (is_known && has_peak)
		snprintf(text, sizeof(text), "%.2f", (rates[0] + rates[1]) / peak * 100);
	return error ? error : details_rows_add(&n->rows, text);
}

static uint64_t cpu_number(struct nvlink *n, uint64_t id)
{
	for (size_t i = 0; i < n->cpu_count; i++)
		if (n->cpus[i] == id)
			return i;
	if (n->cpu_count == CPUS_MAX)
		return id;
	n->cpus[n->cpu_count] = id;
	return n->cpu_count++;
}

static int nvlink_name_cell(struct nvlink *n, size_t link)
{
	char text[100];
	size_t bytes = 0;
	for (unsigned end = 0; end < 2; end++) {
		uint64_t type = 0, id = 0;
		nvlink_get(n, NVLINK_TYPE1 + end, link, &type);
		nvlink_get(n, NVLINK_ID1 + end, link, &id);
		if (end && type == END_CPU)
			id = cpu_number(n, id);
		bytes += (size_t)snprintf(text + bytes, sizeof(text) - bytes, "%s%s %llu",
			end ? "<->" : "",
			type == END_GPU           ? "GPU"
				: type == END_CPU ? "CPU"
						  : "Invalid",
			(unsigned long long)id);
	}
	return details_rows_add(&n->rows, text);
}

static int nvlink_device_cells(struct nvlink *n, size_t link)
{
	uint64_t id, type;
	const char *first = "", *second = "-";
	if (nvlink_get(n, NVLINK_ID1, link, &id))
		first = nvlink_text(n, NVLINK_DEVICE_NAME, id);
	if (nvlink_get(n, NVLINK_TYPE2, link, &type) && type == END_GPU)
		second = nvlink_get(n, NVLINK_ID2, link, &id)
			? nvlink_text(n, NVLINK_DEVICE_NAME, id)
			: "";
	const int error = details_rows_add(&n->rows, first);
	return error ? error : details_rows_add(&n->rows, second);
}

/* Add a cell with Yes or No; a link without a value has none. */
static int nvlink_flag_cell(struct nvlink *n, enum nvlink_metric metric, size_t link)
{
	uint64_t flag;
	const bool is_known = nvlink_get(n, metric, link, &flag);
	return details_rows_add(&n->rows, !is_known ? "" : flag ? "Yes" : "No");
}

static int nvlink_row(struct nvlink *n, size_t link)
{
	uint64_t count, direct = 0;
	char text[24] = "";
	const bool is_on = nvlink_is_enabled(n, link);
	int error = nvlink_name_cell(n, link);
	if (!error)
		error = nvlink_flag_cell(n, NVLINK_IS_DIRECT, link);
	nvlink_get(n, NVLINK_IS_DIRECT, link, &direct);
	if (!error)
		error = details_rows_add(&n->rows,
			!direct         ? "n/a"
				: is_on ? "Enabled"
					: "Disabled");
	if (!error)
		error = nvlink_device_cells(n, link);
	if (nvlink_get(n, NVLINK_PHYSICAL, link, &count))
		snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
	if (!error)
		error = details_rows_add(&n->rows, text);
	for (enum nvlink_metric m = NVLINK_PEER_ACCESS; !error && m <= NVLINK_SYSTEM_ATOMIC; m++)
		error = nvlink_flag_cell(n, m, link);
	return error ? error : nvlink_rate_cells(n, link, is_on);
}

/* Print a line instead of the table. */
static int nvlink_line(const struct details_item *item, const char *text)
{
	details_section_title(item->s, item->body);
	fprintf(item->s->d->out, "    %s\n\n", text);
	return 0;
}

int details_nvlink_table(const struct details_item *item)
{
	/* The blanks are those of ncu: titles are broken where their columns end. */
	static const char *const titles[] = {"Logical NvLink", "Direct Link", "NvLink  Status",
		"Dev1 Name  ", "Dev2 Name  ", "Physical NvLinks", "Peer    Access",
		"System  Access", "Peer    Atomic", "System  Atomic", "Peak       Bandwidth",
		"Dev1       Received   Throughput ", "Dev1       TransferredThroughput ",
		"Utilization %"};
	static const uint8_t widths[][2] = {{14, 110}, {6, 6}, {8, 8}, {11, 12}, {11, 12}, {8, 8},
		{7, 7}, {7, 7}, {7, 7}, {7, 7}, {11, 11}, {11, 11}, {11, 11}, {8, 8}};
	static const char *const names[] = {
#define X(id, name) name,
		NVLINK_METRICS(X)
#undef X
	};
	struct details_section *s = item->s;
	struct nvlink n = {.rows = {.titles = titles,
				   .widths = widths,
				   .columns = sizeof(titles) / sizeof(*titles),
				   .left = 3,
				   .lines = LINES_ROUND_ALL}};
	uint64_t has_switch;
	int error = 0;
	if (s->has_nvlink) { /* ncu then prints the name of a section that has a header */
		if (s->of->header)
			details_section_title(s, NULL);
		return 0;
	}
	s->has_nvlink = true;
	for (size_t i = 0; i < NVLINK_METRIC_COUNT; i++)
		n.metrics[i] = ncu_metric_find(s->target.results, s->result, names[i]);
	const Ncu__ProfileMetricResult *of_switch = n.metrics[NVLINK_IS_SWITCH];
	if (!count_of(n.metrics[NVLINK_ID1]))
		return nvlink_line(item, "The system does not have any NVLink connections.");
	if (of_switch && nvlink_integer(of_switch->metric_value, &has_switch) && has_switch)
		return nvlink_line(item, "Not supported for NVSwitch.");
	if (s->d->csv) {
		if (!s->d->has_nvlink)
			cli_note("tables of NVLink are printed as text only");
		s->d->has_nvlink = true;
		return 0;
	}
	for (size_t i = 0; !error && i < count_of(n.metrics[NVLINK_ID1]); i++)
		error = nvlink_row(&n, i);
	if (!error)
		table_print(item, item->body, "NVLink Topology Details", &n.rows);
	details_rows_release(&n.rows);
	return error;
}
