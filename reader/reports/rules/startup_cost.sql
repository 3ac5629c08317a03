-- SPDX-License-Identifier: Apache-2.0
-- Start-up Cost
-- severity: info
-- columns: What text, Total Time (ns), Count, PID, Of text
-- needs: OSRT_API CUPTI_ACTIVITY_KIND_RUNTIME LIBTRACE_PROCESS
-- data: start-up
-- advice: First CUDA call: it makes the context and loads the modules (100 ms or more). Short processes: twenty or more of a program that live less than 50 ms on average (none of them 500 ms or longer) are mostly start and end; a child counts as the program that it executes.
-- advice: Keep one process for many jobs, do in the shell what needs no program, load CUDA modules lazily (CUDA_MODULE_LOADING=LAZY), and let one process serve many runs.

SELECT 'first CUDA call', ns, 1, pid, name
FROM (SELECT *, row_number() OVER (PARTITION BY globalTid >> 24 ORDER BY ns DESC) AS place
      FROM (SELECT *, row_number() OVER (PARTITION BY globalTid >> 24 ORDER BY start) AS turn FROM API_CALLS)
      WHERE turn <= 10)
WHERE place = 1 AND ns >= 100000000
UNION ALL
SELECT 'short processes', sum(ns), count(*), NULL, program
FROM (SELECT "end" - start AS ns, coalesce(executable, name) AS program
      FROM LIBTRACE_PROCESS LEFT JOIN (SELECT globalPid, min(name) AS name FROM PROCESSES GROUP BY 1) USING (globalPid)
      WHERE "end" > start AND NOT (coalesce(forked, 0) AND processId IN (SELECT previousId FROM LIBTRACE_PROCESS WHERE previousId IS NOT NULL)))
WHERE ns < 500000000
GROUP BY program
HAVING count(*) >= 20 AND avg(ns) < 50000000
ORDER BY 2 DESC;
