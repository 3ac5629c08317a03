-- SPDX-License-Identifier: Apache-2.0
-- Memory that CUDA programs allocate: lifetimes, and use over time.
--
-- Device memory is of the kinds device, array and device static (2, 3, 5): what a device has to hold. Pinned and managed
-- memory, and memory of other processes (kind IPC), has lifetimes, too, but is not in the use of the device. A release
-- without a recorded allocation is not counted: its memory is older than the recording. `process` is a globalPid >> 24:
-- pids of merged reports may be equal.

-- Records of CUPTI about memory of graphs are left out: whether it has them is not documented. Launches and nodes below
-- have all of it, and an allocation that is captured allocates nothing yet. Those of calls that free an address of a node
-- (15) stay: the tracer knows such addresses by a filter, which other memory hits, too; without an allocation they count
-- nothing.

-- The allocation of an address ends at the next event of that address: its release or, where that is missing, the next
-- allocation. `released` is NULL if memory was never released.
DROP TABLE IF EXISTS temp.CUDA_ALLOCATIONS;
CREATE TEMP TABLE CUDA_ALLOCATIONS AS
SELECT id, start, CASE WHEN operation = 0 THEN following END AS released, globalPid, globalPid >> 24 AS process, deviceId, kind,
       kind IN (2, 3, 5) AS on_device, address, bytes, pool, correlationId, operation, NULL AS launchId
FROM (SELECT id, start, lead(start) OVER same AS following, globalPid, coalesce(deviceId, 0) AS deviceId, memKind AS kind, address,
             max(coalesce(bytes, 0), 0) AS bytes, localMemoryPoolAddress AS pool, correlationId, memoryOperationType AS operation
      FROM CUDA_GPU_MEMORY_USAGE_EVENTS
      WHERE (globalPid >> 24, coalesce(correlationId, -1)) NOT IN (
        SELECT globalTid >> 24, correlationId FROM LIBTRACE_CUDA_MAPPING WHERE operation IN (10, 11, 13) AND globalTid IS NOT NULL AND correlationId IS NOT NULL)
      WINDOW same AS (PARTITION BY globalPid, address ORDER BY start, id))
WHERE operation = 0;

-- Virtual memory management. Physical memory lives until it has no reference and no mapping. A handle may be reused: its
-- lives are counted by the calls that create or import it.
DROP TABLE IF EXISTS temp.CUDA_MEMORY_HANDLES;
CREATE TEMP TABLE CUDA_MEMORY_HANDLES AS
SELECT id, start, globalTid >> 24 AS process, operation, handle, address, max(coalesce(bytes, 0), 0) AS bytes, locationType, deviceId, correlationId,
       sum(operation IN (1, 6)) OVER (PARTITION BY globalTid >> 24, handle ORDER BY start, id ROWS UNBOUNDED PRECEDING) AS life
FROM LIBTRACE_CUDA_MAPPING WHERE operation IN (1, 2, 3, 5, 6) AND globalTid IS NOT NULL;
CREATE INDEX temp.CUDA_MEMORY_HANDLES_ADDRESS ON CUDA_MEMORY_HANDLES (process, address) WHERE operation = 3;

-- One call may unmap several mappings; the first event of an address after its mapping ends that. Addresses have a table,
-- whose key finds those of a range: programs map and unmap many thousand times.
DROP TABLE IF EXISTS temp.CUDA_MEMORY_ADDRESSES;
CREATE TEMP TABLE CUDA_MEMORY_ADDRESSES (process INTEGER, address INTEGER, PRIMARY KEY (process, address)) WITHOUT ROWID;
INSERT OR IGNORE INTO CUDA_MEMORY_ADDRESSES SELECT process, address FROM CUDA_MEMORY_HANDLES WHERE operation = 3 AND address IS NOT NULL;
DROP TABLE IF EXISTS temp.CUDA_MEMORY_UNMAPPED;
CREATE TEMP TABLE CUDA_MEMORY_UNMAPPED AS
WITH events AS (
  SELECT id, start, process, address, handle, life, 1 AS is_map FROM CUDA_MEMORY_HANDLES WHERE operation = 3
  UNION ALL
  -- A limit, because a hostile file could unmap everything again and again.
  SELECT * FROM (
    SELECT u.id, u.start, p.process, p.address, NULL, NULL, 0
    FROM LIBTRACE_CUDA_MAPPING AS u CROSS JOIN CUDA_MEMORY_ADDRESSES AS p ON p.process = u.globalTid >> 24 AND p.address BETWEEN u.address AND u.address + u.bytes - 1
    WHERE u.operation = 4 LIMIT 10000000))
