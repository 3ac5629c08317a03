/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receipt.c - the accounting of a process.
 */
#include "writer/process/receipt.h"

#include <errno.h>

#include "writer/base/notes.h"

#define CLOCK_POINTS_WRITTEN 16u

static void tally_sum(struct tally *sum, const struct tally *t)
{
	sum->produced += t->produced;
	sum->written += t->written;
	sum->summarized += t->summarized;
	sum->abandoned += t->abandoned;
	sum->impossible += t->impossible;
	sum->unfinished += t->unfinished;
	sum->callchains += t->callchains;
	sum->callchains_cut += t->callchains_cut;
}

static void put_receipt(
	struct writer *w, Libtrace__Receipt *r, const struct tally *t, uint64_t dropped)
{
	const uint64_t lost = r->unaccounted;
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	r->has_process = r->has_produced = r->has_written = r->has_summarized = r->has_abandoned =
		1;
	r->has_impossible_times = r->has_clock_error_ns = r->has_unfinished = 1;
	r->produced = t->produced + dropped;
	r->written = t->written;
	r->summarized = t->summarized;
	r->abandoned = t->abandoned;
	r->impossible_times = t->impossible;
	r->unfinished = t->unfinished;
	r->has_callchains = (r->callchains = t->callchains) != 0;
	r->has_callchains_cut = (r->callchains_cut = t->callchains_cut) != 0;
	r->unaccounted +=
		t->produced > t->written ? t->produced - t->written : t->written - t->produced;
	r->has_unaccounted = r->unaccounted != 0;
	entry.receipt = r;
	block_put_entry(&w->report.block, &entry);
	if (r->unaccounted)
		writer_note(w, 0, w->clock.now.mono_ns,
			"process %u of the report: %llu events read, %llu written, %llu more "
			"unaccounted for",
			r->process, (unsigned long long)t->produced, (unsigned long long)t->written,
			(unsigned long long)lost);
}

/* Return the number of events dropped for one reason, by the process and its lanes. */
static uint64_t drops_of(struct spool *spool, uint32_t reason)
{
	uint64_t count = __atomic_load_n(&spool_header(spool)->dropped[reason], __ATOMIC_RELAXED);
	if (reason == DROP_KERNEL)
		count += spool->switches.lost;
	for (uint32_t i = 0; i < spool->lane_count; i++) {
		const struct lane *lane = lane_of(spool, spool->lanes[i]);
		if (reason == DROP_NESTED)
			count += spool->lanes[i]->unsure;
		if (lane)
			count += __atomic_load_n(&lane->dropped[reason], __ATOMIC_RELAXED);
	}
	return count;
}

/* Return the number of events that the lane counted and the report does not have: published after
 * the position, or never stored; and events of gaps that the lane did not count as dropped. A
 * damaged lane is counted as damaged. */
static uint64_t lane_unaccounted(struct spool *spool, const struct lane_view *view)
{
	const struct lane *lane = lane_of(spool, view);
	uint64_t lost = view->unwritten;
	if (!lane)
		return lost;
	uint64_t head = __atomic_load_n(&lane->head, __ATOMIC_ACQUIRE),
		 dropped = lane->dropped[DROP_RING_FULL] + lane->dropped[DROP_SINK_STALLED];
	lost += head > view->position ? (head - view->position) / RECORD_BYTES : 0;
	return lost + (view->gaps > dropped ? view->gaps - dropped : 0);
}

static uint64_t lanes_unaccounted(struct spool *spool)
{
	uint64_t lost = spool->texts_refused;
	for (uint32_t i = 0; i < spool->lane_count; i++)
		lost += lane_unaccounted(spool, spool->lanes[i]);
	return lost;
}

static uint64_t clock_error(struct writer *w, const struct spool *spool)
{
	if (spool_header(spool)->clock_kind != CLOCK_KIND_TSC)
		return 0;
	return clockfit_error(&w->clock.fit);
}

static const char *off_text(uint32_t reason)
{
	static const char *const texts[CPU_OFF_REASONS] = {
		[CPU_OFF_KERNEL] = "the kernel is older than 5.11, or the machine is not x86-64",
		[CPU_OFF_ACTION] = "the program ignores or handles SIGURG itself",
		[CPU_OFF_FD] = "the program reads SIGURG through signalfd()",
		[CPU_OFF_FILTER] = "the program entered a system call filter",
		[CPU_OFF_REFUSED] = "the kernel refused the handler of SIGURG",
		[CPU_OFF_EVENT] = "the system does not permit perf_event_open()"};
	return reason < CPU_OFF_REASONS ? texts[reason] : NULL;
}

