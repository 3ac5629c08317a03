/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer_bounds.c - tests of the effects of a hostile spool on the writer.
 *
 * The data of the spool bounds the size of the report and of its blocks, and the writer's memory.
 * Another process of the tree loses nothing. writer/README.md lists the bounds.
 */
#include "tests/unit/test_writer.h"

#include <elf.h>
#include <signal.h>
#include <sys/resource.h>

#include "common/cuda/cuda_spool.h"
#include "common/schema/mpi_spool.h"
#include "common/schema/cuda_columns.h"
#include "common/varint.h"
#include "writer/follow.h"
#include "writer/recover.h"

#define OUT_PER_BYTE 16u     /* bytes of a report for each byte of a spool ... */
#define OUT_MORE (24u << 20) /* ... plus this for each process */
#define BLOCK_MAX (24u << 20)
#if defined(__SANITIZE_ADDRESS__) /* the sanitizer keeps freed memory, and shadows all memory */
#define MEMORY_MAX (1024u << 20)
#else
#define MEMORY_MAX (96u << 20)
#endif
#define NEIGHBOR_CALLS 1000u
#define LAUNCHES 500u /* launches of each process, whatever its events are */
#define LANE_ROOM ((FAKE_CHUNKS - 2) * CHUNK_BYTES)
#define RANDOM_SPOOLS 150u
#define HOSTILE_PID 0x7ffffff0u
#define NEIGHBOR_PID 0x7ffffff1u

static struct report report;
static uint64_t now;
static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* ---- running ---- */

static struct tree_run {
	struct fake_tree tree;
	struct fake_spool spool, neighbor;
	struct lane *lane;
} run;

struct outcome {
	int status;
	uint64_t in, out, memory, block;
};

static void begin(void)
{
	fake_tree_make(&run.tree);
	fake_spool_make(&run.spool, &run.tree, HOSTILE_PID, CLOCK_KIND_MONOTONIC);
	fake_spool_make(&run.neighbor, &run.tree, NEIGHBOR_PID, CLOCK_KIND_MONOTONIC);
	now = run.spool.header->first.tick + 1000;
	run.lane = fake_lane(&run.spool);
	fake_thread_start(&run.spool, run.lane, HOSTILE_PID, HOSTILE_PID, THREAD_MAIN);
	struct lane *lane = fake_lane(&run.neighbor);
	fake_thread_start(&run.neighbor, lane, NEIGHBOR_PID, NEIGHBOR_PID, THREAD_MAIN);
	for (uint32_t i = 0; i < NEIGHBOR_CALLS; i++)
		fake_call(&run.neighbor, lane, now + i * 10, 5, 1 + i % 100);
}

static uint64_t data_bytes(const char *path)
{
	struct stat status;
	return stat(path, &status) ? 0 : (uint64_t)status.st_blocks * 512;
}

/* Return the memory of the process that contains the writer, less what it began with. */
static void recover_measured(struct outcome *o)
{
	struct rusage usage;
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		freopen("/dev/null", "w", stdout);
		freopen("/dev/null", "w", stderr);
		munmap(run.spool.map, FAKE_SPOOL_BYTES);
		munmap(run.neighbor.map, FAKE_SPOOL_BYTES);
		alarm(60);
		_exit(recover_tree(run.tree.dir, NULL));
	}
	wait4(pid, &o->status, 0, &usage);
	o->memory = (uint64_t)usage.ru_maxrss << 10;
}

static uint64_t largest_block(void)
{
	uint64_t largest = 0;
	for (size_t at = 10; at + 4 < report.bytes;) {
		uint32_t size;
		memcpy(&size, report.data + at, 4);
		Libtrace__BlockHeader *h =
			libtrace__block_header__unpack(NULL, size, report.data + at + 4);
		if (!h)
			break;
		uint64_t raw = h->libtrace ? h->libtrace->uncompressed_bytes : 0;
		raw = raw > h->payload_size ? raw : h->payload_size;
		largest = raw > largest ? raw : largest;
		at += 4 + size + h->payload_size;
		libtrace__block_header__free_unpacked(h, NULL);
	}
	return largest;
}

