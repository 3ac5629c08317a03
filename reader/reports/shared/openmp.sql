-- SPDX-License-Identifier: Apache-2.0
-- Parallel regions of OpenMP, and how long each thread of a team worked and waited in them.

-- Functions and lines of regions (region 28) and of the tasks that were created (15); databases of nsys have none.
DROP VIEW IF EXISTS temp.OPENMP_PLACES;
CREATE TEMP VIEW OPENMP_PLACES AS
SELECT o.globalTid >> 24 AS process, o.region, CASE o.region WHEN 28 THEN o.parallelId ELSE o.otherTaskId END AS number, n.value AS place
FROM LIBTRACE_OPENMP AS o JOIN StringIds AS n ON n.id = o.codeId
WHERE o.region IN (15, 28) AND o.codeId IS NOT NULL
GROUP BY 1, 2, 3;

-- A region, by the number that its process gave it, and its place. Grouped, not joined: a join could take a time quadratic in the regions.
DROP VIEW IF EXISTS temp.OPENMP_REGIONS;
CREATE TEMP VIEW OPENMP_REGIONS AS
SELECT process, parallelId, process & 0xffffff AS pid, max(thread) AS globalTid, min(begin_ns) AS start, max(end_ns) AS "end", max(place) AS place
FROM (SELECT globalTid >> 24 AS process, parallelId, globalTid AS thread, start AS begin_ns, "end" AS end_ns, NULL AS place
      FROM OPENMP_EVENT_KIND_PARALLEL
      UNION ALL SELECT process, number, NULL, NULL, NULL, place FROM OPENMP_PLACES WHERE region = 28)
GROUP BY 1, 2 HAVING count(thread) > 0;

-- Time in barriers, by thread and name. A thread waits for the next region in the barrier of the last one: that is not counted.
DROP VIEW IF EXISTS temp.OPENMP_BARRIERS;
CREATE TEMP VIEW OPENMP_BARRIERS AS
SELECT r.process, r.parallelId, r.pid, r.place, s.globalTid, n.value AS name, count(*) AS parts, sum(max(min(s."end", r."end") - s.start, 0)) AS ns
FROM OPENMP_EVENT_KIND_SYNC_REGION AS s
     JOIN OPENMP_REGIONS AS r ON r.process = s.globalTid >> 24 AND r.parallelId = s.parallelId
     JOIN StringIds AS n ON n.id = s.nameId
WHERE s.kind BETWEEN 1 AND 4
GROUP BY r.process, r.parallelId, s.globalTid, n.value
UNION ALL
-- Of libgomp's workers: from the end of their task to that of the region. Other runtimes end these tasks later.
SELECT r.process, r.parallelId, r.pid, r.place, t.globalTid, 'Implicit Barrier', 1, r."end" - max(t."end")
FROM OPENMP_EVENT_KIND_TASK AS t JOIN OPENMP_REGIONS AS r ON r.process = t.globalTid >> 24 AND r.parallelId = t.parallelId
WHERE t.kind = 2 AND t.globalTid <> r.globalTid
GROUP BY r.process, r.parallelId, t.globalTid HAVING max(t."end") < r."end";

-- Threads of each region: the time from the start of their implicit task to the end of the region.
DROP VIEW IF EXISTS temp.OPENMP_TEAMS;
CREATE TEMP VIEW OPENMP_TEAMS AS
SELECT r.process, r.parallelId, r.pid, r.place, t.globalTid, max(r."end" - min(t.start), 0) AS ns
FROM OPENMP_EVENT_KIND_TASK AS t
     JOIN OPENMP_REGIONS AS r ON r.process = t.globalTid >> 24 AND r.parallelId = t.parallelId
WHERE t.kind = 2
GROUP BY r.process, r.parallelId, t.globalTid;
