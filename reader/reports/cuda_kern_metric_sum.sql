-- SPDX-License-Identifier: Apache-2.0
-- CUDA Kernel Metric Summary
-- columns: Kernels, Sum, Avg, Min, Max, Metric text, Name text
-- needs: LIBTRACE_CUDA_METRIC
-- data: hardware metric
-- arguments: base mangled nvtx-name metric=GLOB

-- A kernel of a graph launch has the name of its launch only if the launch has one kernel.
WITH launched AS (
  SELECT globalPid >> 24 AS process, correlationId, CASE WHEN count(*) = 1 THEN max(name) END AS name
  FROM KERNELS GROUP BY 1, 2)
SELECT count(*), printf('%.16g', total(m.value)), printf('%.16g', avg(m.value)), printf('%.16g', min(m.value)), printf('%.16g', max(m.value)),
       metric.value AS metric_name, coalesce(k.name, '[kernels of a graph]') AS kernel_name
FROM LIBTRACE_CUDA_METRIC AS m
     JOIN StringIds AS metric ON metric.id = m.metricId
     LEFT JOIN launched AS k ON k.process = m.globalTid >> 24 AND k.correlationId = m.correlationId
WHERE metric.value GLOB coalesce(argument('metric'), '*')
GROUP BY kernel_name, metric_name
ORDER BY kernel_name, metric_name;