static uint64_t rows_of(uint32_t pid, uint32_t kind)
{
	uint32_t process = report_process_of(&report, pid);
	uint64_t rows = 0;
	for (uint32_t i = 0; i < report.entry_count; i++) {
		const Libtrace__EventBatch *b = report.entries[i]->batch;
		rows += b && b->process == process && b->kind == kind ? b->count : 0;
	}
	return rows;
}

static void clean(void)
{
	char command[400];
	snprintf(command, sizeof(command), "rm -rf %s %s", run.tree.dir, run.tree.report);
	if (system(command))
		perror(command);
	munmap(run.tree.control, TREE_CONTROL_BYTES);
	munmap(run.spool.map, FAKE_SPOOL_BYTES);
	munmap(run.neighbor.map, FAKE_SPOOL_BYTES);
}

/* Recover the tree. Return true if all bounds are kept, and the neighbor has all its calls. */
static bool bounds_kept(const char *name)
{
	struct outcome o = {.in = data_bytes(run.spool.path)};
	recover_measured(&o);
	bool opens = report_read(&report, run.tree.report) && !report.bad_blocks;
	o.out = report.bytes;
	o.block = opens ? largest_block() : UINT64_MAX;
	uint64_t calls = opens ? rows_of(NEIGHBOR_PID, EVENT_OSRT_CALL) : 0;
	bool good = o.status == 0 && opens && calls == NEIGHBOR_CALLS &&
		o.out <= OUT_PER_BYTE * o.in + OUT_MORE && o.block <= BLOCK_MAX &&
		o.memory <= MEMORY_MAX + 2 * o.in;
	if (!good || getenv("BOUNDS_SHOW"))
		printf("# %s: status %d, %llu KiB in, %llu KiB out, largest block %llu KiB, "
		       "memory %llu KiB, %llu calls of the neighbor\n",
			name, o.status, (unsigned long long)o.in >> 10,
			(unsigned long long)o.out >> 10, (unsigned long long)o.block >> 10,
			(unsigned long long)o.memory >> 10, (unsigned long long)calls);
	report_release(&report);
	clean();
	return good;
}

/* ---- what a spool may contain ---- */

static void put(uint32_t kind, uint64_t a, uint64_t b, const void *payload, uint64_t bytes)
{
	fake_put_long(&run.spool, run.lane, now += 10, kind, a, b, payload, bytes);
}

static struct callchain_node *nodes_make(uint32_t number)
{
	uint64_t offset = fake_take(&run.spool, CHUNK_BYTES);
	run.spool.header->callchain_chunk[number] = offset;
	return (void *)(run.spool.map + offset);
}

#define LAST_NODE (CALLCHAIN_CHUNKS_MAX * CALLCHAIN_CHUNK_NODES - 1)

/* Record chains through nodes that are never stored, with the greatest ids. */
static void chains_through_holes(void)
{
	struct callchain_node *nodes = nodes_make(CALLCHAIN_CHUNKS_MAX - 1);
	nodes[CALLCHAIN_CHUNK_NODES - 1] = (struct callchain_node){0x1000, LAST_NODE - 1, 0};
	nodes_make(0);
	for (int i = 0; i < 480; i++)
		put(REC_CALLCHAIN, LAST_NODE, CALLCHAIN_RULES, NULL, 0);
}

/* Refer to one chunk in every entry of the table of node chunks. */
static void chains_of_one_chunk(void)
{
	struct callchain_node *nodes = nodes_make(0);
	for (uint32_t i = 0; i < CALLCHAIN_CHUNK_NODES; i++)
		nodes[i] = (struct callchain_node){random_next(), 0, 0};
	for (uint32_t i = 1; i < CALLCHAIN_CHUNKS_MAX; i++)
		run.spool.header->callchain_chunk[i] = run.spool.header->callchain_chunk[0];
	for (uint32_t i = 0; i < 1000; i++)
		put(REC_CALLCHAIN, LAST_NODE, CALLCHAIN_RULES, NULL, 0);
}

