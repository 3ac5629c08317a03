-- SPDX-License-Identifier: Apache-2.0
-- Threads Waiting Most
-- severity: info
-- columns: Waited (ns), Share (%), PID, TID, Thread Name text, Mostly In text, Time There (ns), Callchain text
-- needs: OSRT_API
-- data: OS Runtime trace (--trace=osrt)
-- before: osrt
-- arguments: rows
-- advice: These threads spent at least 50 % of their time, and 100 ms, in calls of 100 us or more. That is normal for threads that wait for work.
-- advice: For other threads, the function with the most waiting time and the callchain of its longest call show what they wait for.

WITH lives AS MATERIALIZED (SELECT globalTid, "end" - start AS ns FROM THREAD_LIFETIMES),
-- columns without an aggregate have the values of the longest call
functions AS MATERIALIZED (
  SELECT globalTid, pid, tid, name, sum(ns) AS ns, max(ns) AS longest, start, chain FROM OSRT_CALLS WHERE ns >= 100000 GROUP BY globalTid, name),
-- A thread has the name that it had last: before an exec, that of the program counts.
programs AS MATERIALIZED (SELECT globalPid >> 24 AS process, start, CASE endHow WHEN 'exec' THEN name END AS name FROM LIBTRACE_PROCESS),
waiting AS (
  SELECT f.*, sum(f.ns) OVER thread AS waited, row_number() OVER (PARTITION BY f.globalTid ORDER BY f.ns DESC, f.name) AS place
  FROM functions AS f WINDOW thread AS (PARTITION BY f.globalTid))
SELECT w.waited, min(100.0, 100.0 * w.waited / l.ns), w.pid, w.tid,
       coalesce((SELECT r.name FROM programs AS r WHERE r.process = w.globalTid >> 24 AND r.start <= w.start ORDER BY r.start DESC LIMIT 1),
                (SELECT n.name FROM THREAD_NAMES AS n WHERE n.globalTid = w.globalTid LIMIT 1)),
       w.name || coalesce(' at ' || p.place, ''), w.ns,
       (SELECT group_concat(text, ' < ') FROM (
         SELECT text FROM FRAMES WHERE id = w.chain ORDER BY stackDepth LIMIT 8))
FROM waiting AS w JOIN lives AS l ON l.globalTid = w.globalTid LEFT JOIN OSRT_PLACES AS p ON p.id = w.chain
WHERE w.place = 1 AND w.waited >= 100000000 AND 2 * w.waited >= l.ns
ORDER BY w.waited DESC, w.tid
LIMIT coalesce(argument('rows'), 20);
