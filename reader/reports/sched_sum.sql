-- SPDX-License-Identifier: Apache-2.0
-- Scheduling Summary
-- columns: Running (ns), Runnable (ns), Runnable (%), Voluntary Switches, Involuntary Switches, Minor Faults, Major Faults, CPUs Seen, Migrations Seen, PID, TID, Name text
-- needs: LIBTRACE_THREAD_TIME
-- data: threads' counters (--thread-time)
-- before: osrt thread_time

-- Runnable (%): share of the time in which the thread was running or runnable. CPUs and migrations are those seen in CPU
-- samples; there may have been more. Switches and faults are empty if the thread did not record its end.
WITH places AS MATERIALIZED (
  SELECT globalTid, count(DISTINCT cpu) AS cpus, sum(cpu IS NOT before) - 1 AS moves
  FROM (SELECT globalTid, cpu, lag(cpu) OVER (PARTITION BY globalTid ORDER BY start) AS before FROM COMPOSITE_EVENTS) GROUP BY globalTid)
SELECT a.cpu, CAST(a.runnable AS INTEGER), 100.0 * a.runnable / nullif(a.cpu + a.runnable, 0), a.voluntary, a.involuntary, a.minor, a.major, p.cpus, p.moves, a.pid, a.tid,
       (SELECT n.name FROM THREAD_NAMES AS n WHERE n.globalTid = a.globalTid LIMIT 1)
FROM THREAD_ACCOUNT AS a LEFT JOIN places AS p ON p.globalTid = a.globalTid
ORDER BY a.runnable DESC, a.cpu DESC, a.pid, a.tid;