/* Store nodes in turns, so that chunks are created after those with higher ids. */
static void chains_long(void)
{
	for (uint32_t number = 0; number < 40; number++) {
		struct callchain_node *nodes = nodes_make(number);
		for (uint32_t i = 0; i < CALLCHAIN_CHUNK_NODES; i++) {
			uint32_t id = number * CALLCHAIN_CHUNK_NODES + i;
			nodes[i] = (struct callchain_node){random_next(), id ? id - 1 : 0, 0};
		}
	}
	for (uint32_t i = 0; i < 2000; i++)
		put(REC_CALLCHAIN, 40 * CALLCHAIN_CHUNK_NODES - 1 - i, CALLCHAIN_RULES, NULL, 0);
}

/* Put names at every offset of a region, each of the greatest length. Return its first name. */
static uint32_t names_make(uint64_t bytes)
{
	uint64_t offset = fake_take(&run.spool, bytes);
	for (uint64_t at = 0; at < bytes; at += 8) {
		const uint32_t numbers[] = {
			60000 + (uint32_t)(random_next() % 5000), (uint32_t)random_next()};
		memcpy(run.spool.map + offset + at, numbers, sizeof(numbers));
	}
	return (uint32_t)(offset / NVTX_NAME_UNIT);
}

static void names_that_overlap(void)
{
	uint32_t first = names_make(256 << 10);
	for (uint32_t i = 0; i < 6000; i++)
		put(REC_NVTX_MARK, (uint64_t)(first + 2 * i) << 32 | (first + 2 * i + 1), 0, NULL,
			0);
}

static void names_in_rows_of_cuda(void)
{
	uint32_t first = names_make(256 << 10), next = 0;
	for (uint32_t i = 0; i < 4000; i++) {
		uint32_t event = NUMBER_CUDA_KERNEL + i % (NUMBER_END - NUMBER_CUDA_KERNEL);
		const struct cuda_column *columns = cuda_columns_of(event);
		uint8_t payload[CUDA_COLUMNS_MAX * VARINT_MAX], *p = payload;
		if (!columns)
			continue; /* the number of another source's event */
		uint32_t from = cuda_columns_first(columns), count = 0;
		for (uint32_t k = from; k <= CUDA_COLUMNS_MAX && columns[k].encoding; k++, count++)
			p = varint_put(p, cuda_column_is_text(&columns[k]) ? first + next++ : 1);
		put(REC_CUDA_ROW, (uint64_t)event << 32 | count, 7, payload,
			(uint64_t)(p - payload));
	}
}

/* Record ranges with such names around calls that launch kernels. */
static void names_of_launches(void)
{
	static const struct {
		uint32_t bytes, is_cut;
		char text[8];
	} launch = {6, 0, "Launch"};
	uint32_t first = names_make(256 << 10);
	uint64_t offset = fake_take(&run.spool, 4096), begin = now;
	memcpy(run.spool.map + offset, &launch, sizeof(launch));
	const struct cuda_call call = {.name = (uint32_t)(offset / NVTX_NAME_UNIT), .cbid = 211};
	for (uint32_t i = 0; i < 500; i++)
		put(REC_CUDA_API, (uint64_t)i << 32, 5, &call, sizeof(call));
	for (uint32_t i = 0; i < 6000; i++)
		fake_put_long(&run.spool, run.lane, begin, REC_NVTX_RANGE,
			(uint64_t)(first + 2 * i) << 32 | (first + 2 * i + 1),
			UINT64_C(1000000) << 16 | 1, NULL, 0);
}

