-- SPDX-License-Identifier: Apache-2.0
-- One level of the timeline of 'trace report --html' more, made from the level before: what is shorter than a cell (ns) and begins in the
-- same one becomes one row. Arguments: from, to (levels), cell.

INSERT INTO PAGE_ROWS
SELECT argument('to') + 0, lane, row, start, "end", busy, count, longest
FROM PAGE_ROWS WHERE level = argument('from') + 0 AND "end" - start >= argument('cell') + 0
UNION ALL
SELECT argument('to') + 0, lane, row, min(start), max("end"), sum(busy), sum(count), max(longest)
FROM PAGE_ROWS WHERE level = argument('from') + 0 AND "end" - start < argument('cell') + 0
GROUP BY lane, row, start / (argument('cell') + 0);
