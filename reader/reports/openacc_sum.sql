-- SPDX-License-Identifier: Apache-2.0
-- OpenACC Summary
-- was: openaccsum
-- columns: Time (%), Total Time (ns), Count, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Name text
-- needs: CUPTI_ACTIVITY_KIND_OPENACC_DATA CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH CUPTI_ACTIVITY_KIND_OPENACC_OTHER
-- data: OpenACC event (--trace=openacc)

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), name
FROM (SELECT e.ns, s.value AS name
      FROM (SELECT nameId, "end" - start AS ns FROM CUPTI_ACTIVITY_KIND_OPENACC_DATA
            UNION ALL SELECT nameId, "end" - start AS ns FROM CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH
            UNION ALL SELECT nameId, "end" - start AS ns FROM CUPTI_ACTIVITY_KIND_OPENACC_OTHER) AS e
           LEFT JOIN StringIds AS s ON s.id = e.nameId)
GROUP BY name
ORDER BY 2 DESC, name;
