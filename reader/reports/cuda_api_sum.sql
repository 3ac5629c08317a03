-- SPDX-License-Identifier: Apache-2.0
-- CUDA API Summary
-- was: cudaapisum
-- columns: Time (%), Total Time (ns), Num Calls, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Name text
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME LIBTRACE_CODEXL_CALL
-- data: CUDA trace (--trace=cuda)

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), 1.0 * sum(ns) / count(ns), median(ns), min(ns), max(ns), stddev(ns), number_text(number) AS name
FROM API_TIMES
GROUP BY number
ORDER BY 2 DESC, name;