SELECT following_id AS id, following AS start, process, handle, life
FROM (SELECT *, lead(start) OVER same AS following, lead(id) OVER same AS following_id FROM events WINDOW same AS (PARTITION BY process, address ORDER BY start, id))
WHERE is_map AND following IS NOT NULL;

-- Memory of the kinds device (2) and pinned (0); negative ids: those of another table.
INSERT INTO CUDA_ALLOCATIONS
WITH uses AS (
  SELECT process, handle, life, start, sum(change) OVER (PARTITION BY process, handle, life ORDER BY start, id ROWS UNBOUNDED PRECEDING) AS count
  FROM (SELECT id, start, process, handle, life, CASE operation WHEN 2 THEN -1 ELSE 1 END AS change FROM CUDA_MEMORY_HANDLES
        UNION ALL
        SELECT id, start, process, handle, life, -1 FROM CUDA_MEMORY_UNMAPPED)),
ends AS (SELECT process, handle, life, min(start) AS released FROM uses WHERE count <= 0 GROUP BY process, handle, life)
SELECT -h.id, h.start, e.released, h.process << 24, h.process, CASE WHEN h.locationType = 1 THEN coalesce(h.deviceId, 0) ELSE 0 END,
       CASE WHEN h.locationType = 1 THEN 2 ELSE 1 END, h.locationType IS 1, h.handle, h.bytes, NULL, h.correlationId, 0, NULL
FROM CUDA_MEMORY_HANDLES AS h LEFT JOIN ends AS e ON e.process = h.process AND e.handle = h.handle AND e.life = h.life
WHERE h.operation = 1;

-- Memory that another process allocated: in lifetimes, but not in the use of the device, where it counts for its owner.
-- Its size is known if the owner was recorded.
INSERT INTO CUDA_ALLOCATIONS
WITH opened AS (
  SELECT *, lead(start) OVER (PARTITION BY globalTid >> 24, address ORDER BY start, id) AS following FROM LIBTRACE_CUDA_MAPPING WHERE operation IN (8, 9))
SELECT -o.id, o.start, o.following, (o.globalTid >> 24) << 24, o.globalTid >> 24, coalesce(a.deviceId, 0), 'IPC', 0, o.address, coalesce(a.bytes, 0), NULL, o.correlationId, 0, NULL
FROM opened AS o
     LEFT JOIN (SELECT handle, globalTid >> 24 AS process, address, max(start) AS start FROM LIBTRACE_CUDA_MAPPING WHERE operation = 7 GROUP BY handle) AS g ON g.handle = o.handle
     LEFT JOIN CUDA_ALLOCATIONS AS a ON a.process = g.process AND a.address = g.address AND a.start <= g.start AND (a.released IS NULL OR a.released > g.start)
WHERE o.operation = 8 AND o.globalTid IS NOT NULL
GROUP BY o.id;
-- Memory of graphs: nodes, and launches with the graph that the executable graph was instantiated from. A handle of an
-- executable graph may be reused: its lives are counted by the calls that instantiate it. `nodes` and `allocations`: the
-- number of those of the graph so far.
DROP TABLE IF EXISTS temp.CUDA_GRAPH_MEMORY_NODES;
CREATE TEMP TABLE CUDA_GRAPH_MEMORY_NODES AS
SELECT id, start, globalTid >> 24 AS process, graphId, operation = 10 AS allocates, address, max(coalesce(bytes, 0), 0) AS bytes, locationType, deviceId, correlationId,
       count(*) OVER so_far AS nodes, sum(operation = 10) OVER so_far AS allocations
FROM LIBTRACE_CUDA_MAPPING WHERE operation IN (10, 11) AND globalTid IS NOT NULL AND graphId IS NOT NULL
WINDOW so_far AS (PARTITION BY globalTid >> 24, graphId ORDER BY start);
CREATE INDEX temp.CUDA_GRAPH_MEMORY_NODES_ORDER ON CUDA_GRAPH_MEMORY_NODES (process, graphId, start);
DROP TABLE IF EXISTS temp.CUDA_GRAPH_LIVES;
CREATE TEMP TABLE CUDA_GRAPH_LIVES AS
SELECT id, start, globalTid >> 24 AS process, operation, handle, graphId, graphFlags, correlationId,
       sum(operation = 12) OVER (PARTITION BY globalTid >> 24, handle ORDER BY start, id ROWS UNBOUNDED PRECEDING) AS life
