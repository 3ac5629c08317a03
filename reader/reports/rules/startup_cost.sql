-- SPDX-License-Identifier: Apache-2.0
-- Start-up Cost
-- severity: info
-- columns: What text, Total Time (ns), Count, PID, Of text
-- needs: OSRT_API CUPTI_ACTIVITY_KIND_RUNTIME LIBTRACE_PROCESS
-- data: start-up
-- advice: Short processes: at least 20 processes of one program (those of 500 ms or more do not count) lived less than 50 ms on average and spent most of that on start and end. A forked child counts as the program that it executes.
-- advice: Use one process for many jobs, and shell built-ins instead of programs.
-- cuda_advice: First CUDA call: it creates the context and loads the modules (100 ms or more). Load modules lazily (CUDA_MODULE_LOADING=LAZY), and let one process serve many runs.

SELECT 'first CUDA call', ns, 1, pid, name
FROM (SELECT *, row_number() OVER (PARTITION BY globalTid >> 24 ORDER BY ns DESC) AS place
      FROM (SELECT *, row_number() OVER (PARTITION BY globalTid >> 24 ORDER BY start) AS turn FROM API_CALLS)
      WHERE turn <= 10)
WHERE place = 1 AND ns >= 100000000
UNION ALL
SELECT 'short processes', sum(ns), count(*), NULL, program
FROM (SELECT "end" - start AS ns, coalesce(p.name, executable, n.name) AS program
      FROM LIBTRACE_PROCESS AS p LEFT JOIN (SELECT globalPid, min(name) AS name FROM PROCESSES GROUP BY 1) AS n USING (globalPid)
      WHERE "end" > start AND NOT (coalesce(forked, 0) AND processId IN (SELECT previousId FROM LIBTRACE_PROCESS WHERE previousId IS NOT NULL)))
WHERE ns < 500000000
GROUP BY program
HAVING count(*) >= 20 AND avg(ns) < 50000000
ORDER BY 2 DESC;
