/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_gpu.c - samples of GPUs by NVML.
 *
 * Function names, constants and types are those of NVML's interface, as in the package nvidia-ml-py
 * 13.615. A value is left out if NVML does not report it, says that it succeeded and stores none,
 * or stores one that no GPU can have.
 */
#include "reader/host/sample.h"

#include <limits.h>
#include <string.h>

#include "reader/host/library.h"
#include "reader/host/nvml.h"

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, TEMPERATURE_GPU = 0, PCIE_TX = 0, PCIE_RX = 1 };

/* Fields that count: bytes of PCIe since the start, KiB of NVLink. */
enum { FIELD_NVLINK_TX = 138, FIELD_NVLINK_RX = 139, FIELD_PCIE_TX = 197, FIELD_PCIE_RX = 198 };
#define ALL_LINKS UINT_MAX

enum { TYPE_UINT = 1, TYPE_ULONG = 2, TYPE_ULONGLONG = 3 };

struct field_value {
	unsigned id, scope;
	long long timestamp_us, latency_us;
	int type, error;
	union {
		unsigned number;
		unsigned long long_number;
		unsigned long long longest_number;
	} value;
};

struct utilization {
	unsigned gpu, memory;
};

struct pci {
	char bus_id_legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char bus_id[32];
};

struct memory {
	unsigned long long total, free, used;
};

/* Order of the values of a record: the fields of GPU_SAMPLE from UTILIZATION on. */
enum {
	V_UTILIZATION,
	V_MEMORY_UTILIZATION,
	V_MEMORY_USED,
	V_SM_CLOCK,
	V_MEMORY_CLOCK,
	V_THROTTLE_REASONS,
	V_POWER,
	V_TEMPERATURE,
	V_PCIE_RX,
	V_PCIE_TX,
	V_NVLINK_RX,
	V_NVLINK_TX
};

#define PERCENT_MOST 100u
#define BYTES_MOST (UINT64_C(1) << 50)
#define CLOCK_MHZ_MOST 100000u
#define POWER_MW_MOST 100000000u
#define CELSIUS_MOST 1000u
#define REASONS_MOST (UINT64_C(1) << 48)

/* A count, and its value at the turn before. */
struct counter {
	uint64_t value, ns;
	bool is_known;
};

struct gpu {
	nvml_device device;
	uint32_t number;            /* by NVML */
	struct counter counters[4]; /* by index in `fields` */
	bool has_pcie_counts;
};

static const struct field {
	unsigned id, scope;
	uint32_t index; /* of the value in a record */
	uint64_t bytes; /* unit of the count */
} fields[] = {{FIELD_PCIE_RX, 0, V_PCIE_RX, 1}, {FIELD_PCIE_TX, 0, V_PCIE_TX, 1},
	{FIELD_NVLINK_RX, ALL_LINKS, V_NVLINK_RX, 1024},
	{FIELD_NVLINK_TX, ALL_LINKS, V_NVLINK_TX, 1024}};
#define FIELDS (sizeof(fields) / sizeof(*fields))

struct calls {
	int (*uuid)(nvml_device, char *, unsigned);
	int (*pci)(nvml_device, struct pci *);
	int (*utilization)(nvml_device, struct utilization *);
	int (*memory)(nvml_device, struct memory *);
	int (*clock)(nvml_device, int, unsigned *);
	int (*reasons)(nvml_device, unsigned long long *);
	int (*power)(nvml_device, unsigned *);
	int (*temperature)(nvml_device, int, unsigned *);
	int (*fields)(nvml_device, int, struct field_value *);
	int (*pcie)(nvml_device, int, unsigned *); /* KB/s; takes 20 ms */
};

static void calls_find(void *library, struct calls *c)
{
	library_find(library, "nvmlDeviceGetUUID", &c->uuid);
	library_find(library, "nvmlDeviceGetPciInfo_v3", &c->pci);
	library_find(library, "nvmlDeviceGetUtilizationRates", &c->utilization);
	library_find(library, "nvmlDeviceGetMemoryInfo", &c->memory);
	library_find(library, "nvmlDeviceGetClockInfo", &c->clock);
	library_find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &c->reasons);
	library_find(library, "nvmlDeviceGetPowerUsage", &c->power);
	library_find(library, "nvmlDeviceGetTemperature", &c->temperature);
	library_find(library, "nvmlDeviceGetFieldValues", &c->fields);
	library_find(library, "nvmlDeviceGetPcieThroughput", &c->pcie);
}

/* Return the number in a field value; UINT64_MAX if there is none. */
static uint64_t field_number(const struct field_value *v)
{
	if (v->error)
		return UINT64_MAX;
	return v->type == TYPE_UINT         ? v->value.number
		: v->type == TYPE_ULONG     ? v->value.long_number
		: v->type == TYPE_ULONGLONG ? v->value.longest_number
					    : UINT64_MAX;
}

/* Set a value to the bytes per second since the turn before. A count that went back, or that NVML
 * did not report, says nothing. */
static void rate_set(
	struct machine_record *r, const struct field *f, struct counter *c, uint64_t value)
{
	if (c->is_known && value != UINT64_MAX && value >= c->value && r->ns > c->ns)
		sample_set(r, f->index,
			(uint64_t)((double)(value - c->value) * (double)f->bytes * 1e9 /
				(double)(r->ns - c->ns)),
			BYTES_MOST);
	*c = (struct counter){value, r->ns, value != UINT64_MAX};
}

