# SPDX-License-Identifier: Apache-2.0
"""A small database with the tables of an nsys export, schema 3.24.18, generated so that every report has rows, ties and odd cases."""
import sqlite3

GLOBAL = 1 << 48
P1, P2 = GLOBAL | 1000 << 24, GLOBAL | 2000 << 24
T1, T1B, T2 = P1 | 1000, P1 | 1001, P2 | 2000

TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "ThreadNames": "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
    "ANALYSIS_DETAILS": "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER",
    "TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, "
                                   "correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
                                  "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
                                  "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, "
                                  "cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, "
                                  "gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, "
                                  "staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, "
                                  "localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, "
                                  "sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
                                  "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
                                  "bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, "
                                  "srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, "
                                  "graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
                                  "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
                                  "value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, address INTEGER NOT NULL, originalFaultPc INTEGER, "
                                     "CpuInstruction INTEGER NOT NULL, module INTEGER, unresolvedFaultPc INTEGER",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": "start INTEGER NOT NULL, end INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
                                     "address INTEGER NOT NULL, numberOfPageFaults INTEGER NOT NULL, faultAccessType INTEGER NOT NULL",
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, "
                   "globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, "
                   "doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT",
    "OSRT_API": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, "
                "returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL, argumentsId INTEGER NOT NULL",
    "PROFILER_OVERHEAD": "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, overheadType INTEGER NOT NULL",
    "MPI_RANKS": "globalTid INTEGER NOT NULL, rank INTEGER NOT NULL",
    "MPI_P2P_EVENTS": "start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, tag INTEGER, "
                      "remoteRank INTEGER, size INTEGER, requestHandle INTEGER",
    "MPI_COLLECTIVES_EVENTS": "start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, rootRank INTEGER, "
                              "size INTEGER, recvSize INTEGER, requestHandle INTEGER",
    "MPI_START_WAIT_EVENTS": "start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, requestHandle INTEGER",
    "MPI_OTHER_EVENTS": "start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER",
}
OPENMP = ("PARALLEL", "SYNC_REGION_WAIT", "TASK", "CRITICAL_SECTION")
for _kind in OPENMP:
    TABLES[f"OPENMP_EVENT_KIND_{_kind}"] = ("start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, "
                                            "correlationId INTEGER, nameId INTEGER NOT NULL, eventKind INTEGER")
for _kind in ("DATA", "LAUNCH", "OTHER"):
    TABLES[f"CUPTI_ACTIVITY_KIND_OPENACC_{_kind}"] = ("start INTEGER NOT NULL, end INTEGER NOT NULL, nameId INTEGER NOT NULL, globalTid INTEGER, "
                                                     "eventKind INTEGER NOT NULL, lineNo INTEGER, srcFile INTEGER")
ENUMS = {
    "ENUM_CUDA_MEMCPY_OPER": ["Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array", "Array-to-Host", "Array-to-Array", "Array-to-Device",
                              "Device-to-Array", "Device-to-Device", "Host-to-Host", "Peer-to-Peer", "Unified Host-to-Device",
                              "Unified Device-to-Host", "Unified Device-to-Device"],
    "ENUM_CUDA_MEM_KIND": ["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown"],
}