/* Record, in turns, vfork children that exec programs that cannot be traced, and threads. */
static void guests(void)
{
	struct thread_start start = {.flags = THREAD_VFORK_CHILD};
	char path[448];
	memset(path, 'x', sizeof(path));
	for (uint32_t i = 0; i < 4000; i++) {
		put(REC_THREAD_START, 100000 + i, 100000 + i, &start, sizeof(start));
		put(REC_EXEC, 0, (uint64_t)CHILD_EXEC << 32 | VERDICT_STATIC, path,
			i % 8 ? 0 : sizeof(path));
	}
	for (uint32_t i = 0; i < 8000; i++)
		put(REC_THREAD_START, i, i, NULL, 0);
}

/* Record more start/end ranges in one lane than a batch has rows. */
static void spans_make(bool alike)
{
	for (uint32_t number = 0; number < NVTX_SPAN_CHUNKS_MAX; number++) {
		uint64_t offset = number && alike ? run.spool.header->nvtx_span_chunk[0]
						  : fake_take(&run.spool, CHUNK_BYTES);
		struct nvtx_span *spans = (void *)(run.spool.map + offset);
		for (uint32_t i = 0; i < NVTX_SPANS_PER_CHUNK; i++) {
			spans[i] = (struct nvtx_span){.id = number * 64 + i + 1,
				.tick = now + i,
				.tid = HOSTILE_PID,
				.attributes = {1, number, 1, 0, i},
				.text_bytes = NVTX_TEXT_BYTES};
			for (uint32_t k = 0; k < NVTX_TEXT_BYTES; k += 8) {
				uint64_t random = random_next();
				memcpy(spans[i].text + k, &random, 8);
			}
		}
		run.spool.header->nvtx_span_chunk[number] = offset;
	}
}

static void spans_of_one_chunk(void)
{
	spans_make(true);
}

static void spans_many(void)
{
	spans_make(false);
}

/* Overlap lanes that share their open ranges, with sums of all functions. */
static void lanes_that_overlap(void)
{
	uint64_t frames = fake_take(&run.spool, CHUNK_BYTES), first;
	for (uint32_t at = 0; at < NVTX_RANGES_BYTES; at += sizeof(struct nvtx_frame)) {
		struct nvtx_frame *f = (void *)(run.spool.map + frames + at);
		*f = (struct nvtx_frame){.tick = now + random_next() % 100000,
			.flags = FRAME_ATTRIBUTES,
			.attributes = {(uint32_t)random_next(), (uint32_t)random_next(), 1, 0,
				random_next()}};
	}
	first = fake_take(&run.spool, (SPOOL_LANES_MAX + 4) * UINT64_C(4096));
	for (uint32_t i = 1; i < SPOOL_LANES_MAX; i++) {
		struct lane *lane = (void *)(run.spool.map + first + i * UINT64_C(4096));
		for (uint32_t k = 0; k < 4096; k += 8) {
			uint64_t random = random_next() >> 8;
			memcpy((uint8_t *)lane + k, &random, 8);
		}
		lane->head = lane->tail = 0;
		lane->state = LANE_LEASED;
		lane->open = (struct open_call){0};
		lane->open_depth = lane->nested_count = lane->nested_moved = lane->gap_count = 0;
		lane->cuda_open.tick = 0;
		lane->ranges = frames;
		lane->ranges_top = NVTX_RANGES_BYTES;
		run.spool.header->lane_offset[i] = first + i * UINT64_C(4096);
	}
	run.spool.header->lane_count = SPOOL_LANES_MAX;
}

/* Create a sparse file: each lane claims to be full, and all have the same chunk. */
static void lanes_of_one_chunk(void)
{
	uint64_t chunk = fake_take(&run.spool, CHUNK_BYTES);
	struct record *r = (void *)(run.spool.map + chunk);
	for (uint32_t i = 0; i < CHUNK_BYTES / RECORD_BYTES; i++)
		r[i] = (struct record){now + i, UINT64_C(5) << RECORD_LENGTH_SHIFT | (1 + i % 100),
			random_next(), random_next()};
	for (uint32_t i = 1; i < 300; i++) {
		struct lane *lane = fake_lane(&run.spool);
		for (uint32_t k = 0; k < LANE_CHUNKS_MAX; k++)
			lane->chunk[k] = lane_chunk_entry(k, chunk, 1);
		lane->head = (uint64_t)LANE_CHUNKS_MAX * CHUNK_BYTES;
	}
	run.spool.header->size_bytes = 0;
	if (truncate(run.spool.path, (off_t)16 << 30))
		perror("truncate");
}