/* Copy the source's counts. The process has written them, so they may be anything. */
static void cpu_fill(Libtrace__CpuReceipt *r, const struct cpu_counts *counts)
{
	const struct cpu_counts c = *counts;
	libtrace__cpu_receipt__init(r);
#define FILL(member) r->has_##member = (r->member = c.member) != 0
	r->has_frequency = 1;
	r->frequency = c.hz;
	FILL(samples);
	FILL(periods);
	FILL(sampled_ns);
	FILL(process_ns);
	FILL(in_tracer);
	FILL(in_step);
	FILL(late);
	FILL(threads);
	FILL(blocked);
	FILL(threads_refused);
#undef FILL
	r->has_by_event = r->by_event = c.trigger != 0;
	r->off = (char *)(uintptr_t)off_text(c.off);
}

/* Return why instructions and cycles are not counted; NULL if they are. */
static const char *counters_off_text(uint32_t error)
{
	switch (error) {
	case 0:
		return NULL;
	case EPERM:
	case EACCES:
		return "the system does not permit perf_event_open() (perf_event_paranoid, a "
		       "system call filter, or too little memory to lock)";
	case ENOENT:
	case ENODEV:
	case EINVAL:
		return "the processor has no counters of instructions and cycles, or a virtual "
		       "machine does not show them";
	case EOPNOTSUPP:
		return "the processor's counters cannot be read without a system call";
	default:
		return "the kernel refuses perf_event_open()";
	}
}

static void thread_time_fill(Libtrace__ThreadTimeReceipt *r, const struct spool *spool)
{
	const struct thread_time_counts c = spool_header(spool)->thread_time;
	libtrace__thread_time_receipt__init(r);
	r->has_threads = r->has_readings = r->has_inexact = 1;
	r->threads = c.threads;
	r->readings = spool->readings;
	r->inexact = c.inexact;
	r->has_steal_ns = (r->steal_ns = spool->steal_ns) != 0;
	r->has_looks = (r->looks = spool->looks) != 0;
	r->off = (char *)(uintptr_t)spool->readings_off;
	r->has_counted = (r->counted = c.counted) != 0;
	r->has_counters_refused = (r->counters_refused = c.counters_refused) != 0;
	r->counters_off = (char *)(uintptr_t)counters_off_text(c.counters_off);
}

static void switches_fill(Libtrace__SwitchReceipt *r, const struct spool *spool)
{
	const struct switch_counts *c = &spool->switches;
	uint64_t followed = c->threads + c->refused;
	uint64_t missed = c->off || spool->threads < followed ? 0 : spool->threads - followed;
	libtrace__switch_receipt__init(r);
	r->has_threads = r->has_switches = 1;
	r->threads = c->threads;
	r->switches = c->rows;
	r->has_lost = (r->lost = c->lost) != 0;
	r->has_threads_refused = (r->threads_refused = c->refused) != 0;
	r->has_threads_missed = (r->threads_missed = missed) != 0;
	r->off = (char *)(uintptr_t)c->off;
}

/* Copy the counts of functions, of OpenCL's commands and of Vulkan's submissions. `matched` has
 * room for all patterns, and must stay valid. */
static void functions_fill(
	Libtrace__FunctionReceipt *r, const struct spool_header *header, uint32_t *matched)
{
	const struct function_counts c = header->function;
	const struct opencl_counts opencl = header->opencl;
	const struct vulkan_counts vulkan = header->vulkan;
	libtrace__function_receipt__init(r);
#define FILL(member) r->has_##member = (r->member = c.member) != 0
	FILL(functions);
	FILL(modules);
	FILL(slots);
	FILL(patched);
	FILL(addresses);
	FILL(unresolved);
	FILL(no_room);
	FILL(excluded);
	FILL(looked_up);
#undef FILL
	r->has_opencl_enqueued = (r->opencl_enqueued = opencl.enqueued) != 0;
	r->has_opencl_recorded = (r->opencl_recorded = opencl.recorded) != 0;
	r->has_opencl_no_room = (r->opencl_no_room = opencl.no_room) != 0;
	r->has_vulkan_submitted = (r->vulkan_submitted = vulkan.submitted) != 0;
	r->has_vulkan_measured = (r->vulkan_measured = vulkan.measured) != 0;
	r->has_vulkan_unmeasured = (r->vulkan_unmeasured = vulkan.unmeasured) != 0;
	r->matched_patterns = matched;
	for (uint32_t i = 0; i < FUNCTION_USER_PATTERNS_MAX; i++)
		if (c.matched_patterns[i / 64] >> i % 64 & 1)
			matched[r->n_matched_patterns++] = i;
}

static void streams_fill(Libtrace__StreamReceipt *r, const struct stream_counts *counts)
{
	const struct stream_counts c = *counts;
	libtrace__stream_receipt__init(r);
	r->has_stdout_bytes = (r->stdout_bytes = c.written[0]) != 0;
	r->has_stderr_bytes = (r->stderr_bytes = c.written[1]) != 0;
	r->has_beyond = (r->beyond = c.beyond[0] + c.beyond[1]) != 0;
	r->has_unrecorded = (r->unrecorded = c.unrecorded) != 0;
	r->has_no_stdio = r->no_stdio = c.no_stdio != 0;
}

