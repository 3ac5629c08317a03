-- SPDX-License-Identifier: Apache-2.0
-- One Hot Function
-- severity: info
-- columns: Self (%), +- (%), CPU Time (ns), PID, Function text, Module text, Most Frequent Callchain text
-- needs: SAMPLING_CALLCHAINS
-- data: CPU samples (--sample=process-tree)
-- arguments: rows
-- few: SELECT 'no process has 50 CPU samples, which are needed to tell; the most are ' || max(n)
-- few: FROM (SELECT count(*) AS n FROM COMPOSITE_EVENTS GROUP BY globalTid >> 24) HAVING max(n) < 50
-- advice: One function itself used more than half of the process's processor time, by at least 50 CPU samples and with two standard errors.
-- advice: Improve this function first (algorithm, vector instructions, more threads); the callchain shows its callers.
-- advice: [no symbol] is all code of a module without symbols.

-- Addresses without a symbol are one function for each module, as in cpu_by_function: each instruction has its own.
WITH samples AS MATERIALIZED (
  SELECT c.id, c.globalTid >> 24 AS process, c.cpuCycles AS weight, l.cpuTime AS ns, CASE WHEN f.unresolved = 1 THEN NULL ELSE f.symbol END AS symbol, f.module
  FROM COMPOSITE_EVENTS AS c JOIN SAMPLING_CALLCHAINS AS f ON f.id = c.id AND f.stackDepth = 0 AND f.specialEntry IS NOT 1
       LEFT JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id),
whole AS MATERIALIZED (SELECT process, sum(weight) AS weight, count(*) AS count FROM samples GROUP BY process),
functions AS MATERIALIZED (
  SELECT s.process, s.symbol, s.module, sum(s.ns) AS ns, 1.0 * sum(s.weight) / w.weight AS share, w.count
  FROM samples AS s JOIN whole AS w ON w.process = s.process WHERE w.count >= 50 GROUP BY s.process, s.symbol, s.module),
hot AS MATERIALIZED (
  SELECT *, 2 * sqrt(share * (1 - share) / count) AS error FROM functions WHERE share - 2 * sqrt(share * (1 - share) / count) > 0.5),
chains AS (
  SELECT h.process, s.id, (SELECT group_concat(value, ' < ') FROM (
           SELECT CASE WHEN f.unresolved = 1 THEN '[no symbol]' ELSE n.value END AS value
           FROM SAMPLING_CALLCHAINS AS f JOIN StringIds AS n ON n.id = f.symbol WHERE f.id = s.id AND f.specialEntry IS NOT 1
           ORDER BY f.stackDepth LIMIT 8)) AS text
  FROM hot AS h JOIN samples AS s ON s.process = h.process AND s.symbol IS h.symbol AND s.module = h.module),
frequent AS (SELECT process, text, row_number() OVER (PARTITION BY process ORDER BY count(*) DESC, text) AS place FROM chains GROUP BY process, text)
SELECT 100.0 * h.share, 100.0 * h.error, h.ns, h.process & 0xffffff, coalesce(n.value, '[no symbol]'), m.value, f.text
FROM hot AS h LEFT JOIN frequent AS f ON f.process = h.process AND f.place = 1
     LEFT JOIN StringIds AS n ON n.id = h.symbol LEFT JOIN StringIds AS m ON m.id = h.module
ORDER BY h.ns DESC, h.share DESC, 4
LIMIT coalesce(argument('rows'), 20);
