/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - the state of a writer at work: one tree, its spools, one block in the making, one
 * report.
 *
 * Data go spool -> batch -> block -> file. Positions of lanes run ahead with the block and become
 * tails in the spools only when the block is in the file (writer_flush), so whatever kills the
 * writer, nothing is lost or there twice. One thread. Functions return 0 or a negative errno;
 * -ENOSPC, -EDQUOT, -EFBIG and -EIO from writer_flush() mean: the block is kept, call again later.
 */
#ifndef WRITER_WRITER_H
#define WRITER_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clockfit.h"
#include "common/tree.h"
#include "writer/batch.h"
#include "writer/block.h"
#include "writer/known.h"
#include "writer/sink.h"
#include "writer/spools.h"
#include "writer/strings.h"

struct adopted_process {
	uint32_t id, pid;
	char spool[64];
	bool finished; /* its receipt is in the report */
};

struct child { /* forked or just executed, and its spool not seen yet; or the tree's first one */
	uint32_t pid;
	int pidfd;         /* -1 = none */
	uint64_t start_ns; /* as /proc has it; 0 = not known */
};

struct function_info {      /* of a row of libc.def, beside each other for the hot loop */
	uint32_t string_id; /* 0 = not used yet */
	bool is_lock;
};

#define NVTX_NAMES_KEPT 1024u

struct nvtx_name_id { /* of a name in a spool */
	uint32_t process, ref, string_id;
};

struct writer {
	const char *dir;
	struct tree_control
		*control; /* shared; a private copy with WRITER_FAILED when the tree has none */
	int control_fd;
	struct spools spools;
	struct sink sink;
	struct block block;
	struct strings strings;
	struct clockfit clock;
	struct clock_point now; /* the latest pair; heads were read before it */
	bool other_boot;        /* the spools' clocks are not ours */
	bool recovering;        /* the processes died long ago: nobody saw when */
	struct batch *batches[EVENT_KINDS];
	uint64_t batch_first_ns, batch_last_ns;
	uint32_t callchain_method; /* of the last chain */
	struct function_info functions[FN_MAX];
	struct nvtx_name_id nvtx_names[NVTX_NAMES_KEPT];
	uint64_t *cubin_hashes; /* of modules of device code that are in the report */
	uint32_t cubin_count, cubin_capacity;
	struct cuda_origin *cuda_origins; /* the latest API calls; NULL = none yet */

	char report[4096];
	uint64_t next_sequence;
	uint32_t next_process_id;
	struct known known;
	Libtrace__LanePosition *adopted_lanes;
	uint32_t adopted_lane_count, adopted_lane_capacity;
	struct adopted_process *adopted_processes;
	uint32_t adopted_process_count, adopted_process_capacity;

	bool sealed;     /* a block waits to be written */
	bool has_header; /* block 0 is in the file */
	struct child *children;
	uint32_t child_count, child_capacity;
	uint32_t child_pidfds, child_sweep; /* that are open; count at which dead ones go */
	uint32_t diagnostics_seen;
	uint32_t diagnostics_counted; /* by the processes, at the last look */
	bool shared_damaged;          /* and this is in the report */
	uint64_t windows_seen;
	uint64_t last_end_ns; /* of a process */
	uint32_t spools_seen; /* control.spools at the last look */
	uint32_t spools_begun;
	uint64_t total_events, total_dropped, total_processes;
	char hostname[256], process_name[1024], producer[32];
	const Libtrace__SessionDetails *session_details; /* for block 0 only */
};

/* On failure, too, writer_release() is due. */
int writer_init(struct writer *w, const char *dir);
void writer_release(struct writer *w);

/* Opens or makes the report and writes block 0. Returns 0 or a negative errno. `overwrite` replaces
 * an existing file. */
int writer_open_report(struct writer *w, const char *path, bool overwrite);

/* Takes a clock pair; call after the heads that are to be converted with it were read. */
void writer_take_time(struct writer *w);

/* Writes what the block holds, then moves tails and tells processes that wait. */
int writer_flush(struct writer *w, bool last);

/* Gives up the block that could not be written: its records stay in the spools. Only notes may
 * follow. */
