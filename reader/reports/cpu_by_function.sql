-- SPDX-License-Identifier: Apache-2.0
-- CPU Samples by Function
-- columns: Self (%), +- (%), Self Samples, Total (%), Total Samples, Self CPU Time (ns), Name text, Module text
-- needs: SAMPLING_CALLCHAINS
-- data: CPU samples (--sample=process-tree)

-- Self: samples in the function itself. Total: samples in it or in functions that it calls; a recursive function counts
-- once per sample. "+-": two standard errors of Self (%), given the number of samples. A sample represents cpuCycles
-- periods. Frames that mark missing frames (specialEntry) are not counted as functions. Addresses without a symbol are
-- one row for each module: they differ between processes, and each instruction has its own.
WITH samples AS (SELECT c.id, c.cpuCycles AS weight, l.cpuTime AS ns FROM COMPOSITE_EVENTS AS c LEFT JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id),
     whole AS (SELECT sum(weight) AS weight, count(*) AS count FROM samples),
     frames AS (SELECT id, CASE WHEN unresolved = 1 THEN NULL ELSE symbol END AS function, module, min(stackDepth) AS depth
                FROM SAMPLING_CALLCHAINS WHERE specialEntry IS NOT 1 GROUP BY id, function, module),
     functions AS (SELECT f.function, f.module, sum(s.weight) AS total, sum(CASE WHEN f.depth = 0 THEN s.weight ELSE 0 END) AS self,
                          sum(CASE WHEN f.depth = 0 THEN s.ns END) AS ns
                   FROM frames AS f JOIN samples AS s ON s.id = f.id GROUP BY f.function, f.module)
SELECT 100.0 * f.self / w.weight, 200.0 * sqrt(1.0 * f.self / w.weight * (1 - 1.0 * f.self / w.weight) / w.count), f.self, 100.0 * f.total / w.weight,
       f.total, f.ns, coalesce(n.value, '[no symbol]') AS name, m.value AS module
FROM functions AS f JOIN whole AS w LEFT JOIN StringIds AS n ON n.id = f.function LEFT JOIN StringIds AS m ON m.id = f.module
ORDER BY f.self DESC, f.total DESC, name, module;
