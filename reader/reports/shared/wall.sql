-- SPDX-License-Identifier: Apache-2.0
-- The life of each thread as leaves of a flame graph, whose times add up to it. Needs shared/thread_time.sql.
--
-- Running: CPU samples, scaled to the thread's processor time. Blocked: calls of the OS runtime, with the part of their
-- time that thread_time.sql counts as blocked. The remaining parts have no callchain.

-- `chain` is an id of SAMPLING_CALLCHAINS if `is_running`, else of OSRT_CALLCHAINS. `name` is NULL for samples.
DROP TABLE IF EXISTS temp.WALL_LEAVES;
CREATE TEMP TABLE WALL_LEAVES (leaf INTEGER PRIMARY KEY, globalTid, is_running, chain, name, ns, count);

WITH sampled AS MATERIALIZED (
  SELECT c.globalTid, sum(l.cpuTime) AS ns FROM COMPOSITE_EVENTS AS c JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id GROUP BY c.globalTid)
INSERT INTO WALL_LEAVES (globalTid, is_running, chain, name, ns, count)
SELECT c.globalTid, 1, c.id, NULL, 1.0 * l.cpuTime / s.ns * a.cpu, 1
FROM COMPOSITE_EVENTS AS c JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id JOIN sampled AS s ON s.globalTid = c.globalTid
     JOIN THREAD_ACCOUNT AS a ON a.globalTid = c.globalTid WHERE s.ns > 0
UNION ALL
SELECT a.globalTid, 1, NULL, '[running, no sample]', a.cpu, 0
FROM THREAD_ACCOUNT AS a LEFT JOIN sampled AS s ON s.globalTid = a.globalTid WHERE a.cpu > 0 AND coalesce(s.ns, 0) = 0;

INSERT INTO WALL_LEAVES (globalTid, is_running, chain, name, ns, count)
SELECT w.globalTid, 0, c.chain, w.name, c.ns * (w.blocked / nullif(w.ns, 0)), c.calls
FROM CALL_WAITS AS w JOIN (SELECT globalTid, nameId, chain, sum("end" - start) AS ns, count(*) AS calls FROM OUTER_CALLS GROUP BY globalTid, nameId, chain
                           UNION ALL SELECT globalTid, nameId, NULL, sum(total), sum(count) FROM LIBTRACE_OSRT_SUMMARY GROUP BY globalTid, nameId) AS c
     ON c.globalTid = w.globalTid AND c.nameId = w.nameId;

-- [blocked]: what is left where samples say that all time of the calls was running.
INSERT INTO WALL_LEAVES (globalTid, is_running, chain, name, ns, count)
SELECT a.globalTid, 0, NULL, '[blocked]', a.blocked - coalesce(c.ns, 0), 0
FROM THREAD_ACCOUNT AS a
     LEFT JOIN (SELECT globalTid, sum(ns) AS ns FROM WALL_LEAVES WHERE NOT is_running GROUP BY globalTid) AS c ON c.globalTid = a.globalTid
UNION ALL SELECT globalTid, 0, NULL, name, ns, 0 FROM OTHER_WAITS;

-- A row for each frame of a leaf, the outermost first; a leaf without a callchain has one row without a frame.
DROP VIEW IF EXISTS temp.WALL_FRAMES;
CREATE TEMP VIEW WALL_FRAMES AS
SELECT l.leaf, l.globalTid, l.is_running, l.name, CAST(round(l.ns) AS INTEGER) AS ns, l.count, s.value AS symbol, m.value AS module
FROM WALL_LEAVES AS l
     LEFT JOIN (SELECT 1 AS is_running, id, symbol, module, stackDepth FROM SAMPLING_CALLCHAINS UNION ALL
                SELECT 0, id, symbol, module, stackDepth FROM OSRT_CALLCHAINS) AS f ON f.is_running = l.is_running AND f.id = l.chain
     LEFT JOIN StringIds AS s ON s.id = f.symbol LEFT JOIN StringIds AS m ON m.id = f.module
WHERE l.ns >= 0.5
ORDER BY l.leaf, f.stackDepth DESC;
