-- SPDX-License-Identifier: Apache-2.0
-- The graph that `trace what-if` replays: tracks (threads, and streams with negative numbers) and all calls and operations on them, with what they wait
-- for, also where that had happened before they began. Needs shared/path.sql.
--
-- `kind`: track, or what a call does (PATH_NAMES.role), or work (an operation of a stream), or rank (the part of a kernel of NCCL that waits for
-- others), or call; after: the operation `id` also waits for `other`, by an event or the order of the default stream; range (of NVTX), function (call
-- of a function of a library): what is inside of it.
-- `object`: number of what it uses: a lock, barrier or condition within its process, the pipe of a transfer, or the stream of a track, or that a
-- call waits for; of kernels of NCCL the collective in which all begin before any ends.
-- `other`, `otherTime`: the wait ends, or the track or operation begins, after `other` was at that time.
-- `name` of a track is its program. `unknown`: how many ns of a call are a wait that nobody is known to have ended.

DROP TABLE IF EXISTS temp.GRAPH_CHAINS;
CREATE TEMP TABLE GRAPH_CHAINS (source, id, place, PRIMARY KEY (source, id)) WITHOUT ROWID;
INSERT OR IGNORE INTO GRAPH_CHAINS SELECT 0, id, place FROM OSRT_PLACES;
INSERT OR IGNORE INTO GRAPH_CHAINS SELECT 1, id, place FROM CUDA_PLACES;
INSERT OR IGNORE INTO GRAPH_CHAINS
WITH used AS MATERIALIZED (SELECT DISTINCT source = 1 AS source, chain AS id FROM traced_calls WHERE chain > 0)
SELECT source, id, (SELECT f.name FROM OSRT_OWN_FRAMES AS f WHERE f.id = u.id AND f.is_named ORDER BY f.depth LIMIT 1) FROM used AS u WHERE source = 0
UNION ALL
SELECT source, id, (SELECT f.name FROM CUDA_OWN_FRAMES AS f WHERE f.id = u.id AND f.is_named ORDER BY f.depth LIMIT 1) FROM used AS u WHERE source = 1;

-- Tracks of streams; `stream` is the same for the lanes of one.
DROP TABLE IF EXISTS temp.GRAPH_STREAMS;
CREATE TEMP TABLE GRAPH_STREAMS (track INTEGER PRIMARY KEY, start, stream);
INSERT INTO GRAPH_STREAMS SELECT track, start, max(track) OVER (PARTITION BY process, context, stream) FROM PATH_STREAMS;

DROP TABLE IF EXISTS temp.GRAPH_RANGES;
CREATE TEMP TABLE GRAPH_RANGES AS SELECT id, coalesce(endGlobalTid, globalTid) AS track, start, "end", text FROM NVTX_RANGES WHERE "end" > start;

DROP TABLE IF EXISTS temp.GRAPH_FUNCTIONS;
CREATE TEMP TABLE GRAPH_FUNCTIONS AS SELECT id, globalTid AS track, start, "end", name FROM PATH_FUNCTION_CALLS WHERE "end" > start;

DROP VIEW IF EXISTS temp.LIBTRACE_WAIT_GRAPH;
CREATE TEMP VIEW LIBTRACE_WAIT_GRAPH AS
SELECT 'track' AS kind, NULL AS id, t.globalTid AS track, t.start, t."end", g.name, NULL AS object, t.globalTid IN (SELECT track FROM PATH_GOALS) AS value,
       t.parent AS other, t.parent_time AS otherTime, NULL AS sure, NULL AS place,
       NULL AS unknown
FROM PATH_THREADS AS t LEFT JOIN PATH_PROGRAMS AS g ON g.process = t.globalTid >> 24
UNION ALL
SELECT 'track', NULL, track, start, start, NULL, stream, 0, NULL, NULL, NULL, NULL, NULL FROM GRAPH_STREAMS
UNION ALL
SELECT CASE WHEN c.source = 15 THEN coalesce(c.role, 'work') WHEN c.role IN ('copy', 'close', 'create', 'pair', 'open') THEN 'call'
            ELSE coalesce(c.role, 'call') END, c.number, c.track, c.start, c."end", c.name, coalesce(c.pipe, s.stream, c.object), c.value,
       c.other, c.other_time, c.how, p.place, c.unknown
FROM traced_calls AS c LEFT JOIN GRAPH_CHAINS AS p ON p.source = (c.source = 1) AND p.id = c.chain
     LEFT JOIN GRAPH_STREAMS AS s ON c.source = 1 AND s.track = c.object
UNION ALL
SELECT 'after', number, track, NULL, NULL, NULL, NULL, NULL, other, other_time, NULL, NULL, NULL FROM traced_orders
UNION ALL
SELECT 'range', id, track, start, "end", text, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM GRAPH_RANGES
UNION ALL
SELECT 'function', id, track, start, "end", name, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM GRAPH_FUNCTIONS;
