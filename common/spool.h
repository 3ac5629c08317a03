/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - the shared memory between a traced process and the writer.
 *
 * A spool is one MAP_SHARED file per process. It holds the process's identity, clock points and one
 * lane per live thread; a lane is a single-producer single-consumer queue of fixed 32-byte records.
 * Records that a process stored before it was killed stay in the file, where the writer or `trace
 * recover` finds them.
 *
 * Layout of the file (all offsets are multiples of 4096, all numbers in the machine's byte order):
 *
 *   0                        struct spool_header, SPOOL_HEADER_BYTES
 *   SPOOL_HEADER_BYTES ...   lanes (LANE_BYTES) and chunks (CHUNK_BYTES), allocated from
 *                            spool_header.next_offset
 *
 * The file grows in segments (the first one at least SPOOL_FIRST_BYTES, then SPOOL_SEGMENT_BYTES
 * each), and space is reserved before it is used, so that a full tmpfs is an error and never a
 * SIGBUS. A lane or chunk never crosses a segment boundary. The consumer maps the whole file up to
 * its size and maps again when next_offset passes what it has mapped.
 *
 * Life of a lane: LANE_FREE -> LANE_LEASED (a thread attaches; record REC_THREAD_START) ->
 * LANE_FREE (the thread ends; record REC_THREAD_END), and again with the next thread. Records stay
 * in order across leases; REC_THREAD_START says whose records follow. Signal handlers may still run
 * in a thread after its REC_THREAD_END: its lane stays LANE_PARTING until another thread finds that
 * the thread is dead.
 *
 * Positions count the bytes of records since the lane was created. Chunk number n of a lane (n =
 * position / CHUNK_BYTES) is at the offset in lane.chunk[n % LANE_CHUNKS_MAX]. The producer writes
 * records, then stores `head` (release); the consumer reads up to `head` (acquire), writes the data
 * to the report, then stores `tail` (release). A chunk may be used again once tail has passed its
 * end. A record of several slots never crosses a chunk end: the rest of the chunk is filled with
 * one REC_PAD.
 */
#ifndef COMMON_SPOOL_H
#define COMMON_SPOOL_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/frame_address.h"
#include "machine/machine.h"

#define SPOOL_MAGIC 0x316c6f6f70536c54ull /* "TlSpool1" */
#ifndef SPOOL_VERSION                     /* tests build a writer of another version */
#define SPOOL_VERSION 20u
#endif
#define RECORD_BYTES 32u
#define CHUNK_BYTES 65536u /* 2048 records, which share the 40 ns or so of a chunk switch */
/* Bytes of the first chunk that are reserved when the lane is created: enough for most threads. */
#define CHUNK_FIRST_BYTES 16384u
#define SPOOL_HEADER_BYTES 20480u
/* Size of the first segment on kernels that can only reserve a segment as a whole, at about 0.9 us
 * a page: as small as possible. */
/* Whole pages, since the second segment is mapped from its end. */
#define SPOOL_FIRST_BYTES                                                         \
	((SPOOL_HEADER_BYTES + LANE_BYTES + CHUNK_BYTES + MACHINE_PAGE_MAX - 1) / \
		MACHINE_PAGE_MAX * MACHINE_PAGE_MAX)
#define SPOOL_SEGMENT_BYTES (1u << 20)
#define SPOOL_LANES_MAX 1024u
#define LANE_CHUNKS_MAX 256u /* 16 MiB in flight for one thread */
#define LANE_BYTES 16384u
#define FN_MAX                                                                                     \
	640u /* room for the rows of schema/libc.def; checked at compile time where it is expanded \
	      */
#define NESTED_RECORDS 96u

/* Process state, written by the process, read by the writer. */
enum spool_state {
	SPOOL_RUNNING = 1, /* a process that died in this state was killed or crashed */
	SPOOL_EXEC = 2,    /* about to call execve; returns to RUNNING if that fails */
	SPOOL_EXITED = 3,  /* exit or _exit was called; exit_status holds its argument */
	SPOOL_OFF = 4 /* the library switched itself off in this process; off_reason says why */
};

enum clock_kind {
	CLOCK_KIND_TSC = 1,
	CLOCK_KIND_MONOTONIC = 2 /* ticks are nanoseconds of CLOCK_MONOTONIC */
};

/* LANE_PARTING: the thread has recorded its end, but its signal handlers may still make calls.
 * LANE_DEVICE: belongs to no thread; for activity of the CUDA devices (tid 0). */
enum lane_state { LANE_FREE = 0, LANE_LEASED = 1, LANE_DEVICE = 2, LANE_PARTING = 3 };

/* Why events are missing. Names of the reasons are in schema/events.def (DROP rows). */
enum drop_reason {
	DROP_RING_FULL = 0, /* the writer did not keep up within the bounded wait, or the memory
			       limit was reached */
	DROP_SINK_STALLED,  /* the report's disk was full or failing: no wait at all */
	DROP_NO_LANE,       /* no memory for the thread's lane, or all lanes taken */
	DROP_NESTED, /* signal handlers interrupted the tracer more often than NESTED_RECORDS allows
		      */
	DROP_LATE,   /* calls before the library was ready */
	DROP_CUPTI,  /* activity records that CUPTI says it dropped */
	DROP_SHARED, /* calls of a second task on a thread's memory */
	DROP_KERNEL, /* context switches that the kernel could not store; counted by the writer */
	DROP_REASONS
};

/* One pair of readings of the tick counter and CLOCK_MONOTONIC; error_ns is half the width of the
 * bracket it was read in. */
struct clock_point {
	uint64_t tick;
	uint64_t mono_ns;
	uint64_t error_ns;
};

/*
 * Word 1 of every record: duration_ticks << 16 | flags << 12 | kind. Kinds from 1 to FN_MAX - 1 are
 * row numbers of schema/libc.def, counted from 1 (an OS runtime call; 0 is not a function); all
 * other kinds are enum record_kind, and there the upper 48 bits are the length in bytes of a
 * payload that follows in as many further slots as it needs; but a REC_FUNCTION has a duration
 * there, and no payload.
 */
#define RECORD_KIND_MASK 0xfffu
#define RECORD_FLAGS_SHIFT 12
#define RECORD_LENGTH_SHIFT 16

enum record_flag {
	RECORD_ABANDONED = 1,   /* left by longjmp, an exception or cancellation: the duration runs
				   until the next call of the thread */
	RECORD_NESTED = 2,      /* the call of a signal handler that interrupted the tracer */
	RECORD_UNFINISHED = 4,  /* written by the writer from lane.open: still running at the end of
				   the process */
	RECORD_TEXT_CUT = 8,    /* NVTX: the text was longer and was cut */
	RECORD_TEXT_NAMED = 16, /* NVTX, in reports only: the text is a registered string */
	RECORD_PAYLOAD_CUT =
		32, /* NVTX, in reports only: the payload was longer, or could not be read */
	RECORD_IMPORTED = 64,  /* in reports only: imported from a text file by `trace import` */
	RECORD_DEFERRED = 128, /* set by readers only: the event of an NVTX_DEFERRED row */
	RECORD_IN_STEP = 256   /* CPU samples, in reports only: taken at the end of a call */
};

enum record_kind {
	REC_FUNCTION = 0x800,     /* call of a library's function: the kind is REC_FUNCTION plus
				     the level, at most FUNCTION_LEVEL_MAX; a = return word, b =
				     name of the library << 32 | name of the function */
	REC_PAD = 0xf00,          /* skip to the end of the chunk */
	REC_THREAD_START = 0xf01, /* a = tid, b = pid; payload struct thread_start: the records that
				     follow are this thread's */
	REC_THREAD_END = 0xf02,   /* a = tid, b = pid */
	REC_THREAD_NAME = 0xf03,  /* a, b = char name[16]: the thread's new name */
	REC_SUMMARY = 0xf04, /* calls of one function below the threshold: a = fn << 48 | count, b =
				sum of ticks */
	REC_GAP = 0xf05,     /* a = reason << 48 | events dropped, b = tick of the first one, tick =
				tick of the last one */
	REC_CHILD = 0xf06,   /* a = child's pid (0 = not known), b = enum child_how << 32 | enum
				child_verdict; payload path or empty */
	REC_EXEC = 0xf07,    /* b and payload as REC_CHILD: this process is about to be replaced (if
				state stays SPOOL_EXEC); a vfork child has no state of its own: a
				second REC_EXEC, with CHILD_EXEC_FAILED, says that its exec
				failed */
	REC_WAITED = 0xf11,  /* this process has waited for a child that has ended: a = its pid, b =
				its wait status; tick = when the call returned */
	REC_PATH = 0xf08, /* after a call that opened a file, with the file access option after any
			     call with a path: a = descriptor or -1, b = flags << 32 | mode;
			     payload path */
	REC_CALLCHAIN = 0xf09,     /* published together with the event after it: a = node, b = enum
				      callchain_method, plus CALLCHAIN_IS_CUT or _LOST */
	REC_MODULE_LOAD = 0xf0a,   /* a = begin, b = end; payload struct module_load and path */
	REC_MODULE_UNLOAD = 0xf0b, /* a = begin */
	REC_PYTHON_CODE = 0xf18,   /* a = id << 32 | first line, b = name of the file << 32 |
				      name of the function; payload struct python_definition */
	/* NVTX: `a` holds two names, domain << 32 | text, 0 = none. The part of a text that its
	 * name does not hold is at the end of the payload. */
	REC_NVTX_MARK = 0xf0c,      /* b = 0 or NVTX_HAS_ATTRIBUTES: then struct nvtx_attributes */
	REC_NVTX_RANGE = 0xf0d,     /* a range of push and pop: b = duration << 16 | level, with
				       NVTX_HAS_ATTRIBUTES as above */
	REC_NVTX_START_END = 0xf0e, /* b = duration << 16; payload struct nvtx_attributes, struct
				       nvtx_start */
	REC_NVTX_NAME = 0xf0f,      /* b = what is named; payload struct nvtx_named */
	REC_NVTX_EXT = 0xf10,       /* a row of an extension: b = NVTX_EXT_WORD(), `a` without a
				       text; payload uint64_t numbers[], then texts, each a struct
				       nvtx_ext_text at a multiple of 8 */
	/* CUDA: see cuda_spool.h */
	REC_CUDA_API = 0xf20, /* a = correlation id << 32 | result, b = duration; payload struct
				 cuda_call */
	REC_CUDA_ROW = 0xf21, /* tick is ns, a = number of the event << 32 | number of columns that
				 follow, b = duration in ns; payload these columns as varints */
	REC_CUDA_CUBIN = 0xf22, /* a piece of a module's code, not an event: a = hash; payload
				   struct cuda_cubin, bytes */
	/* OpenCL: see opencl_spool.h */
	REC_OPENCL_COMMAND = 0xf24, /* tick of the call; payload struct opencl_command */
	/* A row as it is (lane/plain_rows.c): a = number of the event << 32 | columns that are
	 * names: bit i = the i-th word of the payload; b = ticks; payload uint64_t columns[] */
	REC_ROW = 0xf25,
	/* The same, of a row that began earlier: payload[0] = ns from its begin to the tick, and b
	 * = its duration in ns; the columns follow */
	REC_PAST_ROW = 0xf2a,
	/* MPI: see schema/mpi_spool.h */
	REC_MPI_CALL = 0xf26,         /* a = enum mpi_class, b = ticks; payload struct mpi_call */
	REC_MPI_COMMUNICATOR = 0xf27, /* payload struct mpi_communicator */
	REC_MPI_RANK = 0xf29,   /* a = rank << 32 | number of ranks, b = MPI_RANK.implementation */
	REC_GIL_WAIT = 0xf28,   /* a wait for Python's GIL, after its last call: a = ticks | enum
				   callchain_method << 48 | interpreter << 56, b = tid of the holder
				   << 32 | node */
	REC_CPU_SAMPLE = 0xf30, /* a = SAMPLE_IN_STEP | CPU << 48 | function << 32 | periods that it
				   stands for, b = ns of processor time since the thread's last
				   sample; function: 0 or that of the call that was open;
				   RECORD_NESTED: it interrupted the tracer, and has no callchain */
	REC_THREAD_TIME = 0xf31,   /* a = enum thread_time_flag, b = ns of processor time of the
				     thread; payload struct thread_time */
	REC_STREAM = 0xf41,        /* bytes written to standard output or error: a = position in
				      the stream, b = enum stream_bits; payload the bytes, at most
				      STREAM_PIECE_BYTES */
	REC_OPENMP = 0xf50,        /* a region of OpenMP, at its end, or an event: a = number of the
				      parallel region, b = duration << 16 | kind << 8 |
				      OPENMP_REGION row; payload struct openmp_event */
	REC_FUNCTION_WORDS = 0xf40 /* published together with the REC_FUNCTION after it: a = name of
				      the prototype, b = number of words; payload the words. If a
				      source adds a record of its own, it is part of this one: b =
				      its a << 32 | its kind << 16 | number of words; its payload
				      after the words; its tick that of the call, its b the duration
				      */
};

#define FUNCTION_LEVEL_MAX 255u

enum stream_bits { STREAM_NUMBER = 3 /* 1 or 2, the descriptor */, STREAM_REDIRECTED = 4 };
#define STREAM_PIECE_BYTES 4096u

/* Return the kind of a record without the level of a function's call. */
static inline uint32_t record_kind_of(uint64_t word)
{
	uint32_t kind = (uint32_t)(word & RECORD_KIND_MASK);
	return kind - REC_FUNCTION <= FUNCTION_LEVEL_MAX ? REC_FUNCTION : kind;
}

/* The sample was taken at the end of a call, because the timer was overdue: the thread never ran at
 * the kernel's tick. It is not known what ran; only that it was the call's caller, its callers, or
 * what they called. */
#define SAMPLE_IN_STEP (UINT64_C(1) << 63)

/* Where a sample found the thread; stored above the periods, which need no more bits. Names in
 * FORMAT.md. */
enum sample_mode { SAMPLE_MODE_UNKNOWN, SAMPLE_MODE_USER, SAMPLE_MODE_SYSTEM };
#define SAMPLE_MODE_SHIFT 30
#define SAMPLE_PERIODS_MASK ((UINT32_C(1) << SAMPLE_MODE_SHIFT) - 1)

/* Which counters of a thread's reading are known, and when it was taken. Names in FORMAT.md. */
enum thread_time_flag {
	TIME_FIRST = 1,    /* at the start of the thread, or of the program */
	TIME_LAST = 2,     /* at its end */
	TIME_DELAY = 4,    /* run_delay_ns is known */
	TIME_COUNTS = 8,   /* switches and faults are known */
	TIME_STOPPED = 16, /* set by the writer: the process was stopped by a signal */
	TIME_SYSTEM = 32,  /* system_ns is known */
	TIME_COUNTERS = 64 /* instructions and cycles are known */
};

/* What is known about a context switch. Names in FORMAT.md. */
enum switch_how { SWITCH_PREEMPTED = 1, SWITCH_ASSUMED = 2 };
#define SWITCH_STATE_ENDED 5u /* nsys's number of a thread that has ended */

/* The kernel's counters of a thread, since the kernel's start of that thread. */
struct thread_time {
	uint64_t run_delay_ns; /* time that it was runnable without a CPU */
	uint64_t created;      /* TIME_FIRST without TIME_DELAY: tick at which its creation began; 0
				  = not known */
	uint64_t voluntary, involuntary; /* context switches */
	uint64_t minor_faults, major_faults;
	uint64_t system_ns;            /* processor time in the kernel, as far as its ticks show */
	uint64_t instructions, cycles; /* in user mode, since they are counted */
};

#define NVTX_HAS_ATTRIBUTES 0x8000u
#define NVTX_LEVEL_MASK 0x7fffu
/* Bytes of a text in a record or range. A longer text is marked RECORD_TEXT_CUT there, and has a
 * struct nvtx_long after NVTX_TEXT_BYTES. */
#define NVTX_TEXT_BYTES 928u
#define NVTX_NAME_UNIT 8u     /* names are file offsets in this unit */
#define NAME_BYTES_MAX 65000u /* maximum length of a named text */

struct nvtx_attributes {
	uint32_t category;
	uint32_t color;        /* ARGB; 0 = none */
	uint32_t payload_type; /* PAYLOAD row of schema/events.def; 0 = none */
	uint32_t pad;
	uint64_t payload; /* bits of the value; 32-bit types use the lower half */
};

struct nvtx_start {
	uint64_t id;  /* the id that the program uses */
	uint32_t tid; /* thread that started it */
	uint32_t pad;
};

struct nvtx_named {
	uint32_t what; /* NAMED row of schema/events.def */
	uint32_t type; /* type of a resource, in NVTX's numbering */
};

/* `b` of a REC_NVTX_EXT: event number in schema/events.def, count of numbers, count of texts. */
#define NVTX_EXT_WORD(event, numbers, texts) \
	((uint64_t)(event) | (uint64_t)(numbers) << 16 | (uint64_t)(texts) << 24)
#define NVTX_EXT_TEXTS_MAX 2u

struct nvtx_ext_text {
	uint32_t bytes;
	uint32_t ref; /* 0, or a name of the spool in place of the bytes */
	char text[];
};

/* Extended payloads: bytes in one record, and of one payload. A longer payload is cut. */
#define NVTX_PIECE_BYTES 4096u
#define NVTX_PAYLOAD_BYTES_MAX (1u << 20)
#define NVTX_PAYLOADS_MAX 64u /* payloads of one event */

/* A domain or registered string; never changed once it is named by a record. */
struct nvtx_text {
	uint32_t bytes;
	uint32_t is_cut;
	char text[];
};

/* The rest of a text of which a record has only the first `bytes`. */
struct nvtx_long {
	uint32_t ref; /* name with more of the text; 0 = none */
	uint16_t bytes;
	uint16_t is_cut; /* the name does not hold the whole text either */
};
#define NVTX_TEXT_ROOM_BYTES (NVTX_TEXT_BYTES + (uint32_t)sizeof(struct nvtx_long))

/* A range between push and pop, in the memory at lane.ranges. The next one follows its text, at a
 * multiple of 8. */
struct nvtx_frame {
	uint64_t tick;
	uint64_t names;       /* names as in records */
	uint64_t recorded_at; /* not 0: position where its record ends; the record counts once head
				 has reached it */
	uint32_t text_bytes;
	uint32_t previous; /* offset of the frame below, NVTX_NO_FRAME = none */
	uint16_t level;
	uint16_t flags; /* enum nvtx_frame_flag */
	uint32_t pad;
	struct nvtx_attributes attributes;
	char text[];
};
#define NVTX_NO_FRAME UINT32_MAX
#define NVTX_RANGES_BYTES CHUNK_BYTES
#define NVTX_RANGES_FIRST_BYTES CHUNK_FIRST_BYTES

enum nvtx_frame_flag {
	FRAME_CLOSED = 1,     /* popped while a range of another domain is above it */
	FRAME_SILENT = 2,     /* begun while nothing was recorded */
	FRAME_ATTRIBUTES = 4, /* the frame has attributes */
	FRAME_CUT = 8,
	FRAME_NAMED = 16,   /* the text was stored as a name; text[] is unused */
	FRAME_CAPTURE = 32, /* a capture range */
	FRAME_HOOKED = 64   /* another source is to know of its end (tracer/core/range_hooks.h) */
};

/* A range between start and end: any thread may end it. */
struct nvtx_span {
	uint64_t id; /* 0 = free; stored last */
	uint64_t tick;
	uint64_t names;
	uint64_t recorded_at; /* as in struct nvtx_frame, in the lane `end_lane` */
	uint32_t tid, lane;   /* tid and lane of the thread that started it */
	uint32_t end_lane;
	uint32_t flags; /* enum nvtx_frame_flag */
	uint32_t text_bytes;
	uint32_t pad;
	struct nvtx_attributes attributes;
	char text[NVTX_TEXT_BYTES + 16];
};
_Static_assert(sizeof(struct nvtx_span) == 1024, "a chunk must hold whole spans");
#define NVTX_SPANS_PER_CHUNK ((uint32_t)(CHUNK_BYTES / sizeof(struct nvtx_span)))
#define NVTX_SPAN_CHUNKS_MAX 64u
#define NVTX_SPANS_MAX (NVTX_SPANS_PER_CHUNK * NVTX_SPAN_CHUNKS_MAX)

/* How a callchain was found. Names in schema/events.def (METHOD rows). */
enum callchain_method {
	CALLCHAIN_NONE = 0,
	CALLCHAIN_RULES,        /* found with cached unwind rules */
	CALLCHAIN_LIBUNWIND,    /* found step by step with libunwind, because a frame had no rule */
	CALLCHAIN_FRAME_POINTER /* frame pointers, by option */
};
/* Added to the method. */
#define CALLCHAIN_IS_CUT 16u  /* there are more frames than the depth limit */
#define CALLCHAIN_IS_LOST 32u /* there are more frames, which were not found */

#define BUILD_ID_BYTES 32u /* bytes of a GNU build-id; a longer id is cut */

struct module_load {
	uint64_t bias;
	uint32_t build_id_bytes;
	uint32_t pad;
	uint8_t build_id[BUILD_ID_BYTES];
};

enum thread_flag {
	THREAD_MAIN = 1,
	THREAD_FORKED = 2 /* first thread of a forked child */,
	THREAD_VFORK_CHILD = 4,
	THREAD_RESUMED = 8 /* resumed after its vfork child, or its own end: not a new thread */,
	THREAD_FOUND = 16 /* was running when first seen */
};

struct thread_start {
	char name[16];
	uint32_t parent_tid, parent_pid; /* the thread's creator; 0 = not known */
	uint32_t flags;                  /* enum thread_flag */
	uint32_t priority;               /* 20 plus its nice value; 0 = not known */
};

enum child_how {
	CHILD_FORK = 1,
	CHILD_VFORK,
	CHILD_SPAWN,
	CHILD_EXEC,
	CHILD_SYSTEM,
	CHILD_POPEN,
	CHILD_CLONE,
	CHILD_EXEC_FAILED /* only in REC_EXEC: the previous exec on this lane failed (a = 0), or the
			     shell that was announced last (a = CHILD_SYSTEM or CHILD_POPEN) */
};

/* Whether a program about to be executed can be traced. Names in schema/events.def (VERDICT
 * rows). */
enum child_verdict {
	VERDICT_TRACED = 0,
	VERDICT_STATIC, /* no PT_INTERP: it runs without a loader, which would read LD_PRELOAD */
	VERDICT_MUSL, /* another C library; LD_PRELOAD was taken out of its environment, or it would
			 not start */
	VERDICT_OTHER_ARCH,   /* another ELF class or machine; LD_PRELOAD taken out, or the loader
				 would complain on stderr */
	VERDICT_SETUID,       /* secure execution: the loader ignores the preload */
	VERDICT_PRELOAD_LOST, /* the environment given to exec does not name the library */
	VERDICT_UNREADABLE,   /* the file could not be examined */
	VERDICT_MISSING,      /* no such file: the call fails */
	VERDICT_BY_OPTION,    /* LIBTRACE_FOLLOW=false */
	VERDICT_UNREACHABLE,  /* the library cannot be reached from it (chroot, another directory);
				 taken out */
	VERDICT_ASAN,         /* AddressSanitizer's runtime would refuse to start after us; taken
				 out */
	VERDICT_BAD_POINTER,  /* never recorded: the call fails with EFAULT */
	VERDICT_UNSEEN, /* set by the writer: no spool of a program that should have been traced */
	VERDICT_NO_ENTRY,   /* it cannot open the folder of the tree */
	VERDICT_OTHER_TREE, /* its environment does not lead to this tree */
	VERDICT_OWN_REPORT, /* each process has its own report: not listed as untraced */
	VERDICT_KILLED      /* set by the writer: unseen, and killed soon after its start */
};

/* Return true if a program with that verdict belongs to the report of the tree: either it was
 * traced, or the report must list it as not traced. */
static inline bool verdict_concerns_tree(uint32_t verdict)
{
	return verdict != VERDICT_MISSING && verdict != VERDICT_OWN_REPORT;
}

struct record {
	uint64_t tick; /* start of the call, or time of the event; never 0 in a written record */
	uint64_t word; /* duration, flags, kind */
	uint64_t a;    /* calls: the return value */
	uint64_t b; /* calls: errno << 48 | object (descriptor, address, pid: 48 bits); locks: see
		       below */
};

/* Contended locks keep the holder's tid in the upper half of `a`, above the 32-bit return value. */

struct fn_sum {
	uint64_t count; /* calls below the threshold, or not contended: FN_SUM_CALLS(); in the bits
			   above, how often the sum has become a REC_SUMMARY */
	uint64_t ticks; /* sum of durations; 0 for uncontended locks, which are not timed */
};
#define FN_SUM_ROUND (UINT64_C(1) << 48)
#define FN_SUM_CALLS(count) ((count) & (FN_SUM_ROUND - 1))

struct open_call {     /* a call that has begun and not returned */
	uint64_t kind; /* function and flags; without a function, an entry of lane.open_stack has
			  ended */
	uint64_t sp;   /* stack pointer of the wrapper: a later call from above it proves that this
			  one was abandoned. Of lane.open: stored last, 0 = none is open */
	uint64_t tick;
};
#define OPEN_ENDED (UINT64_C(1) << 32) /* tick and kind are those of a call that has ended */
/* Another stack saved it, or a call that it had interrupted: it may have ended between two
 * instructions of the short path, and is counted as dropped if nothing else closes it. */
#define OPEN_UNSURE (UINT64_C(1) << 33)
#define OPEN_FUNCTION(kind) ((kind)&RECORD_KIND_MASK)
#define OPEN_CALLS 8u

/* Return true if an open call began at the tick in `summed`, the value of lane.summed: it has
 * ended, and a sum contains it. The lower halves of the ticks are compared, without bit 0. The call
 * may also be that of a signal handler which ran while the open call began. */
static inline bool open_call_is_summed(const struct open_call *open, uint32_t summed)
{
	return summed && !(((uint32_t)open->tick ^ summed) & ~1u);
}

struct cuda_open {
	uint64_t tick; /* 0 = none; stored last */
	uint32_t correlation;
	uint32_t name;    /* name of the function, encoded as in records */
	uint32_t context; /* the current context */
	uint16_t cbid;
	uint16_t api; /* API row of schema/cuda.def */
};

/* A call of a library's function that has begun. */
struct function_open {
	uint64_t tick;        /* 0 = none: it has ended; stored last */
	uint64_t sp;          /* where its return address is stored */
	uint64_t names;       /* as in records */
	uint64_t recorded_at; /* not 0: position where its record ends; the record counts once head
				 has reached it */
};

#define FUNCTION_WORDS_MAX 8u /* words that are kept of one call */
#define FUNCTION_ADDED_MAX 8u /* words of the payload of a record that is part of the call's */

/* The words that are kept of a call that has begun. */
struct function_words {
	uint32_t prototype; /* its name; 0 = none is kept */
	uint32_t count;     /* words that were kept: fewer than the prototype has if the rest of the
			       arguments could not be read */
	uint64_t word[FUNCTION_WORDS_MAX];
};

/* The open calls of a lane's thread, at lane.functions. */
struct function_stack {
	uint64_t depth;     /* calls in progress, also those without an entry */
	uint64_t has_words; /* 1 = struct function_words of each entry follow, at
			       FUNCTION_STACK_BYTES */
	uint64_t pad[2];
	struct function_open open[];
};
#define FUNCTION_STACK_BYTES 16384u
#define FUNCTION_STACK_MAX                                                  \
	((FUNCTION_STACK_BYTES - (uint32_t)sizeof(struct function_stack)) / \
		(uint32_t)sizeof(struct function_open))
#define FUNCTION_WORDS_BYTES 40960u
_Static_assert(FUNCTION_STACK_MAX * sizeof(struct function_words) <= FUNCTION_WORDS_BYTES,
	"words of each entry");

/* What a record of OpenMP has in common with a region that is open. */
struct openmp_event {
	uint64_t task;
	uint64_t object; /* column object; of task_create and task_schedule: other_task_id */
	uint64_t code;
	uint32_t thread_number, team_size;
};

/* A region of OpenMP that has begun. */
struct openmp_open {
	uint64_t tick;     /* its begin, or that of its present part; 0 = its task is suspended, or
			      it has ended; stored last */
	uint64_t what;     /* as in `b` of a record, without a duration; 0 = it has ended */
	uint64_t parallel; /* as `a` */
	struct openmp_event event;
	uint64_t recorded_at; /* as in struct function_open */
};

/* The open regions of a lane's thread, at lane.openmp. */
struct openmp_stack {
	uint64_t depth;
	uint64_t pad[7];
	struct openmp_open open[];
};
#define OPENMP_STACK_BYTES 16384u
#define OPENMP_STACK_MAX                                                \
	((OPENMP_STACK_BYTES - (uint32_t)sizeof(struct openmp_stack)) / \
		(uint32_t)sizeof(struct openmp_open))
#define OPENMP_REGION_MASK 0xffu
#define OPENMP_KIND_SHIFT 8
#define OPENMP_DURATION_SHIFT 16

struct lane {
	/* written by the producer */
	uint64_t head;
	uint32_t state; /* enum lane_state */
	uint32_t tid;
	uint32_t pid;
	uint32_t flushing;     /* 1 + fn while its sum is being turned into a REC_SUMMARY: if that
				  record is the last one published, the sum is in it */
	struct open_call open; /* sp 0 = none; its sp and tick are compared as one word */
	uint32_t open_depth;   /* calls interrupted by a handler that calls: saved in open_stack */
	uint32_t nested_moved; /* records of nested[] that have been moved into the lane */
	struct open_call open_stack[OPEN_CALLS];
	uint32_t nested_count; /* records put into nested[] so far: number n is at n %
				  NESTED_RECORDS. Moved into the lane at the next call */
	uint32_t summed;       /* lower half of the start tick of the last call that was added to
				  a sum, without regard to bit 0; 0 = there was none (rarely: a
				  tick whose lower half is 0) */
	uint32_t partial;      /* 1 = only CHUNK_FIRST_BYTES of chunk 0 are reserved */
	uint32_t index;        /* index in spool_header.lane_offset */
	uint64_t dropped[DROP_REASONS]; /* total drops in this lane */
	uint64_t gap_first_tick, gap_last_tick,
		gap_count; /* open gap: becomes a REC_GAP when there is room again */
	uint64_t gap_reason;
	uint64_t thread_tick; /* when the thread's counters were first read; 0 = never */
	uint64_t ranges;      /* file offset of NVTX_RANGES_BYTES for open NVTX ranges; 0 = none */
	uint32_t ranges_top;  /* bytes of `ranges` in use */
	uint32_t ranges_pad;
	struct cuda_open cuda_open; /* the CUDA API call in progress, the outermost if nested */
	uint64_t chunk[LANE_CHUNKS_MAX]; /* see lane_chunk_entry() */
	uint64_t functions;              /* file offset of a struct function_stack; 0 = none */
	uint64_t openmp;                 /* file offset of a struct openmp_stack; 0 = none */
	uint64_t thread_waits;           /* the thread's voluntary switches at thread_tick */
	/* The thread's counters when another thread ended the process: tick (0 = not read, stored
	 * last), ns of processor time, run_delay_ns */
	uint64_t end_tick, end_cpu_ns, end_delay_ns;
	uint64_t end_instructions, end_cycles; /* likewise; 0 = not known */
	struct record nested[NESTED_RECORDS];
	uint32_t nested_whole[NESTED_RECORDS]; /* 1 + number of the record; stored last */
	/* written by the consumer */
	__attribute__((aligned(64))) uint64_t tail;
	/* written by the producer */
	__attribute__((aligned(64))) struct fn_sum sums[FN_MAX];
};
_Static_assert(sizeof(struct lane) <= LANE_BYTES, "a lane must fit LANE_BYTES");
_Static_assert(offsetof(struct lane, open.sp) % 16 == 0 &&
		offsetof(struct lane, open.tick) == offsetof(struct lane, open.sp) + 8,
	"sp and tick of the open call are one aligned word of 16 bytes");

/*
 * Return the entry of lane.chunk for chunk number `n`, one word: n + 1 in the upper half, then the
 * file offset (a multiple of 4096), and `count` - 1 in the lowest bits. `count` is the number of
 * chunks that the lane owns from then on, so number n + 1 reuses the chunk of number n + 1 - count.
 * No value occurs twice, so the producer can store an entry by one compare-and-exchange.
 */
static inline uint64_t lane_chunk_entry(uint64_t n, uint64_t offset, uint32_t count)
{
	return (n + 1) << 32 | offset | (count - 1);
}

/* Return the file offset of chunk number `n`, 0 if the lane does not have it (any more). */
static inline uint64_t lane_chunk_offset(const struct lane *lane, uint64_t n)
{
	uint64_t entry = __atomic_load_n(&lane->chunk[n % LANE_CHUNKS_MAX], __ATOMIC_ACQUIRE);
	return entry >> 32 == (uint32_t)(n + 1) ? entry & 0xfffff000u : 0;
}

/* Return how many chunks the lane owned when number `n` was taken into use. */
static inline uint32_t lane_chunk_count(const struct lane *lane, uint64_t n)
{
	return (uint32_t)(lane->chunk[n % LANE_CHUNKS_MAX] & (LANE_CHUNKS_MAX - 1)) + 1;
}

/* Return the position up to which the writer has given space back: no record before it will be read
 * again. The producer's half. */
static inline uint64_t lane_tail_load(const struct lane *lane)
{
	return __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);
}

