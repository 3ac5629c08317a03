-- SPDX-License-Identifier: Apache-2.0
-- GPU Time Utilization
-- severity: warning
-- columns: Row#, In-Use (%), Duration (ns), Start (ns), PID, Device ID, Context ID
-- needs: CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_MEMCPY CUPTI_ACTIVITY_KIND_MEMSET !LIBTRACE_NCU_RESULT
-- data: CUDA trace (--trace=cuda)
-- arguments: rows chunks (default 30) threshold (percent, default 50)
-- advice: In these parts of the time between its first and its last operation, the device was in use for less than 50 % (argument threshold). Overlapping operations count separately.
-- advice: Launch more work before waiting, overlap copies with kernels, and check what the host did at these times.

-- Not used for kernels of Nsight Compute, because their starts are whole seconds.
DROP TABLE IF EXISTS temp.CHUNK_NUMBERS;
CREATE TEMP TABLE CHUNK_NUMBERS (number INTEGER PRIMARY KEY);
INSERT INTO CHUNK_NUMBERS
WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x + 1 < max(1, min(1000, coalesce(argument('chunks'), 30) + 0))) SELECT x FROM n;

WITH devices AS MATERIALIZED (
  SELECT process, deviceId, min(contextId) AS contextId, min(start) AS first, max("end") AS last,
         max(1, (max("end") - min(start) + (SELECT count(*) FROM CHUNK_NUMBERS) - 1) / (SELECT count(*) FROM CHUNK_NUMBERS)) AS width
  FROM GPU_OPERATIONS GROUP BY process, deviceId),
parts AS MATERIALIZED ( -- time in use of each chunk
  SELECT o.process, o.deviceId, c.number,
         sum(min(o."end", d.first + (c.number + 1) * d.width) - max(o.start, d.first + c.number * d.width)) AS used_ns
  FROM GPU_OPERATIONS AS o
       JOIN devices AS d ON d.process IS o.process AND d.deviceId IS o.deviceId
       CROSS JOIN CHUNK_NUMBERS AS c ON c.number BETWEEN (o.start - d.first) / d.width AND (o."end" - d.first) / d.width
  GROUP BY o.process, o.deviceId, c.number),
chunks AS (
  SELECT d.process, d.deviceId, d.contextId, c.number, d.first + c.number * d.width AS start, min(d.last, d.first + (c.number + 1) * d.width) AS "end",
         coalesce(p.used_ns, 0) AS used_ns
  FROM devices AS d CROSS JOIN CHUNK_NUMBERS AS c LEFT JOIN parts AS p ON p.process IS d.process AND p.deviceId IS d.deviceId AND p.number = c.number
  WHERE d.first + c.number * d.width < d.last),
low AS ( -- adjacent chunks have the same `island`
  SELECT *, number - row_number() OVER (PARTITION BY process, deviceId ORDER BY number) AS island
  FROM chunks WHERE 100.0 * used_ns / ("end" - start) < coalesce(argument('threshold'), 50) + 0)
SELECT row_number() OVER (ORDER BY 100.0 * sum(used_ns) / sum("end" - start), min(start)), 100.0 * sum(used_ns) / sum("end" - start),
       sum("end" - start), min(start), process & 0xffffff, deviceId, contextId
FROM low
GROUP BY process, deviceId, island
ORDER BY 1
LIMIT coalesce(argument('rows'), 50);