class Made:
    def __init__(self, path, encoding="UTF-8"):
        self.db = sqlite3.connect(path)
        self.db.execute(f"PRAGMA encoding = '{encoding}'")
        self.ids = {}
        for table, columns in TABLES.items():
            self.db.execute(f"CREATE TABLE {table} ({columns})")
        for table, labels in ENUMS.items():
            self.db.execute(f"CREATE TABLE {table} (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)")
            self.db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", [(i, f"K_{i}", label) for i, label in enumerate(labels)])

    def text(self, value):
        if value not in self.ids:
            self.ids[value] = len(self.ids)
            self.db.execute("INSERT INTO StringIds VALUES (?, ?)", (self.ids[value], value))
        return self.ids[value]

    def row(self, table, **values):
        names = ", ".join(f'"{name}"' for name in values)
        self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", tuple(values.values()))

    def api(self, start, end, tid, name, correlation, event_class=0):
        self.row("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=event_class, globalTid=tid, correlationId=correlation,
                 nameId=self.text(name), returnValue=0)

    def kernel(self, start, end, pid, correlation, name, short, grid=(1, 1, 1), device=0, green=None, mangled=True):
        self.row("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=device, contextId=1, greenContextId=green, streamId=7,
                 correlationId=correlation, globalPid=pid, demangledName=self.text(name), shortName=self.text(short),
                 mangledName=self.text(f"_Z{short}") if mangled else None, registersPerThread=32, gridX=grid[0], gridY=grid[1], gridZ=grid[2],
                 blockX=128, blockY=1, blockZ=1, staticSharedMemory=1024, dynamicSharedMemory=4096, localMemoryPerThread=0,
                 localMemoryTotal=0, gridId=correlation)

    def copy(self, start, end, pid, correlation, size, kind, source, target, device=0, address=None, green=None):
        self.row("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=end, deviceId=device, contextId=1, greenContextId=green, streamId=7,
                 correlationId=correlation, globalPid=pid, bytes=size, copyKind=kind, srcKind=source, dstKind=target, virtualAddress=address)

    def set(self, start, end, pid, correlation, size, kind, device=0):
        self.row("CUPTI_ACTIVITY_KIND_MEMSET", start=start, end=end, deviceId=device, contextId=1, streamId=7, correlationId=correlation,
                 globalPid=pid, value=0, bytes=size, memKind=kind)

    def nvtx(self, start, end, tid, text, kind=59, domain=0, registered=False, **more):
        self.row("NVTX_EVENTS", start=start, end=end, eventType=kind, text=None if registered else text, globalTid=tid,
                 textId=self.text(text) if registered else None, domainId=domain, **more)

    def osrt(self, start, end, tid, name, event_class=27):
        self.row("OSRT_API", start=start, end=end, eventClass=event_class, globalTid=tid, nameId=self.text(name), returnValue=0,
                 nestingLevel=0, callchainId=0, argumentsId=0)

    def finish(self):
        self.db.commit()
        self.db.close()


def _cuda(d):
    d.api(1000, 1500, T1, "cudaMalloc_v3020", 1)
    d.api(1600, 1700, T1, "cudaLaunchKernel_v7000", 2)
    d.api(1800, 1900, T1, "cudaLaunchKernel_v7000", 3)
    d.api(2000, 2400, T1, "cudaMemcpy_v3020", 4)
    d.api(2500, 2700, T1, "cudaMemcpyAsync_v3020", 5)
    d.api(2800, 2900, T1, "cuLaunchKernel", 6, 1)
    d.api(3000, 3100, T1, "cudaMallocAsync_v11020", 7)
    d.api(3200, 3300, T2, "cudaLaunchKernel_v7000", 2)
    d.api(3400, 3900, T1B, "cudaLaunchKernel_ptsz_v7000", 8)
    d.api(3500, 3600, T1, "cuMemAlloc_v2", 9, 1)
    d.api(4000, 4100, T1, "cudaMemset_v3020", 10)
    d.api(4200, 4300, T1, "cudaMemsetAsync_v3020", 11)
    d.api(4400, 4900, T1, "cudaDeviceSynchronize_v3020", 12)
    d.api(5000, 5300, T1, "cudaStreamSynchronize_v3020", 13)
    d.api(5400, 5500, T1, "cuStreamSynchronize", 14, 1)
    d.api(5600, 5700, T1, "cuCtxSynchronize", 15, 1)
    d.api(5800, 5900, T1, "cudaEventSynchronize_v3020", 16)
    d.kernel(1750, 2000, P1, 2, "void add<float>(float *, int)", "add")
    d.kernel(1850, 2100, P1, 3, "void add<double>(double *, int)", "add", (2, 1, 1))
    d.kernel(2950, 3200, P1, 6, "void mul<float>(float *)", "mul", (10, 20, 30), green=0)
    d.kernel(3250, 3500, P2, 2, "void add<float>(float *, int)", "add", device=1, mangled=False)
    d.kernel(3800, 4200, P1, 8, "void add<float>(float *, int)", "add", (2, 1, 1), green=3)
    d.copy(2100, 2300, P1, 4, 1 << 20, 1, 0, 2)
    d.copy(2600, 2650, P1, 5, 1 << 16, 2, 2, 0)
    d.copy(6000, 6100, P1, 0, 4096, 11, 7, 7, address=0x7f0000000000)
    d.copy(6200, 6300, P1, 0, 65536, 11, 7, 7, address=0x7f0000010000)
    d.copy(6400, 6500, P1, 0, 4096, 12, 7, 7, address=0x7f0000000000)
    d.copy(6600, 6601, P2, 0, 8192, 12, 7, 7, device=1, address=0x7e0000000000)
    d.set(4050, 4080, P1, 10, 1000, 4)
    d.set(4250, 4280, P1, 11, 3000, 2)
    for i, (address, instruction) in enumerate(((0x7f0000000010, "main"), (0x7f0000000020, "main"), (0x7f0000010000, "0x55d2c0"))):
        d.row("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=6000 + i, globalPid=P1, address=address, originalFaultPc=0x401000 + i,
              CpuInstruction=d.text(instruction), module=d.text("app"))
    d.row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", start=6050, end=6060, globalPid=P1, deviceId=0, address=0x7f0000000000, numberOfPageFaults=5, faultAccessType=1)
    d.row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", start=6070, end=6080, globalPid=P1, deviceId=0, address=0x7f0000010000, numberOfPageFaults=2, faultAccessType=2)


