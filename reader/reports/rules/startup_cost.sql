-- Start-up Cost
-- severity: info
-- columns: What text, Total Time (ns), Count, PID, Of text
-- needs: OSRT_API CUPTI_ACTIVITY_KIND_RUNTIME LIBTRACE_PROCESS
-- data: start-up
-- advice: First CUDA call: it makes the context and loads the modules (100 ms or more). Short processes: twenty or more of a program that live less than 50 ms on average are mostly start and end.
-- advice: Keep one process for many jobs, do in the shell what needs no program, load CUDA modules lazily (CUDA_MODULE_LOADING=LAZY), and let one process serve many runs.

SELECT 'first CUDA call', ns, 1, pid, name
FROM (SELECT *, row_number() OVER (PARTITION BY globalTid >> 24 ORDER BY ns DESC) AS place
      FROM (SELECT *, row_number() OVER (PARTITION BY globalTid >> 24 ORDER BY start) AS turn FROM API_CALLS)
      WHERE turn <= 10)
WHERE place = 1 AND ns >= 100000000
UNION ALL
SELECT 'short processes', sum("end" - start), count(*), NULL, executable
FROM LIBTRACE_PROCESS
WHERE "end" > start
GROUP BY executable
HAVING count(*) >= 20 AND avg("end" - start) < 50000000
ORDER BY 2 DESC;
