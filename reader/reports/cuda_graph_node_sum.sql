-- SPDX-License-Identifier: Apache-2.0
-- CUDA Graph Node Summary
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Min (ns), Max (ns), PID, Graph ID, Node ID, API Name text, Callchain text, Name text
-- needs: CUDA_GRAPH_NODE_EVENTS
-- data: CUDA graph node (--cuda-graph node)
-- arguments: rows base mangled

-- Work of each node of a graph as the program built it: launches run copies of it. The call is the one that added the
-- node; its callchain begins with the innermost frame outside of CUDA's own libraries.
DROP TABLE IF EXISTS temp.GRAPH_NODES;
CREATE TEMP TABLE GRAPH_NODES (process INTEGER, node INTEGER, original INTEGER, event INTEGER, globalTid INTEGER, root INTEGER, PRIMARY KEY (process, node)) WITHOUT ROWID;
INSERT OR IGNORE INTO GRAPH_NODES SELECT globalTid >> 24, graphNodeId, originalGraphNodeId, id, globalTid, graphNodeId FROM CUDA_GRAPH_NODE_EVENTS WHERE globalTid IS NOT NULL;

-- A copy may be a copy of a copy.
UPDATE GRAPH_NODES SET root = (
  WITH RECURSIVE up (node, depth) AS (
    SELECT GRAPH_NODES.node, 0
    UNION ALL
    SELECT n.original, up.depth + 1 FROM up JOIN GRAPH_NODES AS n ON n.process = GRAPH_NODES.process AND n.node = up.node WHERE n.original IS NOT NULL AND up.depth < 16)
  SELECT node FROM up ORDER BY depth DESC LIMIT 1)
WHERE original IS NOT NULL;

WITH work AS (
  SELECT globalPid >> 24 AS process, graphNodeId AS node, ns, name FROM KERNELS WHERE graphNodeId > 0
  UNION ALL
  SELECT m.globalPid >> 24, m.graphNodeId, m."end" - m.start, '[CUDA memcpy ' || coalesce(l.label, m.copyKind) || ']'
  FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS l ON l.id = m.copyKind WHERE m.graphNodeId > 0
  UNION ALL
  SELECT globalPid >> 24, graphNodeId, "end" - start, '[CUDA memset]' FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE graphNodeId > 0),
sums AS (
  SELECT w.process, coalesce(n.root, w.node) AS node, w.name, sum(w.ns) AS total, count(*) AS count, min(w.ns) AS least, max(w.ns) AS most
  FROM work AS w LEFT JOIN GRAPH_NODES AS n ON n.process = w.process AND n.node = w.node
  GROUP BY 1, 2, 3)
SELECT 100.0 * s.total / nullif(sum(s.total) OVER (), 0), s.total, s.count, 1.0 * s.total / s.count, s.least, s.most, s.process & 0xffffff, d.graphId, s.node, c.name,
       (SELECT group_concat(text, ' < ')
        FROM (SELECT v.value AS text
              FROM CUDA_CALLCHAINS AS f JOIN StringIds AS v ON v.id = f.symbol LEFT JOIN StringIds AS m ON m.id = f.module
              WHERE f.id = c.callchainId AND coalesce(m.value NOT GLOB '*/libcu*.so*', 1)
              ORDER BY f.stackDepth LIMIT 4)),
       s.name
FROM sums AS s
     LEFT JOIN GRAPH_NODES AS n ON n.process = s.process AND n.node = s.node
     LEFT JOIN LIBTRACE_CUDA_GRAPH_NODE AS d ON d.id = n.event
     LEFT JOIN API_CALLS AS c ON c.globalTid = n.globalTid AND c.correlationId = d.correlationId AND c.correlationId <> 0
GROUP BY s.process, s.node, s.name
ORDER BY s.total DESC, s.process, s.node
LIMIT coalesce(argument('rows'), 1000);
