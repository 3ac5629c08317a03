-- SPDX-License-Identifier: Apache-2.0
-- The life of each thread as leaves of a flame graph, whose times add up to it. Needs shared/thread_time.sql and
-- shared/gpu_waits.sql.
--
-- Running: CPU samples, scaled to the thread's processor time. Blocked: calls of the OS runtime, with the part of their
-- time that thread_time.sql counts as blocked. Where a sample or a call waited for the GPU, its time is given to the
-- GPU operations that ran meanwhile, below the callchains that launched them. The remaining parts have no callchain.

-- `chain` is an id of OSRT_CALLCHAINS (source 0), SAMPLING_CALLCHAINS (1), CUDA_CALLCHAINS (2), or of StringIds: a
-- function without callers (3). `name` is drawn below the chain; it is NULL where the innermost frame of the chain is
-- that name already, as in samples. `kind`: running, wait, gpu or state.
DROP TABLE IF EXISTS temp.WALL_LEAVES;
CREATE TEMP TABLE WALL_LEAVES (leaf INTEGER PRIMARY KEY, globalTid, kind, is_running, source, chain, name, ns, count);

DROP TABLE IF EXISTS temp.WALL_SAMPLES;
CREATE TEMP TABLE WALL_SAMPLES AS
SELECT c.id, c.globalTid, 1.0 * l.cpuTime / s.ns * a.cpu AS ns
FROM COMPOSITE_EVENTS AS c JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id
     JOIN (SELECT c.globalTid, sum(l.cpuTime) AS ns FROM COMPOSITE_EVENTS AS c JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id GROUP BY c.globalTid) AS s
     ON s.globalTid = c.globalTid
     JOIN THREAD_ACCOUNT AS a ON a.globalTid = c.globalTid
WHERE s.ns > 0;

INSERT INTO WALL_LEAVES (globalTid, kind, is_running, source, chain, name, ns, count)
SELECT globalTid, 'running', 1, 1, id, NULL, ns, 1 FROM WALL_SAMPLES WHERE id NOT IN (SELECT id FROM GPU_POLLED)
UNION ALL
SELECT a.globalTid, 'running', 1, NULL, NULL, '[running, no sample]', a.cpu, 0
FROM THREAD_ACCOUNT AS a WHERE a.cpu > 0 AND a.globalTid NOT IN (SELECT globalTid FROM WALL_SAMPLES)
UNION ALL
SELECT s.globalTid, 'gpu', 1, CASE WHEN l.chain THEN 2 ELSE 3 END, coalesce(l.chain, l.nameId), p.name, sum(s.ns * p.part), count(*)
FROM WALL_SAMPLES AS s JOIN GPU_POLLED AS p ON p.id = s.id LEFT JOIN GPU_LAUNCHES AS l ON l.process = p.process AND l.correlation = p.correlation
GROUP BY s.globalTid, l.chain, l.nameId, p.name;

-- For each thread and function: the part of its calls' time in which the thread was blocked.
DROP TABLE IF EXISTS temp.WALL_BLOCKED;
CREATE TEMP TABLE WALL_BLOCKED (globalTid, nameId, part, PRIMARY KEY (globalTid, nameId)) WITHOUT ROWID;
INSERT INTO WALL_BLOCKED SELECT globalTid, nameId, blocked / nullif(ns, 0) FROM CALL_WAITS;

INSERT INTO WALL_LEAVES (globalTid, kind, is_running, source, chain, name, ns, count)
SELECT c.globalTid, 'wait', 0, 0, c.chain,
       CASE WHEN c.nameId IS NOT (SELECT symbol FROM OSRT_CALLCHAINS WHERE id = c.chain AND stackDepth = 0) THEN n.value END,
       (c.ns - coalesce(g.ns, 0)) * w.part, c.calls
FROM (SELECT globalTid, nameId, chain, 1 AS recorded, sum("end" - start) AS ns, count(*) AS calls FROM OUTER_CALLS GROUP BY globalTid, nameId, chain
      UNION ALL SELECT globalTid, nameId, NULL, 0, sum(total), sum(count) FROM LIBTRACE_OSRT_SUMMARY GROUP BY globalTid, nameId) AS c
     JOIN WALL_BLOCKED AS w ON w.globalTid = c.globalTid AND w.nameId = c.nameId
     LEFT JOIN StringIds AS n ON n.id = c.nameId
     LEFT JOIN (SELECT globalTid, nameId, chain, sum(ns) AS ns FROM GPU_BLOCKED GROUP BY globalTid, nameId, chain) AS g
     ON c.recorded AND g.globalTid = c.globalTid AND g.nameId = c.nameId AND g.chain IS c.chain
UNION ALL
SELECT b.globalTid, 'gpu', 0, CASE WHEN l.chain THEN 2 ELSE 3 END, coalesce(l.chain, l.nameId), b.name, sum(b.ns * w.part), count(*)
FROM GPU_BLOCKED AS b JOIN WALL_BLOCKED AS w ON w.globalTid = b.globalTid AND w.nameId = b.nameId
     LEFT JOIN GPU_LAUNCHES AS l ON l.process = b.process AND l.correlation = b.correlation
GROUP BY b.globalTid, l.chain, l.nameId, b.name;

-- [blocked]: blocked time that no call is left for, because by the samples the calls were running all the time.
INSERT INTO WALL_LEAVES (globalTid, kind, is_running, name, ns, count)
SELECT a.globalTid, 'wait', 0, '[blocked]', a.blocked - coalesce(c.ns, 0), 0
FROM THREAD_ACCOUNT AS a
     LEFT JOIN (SELECT globalTid, sum(ns) AS ns FROM WALL_LEAVES WHERE NOT is_running GROUP BY globalTid) AS c ON c.globalTid = a.globalTid
UNION ALL SELECT globalTid, 'state', 0, name, ns, 0 FROM OTHER_WAITS;

-- A row for each frame of a leaf, the outermost first; a leaf without a callchain has one row without a frame. Each
-- table of frames is looked up by itself: a union of them would be copied, and sorted by more than a leaf at a time.
DROP VIEW IF EXISTS temp.WALL_FRAMES;
CREATE TEMP VIEW WALL_FRAMES AS
SELECT l.leaf, l.globalTid, l.is_running, l.name, CAST(round(l.ns) AS INTEGER) AS ns, l.count,
       s.value AS symbol, m.value AS module,
       coalesce(f.symbol, p.symbol, c.symbol, CASE l.source WHEN 3 THEN l.chain END) AS symbolId, l.kind
FROM WALL_LEAVES AS l
     LEFT JOIN OSRT_CALLCHAINS AS f ON l.source = 0 AND f.id = l.chain
     LEFT JOIN SAMPLING_CALLCHAINS AS p ON l.source = 1 AND p.id = l.chain
     LEFT JOIN CUDA_CALLCHAINS AS c ON l.source = 2 AND c.id = l.chain
     LEFT JOIN StringIds AS s ON s.id = coalesce(f.symbol, p.symbol, c.symbol, CASE l.source WHEN 3 THEN l.chain END)
     LEFT JOIN StringIds AS m ON m.id = coalesce(f.module, p.module, c.module)
WHERE l.ns >= 0.5
ORDER BY l.leaf, f.stackDepth DESC, p.stackDepth DESC, c.stackDepth DESC;
