-- SPDX-License-Identifier: Apache-2.0
-- The critical path of the program, summed up: input of the tables of reader/sql/path/tables.h, and causes with names. Needs shared/gpu_work.sql,
-- shared/openmp.sql, shared/mpi_waits.sql and shared/nccl_waits.sql.
--
-- A call that waits ends because of something that another thread, process or stream did. `how` says how sure that is: exact (by object and
-- order, or by the id of the process), likely (by time alone), unknown (it waited, and who ended it is not in the report), or NULL: the call
-- waits for nobody that the report could name. The rules are in reader/sql/path/waits.c.

-- What functions do: the roles of reader/sql/path/roles.def. `trait`: a write of 0 bytes is one (it flushes), a read is of a file, or a wait is for any
-- process. `source`: 0 OS runtime, 1 CUDA API, 2 wait for Python's GIL, 4 and 8 OpenMP, 5 MPI.
DROP VIEW IF EXISTS temp.PATH_NAMES;
CREATE TEMP VIEW PATH_NAMES AS
SELECT 0 AS source, id AS nameId, value AS name,
       CASE WHEN value LIKE 'pthread%join%' THEN 'join' WHEN value IN ('wait', 'waitpid', 'wait3', 'wait4', 'waitid', 'system', 'pclose') THEN 'process'
            WHEN value IN ('pthread_cond_wait', 'pthread_cond_timedwait', 'pthread_cond_clockwait') THEN 'condition' WHEN value IN ('pthread_cond_signal', 'pthread_cond_broadcast') THEN 'signal'
            WHEN value IN ('sem_wait', 'sem_timedwait', 'sem_clockwait') THEN 'semaphore' WHEN value = 'sem_post' THEN 'post' WHEN value = 'pthread_barrier_wait' THEN 'barrier'
            WHEN value IN ('pthread_rwlock_unlock', 'pthread_mutex_unlock', 'pthread_spin_unlock', 'mtx_unlock') THEN 'unlock'
            WHEN value IN ('write', 'writev', 'pwrite', 'pwritev', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'splice', 'fwrite', 'fwrite_unlocked', 'fputs', 'fputs_unlocked', 'puts',
                          'putc', 'putc_unlocked', 'fputc', 'fputc_unlocked', 'putchar', 'putchar_unlocked', 'fputws', 'pwrite64', 'fflush',
                          'fflush_unlocked', 'fclose', 'eventfd_write') THEN 'write'
            WHEN value IN ('poll', 'ppoll', '__poll_chk', '__ppoll_chk') OR value LIKE '%select' OR value LIKE 'epoll%wait%' THEN 'poll'
            WHEN value LIKE 'read%' OR value LIKE 'pread%' OR value LIKE 'recv%' OR value LIKE 'accept%'
                 OR value IN ('fread', 'fread_unlocked', 'fgets', 'fgets_unlocked', 'getline', 'getdelim', 'fgetc', 'fgetc_unlocked', 'getc', 'getc_unlocked',
                             'getchar', 'getchar_unlocked', 'fgetws', 'fgetwc', 'getwc', 'getwchar', 'connect', 'eventfd_read') THEN 'read'
            WHEN value LIKE 'open%' OR value LIKE 'creat%' OR value LIKE 'fopen%' OR value LIKE 'freopen%' THEN 'open' WHEN value IN ('pipe', 'pipe2', 'socketpair') THEN 'pair'
            WHEN value IN ('dup', 'dup2', 'dup3') THEN 'copy' WHEN value = 'close' THEN 'close'
            WHEN value IN ('socket', 'popen', 'epoll_create', 'epoll_create1') THEN 'create'
            WHEN value LIKE '%sleep%' OR value LIKE '%yield%' OR value = 'vfork' THEN NULL
            WHEN value IN ('flock', 'lockf', 'lockf64') THEN 'wait'
            WHEN osrt_class(value) = 'lock' THEN 'lock' WHEN osrt_class(value) = 'wait' THEN 'wait' END AS role,
       value IN ('fflush', 'fflush_unlocked', 'fclose', 'system', 'pclose', 'waitid') OR value LIKE 'pread%' AS trait
FROM StringIds
UNION ALL SELECT 1, id, api_name(value), CASE WHEN api_waits(value) THEN 'device' END, 0 FROM StringIds
UNION ALL SELECT 2, 0, 'wait for the GIL', 'lock', 0
UNION ALL SELECT 4, id, value, 'team', 0 FROM StringIds
UNION ALL SELECT 5, id, value, 'mpi', 0 FROM StringIds
UNION ALL SELECT 8, 0, 'wait for the next parallel region', 'team', 0;

