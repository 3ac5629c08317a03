-- SPDX-License-Identifier: Apache-2.0
-- Details of the longest events of the timeline of 'trace report --html' (timeline.sql): everything that the database
-- stores about them. Argument: most, the number of events of each kind of track. The names of the columns of
-- PAGE_*_DETAILS are the labels in the page; those that begin with '#' are for its script. Needs
-- shared/page_unknown.sql.

CREATE TEMP TABLE PAGE_CHOSEN (event INTEGER PRIMARY KEY, track, row, start, "end", name);

-- `longest` orders by duration.
CREATE TEMP VIEW PAGE_SINGLE AS
SELECT r.event, r.track, r.row, max(r.start, 0) AS start, r."end", r.longest & 0x1fffff AS name, r.longest, l.what
FROM PAGE_TRACKS AS l JOIN PAGE_ROWS AS r ON r.track = l.id;

INSERT OR IGNORE INTO PAGE_CHOSEN SELECT event, track, row, start, "end", name FROM PAGE_SINGLE WHERE what = 'nvtx' ORDER BY longest DESC LIMIT argument('most') + 0;
INSERT OR IGNORE INTO PAGE_CHOSEN SELECT event, track, row, start, "end", name FROM PAGE_SINGLE WHERE what = 'api' ORDER BY longest DESC LIMIT argument('most') + 0;
INSERT OR IGNORE INTO PAGE_CHOSEN SELECT event, track, row, start, "end", name FROM PAGE_SINGLE WHERE what = 'osrt' ORDER BY longest DESC LIMIT argument('most') + 0;
INSERT OR IGNORE INTO PAGE_CHOSEN SELECT event, track, row, start, "end", name FROM PAGE_SINGLE WHERE what = 'gpu' ORDER BY longest DESC LIMIT argument('most') + 0;
INSERT OR IGNORE INTO PAGE_CHOSEN SELECT event, track, row, start, "end", name FROM PAGE_SINGLE WHERE what = 'mpi' ORDER BY longest DESC LIMIT argument('most') + 0;
INSERT OR IGNORE INTO PAGE_CHOSEN SELECT event, track, row, start, "end", name FROM PAGE_SINGLE WHERE what = 'gil' ORDER BY longest DESC LIMIT argument('most') + 0;
INSERT OR IGNORE INTO PAGE_CHOSEN SELECT event, track, row, start, "end", name FROM PAGE_SINGLE WHERE what = 'sample' LIMIT argument('most') + 0;

INSERT OR IGNORE INTO PAGE_CHOSEN SELECT event, track, row, start, "end", name FROM PAGE_SINGLE WHERE what = 'openmp' ORDER BY longest DESC LIMIT argument('most') + 0;
INSERT OR IGNORE INTO PAGE_CHOSEN SELECT event, track, row, start, "end", name FROM PAGE_SINGLE WHERE what = 'function' ORDER BY longest DESC LIMIT argument('most') + 0;
INSERT OR IGNORE INTO PAGE_CHOSEN SELECT event, track, row, start, "end", name FROM PAGE_SINGLE WHERE what = 'output' LIMIT argument('most') + 0;

INSERT OR IGNORE INTO PAGE_CHOSEN SELECT event, track, row, start, "end", name FROM PAGE_SINGLE WHERE what = 'path' ORDER BY longest DESC LIMIT argument('most') + 0;

-- A call and the operations that it launched have the same correlation id in a process; 0 is none.
CREATE TEMP VIEW PAGE_CALLS AS
SELECT id << 4 | 1 AS event, globalTid >> 24 AS process, correlation FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlation <> 0 AND eventClass IS NOT 67;
CREATE TEMP VIEW PAGE_OPERATIONS AS
SELECT id << 4 | 3 AS event, globalPid >> 24 AS process, correlation FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlation <> 0
UNION ALL SELECT id << 4 | 4, globalPid >> 24, correlation FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE correlation <> 0
UNION ALL SELECT id << 4 | 5, globalPid >> 24, correlation FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE correlation <> 0
UNION ALL SELECT id << 4 | 6, globalPid >> 24, correlation FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE WHERE correlation <> 0;

-- The calls of the chosen operations, then the operations of the chosen calls.
INSERT OR IGNORE INTO PAGE_CHOSEN
SELECT event, track, row, start, "end", name FROM PAGE_SINGLE
WHERE what = 'api' AND event IN (SELECT event FROM PAGE_CALLS WHERE (process, correlation) IN (
      SELECT process, correlation FROM PAGE_OPERATIONS WHERE event IN (SELECT event FROM PAGE_CHOSEN)))