def _nvtx(d):
    d.nvtx(0, None, T1, "math", 75, 1)
    d.nvtx(0, None, T2, "other", 75, 1)
    d.nvtx(900, 2450, T1, "outer")
    d.nvtx(1550, 1950, T1, "step")
    d.nvtx(1580, 1720, T1, "first", domain=1)
    d.nvtx(1960, 2410, T1, "copy", registered=True)
    d.nvtx(2480, 3700, T1, "step")
    d.nvtx(2480, 2600, T1, "same start")
    d.nvtx(2790, 2900, T1, "exactly to the end", registered=True)
    d.nvtx(3150, 3350, T2, "step", domain=1)
    d.nvtx(3300, 4000, T1B, "overlapping", domain=0)
    d.nvtx(3950, 4050, T1B, "overlaps", domain=1)
    d.nvtx(8100, None, T1, "a mark", 34)
    d.nvtx(1590, 2900, T1, "started", 60, rangeId=1)
    d.nvtx(1595, 3100, T1, "started", 60, rangeId=2)
    d.nvtx(3390, 3950, T1B, "moved", 60, rangeId=3, endGlobalTid=T1)
    d.nvtx(9000, 9100, T1, "imported", 70)
    d.nvtx(9000, 9100, T1, "imported", 71)


def _rest(d):
    for start, ns, name in ((0, 100, "read"), (200, 100, "write"), (400, 100, "poll"), (600, 50, "read"), (700, 25, "poll"), (800, 25, "poll")):
        d.osrt(start, start + ns, T1, name)
    d.osrt(50, 50, T1, "[Unknown]", 31)
    for start, end, kind, name in ((0, 100, "PARALLEL", "Parallel"), (10, 60, "SYNC_REGION_WAIT", "Barrier"), (200, 250, "TASK", "Task"),
                                   (300, 350, "TASK", "Task"), (400, 407, "CRITICAL_SECTION", "Critical")):
        d.row(f"OPENMP_EVENT_KIND_{kind}", start=start, end=end, eventClass=78, globalTid=T1, nameId=d.text(name), eventKind=28)
    for start, end, kind, name in ((0, 100, "DATA", "Enter Data"), (10, 60, "LAUNCH", "Compute Construct"), (200, 250, "OTHER", "Wait")):
        d.row(f"CUPTI_ACTIVITY_KIND_OPENACC_{kind}", start=start, end=end, nameId=d.text(name), globalTid=T1, eventKind=7)
    d.row("MPI_RANKS", globalTid=T1, rank=0)
    d.row("MPI_RANKS", globalTid=T2, rank=1)
    d.row("MPI_P2P_EVENTS", start=100, end=200, globalTid=T1, textId=d.text("MPI_Send"), commHandle=1, tag=5, remoteRank=1, size=1024)
    d.row("MPI_P2P_EVENTS", start=110, end=210, globalTid=T2, textId=d.text("MPI_Recv"), commHandle=1, tag=5, remoteRank=0, size=1024)
    d.row("MPI_P2P_EVENTS", start=300, end=400, globalTid=T1, textId=d.text("MPI_Send"), commHandle=1, tag=6, remoteRank=1, size=2048)
    d.row("MPI_COLLECTIVES_EVENTS", start=500, end=650, globalTid=T1, textId=d.text("MPI_Bcast"), commHandle=1, rootRank=0, size=4096)
    d.row("MPI_COLLECTIVES_EVENTS", start=500, end=640, globalTid=T2, textId=d.text("MPI_Gather"), commHandle=1, rootRank=0, size=64, recvSize=128)
    d.row("MPI_START_WAIT_EVENTS", start=700, end=750, globalTid=T1, textId=d.text("MPI_Wait"), requestHandle=3)
    d.row("MPI_OTHER_EVENTS", start=10, end=90, globalTid=T1, textId=d.text("MPI_Init"))
    d.row("MPI_OTHER_EVENTS", start=900, end=None, globalTid=T1, textId=d.text("MPI_Finalize"))


