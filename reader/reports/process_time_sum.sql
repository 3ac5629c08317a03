-- SPDX-License-Identifier: Apache-2.0
-- Process Time Summary
-- columns: Life (ns), Threads, CPUs Used, Running (%), Runnable (%), Blocked (%), Stopped (%), Unknown (%), Threads' Time (ns), Running (ns), Runnable (ns), Blocked (ns), Stopped (ns), Unknown (ns), Machine Busy (%), Machine Steal (%), Machine Steal (ns), PID, Name text
-- needs: LIBTRACE_THREAD_TIME
-- data: threads' counters (--thread-time=process-tree)
-- before: osrt thread_time

-- Sums of thread_time_sum over the threads of each process: Running to Unknown add up to Threads' Time. CPUs Used:
-- processor time of the process in each second of its life. Machine: all CPUs, during the process's life, whatever they
-- ran; Steal: the part that a hypervisor took from them, which is empty for a process that was read only once.
WITH machine AS MATERIALIZED (
  SELECT globalTid >> 24 AS process, max(busy) - min(busy) AS busy, max(idle) - min(idle) AS idle, max(steal) - min(steal) AS steal
  FROM LIBTRACE_MACHINE_TIME GROUP BY 1 HAVING count(*) > 1),
sums AS (
  SELECT globalTid >> 24 AS process, max("end") - min(start) AS life, count(*) AS threads, sum(life) AS whole, sum(cpu) AS cpu, sum(runnable) AS runnable,
         sum(blocked + looked) AS blocked, sum(stopped) AS stopped, sum(unknown) AS unknown
  FROM THREAD_ACCOUNT WHERE life > 0 GROUP BY 1)
SELECT p.life, p.threads, 1.0 * p.cpu / p.life, 100.0 * p.cpu / p.whole, 100.0 * p.runnable / p.whole, 100.0 * p.blocked / p.whole,
       100.0 * p.stopped / p.whole, 100.0 * p.unknown / p.whole, p.whole, p.cpu, CAST(p.runnable AS INTEGER), CAST(p.blocked AS INTEGER),
       CAST(p.stopped AS INTEGER), CAST(p.unknown AS INTEGER), 100.0 * m.busy / nullif(m.busy + m.idle + m.steal, 0),
       100.0 * m.steal / nullif(m.busy + m.idle + m.steal, 0), m.steal, p.process & 0xffffff AS pid,
       (SELECT coalesce(n.name, '') FROM PROCESSES AS n WHERE n.globalPid >> 24 = p.process LIMIT 1)
FROM sums AS p LEFT JOIN machine AS m ON m.process = p.process
ORDER BY p.cpu DESC, pid;
