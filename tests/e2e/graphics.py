#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vulkan and OpenGL: calls of programs (VULKAN_API, OPENGL_API); databases with tables of DX12, ETW, SLI and WDDM, made from NVIDIA's schema."""
import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _made_database as made  # noqa: E402
from lib import Report, clean_env, folder, main, run, tap, trace  # noqa: E402

PLACE = folder()
MADE = os.path.join(PLACE, "made.sqlite")
SOURCE = """
#include <vulkan/vulkan.h>
#include <stdio.h>
int main(void)
{
	VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_0};
	VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
	VkInstance instance;
	VkPhysicalDevice physical;
	uint32_t count = 1;
	float one = 1;
	VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &one};
	VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues};
	VkFenceCreateInfo fences = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	VkDevice device;
	VkQueue queue;
	VkFence fence;
	if (vkCreateInstance(&info, 0, &instance) || vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || !count ||
		vkCreateDevice(physical, &create, 0, &device))
		return 77;
	vkGetDeviceQueue(device, 0, 0, &queue);
	if (vkCreateFence(device, &fences, 0, &fence))
		return 1;
	for (int i = 0; i < 5; i++)
		if (vkQueueSubmit(queue, 0, 0, fence) || vkWaitForFences(device, 1, &fence, 1, UINT64_MAX) || vkResetFences(device, 1, &fence))
			return 1;
	printf("done\\n");
	vkDestroyFence(device, fence, 0);
	vkDestroyDevice(device, 0);
	vkDestroyInstance(instance, 0);
	return 0;
}
"""


def rows(report, path=MADE):
    said = trace("stats", "-r", report, "-f", "csv", path)
    if said.status:
        tap.ok(False, f"{report} runs", said)
    return list(csv.DictReader(io.StringIO(said.out.decode())))


def figures(report, name, path=MADE):
    return [(row["Total Time (ns)"], row.get("Instances") or row.get("Num Calls"), row["Max (ns)"], row[name]) for row in rows(report, path)]


def statistics():
    made.make_graphics(MADE)
    expected = {"dx12_pix_sum": [("390", "2", "290", "frame")], "vulkan_marker_sum": [("390", "2", "290", "frame")],
                "dx12_gpu_marker_sum": [("5000", "2", "4000", "shadows"), ("1000", "1", "1000", "lights")], "vulkan_gpu_marker_sum": [("300", "1", "300", "pass")],
                "opengl_khr_range_sum": [("400", "2", "400", "group")], "opengl_khr_gpu_range_sum": [("100", "1", "100", "on the GPU")]}
    for report, wanted in expected.items():
        found = figures(report, "Range")
        tap.ok(found == wanted, f"{report} computes what nsys does", found)
    found = figures("vulkan_api_sum", "Name")
    tap.ok(found == [("1000", "2", "500", "vkQueueSubmit"), ("250", "1", "250", "vkCreateFence")], "vulkan_api_sum: calls only, names without a version", found)
    found = [(row["Start (ns)"], row["Duration (ns)"], row["Name"], row["Pid"]) for row in rows("vulkan_api_trace")]
    tap.ok(len(found) == 4 and found[0] == ("2000", "500", "vkQueueSubmit", "1000"), "vulkan_api_trace has each event", found)
    found = [(float(row["Utilization (%)"]), row["Instances"], row["Name"], row["Q Name"], row["Context"], row["Node Ord"]) for row in rows("wddm_queue_sum")]
    tap.ok(found == [(50.0, "3", "3D", "dma", "1", "0"), (25.0, "1", "Paging", "queue", "3", "4"), (10.0, "1", "Copy", "dma", "2", "0")],
           "wddm_queue_sum: time in which a queue was not empty", found)
    found = {(row["Kind"], row["Name"]): row["Total Time (ns)"] for row in rows("graphics_sum")}
    wanted = {("ETW", "VSyncInterrupt"): "50", ("SLI", "SLI query"): "100", ("SLI", "SLI transfer A - BE"): "200", ("SLI", "SLI statistics"): "300",
              ("DX12", "ID3D12CommandQueue::ExecuteCommandLists"): "2000", ("OpenGL GPU", "glClear"): "300", ("WDDM", "dma packet"): "700"}
    tap.ok(wanted.items() <= found.items(), "graphics_sum has every kind of event", found)
    said = trace("stats", "-r", "graphics_sum,wddm_queue_sum", MADE)
    tap.ok(said.status == 0 and not said.err, "two reports that prepare the same views", said)


