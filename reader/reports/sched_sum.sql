-- SPDX-License-Identifier: Apache-2.0
-- Scheduling Summary
-- columns: Running (ns), Runnable (ns), Runnable (%), Switches, Voluntary Switches, Involuntary Switches, Minor Faults, Major Faults, CPUs Seen, Migrations Seen, PID, TID, Name text
-- needs: LIBTRACE_THREAD_TIME SCHED_EVENTS
-- data: threads' counters or context switches (--thread-time or --cpuctxsw)
-- before: osrt thread_time

-- Runnable (%): share of the time in which the thread was running or runnable. Without threads' counters, as in
-- databases of nsys, Running is the time between switches, and Runnable and the faults are empty. Switches: the
-- recorded ones, off a CPU. CPUs and migrations are those of the recorded switches, else those seen in CPU samples, of
-- which there may have been more. [steal, all CPUs]: time that a hypervisor took from the machine's CPUs, which no
-- thread's counter has. Counted switches and faults are empty if the thread did not record its end.
WITH switches AS MATERIALIZED (
  SELECT s.globalTid, sum(CASE WHEN s.isSchedIn THEN coalesce(s.following - s.start, 0) ELSE 0 END) AS running, sum(NOT s.isSchedIn) AS outs,
         CASE WHEN EXISTS (SELECT 1 FROM LIBTRACE_SCHED_SWITCH) THEN sum(NOT s.isSchedIn AND coalesce(s.how, 0) & 1) END AS preempted
  FROM (SELECT e.globalTid, e.start, e.isSchedIn, l.how, lead(e.start) OVER (PARTITION BY e.globalTid ORDER BY e.start, e.id) AS following
        FROM SCHED_EVENTS AS e LEFT JOIN LIBTRACE_SCHED_SWITCH AS l ON l.id = e.id) AS s
  GROUP BY s.globalTid),
seen AS (SELECT globalTid, cpu, start FROM SCHED_EVENTS WHERE isSchedIn
         UNION ALL SELECT globalTid, cpu, start FROM COMPOSITE_EVENTS WHERE NOT EXISTS (SELECT 1 FROM SCHED_EVENTS)),
places AS MATERIALIZED (
  SELECT globalTid, count(DISTINCT cpu) AS cpus, sum(cpu IS NOT before) - 1 AS moves
  FROM (SELECT globalTid, cpu, lag(cpu) OVER (PARTITION BY globalTid ORDER BY start) AS before FROM seen) GROUP BY globalTid),
threads AS MATERIALIZED (SELECT globalTid FROM THREAD_ACCOUNT WHERE readings UNION SELECT globalTid FROM switches),
rows_of AS (
  SELECT t.globalTid, CASE WHEN a.readings THEN a.cpu ELSE s.running END AS cpu, CASE WHEN a.readings THEN a.runnable END AS runnable, s.outs,
         coalesce(a.voluntary, s.outs - s.preempted) AS voluntary, coalesce(a.involuntary, s.preempted) AS involuntary, a.minor, a.major
  FROM threads AS t LEFT JOIN THREAD_ACCOUNT AS a ON a.globalTid = t.globalTid LEFT JOIN switches AS s ON s.globalTid = t.globalTid)
SELECT r.cpu, CAST(r.runnable AS INTEGER), 100.0 * r.runnable / nullif(r.cpu + r.runnable, 0), r.outs, r.voluntary, r.involuntary, r.minor, r.major,
       p.cpus, p.moves, r.globalTid >> 24 & 0xffffff AS pid, r.globalTid & 0xffffff AS tid,
       (SELECT n.name FROM THREAD_NAMES AS n WHERE n.globalTid = r.globalTid LIMIT 1)
FROM rows_of AS r LEFT JOIN places AS p ON p.globalTid = r.globalTid
UNION ALL SELECT NULL, m.steal, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, '[steal, all CPUs]'
FROM (SELECT max(steal) - min(steal) AS steal FROM LIBTRACE_MACHINE_TIME) AS m WHERE m.steal > 0
ORDER BY 2 DESC, 1 DESC, 11, 12;
