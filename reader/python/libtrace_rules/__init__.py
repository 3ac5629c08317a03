# SPDX-License-Identifier: Apache-2.0
"""Runs rule files of Nsight Compute over a report; started by `trace rules`."""
