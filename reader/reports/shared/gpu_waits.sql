-- SPDX-License-Identifier: Apache-2.0
-- Time in which threads waited for the GPU, divided among the operations of the GPU that ran meanwhile. Needs
-- shared/thread_time.sql and shared/gpu_work.sql.
--
-- A thread waits in CUDA calls that return when the GPU is done (api_waits()): blocked in calls of the OS runtime, or
-- running while the driver polls, so that samples find it there. The wait is for a stream if the call names one or is
-- itself an operation of one, else for a context, else for all streams of the process. Operations that run at the
-- same time get equal parts. What remains of the wait, in which no such operation ran, stays with the call.

-- Waits that no other wait of the thread contains. `stream`, `context`: -1 = all.
DROP TABLE IF EXISTS temp.GPU_WAITS;
CREATE TEMP TABLE GPU_WAITS (globalTid, start, "end", process, context, stream, PRIMARY KEY (globalTid, start)) WITHOUT ROWID;
INSERT OR IGNORE INTO GPU_WAITS
WITH waiting AS MATERIALIZED (SELECT id FROM StringIds WHERE api_waits(value)),
calls AS MATERIALIZED (
  SELECT globalTid, start, "end", globalTid >> 24 AS process, correlationId AS correlation
  FROM CUPTI_ACTIVITY_KIND_RUNTIME
  WHERE nameId IN waiting AND "end" > start AND globalTid IS NOT NULL AND EXISTS (SELECT 1 FROM LIBTRACE_THREAD_TIME)),
scopes AS MATERIALIZED (
  SELECT process, correlation, max(context) AS context, max(stream) AS stream
  FROM (SELECT process, correlation, context, coalesce(stream, -1) AS stream FROM GPU_SYNCS
        UNION ALL SELECT globalPid >> 24, correlationId, contextId, streamId FROM CUPTI_ACTIVITY_KIND_MEMCPY)
  WHERE correlation <> 0 GROUP BY process, correlation)
