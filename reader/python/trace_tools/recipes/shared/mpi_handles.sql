-- SPDX-License-Identifier: Apache-2.0
-- Communicators of MPI by their handles in a process: a folder and the upper part of a globalTid. A handle is valid until the next one of that value.

CREATE VIEW MPI_HANDLES AS
SELECT folder, globalTid >> 24 AS process, comm, timestamp, rank, localRank, size, groupRoot, membersHash, ordinal FROM LIBTRACE_MPI_COMMUNICATOR;
