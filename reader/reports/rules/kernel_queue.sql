-- SPDX-License-Identifier: Apache-2.0
-- Kernels That Wait for Other Streams
-- severity: info
-- columns: Waited (ns), Total Time (ns), Instances, Avg Waited (ns), Avg Queue (ns), Device ID, Context ID, Stream ID, Name text, Waited For text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL !LIBTRACE_NCU_RESULT
-- data: CUDA kernel (--trace=cuda)
-- before: launch_calls
-- arguments: rows base mangled count (default 20)
-- advice: For at least half of the time that these kernels took, they were launched, their stream was free, and other streams had the device.
-- advice: Queue: from the end of the call to the kernel.
-- advice: The default stream waits for all others, and they for it: cudaStreamNonBlocking, or --default-stream per-thread.
-- advice: Else the other kernel fills the device, or an event orders the streams; stream priorities let short kernels begin first.

-- A kernel could begin when its call has ended and its stream is free. Other streams had the device until the last of
-- their operations that ended before it began: it did not wait for those that ran beside it.
WITH work AS (
  SELECT id, start, "end", globalPid >> 24 AS process, deviceId, contextId, streamId, correlationId, name FROM KERNELS
  UNION ALL
  SELECT NULL, start, "end", globalPid >> 24, deviceId, contextId, streamId, NULL, '[CUDA memcpy]' FROM CUPTI_ACTIVITY_KIND_MEMCPY
  UNION ALL
  SELECT NULL, start, "end", globalPid >> 24, deviceId, contextId, streamId, NULL, '[CUDA memset]' FROM CUPTI_ACTIVITY_KIND_MEMSET
  UNION ALL
  SELECT NULL, start, "end", globalPid >> 24, deviceId, contextId, streamId, NULL, '[CUDA graph]' FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE),
moments AS (SELECT *, start AS time, 1 AS begins FROM work UNION ALL SELECT *, "end", 0 FROM work WHERE "end" > start),
ordered AS (
  SELECT *, max("end") FILTER (WHERE begins) OVER stream AS free, max("end") FILTER (WHERE NOT begins) OVER device AS busy,
         count(*) FILTER (WHERE NOT begins) OVER device AS ends
  FROM moments
  WINDOW stream AS (PARTITION BY process, deviceId, contextId, streamId ORDER BY time, begins, "end" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
         device AS (PARTITION BY process, deviceId ORDER BY time, begins, "end" ROWS UNBOUNDED PRECEDING)),
named AS (SELECT *, first_value(name) OVER (PARTITION BY process, deviceId, ends ORDER BY time, begins, "end") AS earlier FROM ordered),
waits AS (
  SELECT o.*, o.start - a."end" AS queue, max(coalesce(o.busy, 0) - max(a."end", coalesce(o.free, 0)), 0) AS waited
  FROM named AS o JOIN LAUNCH_CALLS AS a ON a.pid = o.process AND a.correlationId = o.correlationId
  WHERE o.begins AND o.id IS NOT NULL AND o.start >= a."end")
SELECT sum(waited), sum("end" - start), count(*), avg(waited), avg(queue), deviceId, contextId, streamId, name,
       max(CASE WHEN waited > 0 THEN earlier END)
FROM waits
GROUP BY process, deviceId, contextId, streamId, name
HAVING count(*) >= coalesce(argument('count'), 20) AND 2 * sum(waited) >= sum("end" - start)
ORDER BY sum(waited) DESC, name, streamId
LIMIT coalesce(argument('rows'), 50);