LIMIT argument('most') + 0;
INSERT OR IGNORE INTO PAGE_CHOSEN
SELECT event, track, row, start, "end", name FROM PAGE_SINGLE
WHERE what = 'gpu' AND event IN (SELECT event FROM PAGE_OPERATIONS WHERE (process, correlation) IN (
      SELECT process, correlation FROM PAGE_CALLS WHERE event IN (SELECT event FROM PAGE_CHOSEN)))
LIMIT argument('most') + 0;

CREATE TEMP VIEW PAGE_CALLS_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, r.correlation AS "#correlation", coalesce(nullif(r.callchainId, 0), x.callchainId) AS "#cuda chain",
       p.place AS "called at", r.returnValue AS "returned", r.correlation AS "correlation id"
FROM PAGE_CHOSEN AS c
     JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.id = c.event >> 4
     LEFT JOIN CUDA_PLACES AS p ON p.id = r.callchainId
     LEFT JOIN (SELECT globalTid, correlation, callchainId FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE eventClass = 67 AND correlation <> 0) AS x
     ON x.globalTid = r.globalTid AND x.correlation = r.correlation
WHERE c.event & 15 = 1 ORDER BY c."end" - c.start DESC;

-- Calls that used a file (option osrt-file-access). A thread is a process << 24 plus its number.
CREATE TEMP VIEW PAGE_FILES AS
SELECT d.processId << 24 | (e.threadId & 0xffffff) AS thread, e.startedAt AS start, min(d.filePath) AS path
FROM OSRT_FILE_ACCESS_EVENTS AS e JOIN OSRT_FILE_ACCESS_DESCRIPTORS AS d ON d.fileAccessId = e.fileAccessId GROUP BY 1, 2;

CREATE TEMP VIEW PAGE_OSRT_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, nullif(o.callchainId, 0) AS "#chain", nullif(f.object, 0) AS "#object", nullif(f.holderTid, 0) AS "#holder",
       l.place AS "called at", osrt_arguments(s.value, f.object) AS "arguments", p.path AS "file", o.returnValue AS "returned", errno_name(f.errno) AS "errno"
FROM PAGE_CHOSEN AS c
     JOIN OSRT_API AS o ON o.id = c.event >> 4
     LEFT JOIN StringIds AS s ON s.id = o.nameId
     LEFT JOIN LIBTRACE_OSRT_CALL AS f ON f.id = o.id
     LEFT JOIN OSRT_PLACES AS l ON l.id = o.callchainId
     LEFT JOIN PAGE_FILES AS p ON p.thread = o.globalTid & 0xffffffffffff AND p.start = o.start
WHERE c.event & 15 = 2 ORDER BY c."end" - c.start DESC;

CREATE TEMP VIEW PAGE_KERNEL_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, k.correlation AS "#correlation", k.deviceId AS "device", k.contextId AS "context", k.streamId AS "stream",
       k.greenContextId AS "green context", k.staticSharedMemory AS "static shared memory (bytes)", k.dynamicSharedMemory AS "dynamic shared memory (bytes)",
       k.localMemoryPerThread AS "local memory per thread (bytes)", nullif(k.graphNodeId, 0) AS "graph node", k.correlation AS "correlation id"
FROM PAGE_CHOSEN AS c JOIN CUPTI_ACTIVITY_KIND_KERNEL AS k ON k.id = c.event >> 4
WHERE c.event & 15 = 3 ORDER BY c."end" - c.start DESC;

CREATE TEMP VIEW PAGE_COPY_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, m.correlation AS "#correlation", m.deviceId AS "device", m.contextId AS "context", m.streamId AS "stream",
       m.bytes AS "bytes", CASE WHEN c."end" > c.start THEN round(1.0 * m.bytes / (c."end" - c.start), 3) END AS "GB/s", a.label AS "from memory", b.label AS "to memory",
       nullif(m.graphNodeId, 0) AS "graph node", m.correlation AS "correlation id"
FROM PAGE_CHOSEN AS c
     JOIN CUPTI_ACTIVITY_KIND_MEMCPY AS m ON m.id = c.event >> 4
     LEFT JOIN ENUM_CUDA_MEM_KIND AS a ON a.id = m.srcKind
     LEFT JOIN ENUM_CUDA_MEM_KIND AS b ON b.id = m.dstKind
WHERE c.event & 15 = 4 ORDER BY c."end" - c.start DESC;

