/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extensions.h - the extensions of NVTX: payloads, deferred events, counters, memory,
 * synchronization objects. Each call is one record of the kinds 20 to 39 of events.def
 * (REC_NVTX_EXT of common/spool.h).
 *
 * The functions have the parameters of those that NVTX calls. Registrations are recorded even while
 * the gate is closed, since later calls need them; everything else only while it is open. Only
 * those bytes of a payload are read that its call announces. Texts that a payload points to are
 * read only after the kernel has confirmed that they are readable, and omitted if a system call
 * filter forbids this check. Locks are taken only for the first use of a name and for
 * registrations. No allocation; errno stays unchanged. Any thread, also in signal handlers.
 */
#ifndef TRACER_NVTX_EXTENSIONS_H
#define TRACER_NVTX_EXTENSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/nvtx/ext.h"
#include "tracer/nvtx/rows.h"

/* Record the semantics of an entry of a schema, or of a counter. */
void ext_semantics(struct name *domain, uint64_t counter, uint64_t schema, uint64_t index,
	const struct nvtx_semantics *first);

/* ---- payloads ---- */

/* Copy `count` payloads, numbered from `first_index`. Return the id that they have in rows: `id`,
 * or a new one if that is 0; 0 if nothing is recorded. */
uint64_t nvtx_payload_put(struct name *domain, const struct nvtx_data *data, uint64_t count,
	uint64_t id, uint64_t first_index);

/* Return the message that a layout says is in the payloads, as a name; NULL = none. */
struct name *nvtx_payload_message(
	struct name *domain, const struct nvtx_data *data, uint64_t count);

/* Record a payload layout or an enumeration with its entries. Return its id, the program's or a new
 * one; 0 for invalid attributes. */
uint64_t nvtx_schema_register(struct name *domain, const struct nvtx_schema_attributes *a);
uint64_t nvtx_enum_register(struct name *domain, const struct nvtx_enum_attributes *a);
/* Record a mark, a pushed range, or a started range whose attributes are in payloads. These
 * functions correspond to nvtx_mark() and so on. The payloads of an end replace those of the
 * start. */
void nvtx_payload_mark(struct name *domain, const struct nvtx_data *data, uint64_t count);
/* Record a mark with this text and one payload. */
void nvtx_payload_mark_named(struct name *domain, struct name *text, const struct nvtx_data *data);
int nvtx_payload_push(struct name *domain, const struct nvtx_data *data, uint64_t count);
int nvtx_payload_pop(struct name *domain, const struct nvtx_data *data, uint64_t count);
uint64_t nvtx_payload_start(struct name *domain, const struct nvtx_data *data, uint64_t count);
void nvtx_payload_end(
	struct name *domain, uint64_t id, const struct nvtx_data *data, uint64_t count);

/* ---- deferred events, scopes, clocks ---- */

/* Record a scope. Return its id, the program's or a new one; 0 for invalid attributes. */
uint64_t nvtx_scope_register(struct name *domain, const struct nvtx_scope_attributes *a);

/* Return the time in ns of CLOCK_MONOTONIC. */
int64_t nvtx_timestamp(void);

/* Record a time domain. Return its id, the program's or a new one; 0 without attributes. */
uint64_t nvtx_time_domain_register(
	struct name *domain, const struct nvtx_time_domain_attributes *a);

/* Register a clock of the program, which is read now, and again when the program submits
 * deferred events. `data` must stay valid as long as the program may submit. */
void nvtx_timer_source(
	struct name *domain, uint64_t time_domain, uint64_t flags, int64_t (*clock)(void));
void nvtx_timer_source_with_data(struct name *domain, uint64_t time_domain, uint64_t flags,
	int64_t (*clock)(void *data), void *data);

/* Record points at which two time domains are known to agree, or the ratio of their rates. Times
 * are in ticks of their domain. */
void nvtx_time_sync(struct name *domain, uint64_t source, uint64_t target, int64_t source_time,
	int64_t target_time);
void nvtx_time_sync_table(struct name *domain, uint64_t source, uint64_t target,
	const struct nvtx_sync_point *points, uint64_t count);
void nvtx_time_factor(struct name *domain, uint64_t source, uint64_t target, double slope,
	int64_t source_time, int64_t target_time);

