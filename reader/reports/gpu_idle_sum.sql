-- SPDX-License-Identifier: Apache-2.0
-- GPU Idle Summary
-- columns: Idle (%), Total Time (ns), Gaps, Max (ns), PID, Device, Waiting PID, TID, Rank, Cause text, Sure text, At text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_MEMCPY
-- data: operations of a GPU with idle time between them (--trace=cuda)
-- before: gpu_work openmp mpi mpi_waits nccl_waits path path_segments
-- arguments: range=GLOB

-- Time in which no operation of a process ran on a device, between its first and its last one, and what was on the critical path meanwhile: the device was
-- idle because of that. Idle (%): of the time between the first and the last operation.
DROP TABLE IF EXISTS temp.IDLE_GAPS;
CREATE TEMP TABLE IDLE_GAPS AS
SELECT process, device, busy_until AS start, start AS "end", span
FROM (SELECT process, device, start, max("end") OVER (earlier ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS busy_until,
             max("end") OVER whole - min(start) OVER whole AS span
      FROM GPU_OPERATIONS WINDOW earlier AS (PARTITION BY process, device ORDER BY start, "end"), whole AS (PARTITION BY process, device))
WHERE start > busy_until;

-- The segments of a path follow each other: those of a gap begin with the last one that began before it.
DROP TABLE IF EXISTS temp.IDLE_PATH;
CREATE TEMP TABLE IDLE_PATH AS SELECT DISTINCT goal, number, start, "end" FROM PATH_SEGMENTS;
CREATE INDEX temp.IDLE_PATH_ORDER ON IDLE_PATH (goal, start);
DROP TABLE IF EXISTS temp.IDLE_PARTS;
CREATE TEMP TABLE IDLE_PARTS AS
SELECT g.process, g.device, g.span, g.gap, s.goal, s.number, 1.0 * (min(g."end", s."end") - max(g.start, s.start)) / (s."end" - s.start) AS part
FROM (SELECT g.rowid AS gap, g.*, p.goal, coalesce((SELECT max(s.start) FROM IDLE_PATH AS s WHERE s.goal = p.goal AND s.start <= g.start), g.start) AS since
      FROM PATH_GOALS AS p CROSS JOIN IDLE_GAPS AS g WHERE g.start < p."end" AND g."end" > p.start) AS g
     CROSS JOIN IDLE_PATH AS s ON s.goal = g.goal AND s.start >= g.since AND s.start < g."end" AND s."end" > g.start;

SELECT 100.0 * sum(i.part * s.ns) / max(i.span), CAST(round(sum(i.part * s.ns)) AS INTEGER), count(DISTINCT i.gap), CAST(round(max(i.part * s.ns)) AS INTEGER),
       i.process & 0xffffff, i.device, s.pid, s.tid, s.rank, s.cause, s.how, s.place
FROM IDLE_PARTS AS i JOIN PATH_PLACES AS s ON s.goal = i.goal AND s.number = i.number
GROUP BY i.process, i.device, s.pid, s.tid, s.rank, s.cause, s.how, s.place
ORDER BY 2 DESC, 5, 6, 7, 8, 10, 11, 12;
