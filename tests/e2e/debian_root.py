"""A small Debian in a directory: files and packages, in which commands run with its root as theirs, or
which boots with its own systemd as a node does. It does not affect the machine: it has its own mounts,
its own PID and network namespaces, and /sys and /proc/sys read-only.
"""

import hashlib
import os
import pathlib
import signal
import subprocess
import time
import unittest

import support

# Nothing in the directory runs before the last line.
PREPARE = """set -e
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mount -t tmpfs dev dev -o mode=755
for node in null:3 zero:5 full:7 random:8 urandom:9; do
  mknod -m 666 dev/${node%:*} c 1 ${node#*:}
done
mkdir dev/pts dev/shm
mount -t devpts devpts dev/pts -o newinstance,ptmxmode=666
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs sysfs sys
for directory in run tmp; do mount -t tmpfs $directory $directory -o mode=755; done
leave() {
  # Not chroot: a process that enters these mounts must not see the machine.
  pivot_root . mnt
  cd /
  umount -l mnt
}
"""
BOOT = PREPARE + """
if [ "$2" = 2 ]; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
else
  mount -t tmpfs cgroup sys/fs/cgroup
  mkdir sys/fs/cgroup/systemd sys/fs/cgroup/devices
  mount -t cgroup cgroup sys/fs/cgroup/systemd -o none,name=systemd
  mount -t cgroup cgroup sys/fs/cgroup/devices -o devices
fi
mount -o remount,bind,ro sys
leave
exec env -i container=patchbay-test /lib/systemd/systemd --unit=basic.target
"""
RUN = PREPARE + """shift
leave
exec env -i DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
"""
CGROUPS = pathlib.Path("/sys/fs/cgroup")


def archive(directory, packages):
    """A tar file of Debian 12's essential packages and these. Takes a minute, and is kept."""
    name = hashlib.sha256(" ".join(sorted(packages)).encode()).hexdigest()[:16]
    path = directory / f"root-{name}.tar"
    if not path.exists():
        made = path.with_suffix(".new.tar")
        ran = subprocess.run(["mmdebstrap", "--quiet", "--variant=essential",
                              "--include=" + ",".join(packages), "bookworm", str(made)],
                             capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
        if ran.returncode != 0:
            raise unittest.SkipTest(f"mmdebstrap makes no Debian here: {ran.stderr.strip()[-300:]}")
        made.rename(path)
    return path


class Root:
    """Extracts the archive into the directory."""

    def __init__(self, directory, tar):
        self.path = directory
        directory.mkdir()
        # Omits documentation, which is half of the files.
        left_out = (f"--exclude=./{part}/*" for part in (
            "dev", "usr/share/doc", "usr/share/locale", "usr/share/man", "usr/share/perl"))
        subprocess.run(["tar", "-C", str(directory), "-xf", str(tar), *left_out], check=True)

    def run(self, *command, timeout=120):
        """Runs a command in it, without other processes."""
        return subprocess.run(["unshare", "-m", "-p", "-n", "-f", "--kill-child", "sh", "-c", RUN, "sh",
                               str(self.path), *command], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout)

    def files(self):
        """Every path in it, except the state of the package manager and the journal."""
        kept = ("var/lib/dpkg", "var/log", "var/cache", "dev", "proc", "sys", "run", "tmp",
                "etc/machine-id", "var/lib/systemd/random-seed", "var/lib/systemd/timers")
        found = set()
        for parent, directories, names in os.walk(self.path):
            at = pathlib.Path(parent).relative_to(self.path)
            directories[:] = [d for d in directories if str(at / d) not in kept]
            found |= {str(at / name) for name in [*directories, *names] if str(at / name) not in kept}
        return found


class Booted:
    """The directory with its systemd running, until the end of the `with`."""

    def __init__(self, root):
        self.root = root
        self.init = None
        # With cgroup v1, systemd needs its own hierarchy.
        hierarchies = [CGROUPS / kind for kind in ("systemd", "devices")]
        old = all(h.is_dir() for h in hierarchies)
        self.groups = [h / f"patchbay-package-{os.getpid()}" for h in (hierarchies if old else [CGROUPS])]
        for group in self.groups:
            if not (group.parent / "cgroup.procs").exists() or not os.access(group.parent, os.W_OK):
                raise unittest.SkipTest(f"{group.parent} is no cgroup in which more can be made")
            group.mkdir()
        enter = "".join(f"echo $$ >{group}/cgroup.procs; " for group in self.groups)
        self.process = support.Process(
            ["sh", "-ec", enter + 'exec unshare -m -p -C -n -u -i -f --kill-child sh -c "$@"', "sh",
             BOOT, "sh", str(root.path), "1" if old else "2"])

    def __enter__(self):
        deadline = time.monotonic() + 60
        while not self._up():
            if self.process.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise unittest.SkipTest(f"systemd does not boot here: {self.process.err.text()[-300:]}")
            time.sleep(0.05)
        return self

    def _up(self):
        pid = self.process.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self.init = int(children[0]) if children else None
        states = ("running", "degraded")
        return self.init and self.run("systemctl", "is-system-running").stdout.strip() in states

    def __exit__(self, *_):
        if self.init:
            try:
                os.kill(self.init, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.__exit__()
        for group in self.groups:
            self._remove(group)

    @staticmethod
    def _remove(group):
        """Waits for the end of its processes."""
        end = time.monotonic() + support.PATIENCE
        for directory, _, _ in os.walk(group, topdown=False):
            while True:
                try:
                    os.rmdir(directory)
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.01)

    def run(self, *command, timeout=120):
        """Runs a command in it as root."""
        return subprocess.run(["nsenter", "-t", str(self.init), "-m", "-p", "-C", "-n", "-u", "-i", "-r",
                               "-w", "env", "-i", "DEBIAN_FRONTEND=noninteractive",
                               "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *command],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=timeout)
