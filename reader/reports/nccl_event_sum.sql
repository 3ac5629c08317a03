-- SPDX-License-Identifier: Apache-2.0
-- NCCL Event Summary
-- columns: Time (%), Total Time (ns), Count, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Elements, Bytes, Communicator text, Algorithm text, Protocol text, Name text
-- needs: LIBTRACE_NCCL
-- data: event of NCCL (--trace=nccl)

-- By communicator, and by what NCCL chose for it. Network operations, their steps and kernels are parts of collectives and messages; percentages are of the
-- time of events of the same kind.
SELECT coalesce(100.0 * sum(n.duration) / sum(sum(n.duration)) OVER (PARTITION BY n.kind), 0.0), sum(n.duration), count(*), avg(n.duration), median(n.duration),
       min(n.duration), max(n.duration), stddev(n.duration), nullif(sum(n.count), 0), nullif(sum(n.bytes), 0), printf('0x%llx', n.comm) AS communicator,
       a.value AS algorithm, p.value AS protocol, s.value AS name
FROM LIBTRACE_NCCL AS n LEFT JOIN StringIds AS s ON s.id = n.nameId
     LEFT JOIN StringIds AS a ON a.id = n.algorithmId LEFT JOIN StringIds AS p ON p.id = n.protocolId
GROUP BY n.kind, communicator, algorithm, protocol, name
ORDER BY n.kind, 2 DESC, 3 DESC, communicator, algorithm, protocol, name;
