# SPDX-License-Identifier: Apache-2.0
"""A kernel compiled and launched by Numba (numba-cuda). Usage: numba_add.py [LAUNCHES=3]      prints what it did"""
import json
import sys
import warnings

import numpy
from numba import cuda

warnings.simplefilter("ignore")
launches = int(sys.argv[1]) if len(sys.argv) > 1 else 3


@cuda.jit
def add_one(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += 1


on_device = cuda.to_device(numpy.zeros(4096, dtype=numpy.float32))
for _ in range(launches):
    add_one[16, 256](on_device)
cuda.synchronize()
result = on_device.copy_to_host()
# The simulated device runs no code that is compiled at run time.
expected = 0 if "Simulated" in str(cuda.get_current_device().name) else launches
right = bool((result == expected).all())
print(json.dumps({"did": {"kernels": launches, "copies_htod": 1, "copies_dtoh": 1, "syncs": 1}, "right": right}))
sys.exit(not right)