/* Store modules of code whose symbols all have the same name. */
static void cubins_of_one_name(void)
{
	enum { SYMBOLS = 900, NAME = 4090, SECTIONS = 3 };
	static struct {
		Elf64_Ehdr elf;
		Elf64_Shdr section[SECTIONS];
		Elf64_Sym symbol[SYMBOLS];
		char text[NAME + 2];
	} code;
	code.elf = (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
		.e_machine = 190,
		.e_shoff = sizeof(code.elf),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS};
	code.section[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
		.sh_offset = (uint64_t)((char *)code.symbol - (char *)&code),
		.sh_size = sizeof(code.symbol),
		.sh_link = 2};
	code.section[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
		.sh_offset = (uint64_t)(code.text - (char *)&code),
		.sh_size = NAME + 2};
	for (uint32_t i = 0; i < SYMBOLS; i++)
		code.symbol[i] = (Elf64_Sym){.st_name = 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = 1};
	memset(code.text + 1, 'f', NAME);
	for (uint64_t hash = 0x100; hash < 0x4000; hash += 0x100)
		for (uint64_t at = 0; at < sizeof(code); at += 4096) {
			struct {
				struct cuda_cubin head;
				uint8_t bytes[4096];
			} piece = {.head = {sizeof(code), at}};
			uint64_t bytes = sizeof(code) - at < 4096 ? sizeof(code) - at : 4096;
			memcpy(piece.bytes, (const uint8_t *)&code + at, bytes);
			put(REC_CUDA_CUBIN, hash, 0, &piece, sizeof(piece.head) + bytes);
		}
}

/* Record LAUNCHES launches, each with a chain of `frames` frames in a file with a long name. */
static void launches_put(uint32_t frames, uint32_t path_bytes)
{
	static const struct {
		uint32_t bytes, is_cut;
		char text[8];
	} launch = {6, 0, "Launch"};
	uint64_t offset = fake_take(&run.spool, 4096);
	struct callchain_node *nodes = nodes_make(0);
	struct {
		struct module_load load;
		char path[4000];
	} module = {.load = {.bias = 0}};
	memcpy(run.spool.map + offset, &launch, sizeof(launch));
	memset(module.path, 'p', sizeof(module.path));
	put(REC_MODULE_LOAD, 0x1000, 0x100000, &module, sizeof(module.load) + path_bytes);
	for (uint32_t i = 1; i <= frames; i++)
		nodes[i] = (struct callchain_node){0x2000 + i, i - 1, 0};
	const struct cuda_call call = {.name = (uint32_t)(offset / NVTX_NAME_UNIT), .cbid = 211};
	const struct cuda_column *columns = cuda_columns_of(NUMBER_CUDA_KERNEL);
	for (uint32_t i = 1; i <= LAUNCHES; i++) {
		uint8_t payload[CUDA_COLUMNS_MAX * VARINT_MAX], *p = payload;
		uint32_t from = cuda_columns_first(columns), count = 0;
		put(REC_CALLCHAIN, frames, CALLCHAIN_RULES, NULL, 0);
		put(REC_CUDA_API, (uint64_t)i << 32, 5, &call, sizeof(call));
		for (uint32_t k = from; k <= CUDA_COLUMNS_MAX && columns[k].encoding; k++, count++)
			p = varint_put(p, k == COLUMN_CUDA_KERNEL_CORRELATION_ID ? i : 0);
		put(REC_CUDA_ROW, (uint64_t)NUMBER_CUDA_KERNEL << 32 | count, 7, payload,
			(uint64_t)(p - payload));
	}
}

static void launches_in_long_paths(void)
{
	launches_put(510, 4000);
}

