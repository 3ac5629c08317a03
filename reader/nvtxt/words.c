/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - tables of the words of NVTXT, generated from words.def and colors.def. */
#include "reader/nvtxt/words.h"

#include <string.h>

#define ARGUMENT(id, name, type) {name, NVTXT_TYPE_##type},
const struct nvtxt_argument_row nvtxt_arguments[NVTXT_ARGUMENTS] = {
#include "reader/nvtxt/words.def"
};

#define COMMAND(id, name, layout, ...) \
	{name, NVTXT_LAYOUT_##layout, sizeof((uint8_t[]){0, __VA_ARGS__}) - 1, {__VA_ARGS__}},
const struct nvtxt_command_row nvtxt_commands[NVTXT_COMMANDS] = {
#include "reader/nvtxt/words.def"
};

static const struct {
	const char *name;
	uint32_t rgb;
} colors[] = {
#define COLOR(name, rgb) {#name, rgb},
#include "reader/nvtxt/colors.def"
};

#define TIME_BASE(name, kind) {#name, NVTXT_CLOCK_##kind},
static const struct {
	const char *name;
	enum nvtxt_clock_kind kind;
} time_bases[] = {
#include "reader/nvtxt/words.def"
};

int nvtxt_argument_find(const char *name)
{
	for (int i = 0; i < NVTXT_ARGUMENTS; i++)
		if (!strcmp(nvtxt_arguments[i].name, name))
			return i;
	return -1;
}

int nvtxt_command_find(const char *name)
{
	for (int i = 0; i < NVTXT_COMMANDS; i++)
		if (!strcmp(nvtxt_commands[i].name, name))
			return i;
	return -1;
}

uint32_t nvtxt_color(const char *name)
{
	for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++)
		if (!strcmp(colors[i].name, name))
			return 0xff000000u | colors[i].rgb;
	return 0;
}

enum nvtxt_clock_kind nvtxt_clock_kind(const char *name, bool *ret_known)
{
	for (size_t i = 0; i < sizeof(time_bases) / sizeof(time_bases[0]); i++)
		if (!strcmp(time_bases[i].name, name)) {
			*ret_known = true;
			return time_bases[i].kind;
		}
	*ret_known = false;
	return NVTXT_CLOCK_TICKS;
}