def timelines():
    said = trace("export", "-t", "chrome", "-o", "-", MADE)
    events = json.loads(said.out)["traceEvents"] if said.status == 0 else []
    names = {e.get("name") for e in events}
    wanted = {"ID3D12CommandQueue::ExecuteCommandLists", "Command list", "vkQueueSubmit", "glClear", "VSyncInterrupt", "SLI query", "dma packet", "queue packet"}
    tap.ok(said.status == 0 and wanted <= names, "timelines show them", (wanted - names, said.err))
    path = os.path.join(PLACE, "made.pftrace")
    said = trace("export", "-t", "perfetto", "-o", path, MADE)
    with open(path, "rb") as file:
        data = file.read()
    tap.ok(said.status == 0 and all(name.encode() in data for name in wanted), "also Perfetto's", said)
    page = os.path.join(PLACE, "made.html")
    said = trace("report", "--html", "-o", page, MADE)
    if said.status and b"npm" in said.err:
        tap.skip("the page", "built without node")
        return
    with open(page, encoding="utf-8") as file:
        text = file.read()
    tap.ok(said.status == 0 and all(name in text for name in wanted), "and the page", said)


def traced(command, source, table, name, statuses=(0,)):
    plain = run(command, env=clean_env())
    if plain.status not in statuses:
        tap.skip(os.path.basename(command[0]), f"it ends with status {plain.status} here")
        return []
    path = os.path.join(PLACE, name + ".rep")
    said = trace("run", "-t", source, "-o", path, "--", *command, env=clean_env())
    tap.ok(said.status == plain.status and said.out == plain.out and Report(path).check().status == 0, f"{name} runs as without the tracer", (said, plain))
    database = os.path.join(PLACE, name + ".sqlite")
    trace("export", "-t", "sqlite", "-o", database, path)
    with sqlite3.connect(database) as d:
        return d.execute(f'SELECT s.value, t.eventClass, t."end" >= t.start, t.globalTid IS NOT NULL FROM {table} AS t JOIN StringIds AS s ON s.id = t.nameId '
                         "ORDER BY t.start").fetchall()


def vulkan():
    source, program = os.path.join(PLACE, "v.c"), os.path.join(PLACE, "v")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    built = subprocess.run([os.environ.get("CC", "gcc"), "-o", program, source, "-lvulkan"], capture_output=True, check=False)
    if built.returncode:
        tap.skip("Vulkan", "no headers (libvulkan-dev)")
        return
    calls = traced([program], "vulkan", "VULKAN_API", "vulkan")
    if calls:
        names = [name for name, *_ in calls]
        rest = ["vkDestroyFence", "vkDestroyDevice", "vkDestroyInstance"]
        middle = [name for name in names if name in ("vkQueueSubmit", "vkWaitForFences", "vkResetFences")]
        tap.ok(names[0] == "vkCreateInstance" and names[-3:] == rest and len(middle) == 15 and {row[1:] for row in calls} == {(53, 1, 1)},
               "VULKAN_API has its calls, with thread", calls)
        found = {row["Name"]: row["Num Calls"] for row in rows("vulkan_api_sum", os.path.join(PLACE, "vulkan.sqlite"))}
        tap.ok(found.get("vkQueueSubmit") == "5", "vulkan_api_sum counts them", found)


def opengl():
    if not shutil.which("eglinfo"):
        tap.skip("OpenGL", "no eglinfo (mesa-utils-extra)")
        return
    calls = traced(["eglinfo"], "opengl", "OPENGL_API", "eglinfo", range(16))  # the status counts the platforms that are missing
    if calls:
        tap.ok({"eglQueryString", "eglInitialize"} <= {name for name, *_ in calls} and {row[1:] for row in calls} == {(2, 1, 1)},
               "OPENGL_API has the calls of a program that nobody here wrote", calls[:5])


def off():
    path = os.path.join(PLACE, "off.rep")
    if not shutil.which("eglinfo") or run(["eglinfo"], env=clean_env()).status not in range(16):
        tap.skip("nothing is recorded unless asked for", "eglinfo does not run")
        return
    trace("run", "-t", "osrt", "-o", path, "--", "eglinfo", env=clean_env())
    report = Report(path)
    tap.ok(not report.events("--kind", "function_call") and not any("functions" in r for r in report.receipts()), "nothing is recorded or patched unless asked for")


main(statistics, timelines, vulkan, opengl, off)