/* Give the space before `position` back to the producer. The writer's half. */
static inline void lane_tail_store(struct lane *lane, uint64_t position)
{
	__atomic_store_n(&lane->tail, position, __ATOMIC_RELEASE);
}

#define ROW_COLUMNS_MAX 24u /* of a REC_ROW */

#define SPOOL_TEXT_BYTES 8192u
#define CALLCHAIN_CHUNKS_MAX 256u
#define CALLCHAIN_CHUNK_NODES 4096u /* nodes in a chunk of CHUNK_BYTES */

/* "`address`, called from the chain `parent`"; complete once `address` is not 0. */
struct callchain_node {
	uint64_t address; /* return address, stored last */
	uint32_t parent;  /* a smaller id; 0 = outermost */
	uint32_t flags;   /* enum node_flag */
};

enum node_flag {
	NODE_EXACT = 1, /* `address` is an interrupted instruction, not a return address */
	NODE_CUT = 2,   /* there are more frames than the wanted depth */
	NODE_LOST = 4   /* its caller was not found */
};

/* Why the threads of a process, or some of them, have no CPU samples. */
enum cpu_off {
	CPU_ON = 0,
	CPU_OFF_KERNEL,  /* its CPU timers interrupt system calls; or not x86-64 */
	CPU_OFF_ACTION,  /* SIGURG was ignored or handled at the start, or gets an action */
	CPU_OFF_FD,      /* signalfd() with SIGURG */
	CPU_OFF_FILTER,  /* a system call filter */
	CPU_OFF_REFUSED, /* the kernel refused the handler */
	CPU_OFF_EVENT,   /* the system does not permit perf_event_open() */
	CPU_OFF_REASONS
};

