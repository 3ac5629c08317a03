-- SPDX-License-Identifier: Apache-2.0
-- Kernels With Local Memory
-- severity: info
-- columns: Time (%), Total Time (ns), Instances, Local/Trd (B), Reg/Trd, Occupancy (%), Device ID, Name text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL
-- data: CUDA kernel (--trace=cuda)
-- before: launch_calls kernel_occupancy
-- arguments: rows part (percent of the kernels' time, default 10)
-- advice: These kernels take at least 10 % of the kernels' time and use local memory: registers that did not fit (spills), or arrays with indexes that the compiler does not know.
-- advice: Compile with -Xptxas -v, which reports spills. Raise the limit of registers (__launch_bounds__, -maxrregcount), split the kernel, or index small arrays by constants.

-- Kernels that take less than 1 ms together are not judged.
WITH judged AS (
  SELECT *, 100.0 * ns / nullif(sum(ns) OVER (), 0) AS part, sum(ns) OVER () AS whole FROM KERNEL_OCCUPANCY)
SELECT part, ns, count, local, registers, occupancy, deviceId, name
FROM judged
WHERE local > 0 AND whole >= 1000000 AND part >= coalesce(argument('part'), 10)
ORDER BY ns DESC, name
LIMIT coalesce(argument('rows'), 50);
