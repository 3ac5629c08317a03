-- SPDX-License-Identifier: Apache-2.0
-- Thread Time Summary
-- columns: Life (ns), Running (%), Runnable (%), Blocked (%), Stopped (%), Unknown (%), Running (ns), In Calls (ns), Runnable (ns), Blocked (ns), Stopped (ns), Unknown (ns), PID, TID, Name text
-- needs: LIBTRACE_THREAD_TIME
-- data: threads' counters (--thread-time=process-tree)
-- before: osrt thread_time

-- Running, Runnable, Blocked, Stopped and Unknown add up to Life. In Calls: the part of Running within calls of the OS
-- runtime, by CPU samples; empty for a thread without any. Runnable: waiting for a CPU. Blocked: in calls of the OS
-- runtime, or seen asleep outside of them (offcpu_sum names both). Unknown: not running, not runnable, in no recorded
-- call and not seen asleep, or not measured.
SELECT life, 100.0 * cpu / life, 100.0 * runnable / life, 100.0 * (blocked + looked) / life, 100.0 * stopped / life, 100.0 * unknown / life,
       cpu, CASE WHEN globalTid IN (SELECT globalTid FROM COMPOSITE_EVENTS) THEN CAST(cpu_in_calls AS INTEGER) END,
       CAST(runnable AS INTEGER), CAST(blocked + looked AS INTEGER), CAST(stopped AS INTEGER), CAST(unknown AS INTEGER), pid, tid,
       (SELECT n.name FROM THREAD_NAMES AS n WHERE n.globalTid = a.globalTid LIMIT 1)
FROM THREAD_ACCOUNT AS a WHERE life > 0
ORDER BY life DESC, pid, tid;