static const struct {
	const char *name;
	void (*make)(void);
} shapes[] = {{"chains through holes", chains_through_holes},
	{"chains of one chunk", chains_of_one_chunk}, {"long chains", chains_long},
	{"names that overlap", names_that_overlap},
	{"names in rows of CUDA", names_in_rows_of_cuda},
	{"names of ranges around launches", names_of_launches}, {"guests", guests},
	{"ranges of one chunk", spans_of_one_chunk}, {"many ranges", spans_many},
	{"lanes that overlap", lanes_that_overlap}, {"lanes of one chunk", lanes_of_one_chunk},
	{"code with one name", cubins_of_one_name},
	{"launches in long paths", launches_in_long_paths}};

/* ---- parts of the words of a call ---- */

/* Record a call of a library's function, whose words have a part of this kind. Return the number of
 * such calls in the report. */
static uint64_t calls_with_part(uint32_t kind)
{
	struct outcome o = {0};
	struct mpi_call part = {0};
	begin();
	put(REC_FUNCTION_WORDS, 0, (uint64_t)kind << 16 | (uint64_t)MPI_P2P << 32, &part,
		sizeof(part));
	put(REC_FUNCTION, 0, 0, NULL, 0);
	recover_measured(&o);
	bool opens = report_read(&report, run.tree.report) && o.status == 0;
	uint64_t rows = opens ? rows_of(HOSTILE_PID, EVENT_FUNCTION_CALL) : UINT64_MAX;
	report_release(&report);
	clean();
	return rows;
}

static void parts_of_other_kinds(void)
{
	tap_equal((int64_t)calls_with_part(REC_MPI_CALL), 1, "a call may have an MPI call as part");
	tap_equal((int64_t)calls_with_part(REC_FUNCTION), 0, "and no further call");
	tap_equal((int64_t)calls_with_part(REC_FUNCTION_WORDS), 0, "and no further words");
}

/* ---- random spools ---- */

static uint64_t random_word(uint64_t limit)
{
	switch (random_next() % 6) {
	case 0:
		return random_next();
	case 1:
		return random_next() % 4096;
	case 2:
		return random_next() % limit / 8;
	case 3:
		return random_next() % (limit / 4096) * 4096;
	case 4:
		return random_next() % LAST_NODE;
	default:
		return random_next() % 16;
	}
}

static void random_record(uint64_t limit)
{
	static uint64_t payload[1024];
	static const uint32_t kinds[] = {REC_THREAD_START, REC_THREAD_END, REC_THREAD_NAME,
		REC_SUMMARY, REC_GAP, REC_CHILD, REC_EXEC, REC_WAITED, REC_PATH, REC_CALLCHAIN,
		REC_MODULE_LOAD, REC_MODULE_UNLOAD, REC_NVTX_MARK, REC_NVTX_RANGE,
		REC_NVTX_START_END, REC_NVTX_NAME, REC_NVTX_EXT, REC_OPENMP, REC_CUDA_API,
		REC_CUDA_ROW, REC_CUDA_CUBIN, REC_MPI_CALL, REC_MPI_COMMUNICATOR, REC_MPI_RANK, 1,
		20, 100};
	uint64_t words = random_next() % 8 ? random_next() % 8 : random_next() % 1024;
	uint64_t a = random_word(limit), b = random_word(limit);
	uint32_t kind = kinds[random_next() % (sizeof(kinds) / sizeof(kinds[0]))];
	for (uint64_t i = 0; i < words; i++)
		payload[i] = random_word(limit);
	if (kind == REC_CUDA_ROW)
		a = (uint64_t)(NUMBER_CUDA_KERNEL + random_next() % 20) << 32 | random_next() % 9;
	if (kind == REC_MPI_CALL) {
		a = random_next() % 6;
		words = random_next() % 8 ? sizeof(struct mpi_call) / 8 : words;
	}
	if (kind == REC_MPI_COMMUNICATOR && random_next() % 8)
		words = sizeof(struct mpi_communicator) / 8;
	if (kind == REC_NVTX_EXT)
		b = NVTX_EXT_WORD(
			random_next() % EVENT_KINDS, random_next() % 8, random_next() % 3);
	if (kind >> 8 == 0xf)
		put(kind, random_next() % 2 ? a << 32 | b % limit / 8 : a, b, payload, words * 8);
	else
		fake_call(&run.spool, run.lane, now += 10, random_next() % 100, kind);
}

