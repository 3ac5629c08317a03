/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - heaps, regions of memory and permissions of NVTX. */
#define _GNU_SOURCE
#include "tracer/nvtx/extensions.h"

static uint64_t bits(const void *handle)
{
	return (uint64_t)(uintptr_t)handle;
}

/* Address and size of a piece of memory: a range of addresses, or a part of an array. */
struct place {
	uint64_t address, bytes;
};

static struct place place_of(uint32_t type, const void *descriptor, uint64_t descriptor_bytes)
{
	struct place p = {0, 0};
	if (!descriptor)
		return p;
	if (type == NVTX_MEMORY_VIRTUAL && descriptor_bytes >= sizeof(struct nvtx_virtual_range)) {
		const struct nvtx_virtual_range *r = descriptor;
		p = (struct place){bits(r->address), r->bytes};
	} else if ((type == NVTX_MEMORY_CUDA_ARRAY || type == NVTX_MEMORY_CU_ARRAY) &&
		descriptor_bytes >= sizeof(struct nvtx_array_range)) {
		const struct nvtx_array_range *r = descriptor;
		p = (struct place){bits(r->array), r->extent[0] * r->extent[1] * r->extent[2]};
	}
	return p;
}

/* ---- heaps ---- */

void *nvtx_heap_register(struct name *domain, const struct nvtx_heap_attributes *a)
{
	char room[EXT_ROOM_BYTES];
	if (!a || a->struct_bytes < sizeof(*a))
		return NULL;
	struct place p = place_of(a->type, a->descriptor, a->descriptor_bytes);
	uint64_t heap = a->type == NVTX_MEMORY_VIRTUAL && p.address ? p.address : ext_id(false, 0);
	ext_put(&(struct ext_row){.event = EXT_NVTX_HEAP,
		.domain = domain,
		EXT_NUMBERS(NVTX_HEAP_REGISTER, heap, p.address, p.bytes, a->usage, a->type,
			a->category),
		.texts = {ext_message(nvtx_text_kind(a->message_type), a->message, room)},
		.text_count = 1});
	return (void *)(uintptr_t)heap;
}

static void heap_event(struct name *domain, enum nvtx_heap_what what, const void *heap)
{
	if (ext_is_on(domain))
		ext_put(&(struct ext_row){.event = EXT_NVTX_HEAP,
			.domain = domain,
			EXT_NUMBERS(what, bits(heap), 0, 0, 0, 0, 0),
			.text_count = 1});
}

void nvtx_heap_unregister(struct name *domain, void *heap)
{
	heap_event(domain, NVTX_HEAP_UNREGISTER, heap);
}

void nvtx_heap_reset(struct name *domain, void *heap)
{
	heap_event(domain, NVTX_HEAP_RESET, heap);
}

/* ---- regions ---- */

struct region {
	enum nvtx_region_what what;
	uint64_t heap, handle, type, category, stream;
	struct place place;
	struct ext_text name;
};

static void region_put(struct name *domain, const struct region *r)
{
	ext_put(&(struct ext_row){.event = EXT_NVTX_REGION,
		.domain = domain,
		EXT_NUMBERS(r->what, r->heap, r->handle, r->place.address, r->place.bytes, r->type,
			r->category, r->stream),
		.texts = {r->name},
		.text_count = 1});
}

void nvtx_regions_register(struct name *domain, const struct nvtx_regions_register *r)
{
	if (!r || r->struct_bytes < sizeof(*r) || !r->elements)
		return;
	for (uint64_t i = 0; i < r->count; i++) {
		struct region region = {
			.what = NVTX_REGION_REGISTER, .heap = r->heap, .type = r->type};
		region.place =
			place_of(r->type, r->elements + i * r->element_bytes, r->element_bytes);
		region.handle =
			r->type == NVTX_MEMORY_VIRTUAL ? region.place.address : ext_id(false, 0);
		if (r->handles)
			r->handles[i] = region.handle;
		region_put(domain, &region);
	}
}

/* Record regions that are given by their addresses. */
static void regions_event(struct name *domain, enum nvtx_region_what what, uint64_t stream,
	const struct nvtx_regions *r)
{
	if (!r || r->struct_bytes < sizeof(*r) || !r->elements || !ext_is_on(domain))
		return;
	for (uint64_t i = 0; i < r->count; i++) {
		struct region region = {.what = what, .type = r->type, .stream = stream};
		region.place =
			place_of(r->type, r->elements + i * r->element_bytes, r->element_bytes);
		region.handle = region.place.address;
		region_put(domain, &region);
	}
}

void nvtx_regions_resize(struct name *domain, const struct nvtx_regions *r)
{
	regions_event(domain, NVTX_REGION_RESIZE, 0, r);
}