def make(path, unfinished=False, encoding="UTF-8"):
    """Write the database; `path` must not exist. unfinished: include ranges that were never ended."""
    d = Made(path, encoding)
    if unfinished:
        d.nvtx(8000, None, T1, "never popped")
        d.nvtx(8200, None, T1, "never ended", 60, rangeId=4)
    d.row("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.24.18")
    d.row("ANALYSIS_DETAILS", globalVid=GLOBAL, duration=20000, startTime=0, stopTime=20000)
    d.row("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1700000000000000000)
    for tid, name, priority in ((T1, "main", 20), (T1B, "worker", 20), (T2, "other", 19)):
        d.row("ThreadNames", nameId=d.text(name), priority=priority, globalTid=tid)
    for pid, name in ((P1, "app"), (P2, "app2")):
        d.row("PROCESSES", globalPid=pid, pid=pid >> 24 & 0xffffff, name=name)
    for gpu, name in ((0, "GPU A"), (1, "GPU B")):
        d.row("TARGET_INFO_GPU", vmId=GLOBAL, id=gpu, name=name, busLocation=f"0000:0{gpu}:00.0")
        for pid in (1000, 2000):
            d.row("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=gpu, pid=pid)
    _cuda(d)
    _nvtx(d)
    _rest(d)
    d.finish()


def make_quiet(path):
    """Write a database in which the rules about the GPU find nothing: asynchronous copies of pinned memory, a busy device."""
    d = Made(path)
    for i in range(20):
        start = 1000 * i
        d.api(start, start + 10, T1, "cudaMemcpyAsync_v3020", 2 * i + 1)
        d.api(start + 20, start + 30, T1, "cudaLaunchKernel_v7000", 2 * i + 2)
        d.copy(start + 100, start + 400, P1, 2 * i + 1, 1 << 20, 1, 1, 2)
        d.kernel(start + 400, start + 1100, P1, 2 * i + 2, "void busy()", "busy")
    d.api(30000, 30010, T1, "cudaMemcpy_v3020", 100)  # small, to the device: does not wait
    d.copy(20100, 20110, P1, 100, 1 << 16, 1, 0, 2)
    d.api(30020, 30030, T1, "cudaMemcpy_v3020", 101)  # within the device
    d.copy(20110, 20120, P1, 101, 1 << 20, 8, 2, 2)
    d.api(30040, 30050, T1, "cudaMemset_v3020", 102)
    d.set(20120, 20130, P1, 102, 1000, 2)
    d.api(30060, 30070, T1, "cudaEventSynchronize_v3020", 103)
    d.finish()


def make_launches(path, backtraces=True):
    """Write launches of each kind. backtraces: each call also has a row of class 67, as nsys 2022 with --cudabacktrace writes it."""
    d = Made(path)
    d.nvtx(900, 9000, T1, "outer")
    for i in range(5):
        start = 1000 + 1000 * i
        d.nvtx(start, start + 500, T1, "step")
        d.api(start + 100, start + 200, T1, "cudaLaunchKernel_v7000", i + 1)
        if backtraces:
            d.api(start + 90, start + 210, T1, "cudaLaunchKernel", i + 1, 67)
        d.kernel(start + 300, start + 600, P1, i + 1, "void in_step()", "in_step")
    d.api(7000, 7100, T1, "cudaLaunchKernel_v7000", 70)
    d.kernel(7100, 7200, P1, 70, "void at_the_end()", "at_the_end")
    d.api(9500, 9600, T1, "cudaLaunchKernel_v7000", 50)
    d.kernel(9590, 9800, P1, 50, "void outside()", "outside")
    d.kernel(9900, 9950, P1, 999, "void without_call()", "without_call")
    d.nvtx(1500, 3500, T2, "step")
    d.api(2600, 2700, T2, "cudaLaunchKernel_v7000", 1)
    d.kernel(2800, 2900, P2, 1, "void other()", "other", device=1)
    d.finish()


def make_locks(path):
    """Write two threads that wait for one lock repeatedly, in the form in which nsys exports it: callchains, but no lock and no holder."""
    d = Made(path)
    d.db.execute("CREATE TABLE OSRT_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER, "
                 "thumbCode INTEGER, unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER, stackDepth INTEGER NOT NULL, "
                 "PRIMARY KEY (id, stackDepth))")
    for depth, name in enumerate(("pthread_mutex_lock", "log_line", "serve", "0x5581c0de")):
        d.row("OSRT_CALLCHAINS", id=1, symbol=d.text(name), module=d.text("/usr/bin/app"), stackDepth=depth)
    for i in range(30):
        start = i * 2000000
        d.osrt(start, start + 1000000, (T1, T1B)[i % 2], "pthread_mutex_lock")
    d.db.execute("UPDATE OSRT_API SET callchainId = 1")
    d.finish()


# Tables of graphics APIs and of Windows, which no system here records: from NVIDIA's schema, those of WDDM as far as nsys's own statistics
# read them.
_CALLS = "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, endCorrelationId INTEGER, nameId INTEGER NOT NULL"
_SPAN = "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER"
GRAPHICS = {
    "DX12_API": _CALLS + ", shortContextId INTEGER, longContextId INTEGER, frameId INTEGER, color INTEGER, textId INTEGER, commandListType INTEGER, objectNameId INTEGER",
    "DX12_WORKLOAD": _CALLS + ", shortContextId INTEGER, longContextId INTEGER, frameId INTEGER, color INTEGER, textId INTEGER",
    "D3D12_PIX_DEBUG_API": _CALLS + ", textId INTEGER",
    "VULKAN_API": "id INTEGER NOT NULL PRIMARY KEY, " + _CALLS + ", contextId INTEGER",
    "VULKAN_WORKLOAD": _CALLS + ", contextId INTEGER, textId INTEGER",
    "VULKAN_DEBUG_API": _CALLS + ", contextId INTEGER, textId INTEGER",
    "OPENGL_API": _CALLS + ", returnValue INTEGER",
    "OPENGL_WORKLOAD": _CALLS + ", returnValue INTEGER",
    "KHR_DEBUG_EVENTS": "eventClass INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER, textId INTEGER, globalTid INTEGER, source INTEGER, khrdType INTEGER, id INTEGER, "
                        "severity INTEGER, correlationId INTEGER, context INTEGER",
    "SLI_QUERIES": _SPAN + ", gpu INTEGER, frameId INTEGER",
    "SLI_P2P": _SPAN + ", gpu INTEGER, transferFuncName TEXT",
    "SLI_STATS": _SPAN + ", gpu INTEGER",
    "ETW_EVENTS": "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, providerName INTEGER, taskName INTEGER, description INTEGER",
    "WDDM_DMA_PACKET_START_EVENTS": "start INTEGER, globalTid INTEGER, gpu INTEGER, context INTEGER, engineType INTEGER, uliSubmissionId INTEGER",
    "WDDM_DMA_PACKET_STOP_EVENTS": "start INTEGER, globalTid INTEGER, gpu INTEGER, context INTEGER, uliCompletionId INTEGER",
    "WDDM_QUEUE_PACKET_START_EVENTS": "start INTEGER, globalTid INTEGER, gpu INTEGER, context INTEGER, engineType INTEGER, submitSequence INTEGER",
    "WDDM_QUEUE_PACKET_STOP_EVENTS": "start INTEGER, globalTid INTEGER, gpu INTEGER, context INTEGER, submitSequence INTEGER",
    "WDDM_HW_QUEUE_EVENTS": "start INTEGER, globalTid INTEGER, parentDxgHwQueue INTEGER, context INTEGER",
    "TARGET_INFO_WDDM_CONTEXTS": "context INTEGER, engineType INTEGER, nodeOrdinal INTEGER, friendlyName TEXT",
}


def make_graphics(path):
    """Write events of DX12, Vulkan, OpenGL, SLI, ETW and WDDM."""
    d = Made(path)
    for table, columns in GRAPHICS.items():
        d.db.execute(f"CREATE TABLE {table} ({columns})")
    d.row("PROCESSES", globalPid=P1, pid=1000, name="game.exe")

    def call(table, start, end, name, text=None, correlation=None, event_class=53):
        more = {"textId": d.text(text)} if text else {}
        d.row(table, start=start, end=end, eventClass=event_class, globalTid=T1, correlationId=correlation, nameId=d.text(name), **more)
    call("DX12_API", 1000, 3000, "ID3D12CommandQueue::ExecuteCommandLists", event_class=41)
    call("DX12_WORKLOAD", 3000, 7000, "Command list", "shadows", event_class=42)
    call("DX12_WORKLOAD", 7000, 8000, "Command list", "shadows", event_class=42)
    call("DX12_WORKLOAD", 8000, 9000, "Command list", "lights", event_class=42)
    call("DX12_WORKLOAD", 9000, 9500, "Command list", event_class=42)
    for table in ("D3D12_PIX_DEBUG_API", "VULKAN_DEBUG_API"):
        call(table, 100, 110, "begin", "frame", 1, 66)
        call(table, 400, 410, "end", None, 1, 66)
        call(table, 500, 510, "begin", "frame", 2, 66)
        call(table, 610, 620, "end", None, 2, 66)
        call(table, 700, 710, "begin", "never ended", 3, 66)
    call("VULKAN_API", 2000, 2500, "vkQueueSubmit")
    call("VULKAN_API", 3000, 3500, "vkQueueSubmit")
    call("VULKAN_API", 4000, 4250, "vkCreateFence_v1100")
    call("VULKAN_API", 5000, 5001, "Create Vulkan Queue", event_class=60)
    call("VULKAN_WORKLOAD", 2600, 2900, "vkQueueSubmit", "pass", event_class=54)
    call("OPENGL_API", 100, 300, "glClear", event_class=2)
    call("OPENGL_WORKLOAD", 400, 700, "glClear", event_class=5)
    for event_class, start, end, text in ((62, 1000, 1400, "group"), (62, 2000, None, "group"), (63, 1000, 1100, "on the GPU"), (52, 1, 1, "message")):
        d.row("KHR_DEBUG_EVENTS", eventClass=event_class, start=start, end=end, textId=d.text(text), globalTid=T1, id=7)
    d.row("SLI_QUERIES", start=100, end=200, eventClass=62, globalTid=T1, gpu=0)
    d.row("SLI_P2P", start=100, end=300, eventClass=62, globalTid=T1, gpu=0, transferFuncName="A - BE")
    d.row("SLI_STATS", start=100, end=400, eventClass=62, globalTid=T1, gpu=0)
    d.row("ETW_EVENTS", start=100, end=150, globalTid=T1, providerName=d.text("Microsoft-Windows-DxgKrnl"), taskName=d.text("VSyncInterrupt"))
    # Process 1000, from 0 to 1000 us: context 1 has DMA packets at 0..300, 200..400 and 500..600, context 2 one that ends at 1000.
    for start, end, context, engine, number in ((0, 300, 1, 1, 1), (200, 400, 1, 1, 2), (500, 600, 1, 1, 3), (900, 1000, 2, 6, 1)):
        d.row("WDDM_DMA_PACKET_START_EVENTS", start=start, globalTid=T1, gpu=0, context=context, engineType=engine, uliSubmissionId=number)
        d.row("WDDM_DMA_PACKET_STOP_EVENTS", start=end, globalTid=T1, gpu=0, context=context, uliCompletionId=number)
    d.row("WDDM_QUEUE_PACKET_START_EVENTS", start=100, globalTid=T1, gpu=0, context=3, engineType=0, submitSequence=5)
    d.row("WDDM_QUEUE_PACKET_STOP_EVENTS", start=350, globalTid=T1, gpu=0, context=3, submitSequence=5)
    d.row("WDDM_DMA_PACKET_START_EVENTS", start=950, globalTid=T1, gpu=0, context=2, engineType=6, uliSubmissionId=99)  # without a stop
    d.row("TARGET_INFO_WDDM_CONTEXTS", context=3, engineType=0, nodeOrdinal=4, friendlyName="Paging")
    d.finish()
