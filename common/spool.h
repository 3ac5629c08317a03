/*
 * spool.h - the shared memory between a traced process and the writer.
 *
 * A spool is one MAP_SHARED file per process. It holds the process's identity, clock points and one
 * lane per live thread; a lane is a single-producer single-consumer queue of fixed 32-byte records.
 * What a killed process had stored stays in the file, so the writer, or `trace recover`, finds it
 * there.
 *
 * Layout of the file (all offsets are multiples of 4096, all numbers in the machine's byte order):
 *
 *   0                        struct spool_header, SPOOL_HEADER_BYTES
 *   SPOOL_HEADER_BYTES ...   lanes (LANE_BYTES) and chunks (CHUNK_BYTES), handed out by
 * spool_header.next_offset
 *
 * The file grows in segments (the first one at least SPOOL_FIRST_BYTES, then SPOOL_SEGMENT_BYTES
 * each), and space is reserved before it is used, so that a full tmpfs is an error and never a
 * SIGBUS. A lane or chunk never crosses a segment boundary. The consumer maps the whole file up to
 * its size and maps again when next_offset passes what it has mapped.
 *
 * Life of a lane: LANE_FREE -> LANE_LEASED (a thread attaches; record REC_THREAD_START) ->
 * LANE_FREE (the thread ends; record REC_THREAD_END), and again with the next thread. Records stay
 * in order across leases; REC_THREAD_START tells whose records follow.
 *
 * Positions are counts of bytes of records since the lane was made. Chunk number n of a lane (n =
 * position / CHUNK_BYTES) lies at file offset lane.chunk[n % LANE_CHUNKS_MAX]. The producer writes
 * records, then stores `head` (release); the consumer reads up to `head` (acquire), makes the data
 * durable, then stores `tail` (release). A chunk may be used again once tail has passed its end. A
 * record of several slots never crosses a chunk end: the rest of the chunk is filled with one
 * REC_PAD.
 */
#ifndef COMMON_SPOOL_H
#define COMMON_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#define SPOOL_MAGIC 0x316c6f6f70536c54ull /* "TlSpool1" */
#define SPOOL_VERSION 1u
#define RECORD_BYTES 32u
#define CHUNK_BYTES \
	65536u /* 2048 records: a chunk switch costs about 40 ns, spread over them it is nothing */
#define CHUNK_FIRST_BYTES 16384u /* of the first chunk, at first: enough for most threads */
#define SPOOL_HEADER_BYTES 20480u
/* The least: where a segment must be reserved as a whole, a page of which costs about 0.9 us. */
#define SPOOL_FIRST_BYTES (SPOOL_HEADER_BYTES + LANE_BYTES + CHUNK_BYTES)
#define SPOOL_SEGMENT_BYTES (1u << 20)
#define SPOOL_LANES_MAX 1024u
#define LANE_CHUNKS_MAX 256u /* 16 MiB in flight for one thread */
#define LANE_BYTES 16384u
#define FN_MAX                                                                                     \
	640u /* room for the rows of schema/libc.def; checked at compile time where it is expanded \
	      */
#define NESTED_RECORDS 16u

/* Process state, written by the process, read by the writer. */
enum spool_state {
	SPOOL_RUNNING = 1, /* a process that died in this state was killed or crashed */
	SPOOL_EXEC = 2,    /* about to call execve; goes back to RUNNING when that fails */
	SPOOL_EXITED = 3,  /* exit or _exit was called; exit_status holds its argument */
	SPOOL_OFF = 4 /* the library switched itself off in this process; off_reason says why */
};

enum clock_kind {
	CLOCK_KIND_TSC = 1,
	CLOCK_KIND_MONOTONIC = 2 /* ticks are nanoseconds of CLOCK_MONOTONIC */
};

enum lane_state { LANE_FREE = 0, LANE_LEASED = 1 };