void nvtx_regions_initialized(
	struct name *domain, void *stream, uint8_t is_per_thread, const struct nvtx_regions *r)
{
	(void)is_per_thread;
	regions_event(domain, NVTX_REGION_INITIALIZED, bits(stream), r);
}

/* Elements are handles or addresses, as `type` says; both have 64 bits. */
void nvtx_regions_unregister(struct name *domain, const struct nvtx_regions *r)
{
	if (!r || r->struct_bytes < sizeof(*r) || !r->elements ||
		r->element_bytes < sizeof(uint64_t) || !ext_is_on(domain))
		return;
	for (uint64_t i = 0; i < r->count; i++) {
		struct region region = {.what = NVTX_REGION_UNREGISTER};
		region.handle =
			*(const uint64_t *)(const void *)(r->elements + i * r->element_bytes);
		region_put(domain, &region);
	}
}

void nvtx_regions_name(struct name *domain, const struct nvtx_regions_name *r)
{
	char room[EXT_ROOM_BYTES];
	if (!r || r->struct_bytes < sizeof(*r) || !r->elements ||
		r->element_bytes < sizeof(struct nvtx_region_name))
		return;
	for (uint64_t i = 0; i < r->count; i++) {
		const struct nvtx_region_name *n =
			(const void *)(r->elements + i * r->element_bytes);
		const struct region region = {.what = NVTX_REGION_NAME,
			.handle = n->region,
			.category = n->category,
			.name = ext_message(nvtx_text_kind(n->message_type), n->message, room)};
		region_put(domain, &region);
	}
}

/* ---- permissions ---- */

struct permission {
	enum nvtx_permission_what what;
	uint64_t permissions, region, scope, flags;
	int64_t device;
};

static void permission_put(struct name *domain, const struct permission *p)
{
	ext_put(&(struct ext_row){.event = EXT_NVTX_PERMISSION,
		.domain = domain,
		EXT_NUMBERS(p->what, p->permissions, p->region, p->scope, (uint64_t)p->device,
			p->flags)});
}

static void permission_event(struct name *domain, const struct permission *p)
{
	if (ext_is_on(domain))
		permission_put(domain, p);
}

void nvtx_permissions_assign(struct name *domain, const struct nvtx_permissions_assign *a)
{
	if (!a || a->struct_bytes < sizeof(*a) || !a->elements ||
		a->element_bytes < sizeof(struct nvtx_permission) || !ext_is_on(domain))
		return;
	for (uint64_t i = 0; i < a->count; i++) {
		const struct nvtx_permission *e =
			(const void *)(a->elements + i * a->element_bytes);
		permission_put(domain,
			&(struct permission){.what = NVTX_PERMISSION_ASSIGN,
				.permissions = a->permissions,
				.region = e->region,
				.flags = e->flags});
	}
}

/* Record a new set of permissions, or one that always exists. Return its handle. */
static void *permissions_make(
	struct name *domain, enum nvtx_permission_what what, int64_t device, uint32_t flags)
{
	const struct permission p = {
		.what = what, .permissions = ext_id(false, 0), .device = device, .flags = flags};
	permission_put(domain, &p);
	return (void *)(uintptr_t)p.permissions;
}

void *nvtx_permissions_create(struct name *domain, int32_t flags)
{
	return permissions_make(domain, NVTX_PERMISSION_CREATE, 0, (uint32_t)flags);
}

void *nvtx_permissions_of_process(struct name *domain)
{
	return permissions_make(domain, NVTX_PERMISSION_OF_PROCESS, 0, 0);
}

void *nvtx_permissions_of_device(struct name *domain, int device)
{
	return permissions_make(domain, NVTX_PERMISSION_OF_DEVICE, device, 0);
}

void nvtx_permissions_destroy(struct name *domain, void *permissions)
{
	permission_event(domain,
		&(struct permission){
			.what = NVTX_PERMISSION_DESTROY, .permissions = bits(permissions)});
}

void nvtx_permissions_reset(struct name *domain, void *permissions)
{
	permission_event(domain,
		&(struct permission){
			.what = NVTX_PERMISSION_RESET, .permissions = bits(permissions)});
}

void nvtx_permissions_bind(struct name *domain, void *permissions, uint32_t scope, uint32_t flags)
{
	permission_event(domain,
		&(struct permission){.what = NVTX_PERMISSION_BIND,
			.permissions = bits(permissions),
			.scope = scope,
			.flags = flags});
}

void nvtx_permissions_unbind(struct name *domain, uint32_t scope)
{
	permission_event(
		domain, &(struct permission){.what = NVTX_PERMISSION_UNBIND, .scope = scope});
}

void nvtx_permissions_peer(struct name *domain, void *permissions, int device, uint32_t flags)
{
	permission_event(domain,
		&(struct permission){.what = NVTX_PERMISSION_PEER,
			.permissions = bits(permissions),
			.device = device,
			.flags = flags});
}
