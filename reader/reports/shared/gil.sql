-- SPDX-License-Identifier: Apache-2.0
-- Waits for Python's GIL, and where the thread was that held it: the line of the program that the holder's own events
-- with a callchain name. Of the events during the wait, the line with the most time is taken (a CPU sample stands for
-- the processor time before it); without such an event, the line of the last event before the wait ended; without that,
-- the line of the first event after it. A thread does not wait for the lock that it holds, so the holder's own waits
-- for the GIL do not count as events during the wait.

DROP TABLE IF EXISTS temp.GIL_HOLDERS;
CREATE TEMP TABLE GIL_HOLDERS AS
SELECT DISTINCT (globalTid & ~0xffffff) | holderTid AS globalTid FROM LIBTRACE_GIL_WAIT WHERE holderTid > 0;

-- The waits of a thread follow each other. Columns of times and threads have types here and below: SQLite does not use
-- the index of a column without a type to look up a value of a column that has one.
DROP TABLE IF EXISTS temp.GIL_SPANS;
CREATE TEMP TABLE GIL_SPANS (id INTEGER PRIMARY KEY, start INTEGER, "end" INTEGER, ns, globalTid INTEGER, pid, tid, holder, holderTid INTEGER, chain);
INSERT INTO GIL_SPANS
SELECT id, start, start + duration, duration, globalTid, globalTid >> 24 & 0xffffff, globalTid & 0xffffff,
       nullif(holderTid, 0), CASE WHEN holderTid > 0 THEN (globalTid & ~0xffffff) | holderTid END, callchainId
FROM LIBTRACE_GIL_WAIT WHERE globalTid IS NOT NULL AND duration >= 0;
CREATE INDEX temp.GIL_SPANS_ORDER ON GIL_SPANS (globalTid, start);

-- Events of holders whose callchain leads through the program.
DROP TABLE IF EXISTS temp.GIL_EVENTS;
CREATE TEMP TABLE GIL_EVENTS (globalTid INTEGER, start INTEGER, "end" INTEGER, place, is_wait);
INSERT INTO GIL_EVENTS
WITH osrt AS NOT MATERIALIZED (SELECT id, place FROM OSRT_PLACES),
cuda AS NOT MATERIALIZED (SELECT id, place FROM CUDA_PLACES),
sampled AS MATERIALIZED (
  SELECT f.id, min(f.stackDepth), python_place(s.value, m.value) AS place
  FROM SAMPLING_CALLCHAINS AS f JOIN StringIds AS s ON s.id = f.symbol JOIN StringIds AS m ON m.id = f.module
  WHERE python_place(s.value, m.value) IS NOT NULL GROUP BY f.id)
SELECT o.globalTid, o.start, o."end", p.place, coalesce((
         SELECT o.start <= g."end" FROM GIL_SPANS AS g WHERE g.globalTid = o.globalTid AND g.start <= o.start ORDER BY g.start DESC LIMIT 1), 0) AS is_wait
FROM OSRT_API AS o JOIN osrt AS p ON p.id = o.callchainId
WHERE o.globalTid IN (SELECT globalTid FROM GIL_HOLDERS)
UNION ALL
SELECT r.globalTid, r.start, r."end", p.place, 0
FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r JOIN cuda AS p ON p.id = r.callchainId WHERE r.globalTid IN (SELECT globalTid FROM GIL_HOLDERS)
UNION ALL
SELECT c.globalTid, c.start - coalesce(l.cpuTime, 0), c.start, p.place, 0
FROM COMPOSITE_EVENTS AS c JOIN sampled AS p ON p.id = c.id LEFT JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id
WHERE c.globalTid IN (SELECT globalTid FROM GIL_HOLDERS);
CREATE INDEX temp.GIL_EVENTS_ORDER ON GIL_EVENTS (globalTid, start);

-- The line with the most time during each wait.
DROP TABLE IF EXISTS temp.GIL_DURING;
CREATE TEMP TABLE GIL_DURING (wait INTEGER PRIMARY KEY, place);
INSERT INTO GIL_DURING
SELECT id, place
FROM (SELECT id, place, row_number() OVER (PARTITION BY id ORDER BY overlap DESC, place) AS number
      FROM (SELECT w.id, e.place, sum(min(e."end", w."end") - max(e.start, w.start)) AS overlap
            FROM GIL_SPANS AS w JOIN GIL_EVENTS AS e ON e.globalTid = w.holderTid AND e.start < w."end" AND e."end" > w.start AND NOT e.is_wait AND
                 e.start >= coalesce((SELECT max(b.start) FROM GIL_EVENTS AS b WHERE b.globalTid = w.holderTid AND b.start <= w.start), 0)
            GROUP BY w.id, e.place))
WHERE number = 1;

DROP TABLE IF EXISTS temp.GIL_WAITS;
CREATE TEMP TABLE GIL_WAITS AS
SELECT w.*, coalesce(
       d.place,
       (SELECT place FROM GIL_EVENTS AS e WHERE e.globalTid = w.holderTid AND e.start <= w."end" ORDER BY e.start DESC LIMIT 1),
       (SELECT place FROM GIL_EVENTS AS e WHERE e.globalTid = w.holderTid AND e.start > w."end" ORDER BY e.start LIMIT 1)) AS place
FROM GIL_SPANS AS w LEFT JOIN GIL_DURING AS d ON d.wait = w.id;
