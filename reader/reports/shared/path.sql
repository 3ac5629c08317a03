-- SPDX-License-Identifier: Apache-2.0
-- The critical path of the program: input of the table critical_path (reader/sql/critical_path.h), and its segments with names. Needs
-- shared/osrt.sql, shared/launch_calls.sql, shared/gpu_work.sql and shared/openmp.sql.
--
-- A call that waits ends because of something that another thread, process or stream did. `how` says how sure that is: exact (by object and
-- order, or by the id of the process), likely (by time alone), unknown (it waited, and who ended it is not in the report), or NULL: the call
-- waits for nobody that the report could name.

-- What functions do: wait for a thread (join), a process, a lock, a condition, a semaphore, a barrier, data (read), descriptors that are ready (poll),
-- the GPU (device), the rest of a team of OpenMP (team), ranks of MPI (mpi), or something else (wait); end waits of others (signal, post, write); or
-- open, copy and close descriptors (open, pair, copy, create, close). `source`: 0 OS runtime, 1 CUDA API, 2 wait for Python's GIL, 4 and 8 OpenMP,
-- 5, 6 and 7 MPI.
DROP TABLE IF EXISTS temp.PATH_NAMES;
CREATE TEMP TABLE PATH_NAMES (source, nameId, name, role, PRIMARY KEY (source, nameId)) WITHOUT ROWID;
INSERT INTO PATH_NAMES
SELECT 0, id, name,
       CASE WHEN name LIKE 'pthread%join%' THEN 'join' WHEN name IN ('wait', 'waitpid', 'wait3', 'wait4', 'waitid', 'system', 'pclose') THEN 'process'
            WHEN name IN ('pthread_cond_wait', 'pthread_cond_timedwait', 'pthread_cond_clockwait') THEN 'condition' WHEN name IN ('pthread_cond_signal', 'pthread_cond_broadcast') THEN 'signal'
            WHEN name IN ('sem_wait', 'sem_timedwait', 'sem_clockwait') THEN 'semaphore' WHEN name = 'sem_post' THEN 'post' WHEN name = 'pthread_barrier_wait' THEN 'barrier'
            WHEN name IN ('write', 'writev', 'pwrite', 'pwritev', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'splice', 'fwrite', 'fwrite_unlocked', 'fputs', 'fputs_unlocked', 'puts',
                          'putc', 'putc_unlocked', 'fputc', 'fputc_unlocked', 'putchar', 'putchar_unlocked', 'fputws', 'pwrite64', 'fflush',
                          'fflush_unlocked', 'fclose', 'eventfd_write') THEN 'write'
            WHEN name LIKE '%poll%' OR name LIKE '%select' OR name LIKE 'epoll%wait%' THEN 'poll'
            WHEN name LIKE 'read%' OR name LIKE 'pread%' OR name LIKE 'recv%' OR name LIKE 'accept%'
                 OR name IN ('fread', 'fread_unlocked', 'fgets', 'fgets_unlocked', 'getline', 'getdelim', 'fgetc', 'fgetc_unlocked', 'getc', 'getc_unlocked',
                             'getchar', 'getchar_unlocked', 'fgetws', 'fgetwc', 'getwc', 'getwchar', 'connect', 'eventfd_read') THEN 'read'
            WHEN name LIKE 'open%' OR name LIKE 'creat%' OR name LIKE 'fopen%' THEN 'open' WHEN name IN ('pipe', 'pipe2', 'socketpair') THEN 'pair'
            WHEN name IN ('dup', 'dup2', 'dup3') THEN 'copy' WHEN name = 'close' THEN 'close'
            WHEN name IN ('socket', 'eventfd', 'memfd_create', 'inotify_init', 'inotify_init1', 'timerfd_create', 'signalfd', 'mkostemp', 'mkstemp') THEN 'create'
            WHEN name LIKE '%sleep%' OR name LIKE '%yield%' THEN NULL
            WHEN osrt_class(name) = 'lock' THEN 'lock' WHEN osrt_class(name) = 'wait' THEN 'wait' END
FROM (SELECT s.id, s.value AS name FROM StringIds AS s WHERE s.id IN (SELECT nameId FROM OSRT_API UNION SELECT nameId FROM LIBTRACE_OSRT_UNFINISHED))
UNION ALL
SELECT 1, id, api_name(name), CASE WHEN api_waits(name) THEN 'device' END
FROM (SELECT s.id, s.value AS name FROM StringIds AS s WHERE s.id IN (SELECT nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME))
UNION ALL
SELECT 2, 0, 'wait for the GIL', 'lock'
UNION ALL
SELECT 4, id, name, 'team' FROM (SELECT s.id, s.value AS name FROM StringIds AS s WHERE s.id IN (SELECT nameId FROM OPENMP_EVENT_KIND_SYNC_REGION WHERE kind BETWEEN 1 AND 4))
UNION ALL
SELECT 8, 0, 'wait for the next parallel region', 'team';

