-- SPDX-License-Identifier: Apache-2.0
-- The innermost NVTX range around the launch of each kernel, for the argument nvtx-name. Needs launch_calls.

INSERT OR REPLACE INTO LAUNCH_RANGES
SELECT l.launch, coalesce(e.text, s.value, '')
FROM range_launches('KERNEL_SWEEP') AS l
     CROSS JOIN NVTX_EVENTS AS e ON e.id = l.range
     LEFT JOIN StringIds AS s ON s.id = e.textId
WHERE l.place = 0 AND NOT EXISTS (SELECT 1 FROM PREPARED WHERE what = 'nvtx_launches');

INSERT OR IGNORE INTO PREPARED VALUES ('nvtx_launches');
