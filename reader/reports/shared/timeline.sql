-- SPDX-License-Identifier: Apache-2.0
-- The timeline of 'trace report --html': tracks, names, and the events of each track, in rows in which events do not
-- overlap. A process is globalTid >> 24. Every event has a track (kind, process, thread or device) and a name (text and
-- detail). An event's number is the id of its row << 4 plus its source: 0 NVTX, 1 CUDA API, 2 OS runtime, 3 kernel, 4
-- copy, 5 memory set, 6 graph, 7 to 10 MPI, 11 state, critical path, memory or machine, 12 sample, 13 GIL, 14 OpenMP,
-- graphics, log events, functions of libraries and NCCL, 15 output.

CREATE TEMP TABLE PAGE_TRACKS (id INTEGER PRIMARY KEY, process, tid, what, device, stream, UNIQUE (process, tid, what, device, stream));
CREATE TEMP TABLE PAGE_NAMES (id INTEGER PRIMARY KEY, class, text, detail, kind, UNIQUE (class, text, detail));

-- A row is one event; page_timeline.c combines rows. `busy` is the duration of an event that does not wait; `longest` is
-- the duration with the id of the name in the lower 21 bits.
CREATE TEMP TABLE PAGE_ROWS (track, row, start, "end", busy, longest, event);

-- Use of the memory of a device by a process: sixteenths of its peak, each until it changes.
CREATE TEMP VIEW PAGE_MEMORY AS
WITH levels AS (
  SELECT u.globalPid, u.deviceId, u.time, (16 * u.used + p.used - 1) / p.used AS level, p.used AS peak,
         coalesce(lead(u.time) OVER (PARTITION BY u.globalPid, u.deviceId ORDER BY u.time ROWS UNBOUNDED PRECEDING),
                  (SELECT max(l."end") FROM LIBTRACE_PROCESS AS l WHERE l.globalPid = u.globalPid), u.time) AS until
  FROM CUDA_MEMORY_USE AS u
       JOIN (SELECT globalPid, deviceId, max(used) AS used FROM CUDA_MEMORY_USE GROUP BY globalPid, deviceId) AS p USING (globalPid, deviceId)
  WHERE p.used > 0)
SELECT row_number() OVER () AS id, globalPid, deviceId, time AS start, max(until, time) AS "end",
       CASE WHEN level <= 0 THEN 'nothing in use'
            ELSE printf('up to %.1f MiB in use%s', peak * level / 16 / 1048576.0, CASE WHEN level >= 16 THEN ' (peak)' ELSE '' END) END AS text
FROM levels;

-- States of the machine by its samples: runs of samples of a GPU, or of the CPUs, with the same text, which end where
-- samples are missing; what interfaces sent and received. Streams: 1 GPU, 2 network, 3 CPUs. Needs shared/gpu_clocks.sql.
CREATE TEMP VIEW PAGE_MACHINE AS
WITH samples AS (
  SELECT globalTid >> 24 AS process, 1 AS stream, gpu AS device, timestamp AS time, isHeld,
         CASE WHEN utilization IS NULL THEN 'utilization not known' WHEN utilization = 0 THEN 'idle'
              ELSE 'up to ' || ((utilization + 24) / 25 * 25) || ' % busy' END ||
         CASE WHEN isHeld IS NOT 1 THEN '' WHEN reasons & 0x60 THEN ', throttled by temperature' WHEN reasons & 0x284 THEN ', throttled by power'
              ELSE ', throttled by hardware' END AS text
  FROM GPU_SAMPLES
  UNION ALL
  SELECT globalTid >> 24, 3, 0, timestamp, 0, 'up to ' || ((busyPermille + 124) / 125 * 12.5) || ' % busy' FROM LIBTRACE_HOST_SAMPLE WHERE reported & 1),
marked AS (
  SELECT *, text IS NOT lag(text) OVER so_far OR time - lag(time) OVER so_far > 300000000 AS isNew, lead(time) OVER so_far AS next
  FROM samples WINDOW so_far AS (PARTITION BY process, stream, device ORDER BY time)),