/* Why events are missing. Names of the reasons are in schema/events.def (DROP rows). */
enum drop_reason {
	DROP_RING_FULL = 0, /* the writer did not keep up within the bounded wait, or the memory
			       limit was reached */
	DROP_SINK_STALLED,  /* the report's disk was full or failing: no wait at all */
	DROP_NO_LANE,       /* no memory for the thread's lane, or all lanes taken */
	DROP_NESTED, /* signal handlers interrupted the tracer more often than NESTED_RECORDS allows
		      */
	DROP_LATE,   /* calls after the thread's own end hook, or before the library was ready */
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
 * row numbers of schema/libc.def, counted from 1 (an OS runtime call; 0 is no function); the others
 * are enum record_kind, and there the upper 48 bits are the length in bytes of a payload that
 * follows in as many further slots as it needs.
 */
#define RECORD_KIND_MASK 0xfffu
#define RECORD_FLAGS_SHIFT 12
#define RECORD_LENGTH_SHIFT 16

enum record_flag {
	RECORD_ABANDONED = 1, /* left by longjmp, an exception or cancellation: the duration runs
				 until the next call of the thread */
	RECORD_NESTED = 2,    /* made by a signal handler that interrupted the tracer */
	RECORD_UNFINISHED =
		4 /* made by the writer from lane.open: still running when the process ended */
};

enum record_kind {
	REC_PAD = 0xf00,          /* skip to the end of the chunk */
	REC_THREAD_START = 0xf01, /* a = tid, b = pid; payload struct thread_start: the records that
				     follow are this thread's */
	REC_THREAD_END = 0xf02,   /* a = tid, b = pid */
	REC_THREAD_NAME = 0xf03,  /* a, b = char name[16]: the thread's new name */
	REC_SUMMARY = 0xf04, /* calls of one function below the threshold: a = fn << 48 | count, b =
				sum of ticks */
	REC_GAP = 0xf05,     /* a = reason << 48 | events dropped, b = tick of the first one, tick =
				that of the last one */
	REC_CHILD = 0xf06,   /* a = child's pid (0 = not known), b = enum child_how << 32 | enum
				child_verdict; payload path or empty */
	REC_EXEC = 0xf07,    /* b and payload as REC_CHILD: this process is about to be replaced (if
				state stays SPOOL_EXEC) */
	REC_PATH = 0xf08, /* file access option, behind its call: a = descriptor or -1, b = flags <<
			     32 | mode; payload path */
	REC_CALLCHAIN = 0xf09,    /* published together with the call behind it: a = node, b = enum
				     callchain_method, with CALLCHAIN_CUT */
	REC_MODULE_LOAD = 0xf0a,  /* a = begin, b = end; payload struct module_load and path */
	REC_MODULE_UNLOAD = 0xf0b /* a = begin */
};

/* How a callchain was found. Names in schema/events.def (METHOD rows). */
enum callchain_method {
	CALLCHAIN_NONE = 0,
	CALLCHAIN_RULES,        /* our cache of unwind rules, one per return address */
	CALLCHAIN_LIBUNWIND,    /* a frame had no rule of ours: libunwind, step by step */
	CALLCHAIN_FRAME_POINTER /* by option */
};
/* Added to the method. */
#define CALLCHAIN_IS_CUT 16u  /* the chain goes on behind the depth limit */
#define CALLCHAIN_IS_LOST 32u /* it goes on, but the way was not found */

#define BUILD_ID_BYTES 32u /* of a GNU build-id at most; longer ones are cut */

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
	THREAD_RESUMED = 8 /* after its vfork child: not a new thread */,
	THREAD_FOUND = 16 /* was running when first seen */
};

struct thread_start {
	char name[16];
	uint32_t parent_tid, parent_pid; /* who created it; 0 = not known */
	uint32_t flags;                  /* enum thread_flag */
	uint32_t pad;
};

enum child_how {
	CHILD_FORK = 1,
	CHILD_VFORK,
	CHILD_SPAWN,
	CHILD_EXEC,
	CHILD_SYSTEM,
	CHILD_POPEN,
	CHILD_CLONE
};

/* Can a program about to be executed be traced? Names in schema/events.def (VERDICT rows). */
enum child_verdict {
	VERDICT_TRACED = 0,
	VERDICT_STATIC, /* no PT_INTERP: the loader never sees LD_PRELOAD */
	VERDICT_MUSL, /* another C library; LD_PRELOAD was taken out of its environment, or it would
			 not start */
	VERDICT_OTHER_ARCH,   /* another ELF class or machine; LD_PRELOAD taken out, or the loader
				 would complain on stderr */
	VERDICT_SETUID,       /* secure execution: the loader ignores the preload */
	VERDICT_PRELOAD_LOST, /* the environment given to exec does not name the library */
	VERDICT_UNREADABLE,   /* the file could not be examined */
	VERDICT_MISSING,      /* no such file: the call fails */
	VERDICT_BY_OPTION,    /* LIBTRACE_FOLLOW=0 */
	VERDICT_UNREACHABLE,  /* the library is not there for it (chroot, another directory); taken
				 out */
	VERDICT_ASAN,         /* AddressSanitizer's runtime would refuse to start behind us; taken
				 out */
	VERDICT_BAD_POINTER   /* never recorded: the call fails with EFAULT */
};

struct record {
	uint64_t tick; /* start of the call, or time of the event; never 0 in a written record */
	uint64_t word; /* duration, flags, kind */
	uint64_t a;    /* calls: the return value */
	uint64_t b; /* calls: errno << 48 | object (descriptor, address, pid: 48 bits); locks: see
		       below */
};

/* Contended locks keep the holder's tid in the upper half of `a`, above the 32-bit return value. */

struct fn_sum {
	uint64_t count; /* calls below the threshold, or not contended */
	uint64_t ticks; /* their durations; 0 for uncontended locks, which are not timed */
};

