-- SPDX-License-Identifier: Apache-2.0
-- Where the time of each thread went: running, runnable without a CPU, blocked in recorded calls, stopped, unknown.
--
-- Processor time and time without a CPU are differences of the kernel's counters, from the thread's first reading to
-- its last. What remains of its life is off-CPU time; of that, the part within recorded calls is their time less the
-- processor time in them, which CPU samples measure. Time without a CPU counts as outside of calls as far as there is
-- off-CPU time outside of calls. What is left is off-CPU time outside of calls, which looks at the sleeping thread
-- name.

-- The life of a program's thread: from THREAD_START to THREAD_END. A thread that executes another program begins again.
DROP TABLE IF EXISTS temp.THREAD_LIVES;
CREATE TEMP TABLE THREAD_LIVES AS
SELECT globalTid, time AS start, coalesce(following, (SELECT max(timestamp) FROM LIBTRACE_THREAD_END), time) AS "end"
FROM (SELECT globalTid, time, begins, lead(time) OVER (PARTITION BY globalTid ORDER BY time, begins) AS following
      FROM (SELECT globalTid, timestamp AS time, 1 AS begins FROM LIBTRACE_THREAD_START
            UNION ALL SELECT globalTid, timestamp, 0 FROM LIBTRACE_THREAD_END))
WHERE begins;
CREATE INDEX temp.THREAD_LIVES_ORDER ON THREAD_LIVES (globalTid, start);

-- Readings, each with its life and the time until the next one of the thread.
DROP TABLE IF EXISTS temp.THREAD_READINGS;
CREATE TEMP TABLE THREAD_READINGS AS
SELECT t.globalTid, t.timestamp AS time, t.which, t.cpuTime AS cpu, CASE WHEN t.which & 4 THEN t.runDelay END AS delay, t.voluntary, t.involuntary,
       t.minorFaults AS minor, t.majorFaults AS major,
       (SELECT max(l.start) FROM THREAD_LIVES AS l WHERE l.globalTid = t.globalTid AND l.start <= t.timestamp) AS life,
       lead(t.timestamp) OVER (PARTITION BY t.globalTid ORDER BY t.timestamp) AS following
FROM LIBTRACE_THREAD_TIME AS t;

-- CPUs that each thread wanted between two readings: running or waiting for one. Where the last reading lacks the time
-- without a CPU, a thread that never waited voluntarily wanted a CPU all the time.
DROP VIEW IF EXISTS temp.CPU_DEMANDS;
CREATE TEMP VIEW CPU_DEMANDS AS
SELECT globalTid, before AS start, time AS "end",
       CASE WHEN never_waited THEN 1.0 ELSE min(1.0, 1.0 * (cpu - cpu_before + max(0, coalesce(delay - delay_before, 0))) / (time - before)) END AS cpus
FROM (SELECT globalTid, time, cpu, delay, lag(time) OVER so_far AS before, lag(cpu) OVER so_far AS cpu_before, lag(delay) OVER so_far AS delay_before,
             which & 14 = 10 AND first_value(which & 8) OVER so_far AND voluntary = first_value(voluntary) OVER so_far AS never_waited
      FROM THREAD_READINGS WINDOW so_far AS (PARTITION BY globalTid, life ORDER BY time))
WHERE time > before;

-- Counters from the first reading of a life to its last. A wait before the first reading is not part of the life:
-- counted from the thread's creation, the delay could exceed the life. A thread that never waited voluntarily was
-- runnable all the time that it did not run. Switches and faults are known if the last reading has them.
DROP TABLE IF EXISTS temp.THREAD_COUNTERS;
CREATE TEMP TABLE THREAD_COUNTERS AS
WITH ends AS (
  SELECT globalTid, life, min(cpu) AS cpu_first, max(cpu) AS cpu_last,
         min(delay) AS delay_first, coalesce(max(CASE WHEN NOT which & 1 THEN delay END), max(delay)) AS delay_last, max(which & 2 AND which & 4) AS is_exact, max(which & 2 AND which & 8) AS is_counted,
         min(CASE WHEN which & 8 THEN voluntary END) AS voluntary_first, max(CASE WHEN which & 8 THEN voluntary END) AS voluntary_last,
         min(CASE WHEN which & 8 THEN involuntary END) AS involuntary_first, max(CASE WHEN which & 8 THEN involuntary END) AS involuntary_last,
         min(CASE WHEN which & 8 THEN minor END) AS minor_first, max(CASE WHEN which & 8 THEN minor END) AS minor_last,
         min(CASE WHEN which & 8 THEN major END) AS major_first, max(CASE WHEN which & 8 THEN major END) AS major_last,
         sum(CASE WHEN which & 16 THEN following - time END) AS stopped
  FROM THREAD_READINGS GROUP BY globalTid, life)