static void fields_sample(const struct calls *c, struct gpu *g, struct machine_record *r)
{
	struct field_value values[FIELDS];
	memset(values, 0, sizeof(values));
	for (size_t i = 0; i < FIELDS; i++) {
		values[i].id = fields[i].id;
		values[i].scope = fields[i].scope;
		values[i].error = 1;
	}
	if (!c->fields || c->fields(g->device, FIELDS, values))
		return;
	for (size_t i = 0; i < FIELDS; i++)
		rate_set(r, &fields[i], &g->counters[i], field_number(&values[i]));
	g->has_pcie_counts = g->counters[0].is_known || g->counters[1].is_known;
}

/* Ask older GPUs, which do not count the bytes of PCIe, for the rate of the last 20 ms. */
static void pcie_sample(const struct calls *c, const struct gpu *g, struct machine_record *r)
{
	unsigned received = UINT_MAX, sent = UINT_MAX;
	if (!c->pcie)
		return;
	if (!c->pcie(g->device, PCIE_RX, &received))
		sample_set(r, V_PCIE_RX, (uint64_t)received * 1000, UINT_MAX * UINT64_C(1000) - 1);
	if (!c->pcie(g->device, PCIE_TX, &sent))
		sample_set(r, V_PCIE_TX, (uint64_t)sent * 1000, UINT_MAX * UINT64_C(1000) - 1);
}

/* What is not written by a call that claims success has an impossible value. */
static void values_sample(const struct calls *c, nvml_device device, struct machine_record *r)
{
	struct utilization used = {UINT_MAX, UINT_MAX};
	struct memory memory = {0, 0, ULLONG_MAX};
	unsigned sm = UINT_MAX, memory_clock = UINT_MAX, power = UINT_MAX, celsius = UINT_MAX;
	unsigned long long reasons = ULLONG_MAX;
	if (c->utilization && !c->utilization(device, &used)) {
		sample_set(r, V_UTILIZATION, used.gpu, PERCENT_MOST);
		sample_set(r, V_MEMORY_UTILIZATION, used.memory, PERCENT_MOST);
	}
	if (c->memory && !c->memory(device, &memory))
		sample_set(r, V_MEMORY_USED, memory.used, BYTES_MOST);
	if (c->clock && !c->clock(device, CLOCK_SM, &sm))
		sample_set(r, V_SM_CLOCK, sm, CLOCK_MHZ_MOST);
	if (c->clock && !c->clock(device, CLOCK_MEMORY, &memory_clock))
		sample_set(r, V_MEMORY_CLOCK, memory_clock, CLOCK_MHZ_MOST);
	if (c->reasons && !c->reasons(device, &reasons))
		sample_set(r, V_THROTTLE_REASONS, reasons, REASONS_MOST);
	if (c->power && !c->power(device, &power))
		sample_set(r, V_POWER, power, POWER_MW_MOST);
	if (c->temperature && !c->temperature(device, TEMPERATURE_GPU, &celsius))
		sample_set(r, V_TEMPERATURE, celsius, CELSIUS_MOST);
}

static void gpu_sample(const struct calls *c, struct gpu *g, uint32_t number, bool ask_pcie)
{
	struct machine_record r = {
		.kind = MACHINE_GPU_SAMPLE, .device = number, .ns = sample_now_ns()};
	values_sample(c, g->device, &r);
	fields_sample(c, g, &r);
	if (ask_pcie && !g->has_pcie_counts)
		pcie_sample(c, g, &r);
	sample_put(&r);
}

static void device_put(
	const struct nvml *n, const struct calls *c, nvml_device device, uint32_t number)
{
	struct machine_record r = {
		.kind = MACHINE_GPU_DEVICE, .device = number, .ns = sample_now_ns()};
	struct pci pci = {0};
	if (n->name)
		n->name(device, r.name, sizeof(r.name));
	if (c->uuid)
		c->uuid(device, r.uuid, sizeof(r.uuid));
	if (c->pci && !c->pci(device, &pci))
		memcpy(r.bus, pci.bus_id, sizeof(pci.bus_id));
	r.name[sizeof(r.name) - 1] = r.uuid[sizeof(r.uuid) - 1] = r.bus[sizeof(r.bus) - 1] = 0;
	sample_put(&r);
}

/* Find the GPUs. Return their number. */
static uint32_t gpus_find(const struct nvml *n, const struct calls *c, struct gpu *ret_gpus)
{
	unsigned count = 0, found = 0;
	if (n->count(&count))
		return 0;
	for (unsigned i = 0; i < count && i < GPUS_MAX; i++) {
		if (n->device(i, &ret_gpus[found].device))
			continue;
		ret_gpus[found].number = i;
		device_put(n, c, ret_gpus[found++].device, i);
	}
	return found;
}

void sample_gpus(const struct sample_source *source)
{
	static struct gpu gpus[GPUS_MAX];
	struct machine_record r = {.kind = MACHINE_GPU_ASKED, .ns = sample_now_ns()};
	struct nvml n;
	struct calls c = {0};
	if (!nvml_load(&n, source->nvml))
		return;
	sample_put(&r);
	calls_find(n.library, &c);
	uint32_t count = nvml_start(&n) ? gpus_find(&n, &c, gpus) : 0;
	if (!count)
		return;
	for (uint32_t turn = 0;; turn++) {
		sample_wait();
		for (uint32_t i = 0; i < count; i++)
			gpu_sample(&c, &gpus[i], gpus[i].number, turn % count == i);
	}
}