/* Prepare for times of this clock: if it can be read here, record points of synchronization with
 * CLOCK_MONOTONIC from now on. */
void nvtx_clock_follow(struct name *domain, uint64_t clock);

/* Record points of all clocks followed, if the last points are old enough. */
void nvtx_clocks_sync(void);

/* Stop calling the clock functions of the program until it registers them again, because the
 * object that contains them may have been unloaded. Any thread; no lock. */
void nvtx_clocks_doubt(void);

/* Remember the time that another tool has returned from nvtxTimestampGet(): such times belong to
 * the tool's clock. */
void nvtx_clock_of_tool(int64_t time);

/* Record deferred events, whose times are in their payloads; take points of all clocks followed. */
void nvtx_event_submit(struct name *domain, const struct nvtx_data *data, uint64_t count);
void nvtx_event_batch_submit(struct name *domain, const struct nvtx_event_batch *batch);

/* ---- counters; ids are unique in the process ---- */

/* Record a counter. Return its id, the program's or a new one; 0 for invalid attributes. */
uint64_t nvtx_counter_register(struct name *domain, const struct nvtx_counter_attributes *a);
/* Record a sample of a counter: a value, `bytes` bytes of a value of the counter's own layout, the
 * reason for having none, or a batch of values with times. */
void nvtx_sample_int64(struct name *domain, uint64_t counter, int64_t value);
void nvtx_sample_float64(struct name *domain, uint64_t counter, double value);
void nvtx_sample(struct name *domain, uint64_t counter, const void *value, uint64_t bytes);
void nvtx_sample_no_value(struct name *domain, uint64_t counter, uint8_t reason);
void nvtx_sample_batch(struct name *domain, const struct nvtx_counter_batch *batch);

/* ---- memory ---- */

/* Record a heap. Return its handle: its address, or a new number; NULL for invalid attributes. */
void *nvtx_heap_register(struct name *domain, const struct nvtx_heap_attributes *a);
/* Record that a heap, or that all of its regions, were unregistered. */
void nvtx_heap_unregister(struct name *domain, void *heap);
void nvtx_heap_reset(struct name *domain, void *heap);
/* Record regions of memory: registered, resized, unregistered, named. A call whose structure is
 * shorter than declared in common/nvtx/ext.h is ignored. */
void nvtx_regions_register(struct name *domain, const struct nvtx_regions_register *r);
void nvtx_regions_resize(struct name *domain, const struct nvtx_regions *r);
void nvtx_regions_unregister(struct name *domain, const struct nvtx_regions *r);
void nvtx_regions_name(struct name *domain, const struct nvtx_regions_name *r);
/* Record permissions that regions get. */
void nvtx_permissions_assign(struct name *domain, const struct nvtx_permissions_assign *p);
/* Record a new set of permissions. Return its handle. */
void *nvtx_permissions_create(struct name *domain, int32_t flags);
/* Record changes of a set of permissions, and the scopes in which it is in force. */
void nvtx_permissions_destroy(struct name *domain, void *permissions);
void nvtx_permissions_reset(struct name *domain, void *permissions);
void nvtx_permissions_bind(struct name *domain, void *permissions, uint32_t scope, uint32_t flags);
void nvtx_permissions_unbind(struct name *domain, uint32_t scope);
/* Return the handle of the set of permissions that a process or a device always has. */
void *nvtx_permissions_of_process(struct name *domain);
void *nvtx_permissions_of_device(struct name *domain, int device);
/* Record which access a set of permissions gives to the memory of a peer device. */
void nvtx_permissions_peer(struct name *domain, void *permissions, int device, uint32_t flags);
/* Record that the work of a stream initializes regions. */
void nvtx_regions_initialized(
	struct name *domain, void *stream, uint8_t is_per_thread, const struct nvtx_regions *r);

/* ---- synchronization objects ---- */

/* Record a synchronization object. Return its handle; NULL if its domain is not recorded. */
void *nvtx_sync_create(struct name *domain, const struct nvtx_sync_attributes *a);
/* Record the end of a synchronization object, and attempts to acquire and release it. NULL is
 * ignored. */
void nvtx_sync_destroy(void *object);
void nvtx_sync_acquire_start(void *object);
void nvtx_sync_acquire_failed(void *object);
void nvtx_sync_acquire_success(void *object);
void nvtx_sync_releasing(void *object);

#endif