SELECT c.globalTid, c.start, c."end", c.process, coalesce(s.context, -1), coalesce(s.stream, -1)
FROM (SELECT *, max("end") OVER (PARTITION BY globalTid ORDER BY start, "end" DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM calls) AS c LEFT JOIN scopes AS s ON s.process = c.process AND s.correlation = c.correlation
WHERE c.before IS NULL OR c.start >= c.before;

-- Operations of the GPU, once for each set of streams that a thread waited for and that has it.
DROP TABLE IF EXISTS temp.GPU_WORK;
CREATE TEMP TABLE GPU_WORK AS
WITH scopes AS MATERIALIZED (SELECT DISTINCT process, context, stream FROM GPU_WAITS)
SELECT s.process, s.context, s.stream, w.start, w."end", w.correlation, CASE w.kind WHEN 'memory' THEN w.name ELSE '[GPU] ' || coalesce(w.name, w.kind) END AS name
FROM scopes AS s JOIN GPU_OPERATIONS AS w ON w.process = s.process AND s.context IN (-1, w.context) AND s.stream IN (-1, w.stream);
CREATE INDEX temp.GPU_WORK_ORDER ON GPU_WORK (process, context, stream, start);
DROP TABLE IF EXISTS temp.GPU_WORK_LONGEST;
CREATE TEMP TABLE GPU_WORK_LONGEST AS
SELECT process, context, stream, max("end" - start) AS ns FROM GPU_WORK GROUP BY process, context, stream;

-- From each `time` to the next, `count` operations run. `parts` is the sum of 1 / count up to `time`: its growth is
-- what each running operation gets.
DROP TABLE IF EXISTS temp.GPU_PARTS;
CREATE TEMP TABLE GPU_PARTS (process, context, stream, time, count, parts, PRIMARY KEY (process, context, stream, time)) WITHOUT ROWID;
INSERT INTO GPU_PARTS
SELECT process, context, stream, time, count,
       coalesce(sum(CASE WHEN count THEN 1.0 * (following - time) / count ELSE 0 END) OVER (
         PARTITION BY process, context, stream ORDER BY time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
FROM (SELECT *, lead(time) OVER (PARTITION BY process, context, stream ORDER BY time) AS following
      FROM (SELECT process, context, stream, time, sum(sum(change)) OVER (PARTITION BY process, context, stream ORDER BY time) AS count
            FROM (SELECT process, context, stream, start AS time, 1 AS change FROM GPU_WORK
                  UNION ALL SELECT process, context, stream, "end", -1 FROM GPU_WORK)
            GROUP BY process, context, stream, time));

-- Recorded calls of the OS runtime in these waits, and the parts of the operations that ran during them.
DROP TABLE IF EXISTS temp.GPU_BLOCKED;
CREATE TEMP TABLE GPU_BLOCKED AS
WITH pieces AS (
  SELECT w.globalTid, w.process, w.context, w.stream, o.nameId, o.chain, o.start, min(o."end", w."end") AS "end"
  FROM GPU_WAITS AS w CROSS JOIN OUTER_CALLS AS o ON o.globalTid = w.globalTid AND o.start >= w.start AND o.start < w."end"),
shares AS (
  SELECT p.*, g.correlation, g.name, max(g.start, p.start) AS from_ns, min(g."end", p."end") AS to_ns
  FROM pieces AS p JOIN GPU_WORK_LONGEST AS l ON l.process = p.process AND l.context = p.context AND l.stream = p.stream
       JOIN GPU_WORK AS g ON g.process = p.process AND g.context = p.context AND g.stream = p.stream
       AND g.start > p.start - l.ns AND g.start < p."end" AND g."end" > p.start),
ends AS (
  SELECT globalTid, nameId, chain, process, correlation, name,
         (SELECT t.parts + CASE WHEN t.count THEN 1.0 * (s.from_ns - t.time) / t.count ELSE 0 END FROM GPU_PARTS AS t
          WHERE t.process = s.process AND t.context = s.context AND t.stream = s.stream AND t.time <= s.from_ns ORDER BY t.time DESC LIMIT 1) AS from_parts,
         (SELECT t.parts + CASE WHEN t.count THEN 1.0 * (s.to_ns - t.time) / t.count ELSE 0 END FROM GPU_PARTS AS t
          WHERE t.process = s.process AND t.context = s.context AND t.stream = s.stream AND t.time <= s.to_ns ORDER BY t.time DESC LIMIT 1) AS to_parts
  FROM shares AS s)
SELECT globalTid, nameId, chain, process, correlation, name, sum(to_parts - from_parts) AS ns
FROM ends GROUP BY globalTid, nameId, chain, process, correlation, name;

-- Samples of threads in these waits while operations ran; each gets `part` of the sample.
DROP TABLE IF EXISTS temp.GPU_POLLED;
CREATE TEMP TABLE GPU_POLLED AS
WITH polled AS (
  SELECT c.id, c.start AS time, w.process, w.context, w.stream
  FROM COMPOSITE_EVENTS AS c JOIN GPU_WAITS AS w ON w.globalTid = c.globalTid AND w.start =
       (SELECT max(b.start) FROM GPU_WAITS AS b WHERE b.globalTid = c.globalTid AND b.start <= c.start)
  WHERE c.start < w."end")
SELECT p.id, p.process, g.correlation, g.name, 1.0 / count(*) OVER (PARTITION BY p.id) AS part
FROM polled AS p JOIN GPU_WORK_LONGEST AS l ON l.process = p.process AND l.context = p.context AND l.stream = p.stream
     JOIN GPU_WORK AS g ON g.process = p.process AND g.context = p.context AND g.stream = p.stream
     AND g.start > p.time - l.ns AND g.start <= p.time AND g."end" > p.time;
CREATE INDEX temp.GPU_POLLED_ORDER ON GPU_POLLED (id);

-- The call that launched an operation: its callchain, else the name of the function. Several may have the same id.
DROP TABLE IF EXISTS temp.GPU_LAUNCHES;
CREATE TEMP TABLE GPU_LAUNCHES (process, correlation, chain, nameId, PRIMARY KEY (process, correlation)) WITHOUT ROWID;
INSERT INTO GPU_LAUNCHES
WITH used AS MATERIALIZED (SELECT process, correlation FROM GPU_BLOCKED UNION SELECT process, correlation FROM GPU_POLLED)
SELECT globalTid >> 24, correlationId, nullif(max(coalesce(callchainId, 0)), 0), nameId
FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE correlationId <> 0 AND (globalTid >> 24, correlationId) IN (SELECT process, correlation FROM used)
GROUP BY globalTid >> 24, correlationId;
