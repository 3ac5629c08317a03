-- SPDX-License-Identifier: Apache-2.0
-- The flame graphs of wall time and of off-CPU time of 'trace report --html', with the columns of flame.sql. Needs
-- shared/flame.sql and shared/wall.sql.

INSERT OR IGNORE INTO PAGE_LEAF_NAMES (text) SELECT DISTINCT name FROM WALL_LEAVES WHERE name IS NOT NULL;

-- A leaf's own name comes behind its frames.
CREATE TEMP VIEW PAGE_WALL_FRAMES AS
SELECT l.leaf AS item, l.globalTid >> 24 AS process, CAST(round(l.ns) AS INTEGER) AS ns, l.count, f.symbol, l.kind, l.is_running, f.stackDepth
FROM WALL_LEAVES AS l LEFT JOIN WALL_CHAINS AS f ON f.source = l.source AND f.id = l.chain
WHERE l.ns >= 0.5
UNION ALL
SELECT l.leaf, l.globalTid >> 24, CAST(round(l.ns) AS INTEGER), l.count, -n.id, l.kind, l.is_running, -1
FROM WALL_LEAVES AS l JOIN PAGE_LEAF_NAMES AS n ON n.text = l.name
WHERE l.ns >= 0.5
ORDER BY 1, 8 DESC;
