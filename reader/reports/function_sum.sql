-- SPDX-License-Identifier: Apache-2.0
-- Library Function Summary
-- columns: Time (%), Total Time (ns), Num Calls, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Library text, Name text
-- needs: LIBTRACE_FUNCTION_CALL
-- data: calls of library functions (--functions)

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), library, name
FROM (SELECT f.duration AS ns, l.value AS library, s.value AS name
      FROM LIBTRACE_FUNCTION_CALL AS f LEFT JOIN StringIds AS s ON s.id = f.functionId LEFT JOIN StringIds AS l ON l.id = f.libraryId)
GROUP BY library, name
ORDER BY 2 DESC, 3 DESC, name, library;