CREATE TEMP VIEW PAGE_SET_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, m.correlation AS "#correlation", m.deviceId AS "device", m.contextId AS "context", m.streamId AS "stream",
       m.bytes AS "bytes", m.value AS "value", a.label AS "memory", nullif(m.graphNodeId, 0) AS "graph node", m.correlation AS "correlation id"
FROM PAGE_CHOSEN AS c
     JOIN CUPTI_ACTIVITY_KIND_MEMSET AS m ON m.id = c.event >> 4
     LEFT JOIN ENUM_CUDA_MEM_KIND AS a ON a.id = m.memKind
WHERE c.event & 15 = 5 ORDER BY c."end" - c.start DESC;

CREATE TEMP VIEW PAGE_GRAPH_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, g.correlation AS "#correlation", g.deviceId AS "device", g.contextId AS "context", g.streamId AS "stream",
       g.graphId AS "graph", g.graphExecId AS "executable graph", g.correlation AS "correlation id"
FROM PAGE_CHOSEN AS c JOIN CUPTI_ACTIVITY_KIND_GRAPH_TRACE AS g ON g.id = c.event >> 4
WHERE c.event & 15 = 6 ORDER BY c."end" - c.start DESC;

CREATE TEMP VIEW PAGE_NVTX_CHAINS AS
SELECT id, nullif(callchainId, 0) AS chain FROM LIBTRACE_NVTX_MARK UNION ALL SELECT id, nullif(callchainId, 0) FROM LIBTRACE_NVTX_RANGE
UNION ALL SELECT id, nullif(callchainId, 0) FROM LIBTRACE_NVTX_START_END;

CREATE TEMP VIEW PAGE_NVTX_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, n.chain AS "#chain", l.place AS "ended at",
       coalesce(e.uint64Value, e.int64Value, e.doubleValue, e.uint32Value, e.int32Value, e.floatValue) AS "payload", coalesce(e.jsonText, j.value) AS "JSON",
       nullif(e.category, 0) AS "category", CASE WHEN e.color <> 0 THEN printf('#%08x', e.color & 0xffffffff) END AS "color (ARGB)",
       CASE WHEN e.eventType IN (60, 71) THEN e.globalTid & 0xffffff END AS "started by thread", nullif(e.endGlobalTid, e.globalTid) & 0xffffff AS "ended by thread"
FROM PAGE_CHOSEN AS c
     JOIN NVTX_EVENTS AS e ON e.id = c.event >> 4
     LEFT JOIN StringIds AS j ON j.id = e.jsonTextId
     LEFT JOIN PAGE_NVTX_CHAINS AS n ON n.id = e.id
     LEFT JOIN OSRT_PLACES AS l ON l.id = n.chain
WHERE c.event & 15 = 0 ORDER BY c."end" - c.start DESC;

CREATE TEMP VIEW PAGE_MPI_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, coalesce(p.remoteRank, o.rootRank) AS "rank of the other side or root", p.tag AS "tag",
       coalesce(p.size, o.size) AS "bytes", o.recvSize AS "bytes received"
FROM PAGE_CHOSEN AS c
     LEFT JOIN MPI_P2P_EVENTS AS p ON c.event & 15 = 7 AND p.id = c.event >> 4
     LEFT JOIN MPI_COLLECTIVES_EVENTS AS o ON c.event & 15 = 8 AND o.id = c.event >> 4
WHERE c.event & 15 BETWEEN 7 AND 10 ORDER BY c."end" - c.start DESC;

CREATE TEMP VIEW PAGE_SAMPLE_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, e.id AS "#sample chain", e.cpu AS "on CPU", e.cpuCycles AS "sampling periods",
       l.cpuTime AS "processor time since the last sample (ns)", s.value AS "in the call"
FROM PAGE_CHOSEN AS c JOIN COMPOSITE_EVENTS AS e ON e.id = c.event >> 4
     LEFT JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = e.id LEFT JOIN StringIds AS s ON s.id = l.nameId
WHERE c.event & 15 = 12;

-- Filled by shared/gil.sql, if there are waits.
CREATE TEMP TABLE IF NOT EXISTS GIL_WAITS (id, holder, place);
CREATE TEMP VIEW PAGE_GIL_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, nullif(g.callchainId, 0) AS "#chain", l.place AS "called at", w.holder AS "held by thread",
       w.place AS "which was at"
FROM PAGE_CHOSEN AS c JOIN LIBTRACE_GIL_WAIT AS g ON g.id = c.event >> 4
     LEFT JOIN GIL_WAITS AS w ON w.id = g.id LEFT JOIN OSRT_PLACES AS l ON l.id = g.callchainId
