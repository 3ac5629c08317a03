"""Runs rule files of Nsight Compute over a report; started by `trace rules`."""
