-- SPDX-License-Identifier: Apache-2.0
-- The innermost NVTX range around each launch: what the argument nvtx-name asks for.

DELETE FROM LAUNCH_RANGES;
INSERT OR REPLACE INTO LAUNCH_RANGES
SELECT pid, correlationId, text
FROM (SELECT o.pid, o.correlationId, r.text, row_number() OVER (PARTITION BY o.pid, o.correlationId ORDER BY r.start DESC, r."end", r.id DESC) AS place
      FROM RANGE_OPERATIONS AS o JOIN NESTED_RANGES AS r ON r.id = o.range)
WHERE place = 1;