-- A worker of OpenMP that ends its part of a region without a barrier (libgomp's) waits for its next region from there.
DROP TABLE IF EXISTS temp.PATH_IDLE;
CREATE TEMP TABLE PATH_IDLE AS
SELECT t.id, t.globalTid, t.before AS start, t.start AS "end"
FROM (SELECT id, globalTid, parallelId, start, lag("end") OVER (PARTITION BY globalTid ORDER BY start) AS before FROM OPENMP_EVENT_KIND_TASK WHERE kind = 2) AS t
     JOIN OPENMP_REGIONS AS r ON r.process = t.globalTid >> 24 AND r.parallelId = t.parallelId
WHERE r.globalTid <> t.globalTid AND t.before < t.start;

-- Calls of other sources than the OS runtime and CUDA. 3 is a call of the OS runtime that has not returned.
DROP VIEW IF EXISTS temp.PATH_OTHER_CALLS;
CREATE TEMP VIEW PATH_OTHER_CALLS AS
SELECT id, globalTid, start, start + duration AS "end", 0 AS nameId, callchainId AS chain, holderTid AS holder, 2 AS source FROM LIBTRACE_GIL_WAIT
UNION ALL SELECT id, globalTid, start, start + duration, nameId, NULL, NULL, 3 FROM LIBTRACE_OSRT_UNFINISHED
UNION ALL SELECT id, globalTid, start, "end", nameId, NULL, NULL, 4 FROM OPENMP_EVENT_KIND_SYNC_REGION WHERE kind BETWEEN 1 AND 4
UNION ALL SELECT id, globalTid, start, "end", 0, NULL, NULL, 8 FROM PATH_IDLE
UNION ALL SELECT id, globalTid, start, "end", nameId, NULL, NULL, 5 FROM MPI_CALLS;

-- Calls of functions of libraries. Those of a thread are nested.
DROP VIEW IF EXISTS temp.PATH_FUNCTION_CALLS;
CREATE TEMP VIEW PATH_FUNCTION_CALLS AS
SELECT f.id, f.globalTid, f.start, f.start + f.duration AS "end", s.value || coalesce(' (' || l.value || ')', '') AS name
FROM LIBTRACE_FUNCTION_CALL AS f JOIN StringIds AS s ON s.id = f.functionId LEFT JOIN StringIds AS l ON l.id = f.libraryId;

-- Operations of streams.
DROP VIEW IF EXISTS temp.PATH_OPERATIONS;
CREATE TEMP VIEW PATH_OPERATIONS AS
SELECT process, coalesce(device, 0) AS device, coalesce(context, 0) AS context, coalesce(stream, 0) AS stream, start, "end", correlation,
       CASE kind WHEN 'kernel' THEN 'kernel ' || coalesce(name, '') ELSE name END AS name
FROM GPU_OPERATIONS;

-- The same where NCCL_WAITS has rows. A kernel of NCCL that waited for another rank is two: the wait (`wait`: what it was for), and what followed.
DROP VIEW IF EXISTS temp.PATH_RANK_OPERATIONS;
CREATE TEMP VIEW PATH_RANK_OPERATIONS AS
SELECT g.process, coalesce(g.device, 0) AS device, coalesce(g.context, 0) AS context, coalesce(g.stream, 0) AS stream, g.start, coalesce(w.time, g."end") AS "end",
       g.correlation, CASE WHEN w.how IS NOT NULL THEN w.text WHEN g.kind = 'kernel' THEN 'kernel ' || coalesce(g.name, '') ELSE g.name END AS name,
       w.text AS wait, w.how, w.other_process, w.other_correlation, w.time, w.meeting
FROM GPU_OPERATIONS AS g LEFT JOIN NCCL_WAITS AS w ON w.process = g.process AND w.correlation = g.correlation AND w.start = g.start AND g.kind = 'kernel'
UNION ALL
SELECT process, coalesce(device, 0), coalesce(context, 0), coalesce(stream, 0), time, "end", correlation, 'kernel ' || name, text, how, other_process,
       other_correlation, time, NULL
FROM NCCL_WAITS WHERE time IS NOT NULL;

-- Threads. A thread begins because another thread started it; the first thread of a process because of the parent's fork or spawn.
DROP TABLE IF EXISTS temp.PATH_THREADS;
CREATE TEMP TABLE PATH_THREADS (globalTid INTEGER PRIMARY KEY, start, "end", has_end, last_call, parent, parent_time);
INSERT INTO PATH_THREADS
SELECT globalTid, min(start), max("end"), max(has_end), max(last_call), NULL, NULL
FROM (SELECT track AS globalTid, start, "end", 0 AS has_end, "end" AS last_call FROM traced_threads
      UNION ALL SELECT globalTid, timestamp, timestamp, 0, NULL FROM LIBTRACE_THREAD_START
      UNION ALL SELECT globalTid, timestamp, timestamp, 1, NULL FROM LIBTRACE_THREAD_END
      UNION ALL SELECT globalPid + (globalPid >> 24 & 0xffffff), start, "end", 1, NULL FROM LIBTRACE_PROCESS WHERE "end" >= start)
WHERE typeof(globalTid) = 'integer' AND typeof(start) = 'integer' AND typeof("end") = 'integer' GROUP BY globalTid;

DROP TABLE IF EXISTS temp.PATH_STARTS;
CREATE TEMP TABLE PATH_STARTS AS SELECT globalTid, timestamp, parentTid FROM LIBTRACE_THREAD_START WHERE parentTid <> 0 AND flags & 3 = 0;
CREATE INDEX temp.PATH_STARTS_ORDER ON PATH_STARTS (globalTid, timestamp);
UPDATE PATH_THREADS SET (parent, parent_time) =
  (SELECT p.globalTid, t.timestamp FROM PATH_STARTS AS t JOIN PATH_THREADS AS p ON p.globalTid = (t.globalTid & ~0xffffff) + t.parentTid
   WHERE t.globalTid = PATH_THREADS.globalTid ORDER BY t.timestamp LIMIT 1)
WHERE globalTid >> 24 & 0xffffff <> globalTid & 0xffffff;
-- Of equal process ids in merged reports, that of the same report comes first; an id that was used again has another VM, too. A parent of
-- another VM is on the same host, if hosts are known, and started a child within a second of this child's start.
DROP TABLE IF EXISTS temp.PATH_HOSTS;
CREATE TEMP TABLE PATH_HOSTS (vm INTEGER PRIMARY KEY, host);
INSERT OR IGNORE INTO PATH_HOSTS SELECT globalVid >> 48, host FROM LIBTRACE_MERGED WHERE typeof(globalVid) = 'integer';
DROP TABLE IF EXISTS temp.PATH_CHILDREN;
CREATE TEMP TABLE PATH_CHILDREN AS
SELECT c.childPid, c.globalTid, c.timestamp, c.globalTid >> 24 & 0xffffff AS pid, c.globalTid >> 48 AS vm, h.host
FROM LIBTRACE_CHILD AS c LEFT JOIN PATH_HOSTS AS h ON h.vm = c.globalTid >> 48;
CREATE INDEX temp.PATH_CHILDREN_ORDER ON PATH_CHILDREN (childPid, pid);
UPDATE PATH_THREADS SET (parent, parent_time) =
  (SELECT c.globalTid, min(c.timestamp, PATH_THREADS.start) FROM PATH_THREADS AS t JOIN PATH_CHILDREN AS c ON c.childPid = t.globalTid & 0xffffff
        LEFT JOIN PATH_HOSTS AS h ON h.vm = t.globalTid >> 48
   WHERE t.globalTid = PATH_THREADS.globalTid AND c.globalTid <> t.globalTid
         AND (c.vm = t.globalTid >> 48 OR (abs(c.timestamp - t.start) <= 1000000000 AND (c.host = h.host) IS NOT 0))
   ORDER BY c.vm <> t.globalTid >> 48, abs(c.timestamp - t.start) LIMIT 1)
WHERE globalTid >> 24 & 0xffffff = globalTid & 0xffffff;
-- The parent does not learn the process id of a child of system() or popen(): its record next to the child's start is taken.
UPDATE PATH_THREADS SET (parent, parent_time) =
  (SELECT c.globalTid, min(c.timestamp, p.start) FROM LIBTRACE_PROCESS AS p JOIN PATH_CHILDREN AS c ON c.childPid = 0 AND c.pid = p.parentPid
        LEFT JOIN PATH_HOSTS AS h ON h.vm = p.globalPid >> 48
   WHERE p.globalPid >> 24 = PATH_THREADS.globalTid >> 24 AND c.globalTid <> PATH_THREADS.globalTid
         AND (c.vm = p.globalPid >> 48 OR (abs(c.timestamp - p.start) <= 1000000000 AND (c.host = h.host) IS NOT 0))
   ORDER BY c.vm <> p.globalPid >> 48, abs(c.timestamp - p.start) LIMIT 1)
WHERE parent IS NULL AND globalTid >> 24 & 0xffffff = globalTid & 0xffffff;

-- Waits that are found here. `number`: id of the row and source of the call.
DROP TABLE IF EXISTS temp.PATH_OTHER_WAITS;
CREATE TEMP TABLE PATH_OTHER_WAITS (number INTEGER PRIMARY KEY, other, other_time, how);
INSERT INTO PATH_OTHER_WAITS SELECT call << 4 | 5, other, time, how FROM MPI_WAITS;
-- A process whose first thread is in a call when it exits: another thread called exit(), that with the last call of those in none.
INSERT OR IGNORE INTO PATH_OTHER_WAITS
SELECT number, other, "end", 'likely'
FROM (SELECT u.id << 4 | 3 AS number, u.start + u.duration AS "end",
             (SELECT t.globalTid FROM PATH_THREADS AS t
              WHERE t.globalTid BETWEEN u.globalTid & ~0xffffff AND u.globalTid | 0xffffff AND t.last_call <= u.start + u.duration AND t."end" >= p."end"
                    AND t.globalTid NOT IN (SELECT globalTid FROM LIBTRACE_OSRT_UNFINISHED) ORDER BY t.last_call DESC LIMIT 1) AS other
      FROM LIBTRACE_OSRT_UNFINISHED AS u JOIN LIBTRACE_PROCESS AS p ON p.globalPid = u.globalTid & ~0xffffff
      WHERE u.globalTid >> 24 & 0xffffff = u.globalTid & 0xffffff AND p.endHow = 'exit' AND u.start + u.duration >= p."end" AND u.start < p."end")
WHERE other IS NOT NULL;

-- Barriers of OpenMP: the thread of the team that came last. `n` is the number of the barrier in its region. A thread that has no row of the last barrier
-- (libgomp's workers) came to it at the end of its task. Who stays in a barrier after the end of the region waits for the next one to begin.
-- The barriers of a thread follow each other, so that the last one that began before a task ended is the one that it ended in, if there is one.
DROP VIEW IF EXISTS temp.PATH_TEAMS;
CREATE TEMP VIEW PATH_TEAMS AS
SELECT id << 4 | 4 AS number, 4 AS source, id, globalTid, start, "end" FROM OPENMP_EVENT_KIND_SYNC_REGION WHERE kind BETWEEN 1 AND 4
UNION ALL SELECT id << 4 | 8, 8, id, globalTid, start, "end" FROM PATH_IDLE;
DROP TABLE IF EXISTS temp.PATH_BARRIERS;
CREATE TEMP TABLE PATH_BARRIERS AS SELECT id, globalTid, parallelId, start, "end" FROM OPENMP_EVENT_KIND_SYNC_REGION WHERE kind BETWEEN 1 AND 4;
CREATE INDEX temp.PATH_BARRIERS_ORDER ON PATH_BARRIERS (globalTid, parallelId, start);
DROP TABLE IF EXISTS temp.PATH_ARRIVALS;
CREATE TEMP TABLE PATH_ARRIVALS AS
SELECT id, globalTid >> 24 AS process, parallelId, globalTid, start, row_number() OVER (PARTITION BY globalTid, parallelId ORDER BY start, id) AS n
FROM (SELECT id, globalTid, parallelId, start FROM PATH_BARRIERS
      UNION ALL
      SELECT NULL, t.globalTid, t.parallelId, max(t."end") FROM OPENMP_EVENT_KIND_TASK AS t
      WHERE t.kind = 2 AND coalesce((SELECT s."end" FROM PATH_BARRIERS AS s WHERE s.globalTid = t.globalTid AND s.parallelId = t.parallelId AND s.start <= t."end"
                                     ORDER BY s.start DESC LIMIT 1) < t."end" - 100000, 1)
      GROUP BY t.globalTid, t.parallelId);
CREATE INDEX temp.PATH_ARRIVALS_ORDER ON PATH_ARRIVALS (process, parallelId, n, start);
CREATE INDEX temp.PATH_ARRIVALS_ROWS ON PATH_ARRIVALS (id);
DROP TABLE IF EXISTS temp.PATH_REGIONS;
CREATE TEMP TABLE PATH_REGIONS AS SELECT process, parallelId, globalTid, start, "end" FROM OPENMP_REGIONS;
CREATE INDEX temp.PATH_REGIONS_ORDER ON PATH_REGIONS (process, start);
CREATE INDEX temp.PATH_REGIONS_NUMBERS ON PATH_REGIONS (process, parallelId);
INSERT OR IGNORE INTO PATH_OTHER_WAITS
SELECT c.number, r.globalTid, r.start, 'exact'
FROM (SELECT c.number, (SELECT n.rowid FROM PATH_REGIONS AS n
                        WHERE n.process = c.globalTid >> 24 AND n.start > c.start AND n.start < c."end" AND n.globalTid <> c.globalTid ORDER BY n.start DESC LIMIT 1) AS found
      FROM PATH_TEAMS AS c LEFT JOIN PATH_ARRIVALS AS a ON c.source = 4 AND a.id = c.id LEFT JOIN PATH_REGIONS AS r ON r.process = a.process AND r.parallelId = a.parallelId
      WHERE (c.source = 8 OR r.globalTid <> c.globalTid AND r."end" < c."end")) AS c
     JOIN PATH_REGIONS AS r ON r.rowid = c.found;
INSERT OR IGNORE INTO PATH_OTHER_WAITS
SELECT c.number, l.globalTid, l.start, 'exact'
FROM (SELECT c.number, c.globalTid, c.start, c."end", (SELECT l.rowid FROM PATH_ARRIVALS AS l WHERE l.process = a.process AND l.parallelId = a.parallelId AND l.n = a.n
                        ORDER BY l.start DESC, l.globalTid LIMIT 1) AS found
      FROM PATH_TEAMS AS c CROSS JOIN PATH_ARRIVALS AS a ON a.id = c.id WHERE c.source = 4) AS c
     JOIN PATH_ARRIVALS AS l ON l.rowid = c.found
WHERE l.globalTid <> c.globalTid AND l.start > c.start AND l.start < c."end";

-- Times in which it is known how long a thread ran (`cpu`) and was runnable without a CPU (`delay`): between two context switches, else between
-- two readings of the kernel's counters.
DROP VIEW IF EXISTS temp.PATH_FACTS;
CREATE TEMP VIEW PATH_FACTS AS
SELECT globalTid, start, following AS "end", CASE WHEN isSchedIn THEN following - start ELSE 0 END AS cpu,
       CASE WHEN NOT isSchedIn AND (how & 1 OR threadState = 1) THEN following - start ELSE 0 END AS delay, 1 AS is_exact
FROM (SELECT i.*, l.how, lead(i.start) OVER (PARTITION BY i.globalTid ORDER BY i.start, i.isSchedIn) AS following
      FROM SCHED_EVENTS AS i LEFT JOIN LIBTRACE_SCHED_SWITCH AS l ON l.id = i.id)
WHERE following > start
UNION ALL
SELECT globalTid, before, timestamp, cpuTime - cpu_before, max(0, runDelay - delay_before), 0
FROM (SELECT globalTid, timestamp, cpuTime, runDelay, lag(timestamp) OVER following AS before, lag(cpuTime) OVER following AS cpu_before, lag(runDelay) OVER following AS delay_before
      FROM LIBTRACE_THREAD_TIME WHERE which & 4 AND globalTid NOT IN (SELECT globalTid FROM SCHED_EVENTS WHERE globalTid IS NOT NULL)
      WINDOW following AS (PARTITION BY globalTid ORDER BY timestamp))
WHERE timestamp > before AND cpuTime >= cpu_before;

-- The paths to walk: with the argument `range`, that of each NVTX range with such a name, on the thread that ended it. Without it, that of the
-- first process, else of the first thread of a process, else of the thread that ended last. A process that outlived its parent has another one
-- when it executes a program, but was started within the run.
DROP TABLE IF EXISTS temp.PATH_GOALS;
CREATE TEMP TABLE PATH_GOALS (goal INTEGER PRIMARY KEY, track, start, "end");
INSERT INTO PATH_GOALS
SELECT id, coalesce(endGlobalTid, globalTid), start, "end" FROM NVTX_RANGES WHERE argument('range') IS NOT NULL AND text GLOB argument('range') AND "end" > start;
INSERT INTO PATH_GOALS
SELECT 1, globalTid, start, "end" FROM PATH_THREADS WHERE argument('range') IS NULL
ORDER BY parent IS NULL AND globalTid IN (SELECT globalPid + (globalPid >> 24 & 0xffffff) FROM LIBTRACE_PROCESS
                                          WHERE parentPid NOT IN (SELECT pid FROM LIBTRACE_PROCESS)) DESC,
         globalTid >> 24 & 0xffffff = globalTid & 0xffffff DESC, "end" DESC LIMIT 1;

-- Programs of processes: an exec begins another one, whose loading is a part of it.
DROP VIEW IF EXISTS temp.PATH_PROGRAM_STARTS;
CREATE TEMP VIEW PATH_PROGRAM_STARTS AS
SELECT globalPid >> 24 AS process, coalesce(min(start, execEnd), start) AS start, name
FROM (SELECT globalPid, start, name, lag(CASE endHow WHEN 'exec' THEN "end" END) OVER (PARTITION BY globalPid ORDER BY start) AS execEnd FROM LIBTRACE_PROCESS)
WHERE typeof(globalPid) = 'integer' AND name IS NOT NULL
UNION ALL
SELECT globalPid >> 24, 0, min(name) FROM PROCESSES
WHERE typeof(globalPid) = 'integer' AND globalPid NOT IN (SELECT globalPid FROM LIBTRACE_PROCESS WHERE globalPid IS NOT NULL AND name IS NOT NULL) GROUP BY 1;

-- Functions of CPU samples, but those of the C library and the kernel.
DROP VIEW IF EXISTS temp.PATH_SAMPLED_FRAMES;
CREATE TEMP VIEW PATH_SAMPLED_FRAMES AS
SELECT f.id, f.stackDepth AS depth, s.value AS name
FROM SAMPLING_CALLCHAINS AS f CROSS JOIN StringIds AS s ON s.id = f.symbol LEFT JOIN StringIds AS m ON m.id = f.module
WHERE s.value NOT GLOB '0x*' AND f.specialEntry IS NOT 1 AND coalesce(m.value, '') NOT GLOB '*/libc.so*' AND coalesce(m.value, '') NOT GLOB '*/libc-*'
      AND coalesce(m.value, '') NOT GLOB '*/libpthread*' AND coalesce(m.value, '') NOT GLOB '[[]kernel*';

DROP TABLE IF EXISTS temp.PATH_SUMS;
CREATE TEMP TABLE PATH_SUMS AS SELECT * FROM critical_path_sums;

DROP TABLE IF EXISTS temp.PATH_STREAMS;
CREATE TEMP TABLE PATH_STREAMS (track INTEGER PRIMARY KEY, process, device, context, stream, start);
INSERT INTO PATH_STREAMS SELECT track, process, device, context, stream, start FROM traced_streams;

-- Ranks of processes in MPI_COMM_WORLD, else in their largest communicator of NCCL.
DROP TABLE IF EXISTS temp.PATH_RANKS;
CREATE TEMP TABLE PATH_RANKS (process INTEGER PRIMARY KEY, rank);
INSERT INTO PATH_RANKS SELECT globalTid >> 24, min(rank) FROM MPI_RANKS WHERE typeof(globalTid) = 'integer' GROUP BY 1;
INSERT OR IGNORE INTO PATH_RANKS
SELECT process, rank FROM (SELECT globalTid >> 24 AS process, rank, max(ranks) FROM LIBTRACE_NCCL_COMMUNICATOR WHERE typeof(globalTid) = 'integer' GROUP BY 1);

-- The last program of each process.
DROP TABLE IF EXISTS temp.PATH_PROGRAMS;
CREATE TEMP TABLE PATH_PROGRAMS (process INTEGER PRIMARY KEY, name);
INSERT INTO PATH_PROGRAMS SELECT process, name FROM (SELECT process, name, max(start) FROM PATH_PROGRAM_STARTS GROUP BY process);

-- Places of calls: the line of Python of the program, else its innermost function that is not in the C library. A frame without a name
-- is shown as module+offset, with the innermost function that has a name.
-- PATH_FRAMES: the depths of both in the callchains of the path.
DROP TABLE IF EXISTS temp.PATH_FRAMES;
CREATE TEMP TABLE PATH_FRAMES AS
WITH used AS MATERIALIZED (
  SELECT source = 1 AS source, chain AS id FROM PATH_SUMS WHERE chain IS NOT NULL UNION SELECT wait_source = 1, wait_chain FROM PATH_SUMS WHERE wait_chain IS NOT NULL
  UNION SELECT 0, object_chain FROM PATH_SUMS WHERE object_chain IS NOT NULL UNION SELECT 0, wait_object_chain FROM PATH_SUMS WHERE wait_object_chain IS NOT NULL)
SELECT source, id, (SELECT f.depth FROM OSRT_OWN_FRAMES AS f WHERE f.id = u.id ORDER BY f.depth LIMIT 1) AS inner_depth,
       (SELECT f.depth FROM OSRT_OWN_FRAMES AS f WHERE f.id = u.id AND f.is_named ORDER BY f.depth LIMIT 1) AS named_depth
FROM used AS u WHERE source = 0
UNION ALL
SELECT source, id, (SELECT f.depth FROM CUDA_OWN_FRAMES AS f WHERE f.id = u.id ORDER BY f.depth LIMIT 1),
       (SELECT f.depth FROM CUDA_OWN_FRAMES AS f WHERE f.id = u.id AND f.is_named ORDER BY f.depth LIMIT 1)
FROM used AS u WHERE source = 1;

DROP VIEW IF EXISTS temp.PATH_OWN_FRAMES;
CREATE TEMP VIEW PATH_OWN_FRAMES AS
SELECT c.source, c.id, c.inner_depth, c.named_depth, f.depth, f.ip, f.module, f.name, replace(f.path, rtrim(f.path, replace(f.path, '/', '')), '') AS file, f.is_named
FROM PATH_FRAMES AS c CROSS JOIN OSRT_OWN_FRAMES AS f ON f.id = c.id AND f.depth IN (c.inner_depth, c.named_depth) WHERE c.source = 0
UNION ALL
SELECT c.source, c.id, c.inner_depth, c.named_depth, f.depth, f.ip, f.module, f.name, replace(f.path, rtrim(f.path, replace(f.path, '/', '')), ''), f.is_named
FROM PATH_FRAMES AS c CROSS JOIN CUDA_OWN_FRAMES AS f ON f.id = c.id AND f.depth IN (c.inner_depth, c.named_depth) WHERE c.source = 1;

DROP TABLE IF EXISTS temp.PATH_CHAINS;
CREATE TEMP TABLE PATH_CHAINS (source, id, place, PRIMARY KEY (source, id)) WITHOUT ROWID;
INSERT OR IGNORE INTO PATH_CHAINS SELECT 0, id, place FROM OSRT_PLACES;
INSERT OR IGNORE INTO PATH_CHAINS SELECT 1, id, place FROM CUDA_PLACES;
INSERT OR IGNORE INTO PATH_CHAINS
WITH named AS MATERIALIZED (
  SELECT f.source, f.id, f.name || coalesce(CASE WHEN f.name NOT GLOB '* (*:[0-9]*)' THEN ' (' END || replace(n.value, rtrim(n.value, replace(n.value, '/', '')), '') || ':' || l.line || ')', '') AS text
  FROM PATH_OWN_FRAMES AS f
       LEFT JOIN (SELECT 0 AS source, * FROM LIBTRACE_OSRT_CALLCHAINS UNION ALL SELECT 1, * FROM LIBTRACE_CUDA_CALLCHAINS) AS l
       ON l.source = f.source AND l.id = f.id AND l.stackDepth = f.depth AND l.line > 0
       LEFT JOIN StringIds AS n ON n.id = l.fileId
  WHERE f.depth = f.named_depth),
inner_frames AS MATERIALIZED (
  SELECT source, id, is_named, file || coalesce((
           SELECT printf('+0x%x', f.ip - m.bias) FROM LIBTRACE_MODULE_LOAD AS m WHERE m.pathId = f.module AND f.ip BETWEEN m.begin AND m."end" LIMIT 1), '') AS text
  FROM PATH_OWN_FRAMES AS f WHERE depth = inner_depth)
SELECT i.source, i.id, CASE WHEN i.is_named THEN n.text ELSE i.text || coalesce(' <- ' || n.text, '') END
FROM inner_frames AS i LEFT JOIN named AS n ON n.source = i.source AND n.id = i.id;

-- Places of CPU samples: the function that ran. Code without a name is that of its module: its addresses are many, and differ between builds.
DROP TABLE IF EXISTS temp.PATH_SAMPLED;
CREATE TEMP TABLE PATH_SAMPLED (sample INTEGER PRIMARY KEY, place);
INSERT OR IGNORE INTO PATH_SAMPLED
SELECT s.sample, CASE WHEN n.value NOT GLOB '0x*' THEN n.value ELSE '[no symbol]' || coalesce(' ' || replace(m.value, rtrim(m.value, replace(m.value, '/', '')), ''), '') END
FROM (SELECT DISTINCT sample FROM PATH_SUMS WHERE sample IS NOT NULL) AS s JOIN SAMPLING_CALLCHAINS AS x ON x.id = s.sample AND x.stackDepth = 0
     JOIN StringIds AS n ON n.id = x.symbol LEFT JOIN StringIds AS m ON m.id = x.module;

-- Names of locks and other objects: the variable that they are in, else the function that used them first.
DROP TABLE IF EXISTS temp.PATH_VARIABLES;
CREATE TEMP TABLE PATH_VARIABLES (globalPid, object, name, PRIMARY KEY (globalPid, object)) WITHOUT ROWID;
INSERT OR IGNORE INTO PATH_VARIABLES SELECT o.globalPid, o.object, s.value FROM LIBTRACE_OBJECT AS o JOIN StringIds AS s ON s.id = o.nameId;
DROP TABLE IF EXISTS temp.PATH_OBJECTS;
CREATE TEMP TABLE PATH_OBJECTS (process, object, name, PRIMARY KEY (process, object)) WITHOUT ROWID;
INSERT OR IGNORE INTO PATH_OBJECTS
WITH used AS MATERIALIZED (
  SELECT track >> 24 AS process, object, object_chain AS chain, name FROM PATH_SUMS WHERE object IS NOT NULL
  UNION SELECT wait_track >> 24, wait_object, wait_object_chain, wait_name FROM PATH_SUMS WHERE wait_object IS NOT NULL)
SELECT u.process, u.object,
       coalesce(v.name,
                CASE WHEN u.name LIKE '%cond%' OR u.name LIKE 'cnd%' THEN 'condition' WHEN u.name LIKE 'sem%' THEN 'semaphore' WHEN u.name LIKE '%barrier%' THEN 'barrier' ELSE 'lock' END
                || ' of ' || CASE WHEN c.place GLOB '* (*:[0-9]*)' THEN rtrim(rtrim(c.place, replace(c.place, ' ', '')), ' ') ELSE c.place END)
FROM used AS u LEFT JOIN PATH_CHAINS AS c ON c.source = 0 AND c.id = u.chain LEFT JOIN PATH_VARIABLES AS v ON v.globalPid = u.process << 24 AND v.object = u.object;

-- Names of threads that were joined, or held a lock: those that they were given, else the function that they began in.
DROP TABLE IF EXISTS temp.PATH_GIVEN_NAMES;
CREATE TEMP TABLE PATH_GIVEN_NAMES (track INTEGER PRIMARY KEY, name);
INSERT OR IGNORE INTO PATH_GIVEN_NAMES
SELECT n.globalTid, s.value FROM ThreadNames AS n JOIN StringIds AS s ON s.id = n.nameId
WHERE typeof(n.globalTid) = 'integer' AND s.value NOT IN (SELECT name FROM PATH_PROGRAM_STARTS WHERE name IS NOT NULL) ORDER BY n.priority DESC;
DROP TABLE IF EXISTS temp.PATH_NAMED_THREADS;
CREATE TEMP TABLE PATH_NAMED_THREADS (track INTEGER PRIMARY KEY, name);
INSERT OR IGNORE INTO PATH_NAMED_THREADS SELECT other, NULL FROM PATH_SUMS WHERE other IS NOT NULL UNION SELECT wait_other, NULL FROM PATH_SUMS WHERE wait_other IS NOT NULL;
UPDATE PATH_NAMED_THREADS SET name = (SELECT g.name FROM PATH_GIVEN_NAMES AS g WHERE g.track = PATH_NAMED_THREADS.track);
DROP TABLE IF EXISTS temp.PATH_ENTRIES;
CREATE TEMP TABLE PATH_ENTRIES (track INTEGER PRIMARY KEY, name);
INSERT INTO PATH_ENTRIES
SELECT track, name
FROM (SELECT a.track, s.value AS name, max(f.stackDepth)
      FROM (SELECT globalTid AS track, min(callchainId) AS chain FROM OSRT_API
            WHERE callchainId > 0 AND globalTid IN (SELECT track FROM PATH_NAMED_THREADS WHERE name IS NULL) GROUP BY 1) AS a
           JOIN OSRT_CALLCHAINS AS f ON f.id = a.chain JOIN StringIds AS s ON s.id = f.symbol JOIN StringIds AS m ON m.id = f.module
      WHERE m.value NOT GLOB '*/libc.so*' AND m.value NOT GLOB '*/libpthread*' AND m.value NOT GLOB '*/libc-*' AND s.value NOT GLOB '0x*' AND s.value <> '_start'
      GROUP BY a.track);
UPDATE PATH_NAMED_THREADS SET name = (SELECT e.name FROM PATH_ENTRIES AS e WHERE e.track = PATH_NAMED_THREADS.track) WHERE name IS NULL;

-- What calls use, as it is put after their names: " (data.bin)", " (queue+0x28, held by worker in flush())", " (worker)".
DROP VIEW IF EXISTS temp.PATH_THINGS;
CREATE TEMP VIEW PATH_THINGS AS
SELECT s.process, s.name, s.file, s.object, s.other, s.function,
       ' (' || coalesce(used || ', ' || held, used, held) || ')' AS thing
FROM (SELECT s.*, coalesce(s.file, o.name) AS used,
             CASE WHEN s.name LIKE '%join%' THEN t.name
                  ELSE 'held' || nullif(coalesce(' by ' || t.name, '')
                                        || CASE WHEN s.function <> coalesce(t.name, '') THEN ' in ' || s.function || CASE WHEN s.function GLOB '*(*' THEN '' ELSE '()' END ELSE '' END, '') END AS held
      FROM (SELECT track >> 24 AS process, name, file, object, other, function FROM PATH_SUMS WHERE coalesce(file, object, other) IS NOT NULL
            UNION SELECT wait_track >> 24, wait_name, wait_file, wait_object, wait_other, wait_function FROM PATH_SUMS WHERE coalesce(wait_file, wait_object, wait_other) IS NOT NULL) AS s
           LEFT JOIN PATH_OBJECTS AS o ON o.process = s.process AND o.object = s.object LEFT JOIN PATH_NAMED_THREADS AS t ON t.track = s.other) AS s;
DROP TABLE IF EXISTS temp.PATH_USED;
CREATE TEMP TABLE PATH_USED AS SELECT * FROM PATH_THINGS WHERE thing IS NOT NULL;
CREATE INDEX temp.PATH_USED_ORDER ON PATH_USED (process, name, file, object, other, function);

-- Sums with their places. Of a segment with CPU samples each place has a row.
DROP VIEW IF EXISTS temp.PATH_PLACED;
CREATE TEMP VIEW PATH_PLACED AS
SELECT s.track, s.kind, s.how, s.name, s.is_timeout, s.wait_track, s.wait_source, s.wait_name, s.wait_chain, s.ns, s.count, s.longest, c.place, s.program, u.thing, w.thing AS wait_thing
FROM PATH_SUMS AS s LEFT JOIN PATH_CHAINS AS c ON c.source = (s.source = 1) AND c.id = s.chain
     LEFT JOIN PATH_USED AS u ON u.process = s.track >> 24 AND u.name = s.name AND u.file IS s.file AND u.object IS s.object AND u.other IS s.other AND u.function IS s.function
     LEFT JOIN PATH_USED AS w ON w.process = s.wait_track >> 24 AND w.name = s.wait_name AND w.file IS s.wait_file AND w.object IS s.wait_object AND w.other IS s.wait_other AND w.function IS s.wait_function
WHERE s.sample IS NULL
UNION ALL
SELECT s.track, s.kind, s.how, s.name, s.is_timeout, s.wait_track, s.wait_source, s.wait_name, s.wait_chain, sum(s.ns), 1, sum(s.ns), p.place, s.program, NULL, w.thing
FROM PATH_SUMS AS s LEFT JOIN PATH_SAMPLED AS p ON p.sample = s.sample
     LEFT JOIN PATH_USED AS w ON w.process = s.wait_track >> 24 AND w.name = s.wait_name AND w.file IS s.wait_file AND w.object IS s.wait_object AND w.other IS s.wait_other AND w.function IS s.wait_function
WHERE s.sample IS NOT NULL GROUP BY s.segment, p.place;

-- The same with causes.
DROP VIEW IF EXISTS temp.PATH_CAUSES;
CREATE TEMP VIEW PATH_CAUSES AS
SELECT s.ns, s.count, s.longest, s.kind, s.how, s.wait_track, s.wait_source, s.wait_name || coalesce(s.wait_thing, '') AS wait_name, s.wait_chain, s.place,
       CASE WHEN s.track > 0 THEN s.track >> 24 ELSE t.process END AS process,
       CASE WHEN s.track > 0 THEN s.track & 0xffffff END AS tid, t.stream, r.rank, s.program,
       path_cause(s.kind, s.track, s.name, s.is_timeout, s.thing) AS cause
FROM PATH_PLACED AS s LEFT JOIN PATH_STREAMS AS t ON t.track = s.track
     LEFT JOIN PATH_RANKS AS r ON r.process = CASE WHEN s.track > 0 THEN s.track >> 24 ELSE t.process END;
