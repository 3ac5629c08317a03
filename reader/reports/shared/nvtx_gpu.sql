-- SPDX-License-Identifier: Apache-2.0
-- NVTX ranges, how those of a thread lie in each other, and what the GPU did for the calls within them. A range that ends on another
-- thread is left out. Made again for each report: names go by its arguments.

INSERT OR IGNORE INTO NVTX_DOMAINS
SELECT e.globalTid >> 24 & 0xffffff, e.domainId, coalesce(e.text, s.value)
FROM NVTX_EVENTS AS e LEFT JOIN StringIds AS s ON s.id = e.textId
WHERE e.eventType = 75 AND e.domainId <> 0 AND e.globalTid IS NOT NULL;

DROP VIEW IF EXISTS temp.PROJECTED_RANGES;
DROP VIEW IF EXISTS temp.RANGE_OPERATIONS;
DROP TABLE IF EXISTS temp.NESTED_RANGES;
DROP TABLE IF EXISTS temp.LAUNCHES;

CREATE TEMP TABLE NESTED_RANGES AS
SELECT *, range_parent(id, start, "end") OVER thread AS parent, range_level(id, start, "end") OVER thread AS level,
       range_stack(id, start, "end") OVER thread AS stack
FROM NVTX_RANGES
WHERE endGlobalTid IS NULL OR endGlobalTid = globalTid
WINDOW thread AS (PARTITION BY globalTid ORDER BY start, "end" DESC, id ROWS UNBOUNDED PRECEDING);
CREATE INDEX temp.NESTED_RANGES_PARENT ON NESTED_RANGES (parent);

CREATE TEMP TABLE LAUNCHES AS
SELECT a.globalTid, a.start, a."end", o.start AS operation_start, o."end" AS operation_end, o.category, o.name, o.pid, o.correlationId
FROM GPU_OPERATIONS AS o JOIN API_CALLS AS a ON a.correlationId = o.correlationId AND a.pid = o.pid
WHERE o.correlationId <> 0;
CREATE INDEX temp.LAUNCHES_TIME ON LAUNCHES (globalTid, start);

-- Each operation once for each range that holds its launch.
CREATE TEMP VIEW RANGE_OPERATIONS AS
SELECT r.id AS range, r.name AS range_name, r.style, r.pid, r.tid, r.level, l.operation_start, l.operation_end, l.category, l.name, l.correlationId,
       l.rowid AS launch
FROM NESTED_RANGES AS r
     CROSS JOIN LAUNCHES AS l ON l.globalTid = r.globalTid AND l.start >= r.start AND l.start <= r."end" AND l."end" <= r."end";

-- One row for each range with an operation.
CREATE TEMP VIEW PROJECTED_RANGES AS
SELECT r.*, o.first, o.last - o.first AS projected_ns, o.operations,
       (SELECT count(*) FROM NESTED_RANGES AS c WHERE c.parent = r.id) AS children
FROM (SELECT range, min(operation_start) AS first, max(operation_end) AS last, count(*) AS operations
      FROM RANGE_OPERATIONS GROUP BY range) AS o
     JOIN NESTED_RANGES AS r ON r.id = o.range;
