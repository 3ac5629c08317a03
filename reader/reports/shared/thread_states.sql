-- SPDX-License-Identifier: Apache-2.0
-- States of threads over time: running, runnable (without a CPU), blocked, stopped, unknown. Needs shared/osrt.sql and
-- shared/thread_time.sql.
--
-- Threads with context switches (SCHED_EVENTS) have exact states, but for why they left the CPU, which nsys does not
-- record on Linux: blocked if they were in a recorded call, else unknown. Our own switches say whether the thread was
-- preempted. Of other threads the recorded calls are exact; between calls, the counters of the kernel say how much of
-- the time between two readings a thread ran and was runnable: the state is what it mostly was, and `detail` has the
-- shares, in steps of 10 %. Where that leaves the state unknown, a look that found the thread asleep says that it was
-- blocked.

DROP TABLE IF EXISTS temp.THREAD_STATES;
-- `cpu`: of states that context switches say, the CPU that the thread had or left.
CREATE TEMP TABLE THREAD_STATES (id INTEGER PRIMARY KEY, globalTid, start, "end", state, detail, cpu);

-- Context switches. threadState: 1 running (the thread lost its CPU), 2 and 3 it waits, 4 stopped.
INSERT INTO THREAD_STATES (globalTid, start, "end", state, detail, cpu)
SELECT s.globalTid, s.start, s.following,
       CASE WHEN s.isSchedIn THEN 'running' WHEN s.how & 1 THEN 'runnable' WHEN s.threadState = 1 THEN 'runnable' WHEN s.threadState IN (2, 3) THEN 'blocked' WHEN s.threadState = 4 THEN 'stopped'
            WHEN s.nameId IS NOT NULL OR s.look IS NOT NULL OR EXISTS (SELECT 1 FROM LIBTRACE_SCHED_SWITCH) THEN 'blocked' ELSE 'unknown' END,
       CASE WHEN s.isSchedIn THEN 'on CPU ' || s.cpu ELSE coalesce('in ' || n.value, 'off the CPU, in no recorded call' || coalesce(' ' || s.look, '')) END, s.cpu
FROM (SELECT e.*, (SELECT w.name FROM WAIT_LOOKS AS w WHERE w.globalTid = e.globalTid AND w.time BETWEEN e.start AND e.following LIMIT 1) AS look,
             CASE WHEN NOT e.isSchedIn THEN
               (SELECT CASE WHEN o."end" >= e.start THEN o.nameId END FROM OUTER_CALLS AS o WHERE o.globalTid = e.globalTid AND o.start <= e.start
                ORDER BY o.start DESC LIMIT 1) END AS nameId
      FROM (SELECT i.*, l.how, lead(i.start) OVER (PARTITION BY i.globalTid ORDER BY i.start, i.isSchedIn) AS following
            FROM SCHED_EVENTS AS i LEFT JOIN LIBTRACE_SCHED_SWITCH AS l ON l.id = i.id WHERE i.globalTid IS NOT NULL) AS e) AS s
     LEFT JOIN StringIds AS n ON n.id = s.nameId
WHERE s.following > s.start;

DROP TABLE IF EXISTS temp.STATE_THREADS;
CREATE TEMP TABLE STATE_THREADS (globalTid INTEGER PRIMARY KEY);
INSERT INTO STATE_THREADS SELECT DISTINCT globalTid FROM LIBTRACE_THREAD_TIME WHERE typeof(globalTid) = 'integer' AND globalTid NOT IN (SELECT globalTid FROM THREAD_STATES);

-- Calls. A thread whose samples say that most of the time of a function was running runs in it.
INSERT INTO THREAD_STATES (globalTid, start, "end", state, detail)
SELECT o.globalTid, o.start, o."end", CASE WHEN 2 * t.cpu > t.ns THEN 'running' ELSE 'blocked' END, coalesce('in ' || n.value, '')
FROM OUTER_CALLS AS o JOIN STATE_THREADS AS h ON h.globalTid = o.globalTid
     LEFT JOIN CALL_TIMES AS t ON t.globalTid = o.globalTid AND t.nameId = o.nameId LEFT JOIN StringIds AS n ON n.id = o.nameId
WHERE o."end" > o.start;

