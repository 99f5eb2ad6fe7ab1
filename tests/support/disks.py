"""Small separate disks that can be full or read-only, also for root."""

import contextlib
import subprocess

import pytest


@contextlib.contextmanager
def mounting(folder):
    """Return a function that mounts a tmpfs and returns its folder.

    Its argument are options such as "size=128k". The test is skipped if mounting is not allowed.
    """
    mounted = []

    def mount(*options):
        place = folder / f"disk{len(mounted)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "none", str(place)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("there is no mount program")
        if done.returncode:
            pytest.skip(f"may not mount a disk: {done.stderr.strip()}")
        mounted.append(place)
        return place

    try:
        yield mount
    finally:
        for place in mounted:
            subprocess.run(["umount", str(place)], check=False)
