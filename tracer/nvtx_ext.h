/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_ext.h - the extensions of NVTX: what their functions are given becomes rows of the kinds 20
 * to 39 of events.def, one record each (REC_NVTX_EXT of common/spool.h).
 *
 * The functions are those that NVTX calls, with its parameters. Registrations are recorded whether
 * or not the gate is open, since what comes later needs them; everything else only while it is.
 * Nothing is read but what a call says is there; texts that a payload points to are read after the
 * kernel has been asked whether they can be, and left out where a system call filter forbids that.
 * No lock but for the first use of a name and for registrations; no allocation; errno is left
 * alone. Any thread, from signal handlers, too.
 */
#ifndef TRACER_NVTX_EXT_H
#define TRACER_NVTX_EXT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/nvtx_ext.h"
#include "tracer/nvtx.h"

/* ---- rows: for the files that make them ---- */

struct ext_text {
	const void *bytes;
	uint32_t length;
	struct name *name; /* not NULL: in place of the bytes */
};

struct ext_row {
	uint32_t event;  /* its number in events.def */
	bool any_domain; /* recorded whatever domains are: it has one that is not told */
	struct name *domain;
	const uint64_t *numbers; /* columns behind the domain that are no texts, in order */
	uint32_t number_count;
	struct ext_text texts[NVTX_EXT_TEXTS_MAX]; /* those that are */
	uint32_t text_count;
};

#define EXT_NUMBERS(...)                            \
	.numbers = (const uint64_t[]){__VA_ARGS__}, \
	.number_count = sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

#define EVENT(number, id, name, title) EXT_##id = number,
enum ext_event {
#include "common/schema/events.def"
};

enum nvtx_no_value {
#define NO_VALUE(number, id, name) NVTX_NO_VALUE_##id = number,
#include "common/schema/events.def"
};
enum nvtx_heap_what {
#define HEAP(number, id, name) NVTX_HEAP_##id = number,
#include "common/schema/events.def"
};
enum nvtx_region_what {
#define REGION(number, id, name) NVTX_REGION_##id = number,
#include "common/schema/events.def"
};
enum nvtx_permission_what {
#define PERMISSION(number, id, name) NVTX_PERMISSION_##id = number,
#include "common/schema/events.def"
};
enum nvtx_sync_what {
#define SYNC(number, id, name) NVTX_SYNC_##id = number,
#include "common/schema/events.def"
};

/* Types of messages are numbered as kinds of texts are. */
static inline enum nvtx_text_kind nvtx_text_kind(int64_t message_type)
{
	bool known = message_type > 0 && message_type <= NVTX_TEXT_NAME;
	return known ? (enum nvtx_text_kind)message_type : NVTX_TEXT_NONE;
}

/* Makes the record. */
void ext_put(const struct ext_row *row);

/* A text that ends with a zero; NULL is empty. A long one becomes a name (nvtx_text.h), or is cut
 * at NVTX_TEXT_BYTES where there is no room for more of these. */
struct ext_text ext_chars(const char *text);

/* A message as NVTX hands them over; wide ones are converted in `room`. */
#define EXT_ROOM_BYTES (NVTX_TEXT_BYTES + 16)
struct ext_text ext_message(enum nvtx_text_kind kind, const void *text, char *room);

/* Is anything of this domain to be recorded now? */
bool ext_is_on(const struct name *domain);

/* `wanted`, when a program may choose it, or a fresh one. */
uint64_t ext_id(bool has_wanted, uint64_t wanted);

/* Another tool has given the id that this thread's next one is to be; 0 = none. */
void ext_give_id(uint64_t id);

/* Can all of [address, address + bytes) be read? Asks the kernel, page by page. */
bool ext_readable(uint64_t address, uint64_t bytes);

/* Semantics of an entry of a schema, or of a counter. */
void ext_semantics(struct name *domain, uint64_t counter, uint64_t schema, uint64_t index,
	const struct nvtx_semantics *first);

/* ---- payloads ---- */

/* Copies `count` payloads. Returns the id that they have in rows: `id`, or a new one if it is 0; 0
 * when nothing is recorded. Numbers them from `first_index`. */
uint64_t nvtx_payload_put(struct name *domain, const struct nvtx_data *data, uint64_t count,
	uint64_t id, uint64_t first_index);

/* The message that a layout says is in them, as a name; NULL = none. */
struct name *nvtx_payload_message(
	struct name *domain, const struct nvtx_data *data, uint64_t count);