void writer_discard(struct writer *w);

/* Room for what one chunk may become: flushes when there is none. */
int writer_make_room(struct writer *w);

/* Diagnostic entry of the writer's own or of the tree's control page. */
void writer_note(struct writer *w, uint32_t pid, uint64_t time_ns, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same where something may be missing from the report, or wrong: then it is not complete. */
void writer_note_damage(struct writer *w, uint32_t pid, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void writer_collect_diagnostics(struct writer *w);

/* ---- windows.c ---- */

/* Tells the windows of the gate that have ended since. */
void windows_collect(struct writer *w);

/* At the end of the tree: the one that is open, too, and how many could not be told. */
void windows_finish(struct writer *w);

/* ---- drain.c ---- */

/* Puts what lies before view->head into blocks, chunk by chunk, until these were so many bytes. */
int lane_drain(struct writer *w, struct spool *spool, struct lane_view *view, uint64_t bytes);

/* What the records cannot tell: calls still open, nested records, sums, an open gap, the end of the
 * thread. Once, when the process is dead. */
int lane_finish(struct writer *w, struct spool *spool, struct lane_view *view, uint64_t end_tick);

uint64_t spool_ns(struct writer *w, const struct spool *spool, uint64_t tick);

/* Records position and counts of a lane in the block. */
void lane_mark(struct writer *w, struct spool *spool, struct lane_view *view);

/* ---- claims.c ---- */

/* String id of a text that lies in the spool for many records to name; 0 where the spool has named
 * more than it can hold, which is counted. */
uint32_t spool_text_id(struct writer *w, struct spool *spool, const char *text, uint32_t bytes);

/* ---- process.c ---- */

/* First sight of a spool: id, Process entry; or what a predecessor knew of it. */
void process_begin(struct writer *w, struct spool *spool);

/* End of a dead, drained process: Process entry, receipt, clock points. */
void process_end(struct writer *w, struct spool *spool, uint64_t end_ns);

/* A process without a spool of its own; returns its id. */
uint32_t process_guest(
	struct writer *w, const struct spool *spool, uint32_t pid, uint64_t start_ns);
void process_guest_end(struct writer *w, const struct spool *spool, struct lane_view *view,
	uint64_t end_ns, bool killed);
void process_untraced(struct writer *w, uint32_t pid, uint32_t parent_pid, uint32_t previous_id,
	uint32_t verdict, uint64_t ns, const char *path);
/* Has a process become known that got this pid at `ns` or later? */
bool process_known_since(const struct writer *w, uint32_t pid, uint64_t ns);

/* A process that told why it is not traced. */
void process_told_untraced(struct writer *w, uint32_t pid, uint64_t time_ns, char *reason);

/* At the tree's end: programs that were to be traced after an exec, and showed nothing. */
int process_tell_unseen(struct writer *w);

/* Then, too: spools that were made and never found, as a process that was not traced. */
void process_tell_lost(struct writer *w);
void process_remember(struct writer *w, uint32_t pid, uint32_t id, uint64_t start_ns);

/* ---- children.c ---- */

/* Keep the tree alive until this process has ended or its spool is seen; one that started later
 * than `latest_start_ns` is another one. */
void child_watch(struct writer *w, uint32_t pid, uint64_t latest_start_ns);
void children_forget(struct writer *w, uint32_t pid);
bool children_live(struct writer *w);
void children_release(struct writer *w);

/* ---- receipt.c ---- */
void receipt_put(struct writer *w, const struct spool *spool);
void receipt_put_guest(struct writer *w, uint32_t id, const struct tally *tally);
void clock_points_put(struct writer *w, const struct spool *spool, uint64_t end_ns);

/* ---- adopt.c ---- */

/* Reads the headers of the report that `w->sink` has open. Returns 0 when this tree made it,
 * -ENOMSG when another did or it is none of ours. */
int adopt_report(struct writer *w);
const struct adopted_process *adopted_find(const struct writer *w, const struct spool *spool);

/* Sets a lane just found to where a predecessor stopped. */
void adopted_apply(struct writer *w, const struct spool *spool, struct lane_view *view);

/* ---- session.c ---- */

/* Fills the names for block headers, and for block 0 puts the Session entry into the block and
 * fills w->session_details. */
void session_put(struct writer *w);

/* ---- tree.c: what following and recovering have in common ---- */

/* Maps the control page; the writer goes on with a private, empty one where there is none (then
 * returns -ENOENT or -EINVAL). */
int tree_open_control(struct writer *w);

/* Looks for new spools and lanes. Returns the number of new spools or a negative errno. */
int tree_discover(struct writer *w);

/* Looks how much all lanes hold and takes the time. Returns bytes; *ret_fullest is the fullest
 * lane's. */
uint64_t tree_look(struct writer *w, uint64_t *ret_fullest);

/* Puts all that was seen by tree_look() into blocks. */
int tree_drain(struct writer *w);

/* All of a dead process: what its lanes still hold, what they cannot tell, the receipt. Goes on
 * where it stopped when called again. */
int tree_end_spool(struct writer *w, struct spool *spool);

/* Tells a process that all it has recorded is in the report; not the first process of our pid
 * namespace, which waits for the report's end. */
void tree_drained_tell(struct spool *spool);

/* Ends every dead process and writes the block, then lets go of the spools. */
int tree_end_dead(struct writer *w);

/* Removes control page and directory. */
void tree_remove(struct writer *w);

/* ---- follow.c, recover.c: whole runs; return the exit status ---- */
int follow_tree(const char *dir, int lock_fd);
int recover_tree(const char *dir, const char *output);

/* ---- nvtx.c ---- */

/* What the row of an open NVTX range is made of. */
struct nvtx_row {
	uint64_t tick, ticks;
	uint64_t names; /* as in records */
	struct nvtx_attributes attributes;
	uint64_t id;
	uint32_t start_tid, level, flags;
	uint32_t text_bytes;
	char text[NVTX_TEXT_ROOM_BYTES];
};

/* Calls `visit` for each range that the dead process left open in this lane. */
void nvtx_open_each(struct spool *spool, struct lane_view *view, uint64_t end_tick,
	void (*visit)(void *user, uint32_t kind, const struct nvtx_row *row), void *user);

/* String id of a text that a record or range has only the begin of; clears RECORD_TEXT_CUT where
 * the rest is found. The spool may lie elsewhere afterwards, and `text` with it. */
uint32_t nvtx_long_id(
	struct writer *w, struct spool *spool, const char *text, uint32_t bytes, uint64_t *flags);

/* All columns but time and duration of the row just added. */
void nvtx_row_fill(struct writer *w, struct spool *spool, struct batch *b, uint32_t kind,
	const struct nvtx_row *row);

/* ---- cuda.c: what a dead process left ---- */

struct cuda_page;
struct cuda_counted;
bool cuda_page_read(struct spool *spool, struct cuda_page *ret_page);

/* The columns of a CUDA_RECEIPT, of a CUDA_API row for a call that did not return, and of a
 * CUDA_API_SUMMARY. The spool may be mapped anew. */
void cuda_receipt_fill(
	struct batch *b, const struct cuda_page *page, const struct cuda_causality *causality);
void cuda_open_fill(
	struct writer *w, struct spool *spool, struct batch *b, const struct cuda_open *open);
void cuda_counted_fill(
	struct writer *w, struct spool *spool, struct batch *b, const struct cuda_counted *counted);

/* ---- results.c ---- */

/* Launches of a dead process become standard entries. 0 or a negative errno, as writer_flush(). */
int results_put(struct writer *w, struct spool *spool);

/* ---- callchains.c ---- */

/* Write the nodes of a process up to `id`, before an event that names it. Returns false when the
 * block is full before all are written: call again with the next one. May map the spool anew. */
bool callchain_nodes_put(struct writer *w, struct spool *spool, uint32_t id);

/* The return addresses of a chain, innermost first, as the report has them. Returns how many. May
 * map the spool anew. */
uint32_t callchains_addresses(
	struct spool *spool, uint32_t id, uint64_t *ret_addresses, uint32_t most);

#endif
