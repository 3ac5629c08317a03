-- SPDX-License-Identifier: Apache-2.0
-- NVTX Range Metric Summary
-- columns: Ranges, Sum, Avg, Min, Max, Metric text, Range text
-- needs: LIBTRACE_CUDA_RANGE_METRIC
-- data: hardware metric (--gpu-metrics-range)
-- arguments: merge metric=GLOB

-- A value that is not a number (a ratio of nothing) is NULL, and counts for nothing.
SELECT count(m.value), CASE WHEN count(m.value) THEN printf('%.16g', total(m.value)) END, CASE WHEN count(m.value) THEN printf('%.16g', avg(m.value)) END,
       CASE WHEN count(m.value) THEN printf('%.16g', min(m.value)) END, CASE WHEN count(m.value) THEN printf('%.16g', max(m.value)) END,
       metric_name, range_name
FROM (SELECT m.value, metric.value AS metric_name,
             CASE WHEN argument('merge') THEN numbers_merged(name) ELSE name END AS range_name
      FROM (SELECT m.value, m.metricId, coalesce(domain.value, '') || ':' || coalesce(range.value, '') AS name
            FROM LIBTRACE_CUDA_RANGE_METRIC AS m
                 LEFT JOIN StringIds AS domain ON domain.id = m.domainNameId
                 LEFT JOIN StringIds AS range ON range.id = m.rangeId) AS m
           JOIN StringIds AS metric ON metric.id = m.metricId
      WHERE metric.value GLOB coalesce(argument('metric'), '*')) AS m
GROUP BY range_name, metric_name
ORDER BY range_name, metric_name;