struct open_call { /* a call that has begun and not returned */
	uint64_t tick;
	uint64_t sp; /* stack pointer of the wrapper: a later call from above it proves that this
			one was abandoned */
	uint64_t kind;
};
#define OPEN_CALLS 8u

struct lane {
	/* the producer's */
	uint64_t head;
	uint32_t state; /* enum lane_state */
	uint32_t tid;
	uint32_t pid;
	uint32_t flushing;     /* 1 + fn while its sum is being turned into a REC_SUMMARY: if that
				  record is the last one published, the sum is in it */
	struct open_call open; /* kind 0 = none */
	uint32_t chunk_count;  /* chunks owned; chunk numbers below it were fresh, later ones reuse
				  number - chunk_count */
	uint32_t open_depth;   /* calls interrupted by a handler that calls: saved in open_stack */
	struct open_call open_stack[OPEN_CALLS];
	uint32_t nested_count; /* records in nested[], moved into the lane at the next call */
	uint32_t has_sums;     /* 1 = some sum is not 0 */
	uint32_t partial;      /* 1 = of chunk 0 only CHUNK_FIRST_BYTES are reserved yet */
	uint32_t index;        /* in spool_header.lane_offset */
	uint64_t dropped[DROP_REASONS]; /* ever, in this lane */
	uint64_t gap_first_tick, gap_last_tick,
		gap_count; /* open gap: becomes a REC_GAP when there is room again */
	uint64_t gap_reason;
	uint64_t chunk[LANE_CHUNKS_MAX]; /* file offsets */
	struct record nested[NESTED_RECORDS];
	/* the consumer's */
	__attribute__((aligned(64))) uint64_t tail;
	/* the producer's again */
	__attribute__((aligned(64))) struct fn_sum sums[FN_MAX];
};
_Static_assert(sizeof(struct lane) <= LANE_BYTES, "a lane must fit its place");

#define SPOOL_TEXT_BYTES 8192u
#define CALLCHAIN_CHUNKS_MAX 256u
#define CALLCHAIN_CHUNK_NODES 4096u /* in a chunk of CHUNK_BYTES */

/* "`address`, called from the chain `parent`"; whole when `address` is not 0. */
struct callchain_node {
	uint64_t address; /* return address, stored last */
	uint32_t parent;  /* a smaller id; 0 = outermost */
	uint32_t flags;   /* enum node_flag */
};

enum node_flag {
	NODE_EXACT = 1, /* `address` is an interrupted instruction, not a return address: no -1 */
	NODE_CUT = 2,   /* there are more frames outside, beyond the depth asked for */
	NODE_LOST = 4   /* it was called from somewhere, but the way there was not found */
};

struct spool_header {
	uint64_t magic; /* stored last: a spool without it was never ready and holds nothing */
	uint32_t version;
	uint32_t fn_count; /* rows of schema/libc.def; the writer refuses a spool made by another
			      table (fn_hash) */
	uint64_t fn_hash;
	uint32_t pid, ppid; /* as the process sees them */
	uint32_t state;     /* enum spool_state */
	int32_t exit_status;
	uint64_t end_tick;
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid: where it differs from the writer's,
				   pids mean nothing to it */
	uint32_t clock_kind;
	uint32_t forked; /* 1 = made by a forked child, which has its parent's program */
	uint32_t uid, gid;
	struct clock_point first; /* at creation */
	struct clock_point last;  /* refreshed at chunk switches; last_sequence is odd while it is
				     being written */
	uint64_t last_sequence;
	uint64_t start_realtime_ns; /* CLOCK_REALTIME at `first` */
	uint64_t threshold_ns;
	uint64_t size_bytes;  /* reserved so far */
	uint64_t next_offset; /* the allocator: where the next lane or chunk goes */
	uint64_t limit_bytes; /* LIBTRACE_MEMORY */
	uint32_t lane_count;  /* entries of lane_offset in use */
	uint32_t drained; /* futex: the writer stores 1 when everything of a process that announced
			     its end is in the report */
	uint64_t dropped[DROP_REASONS]; /* events that reached no lane */
	uint64_t tracer_ticks; /* spent in start-up, chunk switches and end: the tracer's own cost,
				  known part */
	char off_reason[128];
	uint32_t exe_bytes, cwd_bytes, argv_bytes,
		argv_truncated; /* lengths within text: exe, cwd, argv (each with its NUL) back to
				   back */
	char text[SPOOL_TEXT_BYTES];
	uint64_t lane_offset[SPOOL_LANES_MAX];
	/* Offsets of the chunks of the callchain tree; see unwind/nodes.h for what a reader may
	 * rely on. 0 = none yet. */
	uint64_t callchain_chunk[CALLCHAIN_CHUNKS_MAX];
};
_Static_assert(sizeof(struct spool_header) <= SPOOL_HEADER_BYTES, "the header must fit its place");

#endif