uint64_t nvtx_schema_register(struct name *domain, const struct nvtx_schema_attributes *a);
uint64_t nvtx_enum_register(struct name *domain, const struct nvtx_enum_attributes *a);
void nvtx_payload_mark(struct name *domain, const struct nvtx_data *data, uint64_t count);
int nvtx_payload_push(struct name *domain, const struct nvtx_data *data, uint64_t count);
int nvtx_payload_pop(struct name *domain, const struct nvtx_data *data, uint64_t count);
uint64_t nvtx_payload_start(struct name *domain, const struct nvtx_data *data, uint64_t count);
void nvtx_payload_end(
	struct name *domain, uint64_t id, const struct nvtx_data *data, uint64_t count);

/* ---- deferred events, scopes, clocks ---- */

uint64_t nvtx_scope_register(struct name *domain, const struct nvtx_scope_attributes *a);
int64_t nvtx_timestamp(void); /* ns of CLOCK_MONOTONIC */
uint64_t nvtx_time_domain_register(
	struct name *domain, const struct nvtx_time_domain_attributes *a);

/* The program's clock is asked now, and again when it submits deferred events. */
void nvtx_timer_source(
	struct name *domain, uint64_t time_domain, uint64_t flags, int64_t (*clock)(void));
void nvtx_timer_source_with_data(struct name *domain, uint64_t time_domain, uint64_t flags,
	int64_t (*clock)(void *data), void *data);

void nvtx_time_sync(struct name *domain, uint64_t source, uint64_t target, int64_t source_time,
	int64_t target_time);
void nvtx_time_sync_table(struct name *domain, uint64_t source, uint64_t target,
	const struct nvtx_sync_point *points, uint64_t count);
void nvtx_time_factor(struct name *domain, uint64_t source, uint64_t target, double slope,
	int64_t source_time, int64_t target_time);

/* Times of this clock are to come: where it is one that can be read here, points of synchronization
 * with CLOCK_MONOTONIC are recorded from now on. */
void nvtx_clock_follow(struct name *domain, uint64_t clock);

/* Records points of all clocks followed, where the last ones are old enough. */
void nvtx_clocks_sync(void);

/* Before an object may be unloaded: functions of clocks that the program registered are called
 * again only after it has registered them again. Any thread; no lock. */
void nvtx_clocks_doubt(void);

/* Another tool gives the times of nvtxTimestampGet(): it has given this one. */
void nvtx_clock_of_tool(int64_t time);

void nvtx_event_submit(struct name *domain, const struct nvtx_data *data, uint64_t count);
void nvtx_event_batch_submit(struct name *domain, const struct nvtx_event_batch *batch);

/* ---- counters ---- */

uint64_t nvtx_counter_register(struct name *domain, const struct nvtx_counter_attributes *a);
void nvtx_sample_int64(struct name *domain, uint64_t counter, int64_t value);
void nvtx_sample_float64(struct name *domain, uint64_t counter, double value);
void nvtx_sample(struct name *domain, uint64_t counter, const void *value, uint64_t bytes);
void nvtx_sample_no_value(struct name *domain, uint64_t counter, uint8_t reason);
void nvtx_sample_batch(struct name *domain, const struct nvtx_counter_batch *batch);

/* ---- memory ---- */

void *nvtx_heap_register(struct name *domain, const struct nvtx_heap_attributes *a);
void nvtx_heap_unregister(struct name *domain, void *heap);
void nvtx_heap_reset(struct name *domain, void *heap);
void nvtx_regions_register(struct name *domain, const struct nvtx_regions_register *r);
void nvtx_regions_resize(struct name *domain, const struct nvtx_regions *r);
void nvtx_regions_unregister(struct name *domain, const struct nvtx_regions *r);
void nvtx_regions_name(struct name *domain, const struct nvtx_regions_name *r);
void nvtx_permissions_assign(struct name *domain, const struct nvtx_permissions_assign *p);
void *nvtx_permissions_create(struct name *domain, int32_t flags);
void nvtx_permissions_destroy(struct name *domain, void *permissions);
void nvtx_permissions_reset(struct name *domain, void *permissions);
void nvtx_permissions_bind(struct name *domain, void *permissions, uint32_t scope, uint32_t flags);
void nvtx_permissions_unbind(struct name *domain, uint32_t scope);
void *nvtx_permissions_of_process(struct name *domain);
void *nvtx_permissions_of_device(struct name *domain, int device);
void nvtx_permissions_peer(struct name *domain, void *permissions, int device, uint32_t flags);
void nvtx_regions_initialized(
	struct name *domain, void *stream, uint8_t is_per_thread, const struct nvtx_regions *r);

/* ---- synchronization objects ---- */

void *nvtx_sync_create(struct name *domain, const struct nvtx_sync_attributes *a);
void nvtx_sync_destroy(void *object);
void nvtx_sync_acquire_start(void *object);
void nvtx_sync_acquire_failed(void *object);
void nvtx_sync_acquire_success(void *object);
void nvtx_sync_releasing(void *object);

#endif
