/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - main() of the fuzzers without libFuzzer: runs the inputs in tests/fuzz/corpus/NAME,
 * then a fixed series of mutations of them, and prints TAP.
 *
 *   fuzz_NAME [-runs=N] [FILE | FOLDER]...
 *
 * An input that ends the program, or takes more than SECONDS_MAX of processor time, is saved next
 * to the logs as crash-NAME.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/fuzz/growing.h"
#include "tests/fuzz/mutate.h"

#define INPUT_MAX (256u << 10)
#define INPUTS_MAX 4096u
#define SECONDS_MAX 60
#define RUNS 200u
#define RUNS_TORTURE 40000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(
	uint8_t *data, size_t bytes, size_t max, unsigned seed);
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static struct input {
	uint8_t *data;
	size_t bytes;
} inputs[INPUTS_MAX];
static size_t input_count;
static const uint8_t *running;
static size_t running_bytes;
static char crash_path[512];
static uint64_t random_state = 1;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state >> 11;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t max)
{
	static const char odd[][8] = {"\xff\xff\xff\xff\xff\xff\xff", "", "\x7f\xff\xff\xff", "-1",
		"9999999", "\x80\x80\x80\x80\x80\x01", "\n", "\"", ","};
	const uint64_t way = random_number() % 5;
	size_t at = bytes ? random_number() % bytes : 0, n = 1 + random_number() % 8;
	if (way == 0 && bytes)
		data[at] ^= (uint8_t)(1u << random_number() % 8);
	else if (way == 1 && bytes)
		data[at] = (uint8_t)random_number();
	else if (way == 2 && bytes + n <= max) { /* some bytes twice */
		memmove(data + at + n, data + at, bytes - at);
		return bytes + n;
	} else if (way == 3 && at + n <= bytes) {
		memmove(data + at, data + at + n, bytes - at - n);
		return bytes - n;
	} else if (at + n <= bytes) {
		memcpy(data + at, odd[random_number() % (sizeof(odd) / sizeof(*odd))],
			n < 8 ? n : 8);
	}
	return bytes;
}

/* ---- the input that ran when the program ended ---- */

static void keep_running(void)
{
	int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, running, running_bytes) < 0)
		return;
	close(fd);
}

static void on_signal(int number)
{
	keep_running();
	signal(number, SIG_DFL);
	raise(number == SIGVTALRM ? SIGABRT : number);
}

static void watch(const char *name)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM};
	const char *logs = getenv("LOGS");
	snprintf(crash_path, sizeof(crash_path), "%s/crash-%s", logs ? logs : "build", name);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(keep_running);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!__sanitizer_set_death_callback || numbers[i] == SIGVTALRM ||
			numbers[i] == SIGABRT)
			signal(numbers[i], on_signal);
}

static void run(const uint8_t *data, size_t bytes)
{
	const struct itimerval limit = {.it_value.tv_sec = SECONDS_MAX};
	running = data;
	running_bytes = bytes;
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	LLVMFuzzerTestOneInput(data, bytes);
}

/* ---- inputs ---- */

static void input_add(const char *path)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *data = malloc(INPUT_MAX);
	if (!file || !data || input_count == INPUTS_MAX)
		exit(2);
	size_t bytes = fread(data, 1, INPUT_MAX, file);
	fclose(file);
	/* a separate allocation, so that a read past its end is detected */
	inputs[input_count++] = (struct input){realloc(data, bytes + !bytes), bytes};
}

static void inputs_add(const char *path)
{
	struct dirent **names;
	struct stat st;
	if (!stat(path, &st) && S_ISREG(st.st_mode)) {
		input_add(path);
		return;
	}
	int count = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char file[1024];
		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (!stat(file, &st) && S_ISREG(st.st_mode))
			input_add(file);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

static void run_changed(uint64_t runs)
{
	uint8_t *data = malloc(INPUT_MAX);
	for (uint64_t i = 0; data && input_count && i < runs; i++) {
		const struct input *from = &inputs[random_number() % input_count];
		size_t bytes = from->bytes;
		memcpy(data, from->data, bytes);
		for (uint64_t n = 1 + random_number() % 3; n; n--)
			bytes = LLVMFuzzerCustomMutator
				? LLVMFuzzerCustomMutator(
					  data, bytes, INPUT_MAX, (unsigned)random_number())
				: LLVMFuzzerMutate(data, bytes, INPUT_MAX);
		uint8_t *exact = malloc(bytes + !bytes);
		if (!exact)
			exit(2);
		memcpy(exact, data, bytes);
		run(exact, bytes);
		free(exact);
	}
	free(data);
}

/* Keep the test's own output; discard the output of the readers, unless a sanitizer writes to
 * standard error. */
static FILE *quiet(void)
{
	int out = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);
	dup2(null, STDOUT_FILENO);
	if (!__sanitizer_set_death_callback)
		dup2(null, STDERR_FILENO);
	return fdopen(out, "w");
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
	const char *source = getenv("SRC"), *torture = getenv("TORTURE");
	uint64_t runs = torture && *torture ? RUNS_TORTURE : RUNS;
	char folder[1024];
	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "-runs=", 6))
			runs = strtoull(argv[i] + 6, NULL, 10);
		else
			inputs_add(argv[i]);
	snprintf(folder, sizeof(folder), "%s/tests/fuzz/corpus/%s", source ? source : ".",
		name + strlen("fuzz_"));
	if (!input_count)
		inputs_add(folder);
	FILE *out = quiet();
	if (!out)
		return 2;
	watch(name);
	fprintf(out, "1..2\n");
	fflush(out);
	for (size_t i = 0; i < input_count; i++)
		run(inputs[i].data, inputs[i].bytes);
	fprintf(out, "%sok 1 - %zu inputs\n", input_count ? "" : "not ", input_count);
	fflush(out);
	run_changed(runs);
	fprintf(out, "ok 2 - %llu mutations of them\n", (unsigned long long)runs);
	fclose(out);
	for (size_t i = 0; i < input_count; i++)
		free(inputs[i].data);
	return !input_count;
}
