-- SPDX-License-Identifier: Apache-2.0
-- The API call that launched an operation. If several have its correlation id, the first is used; a row of class 67
-- only if there is no other, because it repeats a call to add the callchain.

INSERT INTO LAUNCH_CALLS
SELECT globalTid >> 24, correlationId, globalTid, start, "end", nameId
FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE eventClass IS NOT 67 AND correlationId <> 0 AND globalTid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM PREPARED WHERE what = 'launch_calls')
ON CONFLICT DO UPDATE SET globalTid = excluded.globalTid, start = excluded.start, "end" = excluded."end", nameId = excluded.nameId
WHERE excluded.start < start OR (excluded.start = start AND excluded."end" > "end");

INSERT OR IGNORE INTO LAUNCH_CALLS
SELECT globalTid >> 24, correlationId, globalTid, start, "end", nameId
FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE eventClass = 67 AND correlationId <> 0 AND globalTid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM PREPARED WHERE what = 'launch_calls');

INSERT OR IGNORE INTO PREPARED VALUES ('launch_calls');
