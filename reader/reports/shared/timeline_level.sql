-- SPDX-License-Identifier: Apache-2.0
-- The next level of the timeline of 'trace report --html', computed from the level before: rows shorter than a cell
-- (ns) that begin in the same cell become one row. Arguments: from, to (levels), cell.

INSERT INTO PAGE_ROWS
SELECT argument('to') + 0, track, row, start, "end", taken, busy, count, longest, NULL
FROM PAGE_ROWS WHERE level = argument('from') + 0 AND "end" - start >= argument('cell') + 0
UNION ALL
SELECT argument('to') + 0, track, row, min(start), max("end"), sum(taken), sum(busy), sum(count), max(longest), NULL
FROM PAGE_ROWS WHERE level = argument('from') + 0 AND "end" - start < argument('cell') + 0
GROUP BY track, row, start / (argument('cell') + 0);
