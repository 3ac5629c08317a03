-- SPDX-License-Identifier: Apache-2.0
-- OpenCL Command Trace
-- columns: Start (ns), Duration (ns), Since Queued (ns), Since Submitted (ns), Queue, Context, Command, Global X, Global Y, Global Z, Local X, Local Y, Local Z, Bytes, Pid, Tid, Number, Device text, Name text
-- needs: LIBTRACE_OPENCL_COMMAND
-- data: commands of OpenCL queues with times of their device (--trace=opencl)

SELECT c.start, c.duration, c.sinceQueued, c.sinceSubmitted, c.streamId, c.contextId, opencl_command(c.commandType), c.globalX, c.globalY, c.globalZ, c.localX, c.localY,
       c.localZ, c.bytes, c.globalTid >> 24 & 0xffffff, c.callTid, c.correlationId, d.value, s.value
FROM LIBTRACE_OPENCL_COMMAND AS c LEFT JOIN StringIds AS s ON s.id = c.nameId LEFT JOIN StringIds AS d ON d.id = c.deviceNameId
WHERE c.clock > 0
ORDER BY c.start, c.correlationId;