void receipt_put(struct writer *w, struct spool *spool, uint64_t unaccounted)
{
	Libtrace__FunctionReceipt functions;
	uint32_t matched[FUNCTION_USER_PATTERNS_MAX];
	Libtrace__StreamReceipt streams;
	Libtrace__ThreadTimeReceipt thread_time;
	Libtrace__SwitchReceipt switches;
	Libtrace__Receipt receipt = LIBTRACE__RECEIPT__INIT;
	Libtrace__CpuReceipt cpu;
	Libtrace__Drop drops[DROP_REASONS], *list[DROP_REASONS];
	struct tally sum = {0};
	uint64_t dropped = 0;
	for (uint32_t i = 0; i < spool->lane_count; i++)
		tally_sum(&sum, &spool->lanes[i]->own);
	receipt.drops = list;
	for (uint32_t reason = 0; reason < DROP_REASONS; reason++) {
		uint64_t count = drops_of(spool, reason);
		if (!count)
			continue;
		Libtrace__Drop *drop = &drops[receipt.n_drops];
		libtrace__drop__init(drop);
		drop->has_reason = drop->has_count = 1;
		drop->reason = reason;
		drop->count = count;
		dropped += count;
		list[receipt.n_drops++] = drop;
	}
	const struct spool_header *h = spool_header(spool);
	receipt.process = spool->id;
	receipt.has_tracer_ns = 1;
	receipt.tracer_ns = h->clock_kind == CLOCK_KIND_TSC
		? clockfit_scale(&w->clock.fit, h->tracer_ticks)
		: h->tracer_ticks;
	receipt.clock_error_ns = clock_error(w, spool);
	if (h->clock_kind == CLOCK_KIND_TSC)
		receipt.clock_breaks = w->clock.fit.breaks - spool->breaks_before;
	receipt.has_clock_breaks = receipt.clock_breaks != 0;
	receipt.has_damaged_lanes = (receipt.damaged_lanes = spool->damaged_lanes) != 0;
	receipt.unaccounted = unaccounted + lanes_unaccounted(spool);
	if (h->cpu.hz) {
		cpu_fill(&cpu, &h->cpu);
		receipt.cpu = &cpu;
	}
	if (h->thread_time.is_on) {
		thread_time_fill(&thread_time, spool);
		receipt.thread_time = &thread_time;
	}
	if (h->thread_time.switches) {
		switches_fill(&switches, spool);
		receipt.switches = &switches;
	}
	if (h->function.is_on) {
		functions_fill(&functions, h, matched);
		receipt.functions = &functions;
	}
	if (h->streams.is_on) {
		streams_fill(&streams, &h->streams);
		receipt.streams = &streams;
	}
	put_receipt(w, &receipt, &sum, dropped);
}

void receipt_put_guest(struct writer *w, uint32_t id, const struct tally *tally)
{
	Libtrace__Receipt receipt = LIBTRACE__RECEIPT__INIT;
	receipt.process = id;
	receipt.clock_error_ns = clockfit_error(&w->clock.fit);
	put_receipt(w, &receipt, tally, 0);
}

void clock_points_put(struct writer *w, const struct spool *spool, uint64_t end_ns)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__ClockPoints message = LIBTRACE__CLOCK_POINTS__INIT;
	static uint64_t columns[3][CLOCKFIT_POINTS];
	static uint32_t breaks[CLOCKFIT_POINTS];
	const struct clock_point *points = w->clock.fit.points;
	uint32_t first = 0, last = w->clock.fit.count, n = 0;
	while (first + 1 < last && points[first + 1].mono_ns <= spool->start_ns)
		first++;
	while (last > first + 2 && points[last - 2].mono_ns >= end_ns)
		last--;
	uint32_t step = (last - first) / CLOCK_POINTS_WRITTEN + 1;
	for (uint32_t i = first; i < last; i++) {
		bool begins = i > first && w->clock.fit.begins_run[i],
		     ends = i + 1 < last && w->clock.fit.begins_run[i + 1];
		if ((i - first) % step && i + 1 != last && !begins && !ends)
			continue;
		if (begins)
			breaks[message.n_breaks++] = n;
		columns[0][n] = points[i].tick;
		columns[1][n] = points[i].mono_ns;
		columns[2][n++] = points[i].error_ns;
	}
	if (!n || spool_header(spool)->clock_kind != CLOCK_KIND_TSC)
		return;
	message.has_process = 1;
	message.process = spool->id;
	message.n_ticks = message.n_mono_ns = message.n_error_ns = n;
	message.ticks = columns[0];
	message.mono_ns = columns[1];
	message.error_ns = columns[2];
	message.breaks = breaks;
	entry.clock = &message;
	block_put_entry(&w->report.block, &entry);
}