runs AS (SELECT *, sum(isNew) OVER (PARTITION BY process, stream, device ORDER BY time ROWS UNBOUNDED PRECEDING) AS run FROM marked)
SELECT process, stream, device, min(time) AS start, max(CASE WHEN next - time <= 300000000 THEN next ELSE time END) AS "end", text,
       CASE WHEN max(isHeld) THEN 'throttled' ELSE 'machine' END AS class
FROM runs GROUP BY process, stream, device, run
UNION ALL
SELECT s.globalTid >> 24, 2, s.nameId, s.start, s.start + s.duration,
       n.value || CASE WHEN s.port THEN ' port ' || s.port ELSE '' END || ': ' ||
       CASE WHEN s.rxBytes + s.txBytes = 0 THEN 'nothing' WHEN s.bytesPerMs < 1000 THEN 'less than 1 MB/s' WHEN s.bytesPerMs < 100000 THEN '1 to 100 MB/s'
            WHEN s.bytesPerMs < 1000000 THEN '0.1 to 1 GB/s' ELSE '1 GB/s or more' END, 'machine'
FROM (SELECT *, 1000000.0 * (rxBytes + txBytes) / duration AS bytesPerMs FROM LIBTRACE_NIC_SAMPLE WHERE duration > 0) AS s JOIN StringIds AS n ON n.id = s.nameId;

-- Filled by shared/page_path.sql, if the page shows the critical path.
CREATE TEMP TABLE IF NOT EXISTS PAGE_PATH (id, start, "end", process, tid, device, stream, cause, sure, place, source, chain);

CREATE TEMP VIEW PAGE_EVENTS AS
SELECT e.id << 4 AS event, e.start, coalesce(e."end", e.start) AS "end", e.globalTid >> 24 AS process,
       CASE WHEN e.eventType IN (60, 71) THEN 0 ELSE e.globalTid & 0xffffff END AS tid, 'nvtx' AS what, 0 AS device, 0 AS stream,
       'nvtx' AS class, coalesce(e.text, s.value, '') AS text,
       CASE WHEN d.name IS NULL THEN '' ELSE 'domain ' || d.name END ||
       CASE WHEN e.eventType IN (34, 69) THEN ' (mark)' WHEN e."end" IS NULL THEN ' (never ended)' ELSE '' END AS detail
FROM NVTX_EVENTS AS e
     LEFT JOIN StringIds AS s ON s.id = e.textId
     LEFT JOIN NVTX_DOMAINS AS d ON d.pid = e.globalTid >> 24 AND d.domainId = e.domainId
WHERE e.eventType IN (34, 59, 60, 69, 70, 71) AND e.start IS NOT NULL AND e.globalTid IS NOT NULL
UNION ALL
SELECT id << 4 | 1, start, "end", globalTid >> 24, tid, 'api', 0, 0, 'api', coalesce(name, ''),
       CASE WHEN coalesce(returnValue, 0) = 0 THEN '' ELSE 'returned ' || returnValue END
FROM API_CALLS WHERE globalTid IS NOT NULL
UNION ALL
SELECT id << 4 | 2, start, "end", globalTid >> 24, tid, 'osrt', 0, 0, 'osrt', coalesce(name, ''), coalesce('held by thread ' || holder, '')
FROM OSRT_CALLS WHERE globalTid IS NOT NULL
UNION ALL
SELECT k.id << 4 | 3, k.start, k."end", coalesce(k.globalPid, 0) >> 24, 0, 'gpu', k.deviceId, k.streamId, 'kernel', coalesce(short.value, whole.value, ''),
       coalesce(whole.value, '') || ', grid ' || k.gridX || ' x ' || k.gridY || ' x ' || k.gridZ || ', block ' || k.blockX || ' x ' ||
       k.blockY || ' x ' || k.blockZ || ', ' || k.registersPerThread || ' registers'
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
     LEFT JOIN StringIds AS whole ON whole.id = k.demangledName
     LEFT JOIN StringIds AS short ON short.id = k.shortName
