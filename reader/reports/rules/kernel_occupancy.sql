-- SPDX-License-Identifier: Apache-2.0
-- Kernels That Cannot Fill the Device
-- severity: info
-- columns: Time (%), Total Time (ns), Instances, Occupancy (%), Waves text, Cause text, Reg/Trd, Shared (B), Device ID, Name text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL
-- data: CUDA kernel (--trace=cuda)
-- before: launch_calls kernel_occupancy
-- arguments: rows part (percent of the kernels' time, default 10) occupancy (percent, default 50)
-- advice: These kernels take at least 10 % of the kernels' time, and registers or shared memory keep the occupancy below 50 %, or the grid has fewer blocks than the device has multiprocessors, or its last wave leaves much of the device empty.
-- advice: Registers: __launch_bounds__, -maxrregcount. Shared memory: smaller tiles. Grid: more and smaller blocks, or several kernels at once in streams.

-- Kernels that take less than 1 ms together are not judged.
WITH judged AS (
  SELECT *, 100.0 * ns / nullif(sum(ns) OVER (), 0) AS part, sum(ns) OVER () AS whole,
         CASE WHEN blocks < smCount THEN 'grid has fewer blocks than multiprocessors'
              WHEN occupancy < coalesce(argument('occupancy'), 50) AND (limiter LIKE '%registers%' OR limiter LIKE '%shared%') THEN limiter
              WHEN waves > 1 AND waves < 4 AND (ceil(waves) - waves) / ceil(waves) >= 0.25 THEN 'tail: the last wave fills little of the device' END AS cause
  FROM KERNEL_OCCUPANCY)
SELECT part, ns, count, occupancy, printf('%.3f', waves), cause, registers, static_shared + dynamic_shared, deviceId, name
FROM judged
WHERE cause IS NOT NULL AND whole >= 1000000 AND part >= coalesce(argument('part'), 10)
ORDER BY ns DESC, name
LIMIT coalesce(argument('rows'), 50);
