-- SPDX-License-Identifier: Apache-2.0
-- Start-up Cost
-- severity: info
-- columns: What text, Total Time (ns), Count, PID, Of text
-- needs: OSRT_API CUPTI_ACTIVITY_KIND_RUNTIME LIBTRACE_PROCESS
-- data: start-up
-- advice: Short processes: at least 20 processes of one program (those of 500 ms or more do not count) lived less than 50 ms on average and spent most of that on start and end. A forked child counts as the program that it executes. While children of a process lived, the time is theirs alone.
-- advice: Use one process for many jobs, and shell built-ins instead of programs.
-- cuda_advice: First CUDA call: it creates the context and loads the modules (100 ms or more). Load modules lazily (CUDA_MODULE_LOADING=LAZY), and let one process serve many runs.

-- The parts of a process's life in which a child of it lived, each once: those after what earlier children reached.
WITH lives AS MATERIALIZED (
  SELECT *, globalPid >> 48 AS host FROM LIBTRACE_PROCESS WHERE "end" > start),
parts AS (
  SELECT p.processId AS id, c.start AS begun, min(c."end", p."end") AS ended,
    max(c."end") OVER (PARTITION BY p.processId ORDER BY c.start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM lives AS p JOIN lives AS c ON c.parentPid = p.pid AND c.host = p.host AND c.start >= p.start AND c.start < p."end"),
of_children AS (
  SELECT id, sum(max(ended - max(begun, coalesce(reached, begun)), 0)) AS ns FROM parts GROUP BY id)
SELECT 'first CUDA call', ns, 1, pid, name
FROM (SELECT *, row_number() OVER (PARTITION BY globalTid >> 24 ORDER BY ns DESC) AS place
      FROM (SELECT *, row_number() OVER (PARTITION BY globalTid >> 24 ORDER BY start) AS turn FROM API_CALLS)
      WHERE turn <= 10)
WHERE place = 1 AND ns >= 100000000
UNION ALL
SELECT 'short processes', sum(own), count(*), NULL, program
FROM (SELECT "end" - start AS ns, "end" - start - coalesce(c.ns, 0) AS own, coalesce(p.name, executable, n.name) AS program
      FROM lives AS p LEFT JOIN (SELECT globalPid, min(name) AS name FROM PROCESSES GROUP BY 1) AS n USING (globalPid)
        LEFT JOIN of_children AS c ON c.id = p.processId
      WHERE NOT (coalesce(forked, 0) AND processId IN (SELECT previousId FROM LIBTRACE_PROCESS WHERE previousId IS NOT NULL)))
WHERE ns < 500000000
GROUP BY program
HAVING count(*) >= 20 AND avg(ns) < 50000000
ORDER BY 2 DESC;
