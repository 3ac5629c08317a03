-- SPDX-License-Identifier: Apache-2.0
-- Flame graphs of 'trace report --html': recorded calls, CPU samples, and all time of threads. Rows of a PAGE_*_FRAMES
-- view are frames in order of `item`, the outermost first: the item, its process, ns and count, the id of the frame's
-- text, what its innermost frame is (`kind`: running, wait, gpu or state), and the id of the text of one more frame
-- inside of these, or NULL.

-- Callchains and the calls that have them, by process. `source`: 0 OS runtime, 1 CUDA.
CREATE TEMP TABLE PAGE_CHAINS (source, chain, process, ns, count, PRIMARY KEY (source, chain, process)) WITHOUT ROWID;
INSERT INTO PAGE_CHAINS
SELECT 0, callchainId, globalTid >> 24, sum("end" - start), count(*)
FROM OSRT_API WHERE eventClass = 27 AND callchainId > 0 AND "end" >= start AND globalTid IS NOT NULL GROUP BY callchainId, globalTid >> 24
UNION ALL
SELECT 1, callchainId, globalTid >> 24, sum("end" - start), count(*)
FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE callchainId > 0 AND "end" >= start AND globalTid IS NOT NULL GROUP BY callchainId, globalTid >> 24;

-- Each table of frames is looked up by itself: a union of them would be copied, and sorted by more than a chain at a time.
CREATE TEMP VIEW PAGE_CALLS_FRAMES AS
SELECT c.chain << 1 | c.source AS item, c.process, c.ns, c.count, coalesce(f.symbol, g.symbol) AS symbol, 'running' AS kind, NULL AS name
FROM PAGE_CHAINS AS c
     LEFT JOIN OSRT_CALLCHAINS AS f ON c.source = 0 AND f.id = c.chain
     LEFT JOIN CUDA_CALLCHAINS AS g ON c.source = 1 AND g.id = c.chain
WHERE coalesce(f.symbol, g.symbol) IS NOT NULL
ORDER BY c.source, c.chain, c.process, f.stackDepth DESC, g.stackDepth DESC;

-- Databases of nsys have no processor time: `ns` is 0.
CREATE TEMP VIEW PAGE_SAMPLES_FRAMES AS
SELECT c.id AS item, c.globalTid >> 24 AS process, coalesce(l.cpuTime, 0) AS ns, coalesce(c.cpuCycles, 1) AS count, f.symbol, 'running' AS kind, NULL AS name
FROM COMPOSITE_EVENTS AS c
     JOIN SAMPLING_CALLCHAINS AS f ON f.id = c.id
     LEFT JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id
WHERE c.globalTid IS NOT NULL
ORDER BY c.id, f.stackDepth DESC;

-- Texts of frames (shared/page_unknown.sql names those without a function). PAGE_LEAF_NAMES: texts of leaves
-- (PAGE_WALL_FRAMES), by negative ids.
CREATE TEMP TABLE PAGE_LEAF_NAMES (id INTEGER PRIMARY KEY, text UNIQUE);
CREATE TEMP VIEW PAGE_TEXTS AS
SELECT s.id, coalesce(u.text, s.value) AS text FROM StringIds AS s LEFT JOIN PAGE_UNKNOWN AS u ON u.symbol = s.id
UNION ALL
SELECT -id, text FROM PAGE_LEAF_NAMES;
