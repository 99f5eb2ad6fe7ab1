"""Shared parts of the tests: chains, cases, results, traces, processes, and disks."""