SELECT l.globalTid, l.start, l."end", min(l."end" - l.start, e.cpu_last - e.cpu_first) AS cpu,
       CASE WHEN e.is_counted AND NOT e.is_exact AND e.voluntary_last = e.voluntary_first
            THEN l."end" - l.start - (e.cpu_last - e.cpu_first) ELSE e.delay_last - e.delay_first END AS delay,
       CASE WHEN e.is_counted THEN e.voluntary_last - e.voluntary_first END AS voluntary,
       CASE WHEN e.is_counted THEN e.involuntary_last - e.involuntary_first END AS involuntary,
       CASE WHEN e.is_counted THEN e.minor_last - e.minor_first END AS minor, CASE WHEN e.is_counted THEN e.major_last - e.major_first END AS major, coalesce(e.stopped, 0) AS stopped
FROM THREAD_LIVES AS l LEFT JOIN ends AS e ON e.globalTid = l.globalTid AND e.life = l.start;

-- Recorded calls that no other call of the thread contains. A call that never returned has no row in OSRT_API.
DROP TABLE IF EXISTS temp.OUTER_CALLS;
CREATE TEMP TABLE OUTER_CALLS AS
SELECT globalTid, start, "end", nameId, chain
FROM (SELECT *, max("end") OVER (PARTITION BY globalTid ORDER BY start, "end" DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM (SELECT globalTid, start, "end", nameId, nullif(callchainId, 0) AS chain FROM OSRT_API WHERE eventClass = 27
            UNION ALL SELECT globalTid, start, start + duration, nameId, NULL FROM LIBTRACE_OSRT_UNFINISHED)
      -- else nothing to account for, as in most databases of nsys
      WHERE EXISTS (SELECT 1 FROM LIBTRACE_THREAD_TIME) OR EXISTS (SELECT 1 FROM SCHED_EVENTS))
WHERE before IS NULL OR start >= before;
CREATE INDEX temp.OUTER_CALLS_ORDER ON OUTER_CALLS (globalTid, start);

-- Time in calls by thread and function: recorded calls, with the callchain of the longest, and calls that were only
-- summed up. Their processor time is the thread's processor time times their share of its samples.
DROP TABLE IF EXISTS temp.CALL_TIMES;
CREATE TEMP TABLE CALL_TIMES AS
WITH sampled AS MATERIALIZED (
  SELECT c.globalTid, l.nameId, sum(l.cpuTime) AS ns, sum(sum(l.cpuTime)) OVER (PARTITION BY c.globalTid) AS all_ns
  FROM COMPOSITE_EVENTS AS c JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id GROUP BY c.globalTid, l.nameId),
running AS MATERIALIZED (SELECT globalTid, sum(cpu) AS cpu FROM THREAD_COUNTERS GROUP BY globalTid)
SELECT t.globalTid, t.nameId, sum(t.ns) AS ns, sum(t.calls) AS calls, max(t.longest) AS longest, max(t.chain) AS chain,
       min(sum(t.ns), coalesce((SELECT 1.0 * s.ns / s.all_ns * r.cpu FROM sampled AS s JOIN running AS r ON r.globalTid = s.globalTid
                                WHERE s.globalTid = t.globalTid AND s.nameId = t.nameId AND s.all_ns), 0)) AS cpu
FROM (SELECT globalTid, nameId, sum("end" - start) AS ns, count(*) AS calls, max("end" - start) AS longest, chain
      FROM OUTER_CALLS GROUP BY globalTid, nameId
      UNION ALL SELECT globalTid, nameId, sum(total), sum(count), NULL, NULL FROM LIBTRACE_OSRT_SUMMARY GROUP BY globalTid, nameId) AS t
GROUP BY t.globalTid, t.nameId;

-- Looks at threads that slept while no call of them was recorded: what each was in, and the time `ns` that it stands
-- for.
DROP TABLE IF EXISTS temp.WAIT_LOOKS;
CREATE TEMP TABLE WAIT_LOOKS AS
SELECT l.globalTid, l.timestamp AS time, '[asleep' || coalesce(' in ' || coalesce(nullif(c.value, ''), nullif(k.value, '')), '') || ']' AS name, l.standsFor AS ns
FROM LIBTRACE_WAIT_LOOK AS l LEFT JOIN StringIds AS c ON c.id = l.systemCallId LEFT JOIN StringIds AS k ON k.id = l.kernelFunctionId;
CREATE INDEX temp.WAIT_LOOKS_ORDER ON WAIT_LOOKS (globalTid, time);

-- What each thread was seen to wait for; `ns` is the time that the looks stand for.
DROP TABLE IF EXISTS temp.LOOKED_WAITS;
CREATE TEMP TABLE LOOKED_WAITS AS SELECT globalTid, name, sum(ns) AS ns FROM WAIT_LOOKS GROUP BY 1, 2;

-- The parts of each life add up to it. `looked` is the time off the CPUs, in no recorded call, that looks account for:
-- all of it if they stand for at least half of it, else as much as they stand for.
DROP TABLE IF EXISTS temp.THREAD_ACCOUNT;
CREATE TEMP TABLE THREAD_ACCOUNT AS
WITH calls AS MATERIALIZED (SELECT globalTid, sum(ns) AS ns, sum(cpu) AS cpu FROM CALL_TIMES GROUP BY globalTid),
stops AS MATERIALIZED (
  SELECT r.globalTid, sum(coalesce((SELECT sum(min(o."end", r.following) - max(o.start, r.time)) FROM OUTER_CALLS AS o
                                    WHERE o.globalTid = r.globalTid AND o.start < r.following AND o."end" > r.time), 0)) AS in_calls
  FROM THREAD_READINGS AS r WHERE r.which & 16 AND r.following IS NOT NULL GROUP BY r.globalTid),
lives AS MATERIALIZED (
  SELECT globalTid, min(start) AS start, max("end") AS "end", sum("end" - start) AS life, coalesce(sum(cpu), 0) AS cpu, coalesce(sum(delay), 0) AS delay,
         sum(stopped) AS stopped, sum(voluntary) AS voluntary, sum(involuntary) AS involuntary, sum(minor) AS minor, sum(major) AS major,
         count(cpu) AS readings
  FROM THREAD_COUNTERS GROUP BY globalTid),
known AS MATERIALIZED (
  SELECT l.*, min(l.life, coalesce(c.ns, 0)) AS in_calls, coalesce(c.cpu, 0) AS cpu_in_calls, min(l.life - l.cpu, max(0, l.delay)) AS runnable,
         min(l.stopped, l.life - l.cpu) AS stop, coalesce(s.in_calls, 0) AS stop_in_calls
  FROM lives AS l LEFT JOIN calls AS c ON c.globalTid = l.globalTid LEFT JOIN stops AS s ON s.globalTid = l.globalTid),
outside AS MATERIALIZED (
  SELECT *, max(0, life - cpu - max(0, in_calls - cpu_in_calls)) AS off FROM known),
parts AS MATERIALIZED (
  SELECT *, max(0, off - runnable - max(0, stop - stop_in_calls)) AS unknown FROM outside),
seen AS MATERIALIZED (SELECT globalTid, sum(ns) AS ns FROM LOOKED_WAITS GROUP BY globalTid),
named AS MATERIALIZED (
  SELECT p.*, CASE WHEN 2 * coalesce(s.ns, 0) >= p.unknown THEN p.unknown ELSE coalesce(s.ns, 0) END AS looked
  FROM parts AS p LEFT JOIN seen AS s ON s.globalTid = p.globalTid)
SELECT globalTid, globalTid >> 24 & 0xffffff AS pid, globalTid & 0xffffff AS tid, start, "end", life, cpu, min(cpu, cpu_in_calls) AS cpu_in_calls,
       min(runnable, life - cpu - unknown) AS runnable, max(0, min(stop, life - cpu - unknown - runnable)) AS stopped,
       max(0, life - cpu - unknown - runnable - max(0, min(stop, life - cpu - unknown - runnable))) AS blocked,
       looked, unknown - looked AS unknown, voluntary, involuntary, minor, major, readings
FROM named;

-- Time in calls by thread and function: `blocked` is what of the thread's blocked time was in them, in proportion to
-- their time less the processor time in them.
DROP VIEW IF EXISTS temp.CALL_WAITS;
CREATE TEMP VIEW CALL_WAITS AS
SELECT w.globalTid, w.nameId, n.value AS name, w.ns, w.calls, w.longest, w.chain,
       max(0, w.ns - w.cpu) * 1.0 / nullif(sum(max(0, w.ns - w.cpu)) OVER (PARTITION BY w.globalTid), 0) * a.blocked AS blocked
FROM CALL_TIMES AS w JOIN THREAD_ACCOUNT AS a ON a.globalTid = w.globalTid LEFT JOIN StringIds AS n ON n.id = w.nameId;

-- The parts of each life in which the thread neither ran nor was blocked in a call.
DROP VIEW IF EXISTS temp.OTHER_WAITS;
CREATE TEMP VIEW OTHER_WAITS AS
SELECT globalTid, '[runnable, no CPU]' AS name, runnable AS ns FROM THREAD_ACCOUNT
UNION ALL SELECT globalTid, '[stopped]', stopped FROM THREAD_ACCOUNT
UNION ALL SELECT w.globalTid, w.name, a.looked * (1.0 * w.ns / sum(w.ns) OVER (PARTITION BY w.globalTid))
          FROM LOOKED_WAITS AS w JOIN THREAD_ACCOUNT AS a ON a.globalTid = w.globalTid
UNION ALL SELECT globalTid, '[unknown]', unknown FROM THREAD_ACCOUNT;
