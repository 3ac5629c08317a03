# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program that multiplies matrices (cuBLAS) and prints what it did. Usage: torch_matmul.py [ROUNDS=20]"""
import json
import sys

import torch

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
a = torch.eye(512, device="cuda")
b = torch.full((512, 512), 3.0, device="cuda")
for _ in range(rounds):
    b = a @ b
torch.cuda.synchronize()
right = bool((b.cpu() == 3.0).all())
print(json.dumps({"did": {"multiplications": rounds}, "right": right}))
sys.exit(not right)
