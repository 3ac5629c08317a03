-- SPDX-License-Identifier: Apache-2.0
-- Names of the NVTX domains.

INSERT OR IGNORE INTO NVTX_DOMAINS
SELECT e.globalTid >> 24, e.domainId, coalesce(e.text, s.value)
FROM NVTX_EVENTS AS e LEFT JOIN StringIds AS s ON s.id = e.textId
WHERE e.eventType = 75 AND e.domainId <> 0 AND e.globalTid IS NOT NULL;
