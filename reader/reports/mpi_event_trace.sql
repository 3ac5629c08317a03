-- SPDX-License-Identifier: Apache-2.0
-- MPI Event Trace
-- columns: Start (ns), End (ns), Duration (ns), Event text, Pid, Tid, Tag, Rank, PeerRank, RootRank, Size (MB), CollSendSize (MB), CollRecvSize (MB)
-- needs: MPI_P2P_EVENTS MPI_COLLECTIVES_EVENTS MPI_START_WAIT_EVENTS MPI_OTHER_EVENTS
-- data: MPI event (--trace=mpi)

SELECT e.start, e."end", e."end" - e.start, s.value, e.globalTid >> 24 & 0xffffff, e.globalTid & 0xffffff, e.tag, r.rank, e.peer, e.root,
       e.size / 1e6, e.sent / 1e6, e.received / 1e6
FROM (SELECT start, "end", textId, globalTid, tag, remoteRank AS peer, NULL AS root, size, NULL AS sent, NULL AS received FROM MPI_P2P_EVENTS
      UNION ALL SELECT start, "end", textId, globalTid, NULL, NULL, rootRank, NULL, size, recvSize FROM MPI_COLLECTIVES_EVENTS
      UNION ALL SELECT start, "end", textId, globalTid, NULL, NULL, NULL, NULL, NULL, NULL FROM MPI_START_WAIT_EVENTS
      UNION ALL SELECT start, "end", textId, globalTid, NULL, NULL, NULL, NULL, NULL, NULL FROM MPI_OTHER_EVENTS) AS e
     LEFT JOIN StringIds AS s ON s.id = e.textId
     LEFT JOIN MPI_RANKS AS r ON r.globalTid = e.globalTid
ORDER BY e.start, e."end", e.globalTid;
