-- SPDX-License-Identifier: Apache-2.0
-- Graphs That Run One Node at a Time
-- severity: info
-- columns: Time (%), Total Time (ns), Launches, Nodes, Alone (%), Idle (%), Longest Node (ns), PID, Device ID, Graph ID, Longest text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL !LIBTRACE_NCU_RESULT
-- data: CUDA graph nodes (--cuda-graph node)
-- arguments: rows base mangled part (percent of the time of all graphs, default 10)
-- advice: These graphs take at least 10 % of the time of all graphs. For 90 % of it one node ran alone, or none (idle).
-- advice: Remove dependencies that nothing needs (capture with several streams), or fuse short nodes.
-- advice: `stats -r cuda_graph_node_sum` says which call added each node.

-- Graphs of one node, and graphs that take less than 1 ms together, are not judged. `longest`: duration and name of a node.
WITH nodes AS (
  SELECT globalPid >> 24 AS process, deviceId, correlationId, graphId, graphNodeId, start, "end", name
  FROM KERNELS WHERE graphNodeId > 0 AND correlationId <> 0
  UNION ALL
  SELECT globalPid >> 24, deviceId, correlationId, NULL, graphNodeId, start, "end", '[CUDA memcpy]'
  FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE graphNodeId > 0 AND correlationId <> 0
  UNION ALL
  SELECT globalPid >> 24, deviceId, correlationId, NULL, graphNodeId, start, "end", '[CUDA memset]'
  FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE graphNodeId > 0 AND correlationId <> 0),
edges AS (
  SELECT process, correlationId, start AS at, 1 AS step FROM nodes UNION ALL SELECT process, correlationId, "end", -1 FROM nodes),
moments AS (
  SELECT process, correlationId, at, sum(step) OVER (PARTITION BY process, correlationId ORDER BY at RANGE UNBOUNDED PRECEDING) AS running,
         lead(at) OVER (PARTITION BY process, correlationId ORDER BY at) - at AS ns
  FROM edges),
times AS (
  SELECT process, correlationId, sum(ns) AS total, sum(CASE WHEN running < 2 THEN ns ELSE 0 END) AS alone,
         sum(CASE WHEN running = 0 THEN ns ELSE 0 END) AS idle
  FROM moments GROUP BY process, correlationId),
launches AS (
  SELECT process, correlationId, max(deviceId) AS deviceId, max(graphId) AS graphId, count(*) AS count,
         max(printf('%020d', "end" - start) || coalesce(name, '')) AS longest
  FROM nodes GROUP BY process, correlationId),
graphs AS (
  SELECT l.process, l.deviceId, l.graphId, sum(t.total) AS total, sum(t.alone) AS alone, sum(t.idle) AS idle,
         count(*) AS launches, max(l.count) AS nodes,
         max(l.longest) AS longest
  FROM launches AS l JOIN times AS t USING (process, correlationId)
  GROUP BY l.process, l.deviceId, l.graphId)
SELECT 100.0 * total / whole, total, launches, nodes, 100.0 * alone / total, 100.0 * idle / total, CAST(substr(longest, 1, 20) AS INTEGER),
       process & 0xffffff, deviceId, graphId, substr(longest, 21)
FROM (SELECT *, sum(total) OVER () AS whole FROM graphs)
WHERE whole >= 1000000 AND nodes > 1 AND total > 0 AND alone >= 0.9 * total AND 100.0 * total >= coalesce(argument('part'), 10) * whole
ORDER BY total DESC, graphId
LIMIT coalesce(argument('rows'), 50);
