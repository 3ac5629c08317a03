-- SPDX-License-Identifier: Apache-2.0
-- GPU Metric Summary
-- columns: Samples, Avg, Min, Max, GPU, Metric text
-- needs: GPU_METRICS
-- data: GPU metrics (--machine-samples, or --gpu-metrics with --gpu-metrics-frequency)

SELECT count(*), avg(m.value), min(m.value), max(m.value), m.typeId & 0xff, coalesce(t.metricName, m.metricId)
FROM GPU_METRICS AS m LEFT JOIN TARGET_INFO_GPU_METRICS AS t ON t.typeId = m.typeId AND t.metricId = m.metricId
GROUP BY m.typeId, m.metricId
ORDER BY m.typeId, m.metricId;
