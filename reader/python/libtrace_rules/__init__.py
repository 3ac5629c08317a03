# SPDX-License-Identifier: Apache-2.0
"""Runner of rule files of Nsight Compute over a report; started by `trace rules`."""