/* Counts of the CPU samples of a process; written by its threads. */
struct cpu_counts {
	uint64_t hz;              /* samples per second of processor time; 0 = none are wanted */
	uint64_t samples;         /* records written or stored aside */
	uint64_t periods;         /* sampling periods that they stand for */
	uint64_t sampled_ns;      /* processor time that they stand for */
	uint64_t process_ns;      /* processor time of the process, when last read */
	uint64_t in_tracer;       /* samples that interrupted the tracer: without a callchain */
	uint64_t in_step;         /* samples taken at the end of a call */
	uint64_t late;            /* expiries without room for a record; the next sample has them */
	uint64_t threads;         /* threads that got a timer or event */
	uint64_t blocked;         /* how often threads had SIGURG blocked: not sampled meanwhile */
	uint64_t threads_refused; /* threads without timer, event or memory */
	uint32_t off;             /* enum cpu_off */
	uint32_t trigger;         /* 1 = events of perf, 0 = timers */
};

/* Counts of the readings of threads' counters; written by the threads. */
struct thread_time_counts {
	uint32_t is_on;
	uint32_t switches;         /* 1 = the writer records context switches */
	uint32_t counters;         /* 1 = instructions and cycles are wanted */
	uint32_t counters_off;     /* errno for which none are counted; 0 = they are */
	uint64_t threads;          /* threads whose counters were read at their start */
	uint64_t inexact;          /* threads that ended without a reading of run_delay_ns */
	uint64_t counted;          /* threads whose instructions and cycles are counted */
	uint64_t counters_refused; /* threads for which the kernel refused to count them */
};