-- Calls of threads. A call within another one, such as those of which a wait for the GIL consists, is left out by critical_path. `number` is made
-- of the row's id in its table and of `source`; 3 is a call that has not returned. A worker of OpenMP that ends its part of a region without a
-- barrier (libgomp's) waits for its next region from there.
DROP TABLE IF EXISTS temp.PATH_IDLE;
CREATE TEMP TABLE PATH_IDLE AS
SELECT t.id, t.globalTid, t.before AS start, t.start AS "end"
FROM (SELECT id, globalTid, parallelId, start, lag("end") OVER (PARTITION BY globalTid ORDER BY start) AS before FROM OPENMP_EVENT_KIND_TASK WHERE kind = 2) AS t
     JOIN OPENMP_REGIONS AS r ON r.process = t.globalTid >> 24 AND r.parallelId = t.parallelId
WHERE r.globalTid <> t.globalTid AND t.before < t.start;

DROP VIEW IF EXISTS temp.PATH_CALLS;
CREATE TEMP VIEW PATH_CALLS AS
SELECT id << 4 AS number, 0 AS source, globalTid, start, "end", id, nameId, returnValue AS value, NULL AS holder FROM OSRT_API WHERE eventClass = 27
UNION ALL
SELECT id << 4 | 1, 1, globalTid, start, "end", correlationId, nameId, returnValue, NULL FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE eventClass IS NOT 67
UNION ALL
SELECT id << 4 | 2, 2, globalTid, start, start + duration, NULL, 0, NULL, nullif(holderTid, 0) FROM LIBTRACE_GIL_WAIT
UNION ALL
SELECT id << 4 | 3, 0, globalTid, start, start + duration, NULL, nameId, NULL, NULL FROM LIBTRACE_OSRT_UNFINISHED
UNION ALL
SELECT id << 4 | 4, 4, globalTid, start, "end", id, nameId, NULL, NULL FROM OPENMP_EVENT_KIND_SYNC_REGION WHERE kind BETWEEN 1 AND 4
UNION ALL
SELECT id << 4 | 8, 8, globalTid, start, "end", id, 0, NULL, NULL FROM PATH_IDLE;

-- Those that wait, or end waits, with their objects. `failed`: the error of the call. `timed_out`: its timeout ended it, as if it were a sleep. A call of less than 10 us is too short to have been woken up.
DROP TABLE IF EXISTS temp.PATH_ROLES;
CREATE TEMP TABLE PATH_ROLES (number INTEGER PRIMARY KEY, role, globalTid, start, "end", source, id, name, value, object, holder, failed, timed_out);
INSERT OR IGNORE INTO PATH_ROLES
SELECT c.number, n.role, c.globalTid, c.start, c."end", c.source, c.id, n.name, c.value, f.object, coalesce(c.holder, nullif(f.holderTid, 0)), f.errno,
       CASE n.role WHEN 'poll' THEN c.value = 0 WHEN 'condition' THEN c.value = 110 WHEN 'semaphore' THEN f.errno = 110 ELSE 0 END
FROM PATH_CALLS AS c CROSS JOIN PATH_NAMES AS n ON n.source = c.source AND n.nameId = c.nameId LEFT JOIN LIBTRACE_OSRT_CALL AS f ON c.source = 0 AND f.id = c.id
WHERE n.role IS NOT NULL AND (c."end" - c.start >= 10000 OR n.role IN ('lock', 'barrier', 'signal', 'post', 'write', 'open', 'pair', 'copy', 'create', 'close', 'team'));
CREATE INDEX temp.PATH_ROLES_ORDER ON PATH_ROLES (role);

-- Threads. A thread begins because another thread started it; the first thread of a process because of the parent's fork or spawn.
DROP TABLE IF EXISTS temp.PATH_THREADS;
CREATE TEMP TABLE PATH_THREADS (globalTid INTEGER PRIMARY KEY, start, "end", has_end, parent, parent_time);
INSERT INTO PATH_THREADS
SELECT globalTid, min(start), max("end"), max(has_end), NULL, NULL
FROM (SELECT globalTid, min(start) AS start, max("end") AS "end", 0 AS has_end FROM PATH_CALLS GROUP BY globalTid
      UNION ALL SELECT globalTid, timestamp, timestamp, 0 FROM LIBTRACE_THREAD_START
      UNION ALL SELECT globalTid, timestamp, timestamp, 1 FROM LIBTRACE_THREAD_END
      UNION ALL SELECT globalPid + (globalPid >> 24 & 0xffffff), start, "end", 1 FROM LIBTRACE_PROCESS WHERE "end" >= start)
WHERE typeof(globalTid) = 'integer' AND typeof(start) = 'integer' AND typeof("end") = 'integer' GROUP BY globalTid;

UPDATE PATH_THREADS SET (parent, parent_time) =
  (SELECT p.globalTid, t.timestamp FROM LIBTRACE_THREAD_START AS t JOIN PATH_THREADS AS p ON p.globalTid = (t.globalTid & ~0xffffff) + t.parentTid
   WHERE t.globalTid = PATH_THREADS.globalTid AND t.parentTid <> 0 AND t.flags & 3 = 0 ORDER BY t.timestamp LIMIT 1)
WHERE globalTid >> 24 & 0xffffff <> globalTid & 0xffffff;
-- Of equal process ids in merged reports, that of the same report comes first; an id that was used again has another VM, too.
UPDATE PATH_THREADS SET (parent, parent_time) =
  (SELECT c.globalTid, min(c.timestamp, PATH_THREADS.start) FROM PATH_THREADS AS t JOIN LIBTRACE_CHILD AS c ON c.childPid = t.globalTid & 0xffffff
   WHERE t.globalTid = PATH_THREADS.globalTid AND c.globalTid <> t.globalTid ORDER BY c.globalTid >> 48 <> t.globalTid >> 48, c.timestamp LIMIT 1)
WHERE globalTid >> 24 & 0xffffff = globalTid & 0xffffff;
-- The parent does not learn the process id of a child of system() or popen(): its record next to the child's start is taken.
UPDATE PATH_THREADS SET (parent, parent_time) =
  (SELECT c.globalTid, min(c.timestamp, p.start) FROM LIBTRACE_PROCESS AS p
          JOIN LIBTRACE_CHILD AS c ON c.childPid = 0 AND c.globalTid >> 24 & 0xffffff = p.parentPid
   WHERE p.globalPid >> 24 = PATH_THREADS.globalTid >> 24 AND c.globalTid <> PATH_THREADS.globalTid
   ORDER BY c.globalTid >> 48 <> p.globalPid >> 48, abs(c.timestamp - p.start) LIMIT 1)
WHERE parent IS NULL AND globalTid >> 24 & 0xffffff = globalTid & 0xffffff;

-- Calls that end waits of other threads: of conditions, semaphores, barriers and locks by their object, of descriptors by time.
DROP TABLE IF EXISTS temp.PATH_WAKES;
CREATE TEMP TABLE PATH_WAKES (kind, process, object, start, "end", globalTid);
INSERT INTO PATH_WAKES
SELECT CASE role WHEN 'signal' THEN 'condition' WHEN 'post' THEN 'semaphore' ELSE role END, globalTid >> 24, object, start, "end", globalTid
FROM PATH_ROLES WHERE object <> 0 AND role IN ('signal', 'post', 'barrier', 'lock');
CREATE INDEX temp.PATH_WAKES_ORDER ON PATH_WAKES (kind, process, object, start);

-- What descriptors are, as far as calls show it: a file (it has no writer that a reader waits for), an end of a pipe or of a pair of sockets (`pipe`: the
-- call that created it), or something else (both NULL). A child has the descriptors that its parent had when it was started.
DROP TABLE IF EXISTS temp.PATH_DESCRIPTOR_CALLS;
CREATE TEMP TABLE PATH_DESCRIPTOR_CALLS (process, object, start, "end", is_file, pipe, source);
INSERT INTO PATH_DESCRIPTOR_CALLS
SELECT process, object, start, lead(start, 1, 1 << 62) OVER (PARTITION BY process, object ORDER BY start, number), role = 'open', CASE role WHEN 'pair' THEN number END, source
FROM (SELECT number, globalTid >> 24 AS process, value AS object, "end" AS start, role, CASE role WHEN 'copy' THEN object END AS source
      FROM PATH_ROLES WHERE role IN ('open', 'copy', 'create') AND value >= 0
      UNION ALL SELECT number, globalTid >> 24, object & 0xffffff, "end", role, NULL FROM PATH_ROLES WHERE role = 'pair' AND object <> 0
      UNION ALL SELECT number, globalTid >> 24, object >> 24 & 0xffffff, "end", role, NULL FROM PATH_ROLES WHERE role = 'pair' AND object <> 0
      UNION ALL SELECT number, globalTid >> 24, object, start, role, NULL FROM PATH_ROLES WHERE role = 'close' AND value = 0);
CREATE INDEX temp.PATH_DESCRIPTOR_CALLS_ORDER ON PATH_DESCRIPTOR_CALLS (process, object, start);
CREATE INDEX temp.PATH_DESCRIPTOR_CALLS_COPIES ON PATH_DESCRIPTOR_CALLS (process, source, start);

DROP TABLE IF EXISTS temp.PATH_DESCRIPTORS;
CREATE TEMP TABLE PATH_DESCRIPTORS (process, object, start, "end", is_file, pipe);
INSERT INTO PATH_DESCRIPTORS
WITH RECURSIVE forks AS MATERIALIZED (
  SELECT parent >> 24 AS parent, globalTid >> 24 AS child, parent_time AS time, start FROM PATH_THREADS
  WHERE parent IS NOT NULL AND parent >> 24 <> globalTid >> 24),
found(process, object, start, "end", is_file, pipe) AS (
  SELECT process, object, start, "end", is_file, pipe FROM PATH_DESCRIPTOR_CALLS WHERE source IS NULL AND (is_file OR pipe IS NOT NULL)
  UNION
  SELECT k.child, f.object, k.time, coalesce((SELECT min(o.start) FROM PATH_DESCRIPTOR_CALLS AS o WHERE o.process = k.child AND o.object = f.object), 1 << 62), f.is_file, f.pipe
  FROM found AS f JOIN forks AS k ON k.parent = f.process AND k.time >= f.start AND k.time < f."end"
  UNION
  SELECT o.process, o.object, o.start, o."end", f.is_file, f.pipe
  FROM found AS f CROSS JOIN PATH_DESCRIPTOR_CALLS AS o ON o.process = f.process AND o.source = f.object AND o.start > f.start AND o.start <= f."end"
  LIMIT 1000000)
SELECT * FROM found;
CREATE INDEX temp.PATH_DESCRIPTORS_ORDER ON PATH_DESCRIPTORS (process, object, start);

-- Calls that write or read where somebody may wait, so not to files; and those that may wait themselves, with what their descriptor is.
DROP TABLE IF EXISTS temp.PATH_TRANSFERS;
CREATE TEMP TABLE PATH_TRANSFERS (number INTEGER PRIMARY KEY, role, start, globalTid, is_file, pipe);
INSERT INTO PATH_TRANSFERS
SELECT c.number, c.role, c.start, c.globalTid, coalesce(d.is_file, 0), d.pipe
FROM (SELECT number, role, start, "end", globalTid,
             (SELECT d.rowid FROM PATH_DESCRIPTORS AS d WHERE d.process = r.globalTid >> 24 AND d.object = r.object AND d.start <= r.start ORDER BY d.start DESC LIMIT 1) AS found
      FROM PATH_ROLES AS r
      WHERE role IN ('read', 'poll') OR role = 'write' AND (value > 0 OR value = 0 AND name IN ('fflush', 'fflush_unlocked', 'fclose'))) AS c
     LEFT JOIN PATH_DESCRIPTORS AS d ON d.rowid = c.found AND d."end" > c.start
WHERE c.role <> 'write' OR d.is_file IS NOT 1;
CREATE INDEX temp.PATH_TRANSFERS_ORDER ON PATH_TRANSFERS (role, is_file, start);
CREATE INDEX temp.PATH_TRANSFERS_PIPES ON PATH_TRANSFERS (pipe, role, start);

DROP TABLE IF EXISTS temp.PATH_ENDS;
CREATE TEMP TABLE PATH_ENDS AS
SELECT globalTid >> 24 AS process, "end", globalTid, globalTid >> 24 & 0xffffff = globalTid & 0xffffff AS is_process FROM PATH_THREADS
WHERE has_end OR NOT EXISTS (SELECT 1 FROM LIBTRACE_THREAD_END);
CREATE INDEX temp.PATH_ENDS_THREADS ON PATH_ENDS (process, "end");
CREATE INDEX temp.PATH_ENDS_PROCESSES ON PATH_ENDS (is_process, "end");

-- Operations of the GPU, by stream. A stream is a track with a negative number.
DROP TABLE IF EXISTS temp.PATH_STREAMS;
CREATE TEMP TABLE PATH_STREAMS (number INTEGER PRIMARY KEY, process, device, context, stream, start);
DROP TABLE IF EXISTS temp.PATH_WORK;
CREATE TEMP TABLE PATH_WORK (process, device, context, stream, start, "end", correlation, name);
INSERT INTO PATH_WORK
SELECT process, coalesce(device, 0), coalesce(context, 0), coalesce(stream, 0), start, "end", correlation, CASE kind WHEN 'kernel' THEN 'kernel ' || coalesce(name, '') ELSE name END
FROM GPU_OPERATIONS;
INSERT INTO PATH_STREAMS (process, device, context, stream, start)
SELECT process, device, context, stream, min(start) FROM PATH_WORK GROUP BY process, device, context, stream;
CREATE INDEX temp.PATH_STREAMS_ORDER ON PATH_STREAMS (process, device, context, stream);
CREATE INDEX temp.PATH_WORK_STREAMS ON PATH_WORK (process, context, stream, "end");
CREATE INDEX temp.PATH_WORK_ENDS ON PATH_WORK (process, "end");
CREATE INDEX temp.PATH_WORK_CORRELATIONS ON PATH_WORK (process, correlation);

-- What a CUDA call waits for: the stream or context that it names, else its own operation.
DROP TABLE IF EXISTS temp.PATH_SYNCS;
CREATE TEMP TABLE PATH_SYNCS (process, correlation, context, stream, PRIMARY KEY (process, correlation)) WITHOUT ROWID;
INSERT OR IGNORE INTO PATH_SYNCS SELECT process, correlation, context, stream FROM GPU_SYNCS WHERE context IS NOT NULL;

-- Waits with what ended them. `other`: a thread or, below 0, a stream.
DROP TABLE IF EXISTS temp.PATH_WAITS;
CREATE TEMP TABLE PATH_WAITS (number INTEGER PRIMARY KEY, other, other_time, how);

-- pthread_join(): the thread of the process that ended last before the call did; exact if no other ended meanwhile.
INSERT INTO PATH_WAITS
SELECT c.number, e.globalTid, e."end", CASE WHEN c.threads = 1 THEN 'exact' ELSE 'likely' END
FROM (SELECT c.number,
             (SELECT e.rowid FROM PATH_ENDS AS e WHERE e.process = c.globalTid >> 24 AND e."end" > c.start AND e."end" <= c."end" AND e.globalTid <> c.globalTid
              ORDER BY e."end" DESC LIMIT 1) AS found,
             (SELECT count(*) FROM PATH_ENDS AS e WHERE e.process = c.globalTid >> 24 AND e."end" > c.start AND e."end" <= c."end" AND e.globalTid <> c.globalTid) AS threads
      FROM PATH_ROLES AS c WHERE c.role = 'join') AS c
     JOIN PATH_ENDS AS e ON e.rowid = c.found;

-- waitpid() and its kin: the process that it returned; system() and pclose(): the one that ended last before the call did.
INSERT OR IGNORE INTO PATH_WAITS
SELECT c.number, e.globalTid, e."end", CASE WHEN e.globalTid & 0xffffff = c.value THEN 'exact' ELSE 'likely' END
FROM (SELECT c.number, c.value, c.name,
             (SELECT e.rowid FROM PATH_ROLES AS o CROSS JOIN PATH_ENDS AS e
              WHERE o.number = c.number AND e.is_process AND e."end" > c.start AND e."end" <= c."end" AND e.process <> c.globalTid >> 24
                    AND (c.name IN ('system', 'pclose', 'waitid') OR e.globalTid & 0xffffff = c.value)
              ORDER BY e.process >> 24 <> o.globalTid >> 48, e."end" DESC LIMIT 1) AS found
      FROM PATH_ROLES AS c WHERE c.role = 'process') AS c
     JOIN PATH_ENDS AS e ON e.rowid = c.found;

-- Locks: the thread that got the lock last while this one waited, else the one that held it when the wait began. The
-- lock was released just before the wait ended.
INSERT OR IGNORE INTO PATH_WAITS
SELECT c.number, coalesce(g.globalTid, c.holderTid), c."end", CASE WHEN c.source = 2 THEN 'likely' ELSE 'exact' END
FROM (SELECT c.number, c.source, c."end", (c.globalTid & ~0xffffff) + c.holder AS holderTid,
             (SELECT w.rowid FROM PATH_WAKES AS w
              WHERE w.kind = 'lock' AND w.process = c.globalTid >> 24 AND w.object = c.object AND w."end" > c.start AND w."end" < c."end" AND w.globalTid <> c.globalTid
              ORDER BY w."end" DESC LIMIT 1) AS found
      FROM PATH_ROLES AS c WHERE c.holder IS NOT NULL) AS c
     LEFT JOIN PATH_WAKES AS g ON g.rowid = c.found;

-- Conditions, semaphores and barriers: the last call on the same object before the wait ended. A barrier is left by all when the last one comes,
-- which does not wait itself.
INSERT OR IGNORE INTO PATH_WAITS
SELECT c.number, w.globalTid, w.start, 'exact'
FROM (SELECT c.number,
             (SELECT w.rowid FROM PATH_WAKES AS w
              WHERE w.kind = c.role AND w.process = c.globalTid >> 24 AND w.object = c.object AND w.start > c.start AND w.start < c."end" AND w.globalTid <> c.globalTid
              ORDER BY w.start DESC LIMIT 1) AS found
      FROM PATH_ROLES AS c WHERE c.role IN ('condition', 'semaphore', 'barrier') AND c.failed = 0 AND NOT c.timed_out) AS c
     JOIN PATH_WAKES AS w ON w.rowid = c.found;

-- Reading, and waiting until something can be read: the last write of another thread to the pipe before the call returned. If it is not known which pipe
-- that is, the last write to something that is not a file. Without a write, the last end of another process: that closes its descriptors, after it
-- has written what stdio held.
INSERT OR IGNORE INTO PATH_WAITS
SELECT c.number, w.globalTid, w.start, 'exact'
FROM (SELECT c.number, (SELECT w.number FROM PATH_TRANSFERS AS w
                        WHERE w.pipe = t.pipe AND w.role = 'write' AND w.start > c.start AND w.start < c."end" AND w.globalTid <> c.globalTid ORDER BY w.start DESC LIMIT 1) AS found
      FROM PATH_ROLES AS c JOIN PATH_TRANSFERS AS t ON t.number = c.number
      WHERE c.role = 'read' AND c.value > 0 AND t.pipe IS NOT NULL) AS c
     JOIN PATH_TRANSFERS AS w ON w.number = c.found;
INSERT OR IGNORE INTO PATH_WAITS
SELECT c.number, w.globalTid, w.start, 'likely'
FROM (SELECT c.number, (SELECT w.number FROM PATH_TRANSFERS AS w
                        WHERE w.role = 'write' AND NOT w.is_file AND w.start > c.start AND w.start < c."end" AND w.globalTid <> c.globalTid
                              AND (w.pipe IS NULL OR t.pipe IS NULL) ORDER BY w.start DESC LIMIT 1) AS found
      FROM PATH_ROLES AS c JOIN PATH_TRANSFERS AS t ON t.number = c.number
      WHERE c.role IN ('read', 'poll') AND c.value > 0 AND NOT t.is_file) AS c
     JOIN PATH_TRANSFERS AS w ON w.number = c.found;
INSERT OR IGNORE INTO PATH_WAITS
SELECT c.number, e.globalTid, e."end", 'likely'
FROM (SELECT c.number, (SELECT e.rowid FROM PATH_ENDS AS e WHERE e.is_process AND e."end" > c.start AND e."end" <= c."end" AND e.process <> c.globalTid >> 24
                        ORDER BY e."end" DESC LIMIT 1) AS found
      FROM PATH_ROLES AS c JOIN PATH_TRANSFERS AS t ON t.number = c.number
      WHERE (c.role = 'read' AND c.value >= 0 OR c.role = 'poll' AND c.value > 0) AND c.failed = 0 AND NOT t.is_file) AS c
     JOIN PATH_ENDS AS e ON e.rowid = c.found;

-- Writing to a pipe that is full: the last read of the pipe by another thread before the call returned.
DROP TABLE IF EXISTS temp.PATH_READS;
CREATE TEMP TABLE PATH_READS (pipe, start, globalTid);
INSERT INTO PATH_READS
SELECT d.pipe, c.start, c.globalTid
FROM PATH_CALLS AS c JOIN PATH_NAMES AS n ON n.source = 0 AND n.nameId = c.nameId AND n.role = 'read' JOIN LIBTRACE_OSRT_CALL AS f ON f.id = c.id
     JOIN PATH_DESCRIPTORS AS d ON d.process = c.globalTid >> 24 AND d.object = f.object AND d.start <= c.start AND d."end" > c.start AND d.pipe IS NOT NULL
WHERE c.source = 0 AND c.number & 15 = 0
      AND EXISTS (SELECT 1 FROM PATH_ROLES AS r JOIN PATH_TRANSFERS AS t ON t.number = r.number WHERE t.role = 'write' AND t.pipe IS NOT NULL AND r."end" - r.start >= 10000);
CREATE INDEX temp.PATH_READS_ORDER ON PATH_READS (pipe, start);
INSERT OR IGNORE INTO PATH_WAITS
SELECT c.number, w.globalTid, w.start, 'exact'
FROM (SELECT c.number, (SELECT w.rowid FROM PATH_READS AS w WHERE w.pipe = t.pipe AND w.start > c.start AND w.start < c."end" AND w.globalTid <> c.globalTid
                        ORDER BY w.start DESC LIMIT 1) AS found
      FROM PATH_TRANSFERS AS t JOIN PATH_ROLES AS c ON c.number = t.number
      WHERE t.role = 'write' AND t.pipe IS NOT NULL AND c."end" - c.start >= 10000) AS c
     JOIN PATH_READS AS w ON w.rowid = c.found;

-- Interrupted by a signal (EINTR) when a child of the process had ended: that was SIGCHLD.
INSERT OR IGNORE INTO PATH_WAITS
SELECT c.number, e.globalTid, e."end", 'likely'
FROM (SELECT c.number, (SELECT e.rowid FROM PATH_ENDS AS e JOIN PATH_THREADS AS t ON t.globalTid = e.globalTid
                        WHERE e.is_process AND e."end" > c.start AND e."end" <= c."end" AND t.parent >> 24 = c.globalTid >> 24 ORDER BY e."end" DESC LIMIT 1) AS found
      FROM PATH_ROLES AS c WHERE c.role IN ('poll', 'wait') AND c.failed = 4) AS c
     JOIN PATH_ENDS AS e ON e.rowid = c.found;

-- Barriers of OpenMP: the thread of the team that came last. `n` is the number of the barrier in its region. A thread that has no row of the last barrier
-- (libgomp's workers) came to it at the end of its task. Who stays in a barrier after the end of the region waits for the next one to begin.
-- The barriers of a thread follow each other, so that the last one that began before a task ended is the one that it ended in, if there is one.
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
INSERT OR IGNORE INTO PATH_WAITS
SELECT c.number, r.globalTid, r.start, 'exact'
FROM (SELECT c.number, (SELECT n.rowid FROM PATH_REGIONS AS n
                        WHERE n.process = c.globalTid >> 24 AND n.start > c.start AND n.start < c."end" AND n.globalTid <> c.globalTid ORDER BY n.start DESC LIMIT 1) AS found
      FROM PATH_ROLES AS c LEFT JOIN PATH_ARRIVALS AS a ON c.source = 4 AND a.id = c.id LEFT JOIN PATH_REGIONS AS r ON r.process = a.process AND r.parallelId = a.parallelId
      WHERE c.role = 'team' AND (c.source = 8 OR r.globalTid <> c.globalTid AND r."end" < c."end")) AS c
     JOIN PATH_REGIONS AS r ON r.rowid = c.found;
INSERT OR IGNORE INTO PATH_WAITS
SELECT c.number, l.globalTid, l.start, 'exact'
FROM (SELECT c.number, c.globalTid, c.start, c."end", (SELECT l.rowid FROM PATH_ARRIVALS AS l WHERE l.process = a.process AND l.parallelId = a.parallelId AND l.n = a.n
                        ORDER BY l.start DESC, l.globalTid LIMIT 1) AS found
      FROM PATH_ROLES AS c CROSS JOIN PATH_ARRIVALS AS a ON a.id = c.id WHERE c.role = 'team' AND c.source = 4) AS c
     JOIN PATH_ARRIVALS AS l ON l.rowid = c.found
WHERE l.globalTid <> c.globalTid AND l.start > c.start AND l.start < c."end";

-- CUDA calls that wait: the operation that ended last before the call did, of the stream or context that it waits for.
INSERT OR IGNORE INTO PATH_WAITS
SELECT c.number, -t.number, w."end", CASE WHEN c.is_exact THEN 'exact' ELSE 'likely' END
FROM (SELECT c.number, s.context IS NOT NULL OR o.stream IS NOT NULL AS is_exact,
             CASE WHEN coalesce(s.context, o.context) IS NULL THEN
                    (SELECT w.rowid FROM PATH_WORK AS w WHERE w.process = c.globalTid >> 24 AND w."end" > c.start AND w."end" <= c."end" ORDER BY w."end" DESC LIMIT 1)
                  WHEN coalesce(s.stream, o.stream) IS NULL THEN
                    (SELECT w.rowid FROM PATH_WORK AS w WHERE w.process = c.globalTid >> 24 AND w."end" > c.start AND w."end" <= c."end" AND w.context = coalesce(s.context, o.context)
                     ORDER BY w."end" DESC LIMIT 1)
                  ELSE
                    (SELECT w.rowid FROM PATH_WORK AS w WHERE w.process = c.globalTid >> 24 AND w.context = coalesce(s.context, o.context) AND w.stream = coalesce(s.stream, o.stream)
                            AND w."end" > c.start AND w."end" <= c."end" ORDER BY w."end" DESC LIMIT 1)
             END AS found
      FROM PATH_ROLES AS c
           LEFT JOIN PATH_SYNCS AS s ON s.process = c.globalTid >> 24 AND s.correlation = c.id
           LEFT JOIN (SELECT process, correlation, max(context) AS context, max(stream) AS stream FROM PATH_WORK WHERE correlation <> 0 GROUP BY process, correlation) AS o
           ON s.correlation IS NULL AND o.process = c.globalTid >> 24 AND o.correlation = c.id
      WHERE c.role = 'device') AS c
     JOIN PATH_WORK AS w ON w.rowid = c.found
     JOIN PATH_STREAMS AS t ON t.process = w.process AND t.device = w.device AND t.context = w.context AND t.stream = w.stream;

-- Waits that were ended by nobody that is known. Who sleeps, until a timeout, too, or reads a file, waits for nobody; nor does pthread_join() for a
-- thread that had ended, or who comes last to a barrier of OpenMP.
INSERT OR IGNORE INTO PATH_WAITS
SELECT number, NULL, NULL, 'unknown' FROM PATH_ROLES AS c
WHERE "end" - start >= 10000 AND timed_out IS NOT 1 AND (role IN ('process', 'lock', 'condition', 'semaphore', 'barrier', 'poll', 'device', 'wait') OR
      (role = 'read' AND name NOT LIKE 'pread%' AND coalesce(value, 0) >= 0
       AND NOT EXISTS (SELECT 1 FROM PATH_TRANSFERS AS t WHERE t.number = c.number AND t.is_file)));

-- Input of critical_path. Operations of the GPU have negative ids.
DROP VIEW IF EXISTS temp.PATH_TRACKS;
CREATE TEMP VIEW PATH_TRACKS AS
SELECT globalTid AS track, start, parent, parent_time, 0 AS is_stream FROM PATH_THREADS UNION ALL SELECT -number, start, NULL, NULL, 1 FROM PATH_STREAMS;

DROP VIEW IF EXISTS temp.PATH_SPANS;
CREATE TEMP VIEW PATH_SPANS AS
SELECT c.number AS id, c.globalTid AS track, c.start, c."end", 0 AS is_work, w.other, w.other_time FROM PATH_CALLS AS c LEFT JOIN PATH_WAITS AS w ON w.number = c.number
UNION ALL
SELECT -w.rowid, -t.number, w.start, w."end", 1, l.globalTid, l."end"
FROM PATH_WORK AS w JOIN PATH_STREAMS AS t ON t.process = w.process AND t.device = w.device AND t.context = w.context AND t.stream = w.stream
     LEFT JOIN LAUNCH_CALLS AS l ON l.pid = w.process AND l.correlationId = w.correlation;

-- The paths to walk: with the argument `range`, that of each NVTX range with such a name, on the thread that ended it. Without it, that of the
-- first process, else of the thread that ended last.
DROP TABLE IF EXISTS temp.PATH_GOALS;
CREATE TEMP TABLE PATH_GOALS (goal INTEGER PRIMARY KEY, track, start, "end");
INSERT INTO PATH_GOALS
SELECT id, coalesce(endGlobalTid, globalTid), start, "end" FROM NVTX_RANGES WHERE argument('range') IS NOT NULL AND text GLOB argument('range') AND "end" > start;
INSERT INTO PATH_GOALS
SELECT 1, globalTid, start, "end" FROM PATH_THREADS WHERE argument('range') IS NULL
ORDER BY globalTid IN (SELECT globalPid + (globalPid >> 24 & 0xffffff) FROM LIBTRACE_PROCESS
                       WHERE parentPid NOT IN (SELECT pid FROM LIBTRACE_PROCESS)) DESC,
         "end" DESC LIMIT 1;

DROP TABLE IF EXISTS temp.PATH_STEPS;
CREATE TEMP TABLE PATH_STEPS AS SELECT * FROM critical_path;

-- The calls on the path, and those whose waits led along it.
DROP TABLE IF EXISTS temp.PATH_USED;
CREATE TEMP TABLE PATH_USED (number INTEGER PRIMARY KEY, source, globalTid, name, chain);
INSERT INTO PATH_USED
SELECT u.number, n.source, coalesce(o.globalTid, r.globalTid, g.globalTid, l.globalTid, b.globalTid, i.globalTid), n.name || CASE WHEN p.timed_out THEN ' (timeout)' ELSE '' END, nullif(coalesce(o.callchainId, r.callchainId, g.callchainId), 0)
FROM (SELECT span AS number FROM PATH_STEPS WHERE span > 0 UNION SELECT wait FROM PATH_STEPS WHERE wait > 0) AS u
     LEFT JOIN OSRT_API AS o ON u.number & 15 = 0 AND o.id = u.number >> 4
     LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON u.number & 15 = 1 AND r.id = u.number >> 4
     LEFT JOIN LIBTRACE_GIL_WAIT AS g ON u.number & 15 = 2 AND g.id = u.number >> 4
     LEFT JOIN LIBTRACE_OSRT_UNFINISHED AS l ON u.number & 15 = 3 AND l.id = u.number >> 4
     LEFT JOIN OPENMP_EVENT_KIND_SYNC_REGION AS b ON u.number & 15 = 4 AND b.id = u.number >> 4
     LEFT JOIN PATH_IDLE AS i ON u.number & 15 = 8 AND i.id = u.number >> 4
     LEFT JOIN PATH_ROLES AS p ON p.number = u.number
     LEFT JOIN PATH_NAMES AS n ON n.source = CASE u.number & 15 WHEN 3 THEN 0 ELSE u.number & 15 END AND n.nameId = coalesce(o.nameId, r.nameId, l.nameId, b.nameId, 0);

-- Segments of the path with the names of their causes.
DROP TABLE IF EXISTS temp.PATH_SEGMENTS;
CREATE TEMP TABLE PATH_SEGMENTS AS
SELECT p.goal, p.number, p.start, p."end", p."end" - p.start AS ns, p.kind, p.track, p.wait,
       CASE WHEN p.track > 0 THEN p.track >> 24 & 0xffffff ELSE t.process & 0xffffff END AS pid, CASE WHEN p.track > 0 THEN p.track & 0xffffff END AS tid,
       CASE WHEN p.track < 0 THEN t.stream END AS stream, CASE WHEN p.kind = 'wake' OR w.how = 'unknown' THEN w.how END AS how, c.source, c.chain,
       CASE p.kind
         WHEN 'between' THEN 'computing'
         WHEN 'begin' THEN 'start of ' || CASE WHEN p.track >> 24 & 0xffffff = p.track & 0xffffff THEN 'process' ELSE 'thread' END
         WHEN 'before' THEN 'before the first event'
         WHEN 'wake' THEN 'waking up from ' || coalesce(c.name, '')
         WHEN 'launch' THEN 'launch of ' || coalesce(k.name, '')
         WHEN 'queue' THEN 'between operations of a stream'
         ELSE coalesce(k.name, c.name, '') END AS cause
FROM PATH_STEPS AS p
     LEFT JOIN PATH_USED AS c ON c.number = p.span
     LEFT JOIN PATH_WAITS AS w ON w.number = p.span
     LEFT JOIN PATH_WORK AS k ON k.rowid = -p.span
     LEFT JOIN PATH_STREAMS AS t ON t.number = -p.track;

-- The same with the place of the call: the line of Python of the program, else its innermost function that is not in the C library. A frame without a name
-- is shown as module+offset, with the innermost function that has a name.
DROP TABLE IF EXISTS temp.PATH_FRAMES;
CREATE TEMP TABLE PATH_FRAMES AS
WITH used AS MATERIALIZED (SELECT DISTINCT CASE source WHEN 1 THEN 1 ELSE 0 END AS source, chain FROM PATH_USED WHERE chain IS NOT NULL),
frames AS (
  SELECT u.source, f.id, f.stackDepth AS depth, f.symbol, f.module, f.originalIP FROM used AS u JOIN OSRT_CALLCHAINS AS f ON f.id = u.chain WHERE u.source = 0
  UNION ALL SELECT u.source, f.id, f.stackDepth, f.symbol, f.module, f.originalIP FROM used AS u JOIN CUDA_CALLCHAINS AS f ON f.id = u.chain WHERE u.source = 1)
SELECT f.source, f.id, f.depth, f.originalIP AS ip, f.module, s.value AS name, replace(m.value, rtrim(m.value, replace(m.value, '/', '')), '') AS file, s.value NOT GLOB '0x*' AS is_named
FROM frames AS f JOIN StringIds AS s ON s.id = f.symbol JOIN StringIds AS m ON m.id = f.module
WHERE m.value NOT GLOB '*/libc.so*' AND m.value NOT GLOB '*/libpthread*' AND m.value NOT GLOB '*/libc-*' AND m.value NOT GLOB '*/libcuda*' AND m.value NOT GLOB '*/libcupti*';

DROP TABLE IF EXISTS temp.PATH_CHAINS;
CREATE TEMP TABLE PATH_CHAINS (source, id, place, PRIMARY KEY (source, id)) WITHOUT ROWID;
INSERT OR IGNORE INTO PATH_CHAINS SELECT 0, id, place FROM OSRT_PLACES;
INSERT OR IGNORE INTO PATH_CHAINS SELECT 1, id, place FROM CUDA_PLACES;
INSERT OR IGNORE INTO PATH_CHAINS
WITH named AS MATERIALIZED (
  SELECT f.source, f.id, min(f.depth) AS depth, f.name || coalesce(' (' || replace(n.value, rtrim(n.value, replace(n.value, '/', '')), '') || ':' || l.line || ')', '') AS text
  FROM PATH_FRAMES AS f
       LEFT JOIN (SELECT 0 AS source, * FROM LIBTRACE_OSRT_CALLCHAINS UNION ALL SELECT 1, * FROM LIBTRACE_CUDA_CALLCHAINS) AS l
       ON l.source = f.source AND l.id = f.id AND l.stackDepth = f.depth AND l.line > 0
       LEFT JOIN StringIds AS n ON n.id = l.fileId
  WHERE f.is_named GROUP BY f.source, f.id),
inner_frames AS MATERIALIZED (
  SELECT source, id, min(depth) AS depth, is_named, file || coalesce((
           SELECT printf('+0x%x', f.ip - m.bias) FROM LIBTRACE_MODULE_LOAD AS m WHERE m.pathId = f.module AND f.ip BETWEEN m.begin AND m."end" LIMIT 1), '') AS text
  FROM PATH_FRAMES AS f GROUP BY source, id)
SELECT i.source, i.id, CASE WHEN i.is_named THEN n.text ELSE i.text || coalesce(' <- ' || n.text, '') END
FROM inner_frames AS i LEFT JOIN named AS n ON n.source = i.source AND n.id = i.id;

-- Samples of the threads while they computed on the path: the function that ran, and its part of the segment. Code without a name is shown as
-- module+offset, as in callchains, so that it has the same name in another run.
DROP TABLE IF EXISTS temp.PATH_SAMPLES;
CREATE TEMP TABLE PATH_SAMPLES AS
WITH found AS (
  SELECT s.rowid AS segment, c.id, l.cpuTime
  FROM PATH_SEGMENTS AS s JOIN COMPOSITE_EVENTS AS c ON c.globalTid = s.track AND c.start > s.start AND c.start <= s."end"
       LEFT JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id
  WHERE s.kind = 'between'),
summed AS MATERIALIZED (
  SELECT f.segment, x.symbol, x.module, x.originalIP AS ip, total(coalesce(f.cpuTime, 1)) AS weight
  FROM found AS f JOIN SAMPLING_CALLCHAINS AS x ON x.id = f.id AND x.stackDepth = 0 GROUP BY f.segment, x.symbol, x.module),
named AS (
  SELECT s.segment, CASE WHEN n.value NOT GLOB '0x*' THEN n.value ELSE coalesce(replace(m.value, rtrim(m.value, replace(m.value, '/', '')), '') || coalesce((
           SELECT printf('+0x%x', s.ip - l.bias) FROM LIBTRACE_MODULE_LOAD AS l WHERE l.pathId = s.module AND s.ip BETWEEN l.begin AND l."end" LIMIT 1), ''), n.value) END AS place,
         sum(s.weight) AS weight
  FROM summed AS s JOIN StringIds AS n ON n.id = s.symbol LEFT JOIN StringIds AS m ON m.id = s.module GROUP BY s.segment, place)
SELECT segment, place, weight / sum(weight) OVER (PARTITION BY segment) AS part FROM named WHERE weight > 0;
CREATE INDEX temp.PATH_SAMPLES_ORDER ON PATH_SAMPLES (segment);

DROP VIEW IF EXISTS temp.PATH_PLACES;
CREATE TEMP VIEW PATH_PLACES AS
SELECT s.goal, s.number, s.start, s."end", s.ns * coalesce(p.part, 1) AS ns, s.kind, s.pid, s.tid, s.stream, s.how, s.cause, s.wait, coalesce(p.place, c.place) AS place
FROM PATH_SEGMENTS AS s LEFT JOIN PATH_CHAINS AS c ON c.source = CASE s.source WHEN 1 THEN 1 ELSE 0 END AND c.id = s.chain
     LEFT JOIN PATH_SAMPLES AS p ON p.segment = s.rowid;

-- What `trace query` shows of it.
DROP VIEW IF EXISTS temp.LIBTRACE_CRITICAL_PATH;
CREATE TEMP VIEW LIBTRACE_CRITICAL_PATH AS
SELECT goal AS pathId, number AS segment, start, "end", CAST(ns AS INTEGER) AS duration, kind, pid, tid, stream, cause, how AS sure, place FROM PATH_PLACES;
