-- SPDX-License-Identifier: Apache-2.0
-- GPU Gaps
-- severity: warning
-- columns: Row#, Duration (ns), Start (ns), PID, Device ID, Context ID
-- needs: CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_MEMCPY CUPTI_ACTIVITY_KIND_MEMSET !LIBTRACE_NCU_RESULT
-- data: CUDA trace (--trace=cuda)
-- arguments: rows gap (milliseconds, default 500)
-- advice: The device was idle for at least 500 ms (argument gap) between its first and its last operation. Overhead of the profiler does not count as idle.
-- advice: Check what the host did at these times: OS runtime calls, callchains and NVTX ranges.

-- Not used for kernels of Nsight Compute, because their starts are whole seconds.
WITH busy AS (
  SELECT start, "end", process, deviceId, contextId FROM GPU_OPERATIONS
  UNION ALL
  SELECT o.start, o."end", d.process, d.deviceId, NULL
  FROM PROFILER_OVERHEAD AS o
       JOIN (SELECT process, deviceId, min(start) AS first, max("end") AS last FROM GPU_OPERATIONS GROUP BY process, deviceId) AS d
         ON d.process = o.globalTid >> 24 AND o.start > d.first AND o."end" < d.last),
idle AS (
  SELECT process, deviceId, contextId, start, max("end") OVER earlier AS since
  FROM busy
  WINDOW earlier AS (PARTITION BY process, deviceId ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
SELECT row_number() OVER (ORDER BY start - since DESC, since), start - since, since, process & 0xffffff, deviceId, contextId
FROM idle
WHERE start - since > 0 AND start - since >= 1000000 * coalesce(argument('gap'), 500)
ORDER BY 1
LIMIT coalesce(argument('rows'), 50);