#define FUNCTION_USER_PATTERNS_MAX 256u /* of --functions */

/* Counts of the source of library functions; written by the process. */
struct function_counts {
	uint32_t is_on;
	uint32_t functions;  /* functions that are recorded when they are called through a slot */
	uint64_t modules;    /* modules whose slots were looked at */
	uint64_t slots;      /* slots looked at */
	uint64_t patched;    /* slots that lead to the tracer */
	uint64_t addresses;  /* imports of a wanted function's address: left alone */
	uint64_t unresolved; /* wanted slots that could not be resolved or changed */
	uint64_t no_room;    /* slots of functions beyond the maximum */
	uint64_t excluded;   /* slots of functions that are never recorded */
	uint64_t looked_up;  /* lookups by name that gave the program a recorded function */
	/* A bit for each pattern of the user, in their order, that some function matches. */
	uint64_t matched_patterns[FUNCTION_USER_PATTERNS_MAX / 64];
};

/* Counts of commands of OpenCL; written by the process. The others had not ended when they were
 * last looked at. */
struct opencl_counts {
	uint64_t enqueued; /* while they were recorded */
	uint64_t recorded; /* of these, commands with a record */
	uint64_t no_room;  /* without one, since there was no room for them */
};

/* Counts of submissions of Vulkan with command buffers; written by the process. */
struct vulkan_counts {
	uint64_t submitted;  /* while they were to be measured */
	uint64_t measured;   /* of these, submissions with a VULKAN_WORKLOAD */
	uint64_t unmeasured; /* that were left alone; the others were not seen to end */
};