static void random_spool(void)
{
	uint64_t shape = random_next() % (sizeof(shapes) / sizeof(shapes[0]));
	if (random_next() % 2 && shapes[shape].make != lanes_of_one_chunk)
		shapes[shape].make();
	struct spool_header *h = run.spool.header;
	uint64_t limit = h->next_offset;
	for (uint64_t n = random_next() % 3000; n-- && run.lane->head < LANE_ROOM;)
		random_record(limit);
	limit = h->next_offset;
	if (random_next() % 4 == 0)
		run.lane->openmp = random_word(limit);
	for (uint64_t n = random_next() % 60; n--;) {
		uint64_t at = random_next() % (random_next() % 2 ? SPOOL_HEADER_BYTES : limit);
		uint64_t word = random_word(limit);
		memcpy(run.spool.map + at / 8 * 8, &word, 8);
	}
	h->magic = SPOOL_MAGIC;
	h->version = SPOOL_VERSION;
	h->fn_count = fn_count();
	h->fn_hash = fn_hash();
	h->pid = HOSTILE_PID;
	h->pid_namespace = run.neighbor.header->pid_namespace;
	h->clock_kind = CLOCK_KIND_MONOTONIC;
}

/* ---- a full disk ---- */

static uint64_t results_of_report(void)
{
	uint64_t results = 0;
	for (size_t at = 10; at + 4 < report.bytes;) {
		uint32_t size;
		memcpy(&size, report.data + at, 4);
		Libtrace__BlockHeader *h =
			libtrace__block_header__unpack(NULL, size, report.data + at + 4);
		if (!h)
			break;
		results += h->num_results;
		at += 4 + size + h->payload_size;
		libtrace__block_header__free_unpacked(h, NULL);
	}
	return results;
}

/* Fill the disk while launches are listed, and free it later. */
static void launches_outlast_a_full_disk(void)
{
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY},
			    small = {2u << 20, RLIM_INFINITY};
	begin();
	launches_put(100, 40);
	fflush(stdout);
	pid_t writer = fork();
	if (!writer) {
		freopen("/dev/null", "w", stderr);
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &small);
		alarm(300);
		_exit(follow_tree(run.tree.dir, -1));
	}
	for (int i = 0; i < 60000 && run.tree.control->sink_state != SINK_STALLED; i++)
		usleep(1000);
	tap_equal(run.tree.control->sink_state, SINK_STALLED, "a full disk stops the report");
	prlimit(writer, RLIMIT_FSIZE, &none, NULL);
	waitpid(writer, NULL, 0);
	tap(report_read(&report, run.tree.report) && !report.bad_blocks, "the report opens");
	tap_equal((int64_t)results_of_report(), LAUNCHES,
		"a report that was continued after a full disk lists each launch once");
	report_release(&report);
	clean();
}

int main(void)
{
	launches_outlast_a_full_disk();
	parts_of_other_kinds();
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		begin();
		shapes[i].make();
		tap(bounds_kept(shapes[i].name), shapes[i].name);
	}
	uint32_t bad = 0, spools = getenv("TORTURE") ? 20 * RANDOM_SPOOLS : RANDOM_SPOOLS;
	for (uint32_t i = 0; i < spools; i++) {
		char name[32];
		snprintf(name, sizeof(name), "random spool %u", i);
		begin();
		random_spool();
		bad += !bounds_kept(name);
	}
	tap_equal(bad, 0,
		"with random spools all bounds are kept, and no other process loses anything");
	return tap_end();
}
