-- SPDX-License-Identifier: Apache-2.0
-- OpenCL Kernel Summary
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Avg Since Queued (ns), Device text, Name text
-- needs: LIBTRACE_OPENCL_COMMAND
-- data: kernels of OpenCL with times of their device (--trace=opencl)

SELECT coalesce(100.0 * sum(c.duration) / sum(sum(c.duration)) OVER (), 0.0), sum(c.duration), count(*), avg(c.duration), median(c.duration), min(c.duration),
       max(c.duration), stddev(c.duration), avg(c.sinceQueued), d.value AS device, s.value AS name
FROM LIBTRACE_OPENCL_COMMAND AS c LEFT JOIN StringIds AS s ON s.id = c.nameId LEFT JOIN StringIds AS d ON d.id = c.deviceNameId
WHERE c.operation = 20 AND c.clock > 0
GROUP BY name, device
ORDER BY 2 DESC, name, device;
