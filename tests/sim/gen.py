#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the API functions of the simulated libcuda and libcudart from the toolkit's own headers.

Usage: gen.py INCLUDE_FOLDER[:INCLUDE_FOLDER] OUT_FOLDER SOURCE...

Every function of cupti_{driver,runtime}_cbid.h that has a params struct becomes an exported function: it fills the struct, reports enter and
exit with the callback id, and calls impl_NAME where a SOURCE defines that, else answers "not supported". Writes OUT_FOLDER/
impl.h (prototypes of all impl_NAME), driver_api.c, runtime_api.c, names.c (callback id -> name), and entries.c (for cuGetProcAddress: which
symbol a name is from which version of CUDA on: cudaTypedefs.h has the versions, the symbols' suffixes have their order).
"""
import os
import re
import sys

NO_ARGUMENTS = {  # functions without parameters have no params struct
    "cudaDeviceSynchronize", "cudaDeviceReset", "cudaGetLastError", "cudaPeekAtLastError", "cudaProfilerStart", "cudaProfilerStop",
    "cudaCtxResetPersistingL2Cache", "cuCtxSynchronize", "cuProfilerStart", "cuProfilerStop", "cuCtxResetPersistingL2Cache"}
# Written by hand: they are no API calls for CUPTI, or say something other than an error code.
BY_HAND = {"cuGetExportTable", "cuGetProcAddress", "cuGetProcAddress_v2", "cuGetErrorString", "cuGetErrorName", "cudaGetErrorName",
           "cudaGetErrorString", "cudaCreateChannelDesc"}


def read(folders, name):
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    sys.exit(f"gen.py: no {name} in {':'.join(folders)}")


def structs(text):
    """Return the fields of each params struct, by its name."""
    found = re.finditer(r"typedef struct \w+ \{(.*?)\} (\w+)_params;", text, re.S)
    return {match.group(2): [field.strip() for field in match.group(1).split(";") if field.strip()] for match in found}


def implemented(sources, result):
    names = set()
    for source in sources:
        with open(source, encoding="utf-8") as file:
            names |= set(re.findall(rf"^{result} impl_(\w+)\(", file.read(), re.M))
    return names


class Api:
    def __init__(self, domain, result, unsupported, prefix):
        self.domain, self.result, self.unsupported, self.prefix = domain, result, unsupported, prefix
        self.code, self.prototypes, self.names, self.made = [], [], {}, set()

    def function(self, name, key, cbid, fields, target):
        arguments = ", ".join(fields) or "void"
        values = ", ".join(re.search(r"(\w+)\s*(?:\[.*\])?$", field).group(1) for field in fields)
        params = f"\t{key}_params params = {{{values}}};\n" if fields else ""
        if target and target not in self.made:
            self.prototypes.append(f"{self.result} impl_{target}({arguments});")
            self.made.add(target)
        work = f"impl_{target}({values})" if target else self.unsupported
        self.code.append(
            f"#undef {name}\nSIM_EXPORT {self.result} {name}({arguments})\n{{\n{params}"
            f"\tstruct sim_call call = {{.domain = {self.domain}, .cbid = {cbid}, .name = \"{key}\", .plain_name = \"{name}\", "
            f".params = {'&params' if fields else '0'}}};\n\tsim_enter(&call);\n"
            f"\treturn ({self.result})sim_leave(&call, {work});\n}}\n")

    def table(self, array):
        rows = "".join(f"\t[{cbid}] = \"{name}\",\n" for cbid, name in sorted(self.names.items()))
        return f"const char *const {array}[] = {{\n{rows}}};\nconst unsigned {array}_count = sizeof {array} / sizeof *{array};\n"


def target_of(name, made):
    """Return the implementation of a function, or of its twin for the per-thread default stream."""
    plain = re.sub(r"_(ptsz|ptds)$", "", name)
    return name if name in made else plain if plain in made else None


def driver(folders, sources):
    api = Api("SIM_DRIVER_API", "CUresult", "CUDA_ERROR_NOT_SUPPORTED", "cu")
    fields = structs(read(folders, "generated_cuda_meta.h"))
    made = implemented(sources, "CUresult")
    for name, cbid in re.findall(r"CUPTI_DRIVER_TRACE_CBID_(cu\w+)\s*=\s*(\d+)", read(folders, "cupti_driver_cbid.h")):
        api.names[int(cbid)] = name
        if name in BY_HAND or (name not in fields and name not in NO_ARGUMENTS):
            continue
        api.function(name, name, cbid, fields.get(name, []), target_of(name, made))
    return api, made


def runtime(folders, sources):
    api = Api("SIM_RUNTIME_API", "cudaError_t", "cudaErrorNotSupported", "cuda")
    fields = structs(read(folders, "generated_cuda_runtime_api_meta.h"))
    made = implemented(sources, "cudaError_t")
    newest = {}
    for name, version, cbid in re.findall(r"CUPTI_RUNTIME_TRACE_CBID_(\w+?)_v(\d+)\s*=\s*(\d+)", read(folders, "cupti_runtime_cbid.h")):
        api.names[int(cbid)] = f"{name}_v{version}"
        if int(version) >= newest.get(name, (0, 0))[0]:
            newest[name] = (int(version), int(cbid))
    for name, (version, cbid) in newest.items():
        key = f"{name}_v{version}"
        if name in BY_HAND or name.startswith("__") or (key not in fields and name not in NO_ARGUMENTS):
            continue
        api.function(name, key, cbid, fields.get(key, []), target_of(name, made))
    return api, made


def entries(folders, names):
    """Return rows (name, version of CUDA, symbol), oldest first."""
    versions, symbols = {}, {}
    for name, version, suffix in re.findall(r"PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\)", read(folders, "cudaTypedefs.h")):
        if not suffix:
            versions.setdefault(name, set()).add(int(version))
    for symbol in names:
        if not symbol.endswith(("_ptds", "_ptsz")):
            match = re.fullmatch(r"(cu\w+?)(?:_v(\d))?", symbol)
            symbols.setdefault(match.group(1), []).append((int(match.group(2) or 1), symbol))
    rows = []
    for name, known in symbols.items():
        known, since = sorted(known), sorted(versions.get(name, {0}))
        rows += [(name, version, symbol) for version, (_, symbol) in zip(since, known)]
    return rows


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    folders, out, sources = sys.argv[1].split(":"), sys.argv[2], sys.argv[3:]
    head = "/* Made by tests/sim/gen.py. */\n"
    cu, cu_made = driver(folders, sources)
    rt, rt_made = runtime(folders, sources)
    for api, made in ((cu, cu_made), (rt, rt_made)):
        unknown = made - api.made
        if unknown:
            sys.exit(f"gen.py: implemented, but not in the headers: {' '.join(sorted(unknown))}")
    write(out, "impl.h", f"{head}#pragma once\n#include <cuda.h>\n#include <cuda_runtime_api.h>\n"
          + "\n".join(cu.prototypes + rt.prototypes) + "\n")
    write(out, "driver_api.c", f'{head}/* All versions of functions and types. */\n#define __CUDA_API_VERSION_INTERNAL\n#include "tests/sim/call.h"\n#include "impl.h"\n#include <generated_cuda_meta.h>\n' + "".join(cu.code))
    write(out, "runtime_api.c", f'{head}#include "tests/sim/runtime.h"\n#include "impl.h"\n#include <generated_cuda_runtime_api_meta.h>\n' + "".join(rt.code))
    rows = "".join(f'\t{{"{name}", {version}, "{symbol}"}},\n' for name, version, symbol in entries(folders, cu.names.values()))
    write(out, "entries.c", f'{head}#include "tests/sim/call.h"\nconst struct sim_entry sim_entries[] = {{\n{rows}\t{{0, 0, 0}}}};\n')
    write(out, "names.c", head + cu.table("sim_driver_names") + rt.table("sim_runtime_names"))


main()
