/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_replay.c - replays recorded activity buffers: SIM_REPLAY=FOLDER contains buffer-*.bin and,
 * next to each, a .txt with the recorded pointers and sizes ("kind NUMBER BYTES", "text OFFSET
 * STRING"), as tests/cuda/libbare.c writes them. The first forced flush delivers all of them to the
 * client, which can distinguish them from new buffers only by their times.
 */
#include "tests/sim/cupti_sim.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KINDS = 64 };

static size_t kind_bytes[MAX_KINDS];

size_t cupti_replayed_bytes(CUpti_ActivityKind kind)
{
	return (unsigned)kind < MAX_KINDS ? kind_bytes[kind] : 0;
}

/* End the program: recordings belong to the tests, so a defect in one is a defect of the tests. */
static void give_up(const char *path, const char *why)
{
	fprintf(stderr, "simulated CUPTI: '%s': %s\n", path, why);
	exit(2);
}

static size_t read_buffer(const char *path, uint8_t *buffer, size_t room)
{
	FILE *file = fopen(path, "rbe");
	size_t bytes;

	if (!file)
		give_up(path, "cannot be read");
	bytes = fread(buffer, 1, room, file);
	if (fgetc(file) != EOF)
		give_up(path, "longer than the client's buffers");
	fclose(file);
	return bytes;
}

/* Texts stay allocated: the client may look at them as long as it has the buffer. */
static void put_texts(const char *path, uint8_t *buffer, size_t bytes)
{
	FILE *file = fopen(path, "re");
	char line[4096];
	unsigned kind;
	size_t number;
	int begin;

	if (!file)
		give_up(path, "cannot be read");
	while (fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "kind %u %zu", &kind, &number) == 2 && kind < MAX_KINDS) {
			kind_bytes[kind] = number;
		} else if (sscanf(line, "text %zu %n", &number, &begin) == 1 &&
			number + sizeof(char *) <= bytes) {
			char *text = strdup(line + begin);

			memcpy(buffer + number, &text, sizeof text);
		} else {
			give_up(path, "neither kind nor text");
		}
	}
	fclose(file);
}

static void replay_one(const char *path)
{
	char texts[4096];
	size_t room, bytes;
	uint8_t *buffer = cupti_ask_for_buffer(&room);

	if (!buffer)
		return;
	bytes = read_buffer(path, buffer, room);
	snprintf(texts, sizeof texts, "%.*s.txt", (int)(strlen(path) - strlen(".bin")), path);
	put_texts(texts, buffer, bytes);
	cupti_hand_back(buffer, room, bytes);
}

void cupti_replay(void)
{
	const char *folder = getenv("SIM_REPLAY");
	static bool done;
	char pattern[4096];
	glob_t found;

	if (!folder || done)
		return;
	done = true;
	snprintf(pattern, sizeof pattern, "%s/buffer-*.bin", folder);
	if (glob(pattern, 0, NULL, &found))
		give_up(folder, "no recorded buffers");
	for (size_t i = 0; i < found.gl_pathc; i++)
		replay_one(found.gl_pathv[i]);
	globfree(&found);
}