-- Times between two readings of a thread's counters; before the first one and after the last one nothing is known. The
-- reading at a thread's start is taken some microseconds later.
DROP TABLE IF EXISTS temp.STATE_SPANS;
CREATE TEMP TABLE STATE_SPANS (globalTid, start, "end", cpu, delay, stopped, PRIMARY KEY (globalTid, start)) WITHOUT ROWID;
INSERT OR IGNORE INTO STATE_SPANS
SELECT r.globalTid, CASE WHEN r.which & 1 THEN min(r.time, r.life) ELSE r.time END, coalesce(r.next_time, l."end"), coalesce(max(0, r.next_cpu - r.cpu), 0),
       CASE WHEN r.next_delay IS NULL AND r.next_voluntary = r.voluntary THEN r.next_time - r.time ELSE coalesce(max(0, r.next_delay - r.delay), 0) END, r.which & 16
FROM (SELECT *, lead(time) OVER following AS next_time, lead(cpu) OVER following AS next_cpu, lead(delay) OVER following AS next_delay,
             lead(voluntary) OVER following AS next_voluntary
      FROM THREAD_READINGS WINDOW following AS (PARTITION BY globalTid, life ORDER BY time)) AS r
     JOIN THREAD_LIVES AS l ON l.globalTid = r.globalTid AND l.start = r.life
WHERE coalesce(r.next_time, l."end") > r.time;
INSERT OR IGNORE INTO STATE_SPANS
SELECT l.globalTid, l.start, coalesce(min(s.start), l."end"), 0, 0, 0
FROM THREAD_LIVES AS l LEFT JOIN STATE_SPANS AS s ON s.globalTid = l.globalTid AND s.start >= l.start AND s.start < l."end"
GROUP BY l.globalTid, l.start, l."end" HAVING coalesce(min(s.start), l."end") > l.start;

-- Between calls: the parts of these times in which the thread was in no call.
INSERT INTO THREAD_STATES (globalTid, start, "end", state, detail)
WITH edges AS (
  SELECT o.globalTid, o.start, o."end" FROM OUTER_CALLS AS o
  UNION ALL SELECT globalTid, start, start FROM THREAD_LIVES
  UNION ALL SELECT globalTid, "end", "end" FROM THREAD_LIVES),
gaps AS (SELECT e.globalTid, e."end" AS start, lead(e.start) OVER (PARTITION BY e.globalTid ORDER BY e.start, e."end") AS "end" FROM edges AS e),
pieces AS (
  SELECT g.globalTid, s.start AS span, max(g.start, s.start) AS start, min(g."end", s."end") AS "end", s.cpu, s.delay, s.stopped
  FROM gaps AS g JOIN STATE_THREADS AS h ON h.globalTid = g.globalTid
       JOIN STATE_SPANS AS s ON s.globalTid = g.globalTid AND s.start < g."end" AND s."end" > g.start
       AND s.start >= coalesce((SELECT max(b.start) FROM STATE_SPANS AS b WHERE b.globalTid = g.globalTid AND b.start <= g.start), 0)
  WHERE g."end" > g.start),
shares AS (
  SELECT *, min(1.0, 1.0 * cpu / whole) AS running, min(max(0, 1 - 1.0 * cpu / whole), 1.0 * delay / whole) AS runnable
  FROM (SELECT *, total("end" - start) OVER (PARTITION BY globalTid, span) AS whole FROM pieces))
SELECT globalTid, start, "end",
       CASE WHEN stopped THEN 'stopped' WHEN running >= runnable AND running >= 1 - running - runnable THEN 'running'
            WHEN runnable >= 1 - running - runnable THEN 'runnable' WHEN look IS NOT NULL THEN 'blocked' ELSE 'unknown' END,
       CASE WHEN stopped THEN '' ELSE printf('in no recorded call; then: running %d %%, runnable %d %%, %s %d %%',
                                             10 * round(10 * running), 10 * round(10 * runnable), coalesce(look, 'unknown'),
                                             max(0, 100 - 10 * round(10 * running) - 10 * round(10 * runnable))) END
FROM (SELECT *, (SELECT w.name FROM WAIT_LOOKS AS w WHERE w.globalTid = s.globalTid AND w.time BETWEEN s.start AND s."end" LIMIT 1) AS look FROM shares AS s);
