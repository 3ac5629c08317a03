-- SPDX-License-Identifier: Apache-2.0
-- Network Interface Summary
-- columns: Total, Avg, Max, Active (ns), Port, Metric text, Unit text, Interface text
-- needs: NET_NIC_METRIC
-- data: samples of network interfaces (--machine-samples)

-- Total is the sum over the intervals with a sample, Avg and Max are rates: of all intervals and of the busiest.
SELECT CAST(sum(m.value * (m."end" - m.start)) / 1000000 AS INTEGER), 1.0 * sum(m.value * (m."end" - m.start)) / nullif(sum(m."end" - m.start), 0), max(m.value),
       sum(m."end" - m.start), m.portId, coalesce(t.name, m.metricsIdx), t.unit, coalesce(i.name, m.globalId)
FROM NET_NIC_METRIC AS m
     LEFT JOIN TARGET_INFO_NETWORK_METRICS AS t ON t.metricsListId = m.metricsListId AND t.metricsIdx = m.metricsIdx
     LEFT JOIN NIC_ID_MAP AS n ON n.globalId = m.globalId
     LEFT JOIN TARGET_INFO_NIC_INFO AS i ON i.nicId = n.nicId
GROUP BY m.globalId, m.portId, m.metricsListId, m.metricsIdx
ORDER BY i.name, m.globalId, m.portId, m.metricsListId, m.metricsIdx;
