-- SPDX-License-Identifier: Apache-2.0
-- CUDA Kernel Metric Summary
-- columns: Kernels, Sum, Avg, Min, Max, Metric text, Name text
-- needs: LIBTRACE_CUDA_METRIC
-- data: hardware metric (--gpu-metrics)
-- arguments: base mangled nvtx-name metric=GLOB

-- A kernel of a graph launch has its name only if the launch has one kernel.
WITH launched AS (
  SELECT globalPid >> 24 AS process, correlationId, CASE WHEN count(*) = 1 THEN max(name) END AS name
  FROM KERNELS GROUP BY 1, 2)
-- A value that is not a number (a ratio of nothing) is NULL, and counts for nothing.
SELECT count(m.value), CASE WHEN count(m.value) THEN printf('%.16g', total(m.value)) END, CASE WHEN count(m.value) THEN printf('%.16g', avg(m.value)) END,
       CASE WHEN count(m.value) THEN printf('%.16g', min(m.value)) END, CASE WHEN count(m.value) THEN printf('%.16g', max(m.value)) END,
       metric.value AS metric_name, coalesce(k.name, CASE WHEN m.node THEN '[kernels of a graph]' ELSE '[unknown kernel]' END) AS kernel_name
FROM LIBTRACE_CUDA_METRIC AS m
     JOIN StringIds AS metric ON metric.id = m.metricId
     LEFT JOIN launched AS k ON k.process = m.globalTid >> 24 AND k.correlationId = m.correlationId
WHERE metric.value GLOB coalesce(argument('metric'), '*')
GROUP BY kernel_name, metric_name
ORDER BY kernel_name, metric_name;
