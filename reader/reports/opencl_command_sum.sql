-- SPDX-License-Identifier: Apache-2.0
-- OpenCL Command Summary
-- columns: Time (%), Total Time (ns), Count, Avg (ns), Med (ns), Min (ns), Max (ns), Total (bytes), Rate (GB/s), Without Times, Failed, Command text
-- needs: LIBTRACE_OPENCL_COMMAND
-- data: commands of OpenCL queues (--trace=opencl)

SELECT coalesce(100.0 * sum(duration) / sum(sum(duration)) OVER (), 0.0), sum(duration), count(*), avg(duration), median(duration), min(duration), max(duration),
       sum(bytes), CASE WHEN sum(duration) > 0 AND sum(bytes) > 0 THEN 1.0 * sum(CASE WHEN clock > 0 THEN bytes END) / sum(duration) END,
       sum(clock = 0), sum(status < 0), command
FROM (SELECT c.*, opencl_command(c.commandType) AS command FROM LIBTRACE_OPENCL_COMMAND AS c)
GROUP BY command
ORDER BY 2 DESC, command;