UNION ALL
SELECT id << 4 | CASE WHEN copy_kind IS NULL THEN 5 ELSE 4 END, start, "end", coalesce(globalPid, 0) >> 24, 0, 'gpu', deviceId, streamId,
       CASE WHEN copy_kind IS NULL THEN 'memset' ELSE 'memcpy' END, name,
       coalesce(bytes || ' bytes', '')
FROM MEMORY_OPERATIONS
UNION ALL
SELECT id << 4 | 6, start, "end", coalesce(globalPid, 0) >> 24, 0, 'gpu', deviceId, streamId, 'graph', 'CUDA graph ' || graphId, 'graphExec ' || graphExecId
FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
UNION ALL
SELECT m.event, m.start, m."end", m.globalTid >> 24, m.globalTid & 0xffffff, 'mpi', 0, 0, 'mpi', coalesce(s.value, ''), ''
FROM (SELECT id << 4 | 7 AS event, start, "end", globalTid, textId FROM MPI_P2P_EVENTS
      UNION ALL SELECT id << 4 | 8, start, "end", globalTid, textId FROM MPI_COLLECTIVES_EVENTS
      UNION ALL SELECT id << 4 | 9, start, "end", globalTid, textId FROM MPI_START_WAIT_EVENTS
      UNION ALL SELECT id << 4 | 10, start, "end", globalTid, textId FROM MPI_OTHER_EVENTS) AS m LEFT JOIN StringIds AS s ON s.id = m.textId
WHERE m.globalTid IS NOT NULL
UNION ALL
SELECT id << 4 | 11, start, "end", globalTid >> 24, globalTid & 0xffffff, 'state', 0, 0, 'state', state, detail FROM THREAD_STATES
UNION ALL
SELECT id << 4 | 11, start, "end", process, tid, 'path', device, stream, 'path', cause, coalesce('at ' || place, '') FROM PAGE_PATH
UNION ALL
SELECT id << 4 | 11, start, "end", globalPid >> 24, 0, 'memory', deviceId, 0, 'memory', text, '' FROM PAGE_MEMORY
UNION ALL
SELECT row_number() OVER () << 4 | 11, start, "end", process, 0, 'machine', device, stream, class, text, '' FROM PAGE_MACHINE
UNION ALL
-- The innermost function that the callchain has.
SELECT c.id << 4 | 12, c.start, c.start, c.globalTid >> 24, c.globalTid & 0xffffff, 'sample', 0, 0, 'sample',
       coalesce((SELECT s.value FROM SAMPLING_CALLCHAINS AS f JOIN StringIds AS s ON s.id = f.symbol WHERE f.id = c.id AND f.specialEntry IS NOT 1
                 ORDER BY f.stackDepth LIMIT 1), '(no callchain)'), ''
FROM COMPOSITE_EVENTS AS c WHERE c.globalTid IS NOT NULL
UNION ALL
SELECT id << 4 | 13, start, start + duration, globalTid >> 24, globalTid & 0xffffff, 'gil', 0, 0, 'gil', 'wait for the GIL',
       coalesce('held by thread ' || nullif(holderTid, 0), '')
FROM LIBTRACE_GIL_WAIT WHERE globalTid IS NOT NULL
UNION ALL
-- Events of graphics APIs and of Windows, with the numbers of OpenMP's source from 8 on.
SELECT ((g.number >> 4) << 5 | 8 + (g.number & 15)) << 4 | 14, g.start, g."end", coalesce(g.globalTid, 0) >> 24, coalesce(g.globalTid, 0) & 0xffffff, 'graphics', 0, 0,
       'graphics', g.name, g.kind
FROM GRAPHICS_EVENTS AS g
UNION ALL
-- Events of NCCL, likewise, on a track of each kind.
SELECT (c.id << 5 | 24) << 4 | 14, c.start, c.start + c.duration, c.globalTid >> 24, 0, 'nccl', 0, c.kind, 'nccl', coalesce(s.value, 'NCCL'),
       'communicator ' || printf('0x%llx', c.comm) || CASE WHEN c.sequence > 0 THEN ', sequence number ' || c.sequence ELSE '' END