WHERE c.event & 15 = 13 ORDER BY c."end" - c.start DESC;

-- Rows of LIBTRACE_OPENMP, which only reports of libtrace have, that chosen events may be.
CREATE TEMP TABLE PAGE_OPENMP AS
SELECT globalTid AS thread, start, nameId, threadNumber, teamSize, codeId, nullif(callchainId, 0) AS chain
FROM LIBTRACE_OPENMP WHERE duration > 0 AND start IN (SELECT start FROM PAGE_CHOSEN WHERE event & 15 = 14);
CREATE INDEX temp.PAGE_OPENMP_AT ON PAGE_OPENMP (start, thread, nameId);

-- As in timeline.sql, an id is that of the row << 5 plus the table.
CREATE TEMP VIEW PAGE_OPENMP_EVENTS AS
SELECT id << 5 AS id, start, globalTid AS thread, nameId, parallelId AS region, NULL AS task, parentTaskId AS parent, NULL AS lock, NULL AS count
FROM OPENMP_EVENT_KIND_PARALLEL
UNION ALL SELECT id << 5 | 1, start, globalTid, nameId, parallelId, taskId, NULL, NULL, NULL FROM OPENMP_EVENT_KIND_TASK
UNION ALL SELECT id << 5 | 2, start, globalTid, nameId, parallelId, taskId, NULL, NULL, NULL FROM OPENMP_EVENT_KIND_SYNC_REGION
UNION ALL SELECT id << 5 | 3, start, globalTid, nameId, NULL, taskId, NULL, waitId, NULL FROM OPENMP_EVENT_KIND_MUTEX_WAIT
UNION ALL SELECT id << 5 | 4, start, globalTid, nameId, NULL, NULL, NULL, waitId, NULL FROM OPENMP_EVENT_KIND_CRITICAL_SECTION
UNION ALL SELECT id << 5 | 5, start, globalTid, nameId, parallelId, taskId, NULL, NULL, count FROM OPENMP_EVENT_KIND_WORKSHARE
UNION ALL SELECT id << 5 | 6, start, globalTid, nameId, parallelId, taskId, NULL, NULL, NULL FROM OPENMP_EVENT_KIND_MASTER
UNION ALL SELECT id << 5 | 7, start, globalTid, nameId, parallelId, taskId, NULL, NULL, NULL FROM OPENMP_EVENT_KIND_REDUCTION;

CREATE TEMP VIEW PAGE_OPENMP_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, l.chain AS "#chain", s.value AS "construct", nullif(e.region, 0) AS "region number",
       nullif(e.task, 0) AS "task number", nullif(e.parent, 0) AS "number of the parent task", e.count AS "iterations or sections",
       CASE WHEN e.lock <> 0 THEN printf('0x%x', e.lock) END AS "lock", l.threadNumber AS "number of the thread in its team",
       nullif(l.teamSize, 0) AS "threads of the team"
FROM PAGE_CHOSEN AS c
     JOIN PAGE_OPENMP_EVENTS AS e ON e.id = c.event >> 4
     LEFT JOIN PAGE_OPENMP AS l ON l.start = e.start AND l.thread = e.thread AND l.nameId = e.nameId
     LEFT JOIN StringIds AS s ON s.id = l.codeId
WHERE c.event & 15 = 14 ORDER BY c."end" - c.start DESC;

CREATE TEMP VIEW PAGE_FUNCTION_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, f.library, f.words AS "arguments", printf('0x%x', r.returnWord) AS "returned",
       CASE WHEN r.flags & 1 THEN 'left by an exception, longjmp() or the end of its thread' END AS "end of the call"
FROM PAGE_CHOSEN AS c JOIN FUNCTION_CALLS AS f ON f.id = c.event >> 9 JOIN LIBTRACE_FUNCTION_CALL AS r ON r.id = f.id
WHERE c.event & 511 = 23 << 4 | 14 ORDER BY c."end" - c.start DESC;

CREATE TEMP VIEW PAGE_OUTPUT_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, CASE w.stream WHEN 2 THEN 'standard error' ELSE 'standard output' END AS "stream",
       CASE WHEN w.redirected THEN 'yes' END AS "redirected", length(CAST(s.value AS BLOB)) AS "bytes",
       substr(s.value, 1, 2000) || CASE WHEN length(s.value) > 2000 THEN ' ...' ELSE '' END AS "text"
FROM PAGE_CHOSEN AS c JOIN LIBTRACE_STREAM_WRITE AS w ON w.id = c.event >> 4 LEFT JOIN StringIds AS s ON s.id = w.textId
WHERE c.event & 15 = 15;

