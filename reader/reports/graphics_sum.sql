-- SPDX-License-Identifier: Apache-2.0
-- Graphics Summary
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Kind text, Name text
-- needs: DX12_API DX12_WORKLOAD VULKAN_API VULKAN_WORKLOAD OPENGL_API OPENGL_WORKLOAD KHR_DEBUG_EVENTS SLI_QUERIES SLI_P2P SLI_STATS ETW_EVENTS WDDM_DMA_PACKET_START_EVENTS WDDM_QUEUE_PACKET_START_EVENTS
-- data: event of DX12, Vulkan, OpenGL, SLI, WDDM or ETW
-- before: graphics

-- Percentages are those of a kind.
SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (PARTITION BY kind), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), kind, name
FROM (SELECT "end" - start AS ns, kind, name FROM GRAPHICS_EVENTS)
GROUP BY kind, name
ORDER BY kind, 2 DESC, name;