FROM LIBTRACE_NCCL AS c LEFT JOIN StringIds AS s ON s.id = c.nameId WHERE c.globalTid IS NOT NULL
UNION ALL
-- Events from lines of output, likewise; those of NVTX are marks already.
SELECT (g.genericEventId << 5 | 22) << 4 | 14, g.timestamp, g.timestamp, g.globalTid >> 24, g.globalTid & 0xffffff, 'log', 0, 0, 'log',
       coalesce(s.value, 'log'), coalesce(g.data, '')
FROM GENERIC_EVENTS AS g JOIN GENERIC_EVENT_TYPES AS t ON t.typeId = g.typeId LEFT JOIN StringIds AS s ON s.id = t.typeNameId
WHERE t.sourceId = 2 AND g.globalTid IS NOT NULL
UNION ALL
-- Calls of functions of libraries, likewise, but for those of MPI, Vulkan and OpenGL (10 to 12), which are above.
SELECT (f.id << 5 | 23) << 4 | 14, f.start, f.start + f.ns, f.globalTid >> 24, f.globalTid & 0xffffff, 'function', 0, 0, 'function', coalesce(f.name, ''),
       coalesce(f.library, '')
FROM FUNCTION_CALLS AS f
WHERE f.globalTid IS NOT NULL AND coalesce(f.libraryApi, 0) NOT BETWEEN 10 AND 12
UNION ALL
-- Regions of OpenMP; lifetimes of threads and implicit tasks are not work.
SELECT (o.id << 5 | o.source) << 4 | 14, o.start, o."end", o.globalTid >> 24, o.globalTid & 0xffffff, 'openmp', 0, 0, 'openmp', coalesce(s.value, ''), ''
FROM (SELECT id, 0 AS source, start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_PARALLEL
      UNION ALL SELECT id, 1, start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_TASK
      UNION ALL SELECT id, 2, start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_SYNC_REGION
      UNION ALL SELECT id, 3, start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_MUTEX_WAIT
      UNION ALL SELECT id, 4, start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_CRITICAL_SECTION
      UNION ALL SELECT id, 5, start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_WORKSHARE
      UNION ALL SELECT id, 6, start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_MASTER
      UNION ALL SELECT id, 7, start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_REDUCTION) AS o
     LEFT JOIN StringIds AS s ON s.id = o.nameId
WHERE o.globalTid IS NOT NULL AND s.value NOT IN ('Task', 'Implicit Task')
UNION ALL
SELECT w.id << 4 | 15, w.timestamp, w.timestamp, w.globalTid >> 24, w.globalTid & 0xffffff, 'output', 0, 0, 'output', substr(s.value, 1, 200),
       CASE w.stream WHEN 2 THEN 'standard error' ELSE 'standard output' END || CASE WHEN w.redirected THEN ', redirected' ELSE '' END
FROM LIBTRACE_STREAM_WRITE AS w JOIN StringIds AS s ON s.id = w.textId WHERE w.globalTid IS NOT NULL;

INSERT INTO PAGE_TRACKS (process, tid, what, device, stream)
SELECT DISTINCT process, tid, what, device, stream FROM PAGE_EVENTS
ORDER BY process, what NOT IN ('gpu', 'memory', 'machine', 'nccl') AND (what <> 'path' OR tid <> 0), tid,
         CASE what WHEN 'path' THEN -1 WHEN 'nvtx' THEN 0 WHEN 'state' THEN 1 WHEN 'sample' THEN 2 WHEN 'gil' THEN 3 ELSE 4 END, what, device, stream;

INSERT INTO PAGE_NAMES (class, text, detail)
SELECT DISTINCT class, text, detail FROM PAGE_EVENTS;

-- CUDA calls that return when the GPU is done are waits; the other kinds come from the class or, for OS runtime calls,
-- the function.
UPDATE PAGE_NAMES SET kind = CASE
WHEN class = 'osrt' THEN osrt_class(text)
WHEN class = 'state' THEN text
WHEN class = 'api' AND api_waits(text) THEN 'sync'
ELSE class END;

