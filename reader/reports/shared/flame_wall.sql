-- SPDX-License-Identifier: Apache-2.0
-- The flame graphs of wall time and of off-CPU time of 'trace report --html', with the columns of flame.sql. Needs
-- shared/flame.sql and shared/wall.sql.

INSERT OR IGNORE INTO PAGE_LEAF_NAMES (text) SELECT DISTINCT name FROM WALL_LEAVES WHERE name IS NOT NULL;

-- The name of a leaf is the frame inside of its callchain.
CREATE TEMP VIEW PAGE_WALL_FRAMES AS
SELECT leaf AS item, globalTid >> 24 AS process, ns, count, symbolId AS symbol, kind,
       CASE WHEN name IS NOT NULL THEN (SELECT -n.id FROM PAGE_LEAF_NAMES AS n WHERE n.text = name) END AS name, is_running
FROM WALL_FRAMES;
