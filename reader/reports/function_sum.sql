-- SPDX-License-Identifier: Apache-2.0
-- Library Function Summary
-- columns: Time (%), Total Time (ns), Num Calls, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Library text, Name text
-- needs: LIBTRACE_FUNCTION_CALL
-- data: calls of library functions (--functions, or --trace with the name of a library)
-- before: function_calls
-- arguments: arguments

-- Calls that mpi_event_sum sums are left out.
SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), library, shown AS name
FROM (SELECT ns, library, CASE WHEN argument('arguments') AND arguments IS NOT NULL THEN name || '(' || words || ')' ELSE name END AS shown FROM FUNCTION_CALLS
      WHERE (globalTid, start) IN (SELECT globalTid, start FROM MPI_P2P_EVENTS UNION ALL SELECT globalTid, start FROM MPI_COLLECTIVES_EVENTS
                                   UNION ALL SELECT globalTid, start FROM MPI_START_WAIT_EVENTS UNION ALL SELECT globalTid, start FROM MPI_OTHER_EVENTS) IS NOT 1)
GROUP BY library, shown
ORDER BY 2 DESC, 3 DESC, name, library;
