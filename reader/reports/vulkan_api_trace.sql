-- SPDX-License-Identifier: Apache-2.0
-- Vulkan API Trace
-- was: vulkanapitrace
-- columns: Start (ns), Duration (ns), Name text, Event Class, Context, CorrID, Pid, Tid, T-Pri, Thread Name text
-- needs: VULKAN_API
-- data: Vulkan API call (--trace=vulkan)

SELECT v.start, v."end" - v.start, s.value, v.eventClass, v.contextId, v.correlationId, v.globalTid >> 24 & 0xffffff, v.globalTid & 0xffffff, t.priority, n.value
FROM VULKAN_API AS v LEFT JOIN StringIds AS s ON s.id = v.nameId
     LEFT JOIN ThreadNames AS t ON t.globalTid = v.globalTid LEFT JOIN StringIds AS n ON n.id = t.nameId
ORDER BY v.start, v.id;