/* Counts of the source of standard output and error; written by the process. */
struct stream_counts {
	uint32_t is_on;
	uint32_t no_stdio;   /* 1 = what the C library's stdio writes is not seen */
	uint64_t written[2]; /* bytes that were seen, of each stream */
	uint64_t beyond[2];  /* of these, bytes beyond the limit: not kept */
	uint64_t unrecorded; /* bytes that could not be recorded */
};

struct python_definition {
	uint32_t table; /* the line table, as a name of the spool; 0 = none */
	uint32_t lines; /* enum python_lines */
};

struct spool_header {
	uint64_t magic; /* stored last: a spool without it was never ready and holds nothing */
	uint32_t version;
	uint32_t fn_count; /* rows of schema/libc.def; the writer refuses a spool with another table
			      (fn_hash) */
	uint64_t fn_hash;
	uint32_t pid, ppid; /* pids in the process's own namespace */
	uint32_t state;     /* enum spool_state */
	int32_t exit_status;
	uint64_t end_tick;
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid: if it differs from the writer's,
				   the pids are not valid there */
	uint32_t clock_kind;
	uint32_t forked; /* 1 = spool of a forked child, which has its parent's program */
	uint32_t uid, gid;
	struct clock_point first; /* clock point at creation */
	struct clock_point last;  /* refreshed at chunk switches; last_sequence is odd while it is
				     being written */
	uint64_t last_sequence;
	uint64_t start_realtime_ns; /* CLOCK_REALTIME at `first` */
	uint64_t threshold_ns;
	uint64_t size_bytes;  /* bytes reserved so far */
	uint64_t next_offset; /* the allocator: offset of the next lane or chunk */
	uint64_t limit_bytes; /* LIBTRACE_MEMORY */
	uint32_t lane_count;  /* entries of lane_offset in use */
	uint32_t drained; /* futex: after a process has announced its end, the writer stores 1 when
			     all of its events are in the report */
	uint64_t dropped[DROP_REASONS]; /* events that reached no lane */
	uint64_t tracer_ticks; /* ticks spent in start-up, chunk switches and end: the known part of
				  the tracer's cost */
	char off_reason[128];
	uint32_t exe_bytes, cwd_bytes, argv_bytes,
		argv_truncated; /* lengths within text: exe, cwd, argv (each with its NUL) back to
				   back */
	char text[SPOOL_TEXT_BYTES];
	uint64_t lane_offset[SPOOL_LANES_MAX];
	/* Offsets of the chunks of the callchain tree; see unwind/nodes.h for the guarantees to a
	 * reader. 0 = none yet. */
	uint64_t callchain_chunk[CALLCHAIN_CHUNKS_MAX];
	uint32_t osrt_off; /* 1 = OS runtime calls are not wanted: none is recorded or summed up */
	uint32_t chains_forbidden; /* events without a callchain, because a system call filter was
				      in force */
	uint32_t capture_ranges;   /* capture ranges open in this process: the writer ends them when
				      it is dead */
	uint32_t chains_full;      /* events without a callchain, because the tree was full */
	uint64_t nvtx_span_chunk[NVTX_SPAN_CHUNKS_MAX]; /* offsets of the tables; 0 = none yet */
	uint64_t cuda_offset; /* offset of struct cuda_page; 0 = CUDA was not used */
	struct cpu_counts cpu;
	struct thread_time_counts thread_time;
	struct function_counts function;
	struct opencl_counts opencl;
	struct vulkan_counts vulkan;
	struct stream_counts streams;
	uint32_t chains_without_memory; /* events without a callchain, because the spool had no room
					   for its nodes */
};
_Static_assert(sizeof(struct spool_header) <= SPOOL_HEADER_BYTES,
	"the header must fit SPOOL_HEADER_BYTES");

#endif
