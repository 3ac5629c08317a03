-- SPDX-License-Identifier: Apache-2.0
-- CUDA GPU Kernel Summary
-- was: gpukernsum
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Name text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL
-- data: CUDA kernel
-- arguments: base mangled nvtx-name

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), number_text(number) AS name
-- The limit keeps texts out of the rows that are sorted. The name of an id is looked up once (2: names of kernels).
FROM (SELECT ns, CASE WHEN argument('nvtx-name') OR argument('mangled') THEN text_number(name)
                      WHEN argument('base') THEN coalesce(learned_number(2, shortName), learn_number(2, shortName, name))
                      ELSE coalesce(learned_number(2, demangledName), learn_number(2, demangledName, name)) END AS number
      FROM KERNELS LIMIT -1)
GROUP BY number
ORDER BY 2 DESC, name;
