"""Devices of the real kernel that tests can create: loop devices."""

import fcntl
import os
import subprocess
import unittest

LOOP_CTL_ADD = 0x4C80
LOOP_CTL_REMOVE = 0x4C81


def _control(command, number):
    fd = os.open("/dev/loop-control", os.O_RDWR)
    try:
        return fcntl.ioctl(fd, command, number)
    finally:
        os.close(fd)


class Loop:
    """A loop device that is not in use: /dev/loopN with a high N, backed by `file`."""

    def __init__(self, number=None, file=None):
        if os.geteuid() != 0:
            raise unittest.SkipTest("loop devices need root")
        self.number = number if number is not None else 20000 + os.getpid() % 100000
        self.path = f"/dev/loop{self.number}"
        try:
            _control(LOOP_CTL_ADD, self.number)
        except OSError as error:
            raise unittest.SkipTest(f"no loop devices can be made: {error}") from None
        if not os.path.exists(self.path):
            self.remove()
            raise unittest.SkipTest("/dev is not the kernel's own")
        if file is not None:
            try:
                subprocess.run(["losetup", self.path, str(file)], check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError) as error:
                self.remove()
                raise unittest.SkipTest(f"losetup: {error}") from None

    def remove(self):
        subprocess.run(["losetup", "-d", self.path], capture_output=True)
        try:
            _control(LOOP_CTL_REMOVE, self.number)
        except OSError:
            pass
