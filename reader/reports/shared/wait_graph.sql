-- SPDX-License-Identifier: Apache-2.0
-- The graph that `trace what-if` replays: tracks (threads, and streams with negative numbers) and all calls and operations on them, with what they wait
-- for, also where that had happened before they began. Needs shared/path.sql.
--
-- `kind`: track, or what a call does (PATH_NAMES.role), or work (an operation of a stream), or call. `object`: number of what it uses: a lock,
-- barrier or condition within its process, or the pipe of a transfer. `other`, `otherTime`: the wait ends, or the track or operation begins, after
-- `other` was at that time.

DROP TABLE IF EXISTS temp.GRAPH_CHAINS;
CREATE TEMP TABLE GRAPH_CHAINS (source, id, place, PRIMARY KEY (source, id)) WITHOUT ROWID;
INSERT OR IGNORE INTO GRAPH_CHAINS SELECT 0, id, place FROM OSRT_PLACES;
INSERT OR IGNORE INTO GRAPH_CHAINS SELECT 1, id, place FROM CUDA_PLACES;
INSERT OR IGNORE INTO GRAPH_CHAINS
SELECT source, id, name
FROM (SELECT 0 AS source, f.id, min(f.stackDepth), s.value AS name
      FROM OSRT_CALLCHAINS AS f JOIN StringIds AS s ON s.id = f.symbol JOIN StringIds AS m ON m.id = f.module
      WHERE m.value NOT GLOB '*/libc.so*' AND m.value NOT GLOB '*/libpthread*' AND m.value NOT GLOB '*/libc-*' AND s.value NOT GLOB '0x*' GROUP BY f.id
      UNION ALL
      SELECT 1, f.id, min(f.stackDepth), s.value
      FROM CUDA_CALLCHAINS AS f JOIN StringIds AS s ON s.id = f.symbol JOIN StringIds AS m ON m.id = f.module
      WHERE m.value NOT GLOB '*/libcuda*' AND m.value NOT GLOB '*/libcupti*' AND s.value NOT GLOB '0x*' GROUP BY f.id);

DROP VIEW IF EXISTS temp.LIBTRACE_WAIT_GRAPH;
CREATE TEMP VIEW LIBTRACE_WAIT_GRAPH AS
SELECT 'track' AS kind, NULL AS id, t.globalTid AS track, t.start, t."end", NULL AS name, NULL AS object, t.globalTid IN (SELECT track FROM PATH_GOALS) AS value,
       t.parent AS other, t.parent_time AS otherTime, NULL AS sure, NULL AS place
FROM PATH_THREADS AS t
UNION ALL
SELECT 'track', NULL, -number, start, start, NULL, NULL, 0, NULL, NULL, NULL, NULL FROM PATH_STREAMS
UNION ALL
SELECT CASE WHEN n.role IN ('copy', 'close', 'create', 'pair', 'open') THEN 'call' ELSE coalesce(n.role, 'call') END, c.number, c.globalTid, c.start, c."end", n.name,
       CASE WHEN n.role IN ('read', 'write') THEN d.pipe ELSE r.object END, c.value, w.other, w.other_time, w.how, p.place
FROM PATH_CALLS AS c LEFT JOIN PATH_NAMES AS n ON n.source = CASE c.source WHEN 3 THEN 0 ELSE c.source END AND n.nameId = c.nameId
     LEFT JOIN PATH_WAITS AS w ON w.number = c.number
     LEFT JOIN LIBTRACE_OSRT_CALL AS r ON c.number & 15 = 0 AND r.id = c.id
     LEFT JOIN PATH_DESCRIPTORS AS d ON n.role IN ('read', 'write') AND d.process = c.globalTid >> 24 AND d.object = r.object AND d.start <= c.start AND d."end" > c.start
     LEFT JOIN OSRT_API AS o ON c.number & 15 = 0 AND o.id = c.id
     LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS a ON c.number & 15 = 1 AND a.id = c.number >> 4
     LEFT JOIN GRAPH_CHAINS AS p ON p.source = CASE WHEN c.source = 1 THEN 1 ELSE 0 END AND p.id = coalesce(o.callchainId, a.callchainId)
UNION ALL
SELECT 'work', -w.rowid, -t.number, w.start, w."end", w.name, NULL, NULL, l.globalTid, l."end", NULL, NULL
FROM PATH_WORK AS w JOIN PATH_STREAMS AS t ON t.process = w.process AND t.device = w.device AND t.context = w.context AND t.stream = w.stream
     LEFT JOIN LAUNCH_CALLS AS l ON l.pid = w.process AND l.correlationId = w.correlation
UNION ALL
SELECT 'range', r.id, coalesce(r.endGlobalTid, r.globalTid), r.start, r."end", r.text, NULL, NULL, NULL, NULL, NULL, NULL FROM NVTX_RANGES AS r WHERE r."end" > r.start;
