/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - the variables of an NVTXT file while it is read. */
#include "reader/nvtxt/state.h"

#include <stdlib.h>

#include "common/array.h"

struct nvtxt_state *nvtxt_state_create(void)
{
	return calloc(1, sizeof(struct nvtxt_state));
}

void nvtxt_state_free(struct nvtxt_state *s)
{
	if (s) {
		map_release(&s->name_places);
		free(s->names);
	}
	free(s);
}

struct nvtxt_name *nvtxt_name(struct nvtxt_file *f, const char *text)
{
	struct nvtxt_state *s = f->state;
	uint32_t place = text ? map_get(&s->name_places, (uintptr_t)text, 0) : 0;
	if (place)
		return &s->names[place - 1];
	if (!text || array_room(&s->names, s->name_count, &s->name_capacity, sizeof(*s->names)) ||
		map_put(&s->name_places, (uintptr_t)text, 0, s->name_count + 1)) {
		f->broken = true;
		return NULL;
	}
	s->names[s->name_count] = (struct nvtxt_name){0};
	return &s->names[s->name_count++];
}