FROM LIBTRACE_CUDA_MAPPING WHERE operation IN (12, 13, 14) AND globalTid IS NOT NULL;
CREATE INDEX temp.CUDA_GRAPH_LIVES_ORDER ON CUDA_GRAPH_LIVES (process, handle, life) WHERE operation = 12;
-- `left_out`: a limit, because a hostile file could launch each graph again and again. The last launches are left out;
-- stats.c says so.
DROP TABLE IF EXISTS temp.CUDA_GRAPH_LAUNCHES;
CREATE TEMP TABLE CUDA_GRAPH_LAUNCHES AS
SELECT *, NOT failed AND sum(CASE WHEN failed THEN 0 ELSE steps END) OVER (ORDER BY start, id ROWS UNBOUNDED PRECEDING) > 10000000 AS left_out
FROM (SELECT l.id, l.start, l.process, l.operation = 14 AS failed, l.correlationId, i.graphId, i.graphFlags & 1 AS frees_first, i.start AS instantiated,
             coalesce((SELECT n.nodes + coalesce(i.graphFlags & 1, 0) * n.allocations FROM CUDA_GRAPH_MEMORY_NODES AS n
                       WHERE n.process = l.process AND n.graphId = i.graphId AND n.start <= i.start ORDER BY n.start DESC LIMIT 1), 0) AS steps
      FROM CUDA_GRAPH_LIVES AS l JOIN CUDA_GRAPH_LIVES AS i ON i.operation = 12 AND i.process = l.process AND i.handle = l.handle AND i.life = l.life
      WHERE l.operation <> 12);

-- A launch runs its nodes in the order in which they were added, which their dependencies allow, each a nanosecond after
-- the one before it, the last one when the call returns; so a temporary of a graph lives for some time. With
-- CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH what the graph allocates is freed first. An allocation has the call
-- that created its node: its callchain says whose memory it is.
INSERT INTO CUDA_ALLOCATIONS
WITH runs AS (
  SELECT l.id, l.start, l.process, l.correlationId AS launchId, 1 AS phase, n.id AS node, n.address, n.allocates, n.bytes, n.locationType, n.deviceId, n.correlationId
  FROM CUDA_GRAPH_LAUNCHES AS l CROSS JOIN CUDA_GRAPH_MEMORY_NODES AS n ON n.process = l.process AND n.graphId = l.graphId AND n.start <= l.instantiated
  WHERE NOT l.failed AND NOT l.left_out
  UNION ALL
  SELECT l.id, l.start, l.process, l.correlationId, 0, n.id, n.address, 0, 0, NULL, NULL, NULL
  FROM CUDA_GRAPH_LAUNCHES AS l CROSS JOIN CUDA_GRAPH_MEMORY_NODES AS n ON n.process = l.process AND n.graphId = l.graphId AND n.start <= l.instantiated
  WHERE NOT l.failed AND NOT l.left_out AND l.frees_first AND n.allocates),
events AS (
  SELECT id, start - count(*) OVER (PARTITION BY id) + row_number() OVER (PARTITION BY id ORDER BY phase, node) AS time,
         process, launchId, address, allocates, bytes, locationType, deviceId, correlationId
  FROM runs
  UNION ALL
  SELECT id, start, globalTid >> 24, NULL, address, 0, 0, NULL, NULL, NULL FROM LIBTRACE_CUDA_MAPPING WHERE operation = 15 AND globalTid IS NOT NULL)
SELECT -id, time, following, process << 24, process, CASE WHEN locationType = 1 THEN coalesce(deviceId, 0) ELSE 0 END, CASE WHEN locationType = 1 THEN 2 ELSE 1 END,
       locationType IS 1, address, bytes, NULL, correlationId, 0, launchId
FROM (SELECT *, lead(time) OVER (PARTITION BY process, address ORDER BY time, id) AS following FROM events)
WHERE allocates;
CREATE INDEX temp.CUDA_ALLOCATIONS_ORDER ON CUDA_ALLOCATIONS (globalPid, deviceId, start);

-- Use of each device by each process after each change.
DROP TABLE IF EXISTS temp.CUDA_MEMORY_USE;
CREATE TEMP TABLE CUDA_MEMORY_USE AS
SELECT globalPid, deviceId, time, change, sum(change) OVER (PARTITION BY globalPid, deviceId ORDER BY time, id ROWS UNBOUNDED PRECEDING) AS used
FROM (SELECT id, globalPid, deviceId, start AS time, bytes AS change FROM CUDA_ALLOCATIONS WHERE on_device
      UNION ALL
      SELECT id, globalPid, deviceId, released, -bytes FROM CUDA_ALLOCATIONS WHERE on_device AND released IS NOT NULL);
CREATE INDEX temp.CUDA_MEMORY_USE_ORDER ON CUDA_MEMORY_USE (globalPid, deviceId, time);