INSERT INTO PAGE_ROWS
SELECT l.id, track_row(e.start, e."end") OVER (PARTITION BY l.id ORDER BY e.start, e."end" DESC ROWS UNBOUNDED PRECEDING), e.start, e."end",
       CASE WHEN n.kind IN ('kernel', 'memcpy', 'memset', 'graph', 'api', 'osrt') THEN e."end" - e.start ELSE 0 END,
       min(max(e."end" - e.start, 0), 0x3ffffffffff) << 21 | CASE WHEN n.id < 0x200000 THEN n.id ELSE 0 END, e.event
FROM PAGE_EVENTS AS e
     JOIN PAGE_TRACKS AS l ON l.process = e.process AND l.tid = e.tid AND l.what = e.what AND l.device = e.device AND l.stream = e.stream
     JOIN PAGE_NAMES AS n ON n.class = e.class AND n.text = e.text AND n.detail = e.detail
WHERE typeof(e.start) = 'integer' AND typeof(e."end") = 'integer' AND e."end" >= e.start
      AND e.start > -0x1000000000000000 AND e."end" < 0x4000000000000000;

-- Times since 1970, as some converters write them, become times since the first event: scripts of the page count
-- exactly up to 2^53. Times more than about 36 years later are invalid.
CREATE TEMP TABLE PAGE_ORIGIN AS
SELECT CASE WHEN min(start) >= 0x10000000000000 THEN min(start) ELSE 0 END AS ns FROM PAGE_ROWS;
DELETE FROM PAGE_ROWS WHERE "end" - (SELECT ns FROM PAGE_ORIGIN) >= 0x1000000000000000;
UPDATE PAGE_ROWS SET start = start - (SELECT ns FROM PAGE_ORIGIN), "end" = "end" - (SELECT ns FROM PAGE_ORIGIN)
WHERE (SELECT ns FROM PAGE_ORIGIN) <> 0;
CREATE INDEX temp.PAGE_ROWS_ORDER ON PAGE_ROWS (track, row, start);

-- Lifetimes: of a process (tid 0) until it ended, of a thread from its first to its last known moment. A thread of a
-- traced process without a recorded end lived until the process ended.
CREATE TEMP TABLE PAGE_ENDS (process INTEGER PRIMARY KEY, start, "end");
INSERT INTO PAGE_ENDS
SELECT globalPid >> 24, min(start) - o.ns, max("end") - o.ns FROM LIBTRACE_PROCESS, PAGE_ORIGIN AS o WHERE typeof(globalPid) = 'integer' GROUP BY 1;
CREATE TEMP TABLE PAGE_LIFETIMES AS
WITH lives (process, tid, start, "end") AS (
     SELECT globalTid >> 24, globalTid & 0xffffff, start - o.ns, "end" - o.ns FROM THREAD_LIFETIMES, PAGE_ORIGIN AS o
     UNION ALL
     SELECT l.process, l.tid, min(r.start), max(r."end")
     FROM PAGE_TRACKS AS l JOIN PAGE_ROWS AS r ON r.track = l.id
     WHERE l.what IN ('nvtx', 'api', 'mpi') AND l.tid <> 0 GROUP BY l.id
     UNION ALL
     SELECT t.globalTid >> 24, t.globalTid & 0xffffff, e."end", e."end"
     FROM LIBTRACE_THREAD_START AS t CROSS JOIN PAGE_ENDS AS e ON e.process = t.globalTid >> 24
     WHERE t.globalTid NOT IN (SELECT globalTid FROM LIBTRACE_THREAD_END WHERE globalTid IS NOT NULL) AND e."end" > t.timestamp
     UNION ALL
     SELECT process, 0, start, "end" FROM PAGE_ENDS)
SELECT process, tid, max(min(start), 0) AS start, max("end") AS "end"
FROM lives WHERE typeof(start) = 'integer' AND typeof("end") = 'integer' AND "end" >= start AND start > -0x1000000000000000 AND "end" < 0x1000000000000000
GROUP BY process, tid HAVING max("end") > 0;