CREATE TEMP VIEW PAGE_PATH_DETAILS AS
SELECT c.track, c.row, c.start, c."end", c.name, CASE WHEN p.source <> 1 THEN nullif(p.chain, 0) END AS "#chain",
       CASE WHEN p.source = 1 THEN nullif(p.chain, 0) END AS "#cuda chain", p.sure AS "what ended the wait is"
FROM PAGE_CHOSEN AS c JOIN PAGE_PATH AS p ON p.id = c.event >> 4
WHERE c.event & 15 = 11 ORDER BY c."end" - c.start DESC;

-- The callchains of chosen events. `source`: 0 OSRT_CALLCHAINS, 1 CUDA_CALLCHAINS, 2 SAMPLING_CALLCHAINS.
-- The columns have types as those that they are compared with: SQLite cannot use the index otherwise.
CREATE TEMP TABLE PAGE_STACK_FRAMES (id INTEGER PRIMARY KEY, symbol INTEGER, module INTEGER, file INTEGER, line INTEGER, UNIQUE (symbol, module, file, line));
CREATE TEMP TABLE PAGE_STACKS AS
WITH wanted (source, chain) AS MATERIALIZED (
     SELECT 0, "#chain" FROM PAGE_OSRT_DETAILS WHERE "#chain" > 0
     UNION SELECT 0, "#chain" FROM PAGE_NVTX_DETAILS WHERE "#chain" > 0
     UNION SELECT 0, "#chain" FROM PAGE_GIL_DETAILS WHERE "#chain" > 0
     UNION SELECT 0, "#chain" FROM PAGE_OPENMP_DETAILS WHERE "#chain" > 0
     UNION SELECT 2, "#sample chain" FROM PAGE_SAMPLE_DETAILS
     UNION SELECT 0, "#chain" FROM PAGE_PATH_DETAILS WHERE "#chain" > 0
     UNION SELECT 1, "#cuda chain" FROM PAGE_PATH_DETAILS WHERE "#cuda chain" > 0
     UNION SELECT 1, "#cuda chain" FROM PAGE_CALLS_DETAILS WHERE "#cuda chain" > 0)
SELECT w.source, w.chain, f.stackDepth AS depth, f.symbol, coalesce(f.module, 0) AS module, coalesce(l.fileId, 0) AS file, coalesce(l.line, 0) AS line
FROM wanted AS w
     JOIN OSRT_CALLCHAINS AS f ON f.id = w.chain
     LEFT JOIN LIBTRACE_OSRT_CALLCHAINS AS l ON l.id = f.id AND l.stackDepth = f.stackDepth
WHERE w.source = 0
UNION ALL
SELECT w.source, w.chain, f.stackDepth, f.symbol, coalesce(f.module, 0), coalesce(l.fileId, 0), coalesce(l.line, 0)
FROM wanted AS w
     JOIN CUDA_CALLCHAINS AS f ON f.id = w.chain
     LEFT JOIN LIBTRACE_CUDA_CALLCHAINS AS l ON l.id = f.id AND l.stackDepth = f.stackDepth
WHERE w.source = 1
UNION ALL
SELECT w.source, w.chain, f.stackDepth, f.symbol, coalesce(f.module, 0), 0, 0 FROM wanted AS w JOIN SAMPLING_CALLCHAINS AS f ON f.id = w.chain WHERE w.source = 2;
INSERT OR IGNORE INTO PAGE_STACK_FRAMES (symbol, module, file, line) SELECT symbol, module, file, line FROM PAGE_STACKS;

CREATE TEMP VIEW PAGE_CHAIN_FRAMES AS
SELECT k.source, k.chain, f.id AS frame
FROM PAGE_STACKS AS k JOIN PAGE_STACK_FRAMES AS f ON f.symbol = k.symbol AND f.module = k.module AND f.file = k.file AND f.line = k.line
ORDER BY k.source, k.chain, k.depth;

CREATE TEMP VIEW PAGE_FRAME_TEXTS AS
SELECT f.id, coalesce(u.text, s.value, ''), coalesce(m.value, ''), CASE WHEN f.file THEN p.value || ':' || f.line ELSE '' END
FROM PAGE_STACK_FRAMES AS f
     LEFT JOIN StringIds AS s ON s.id = f.symbol
     LEFT JOIN PAGE_UNKNOWN AS u ON u.symbol = f.symbol
     LEFT JOIN StringIds AS m ON m.id = f.module
     LEFT JOIN StringIds AS p ON p.id = f.file;
