-- SPDX-License-Identifier: Apache-2.0
-- Calls of the OS runtime with their names and, in databases of libtrace, the objects that they used. Reports print
-- callchains on one line: the innermost function first, and only the inner part of a long callchain.

DROP VIEW IF EXISTS temp.OSRT_CALLS;
CREATE TEMP VIEW OSRT_CALLS AS
SELECT o.id, o.start, o."end", o."end" - o.start AS ns, o.globalTid, o.globalTid >> 24 & 0xffffff AS pid, o.globalTid & 0xffffff AS tid,
       s.value AS name, o.returnValue, nullif(o.callchainId, 0) AS chain, f.object, nullif(f.holderTid, 0) AS holder
FROM OSRT_API AS o
     LEFT JOIN StringIds AS s ON s.id = o.nameId
     LEFT JOIN LIBTRACE_OSRT_CALL AS f ON f.id = o.id
WHERE o.eventClass = 27;

-- Lifetime of each thread: from its first event to its end, which only databases of libtrace contain. Elsewhere the
-- lifetime ends with the last call, so what the thread computed after it is missing.
DROP VIEW IF EXISTS temp.THREAD_LIFETIMES;
CREATE TEMP VIEW THREAD_LIFETIMES AS
SELECT globalTid, min(start) AS start, max("end") AS "end"
FROM (SELECT globalTid, min(start) AS start, max("end") AS "end" FROM OSRT_API WHERE eventClass = 27 GROUP BY globalTid
      UNION ALL SELECT globalTid, start, start + duration FROM LIBTRACE_OSRT_UNFINISHED
      UNION ALL SELECT globalTid, timestamp, timestamp FROM LIBTRACE_THREAD_START
      UNION ALL SELECT globalTid, timestamp, timestamp FROM LIBTRACE_THREAD_END)
GROUP BY globalTid;

-- The name of each thread: that of the highest priority.
DROP TABLE IF EXISTS temp.THREAD_NAMES;
CREATE TEMP TABLE THREAD_NAMES (globalTid INTEGER PRIMARY KEY, name);
INSERT OR IGNORE INTO THREAD_NAMES
SELECT t.globalTid, s.value FROM ThreadNames AS t JOIN StringIds AS s ON s.id = t.nameId
WHERE typeof(t.globalTid) = 'integer' ORDER BY t.priority DESC;

-- Frames of callchains as texts; a frame without a name is shown as module+offset, in databases of nsys as its address
-- in its module.
DROP VIEW IF EXISTS temp.FRAMES;
CREATE TEMP VIEW FRAMES AS
SELECT f.id, f.stackDepth, CASE WHEN s.value GLOB '0x*' AND m.value GLOB '*/*'
       THEN coalesce((SELECT replace(m.value, rtrim(m.value, replace(m.value, '/', '')), '') || printf('+0x%x', f.originalIP - l.bias) FROM LIBTRACE_MODULE_LOAD AS l
                      WHERE l.pathId = f.module AND f.originalIP BETWEEN l."begin" AND l."end" LIMIT 1),
                     s.value || ' in ' || replace(m.value, rtrim(m.value, replace(m.value, '/', '')), '')) ELSE s.value END AS text
FROM OSRT_CALLCHAINS AS f
     JOIN StringIds AS s ON s.id = f.symbol
     LEFT JOIN StringIds AS m ON m.id = f.module;
