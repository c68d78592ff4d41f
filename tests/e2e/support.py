"""Shared functions of the tests of the whole program: running it and its kubelet, waiting for output.

Every wait is for a line or a state, with a deadline; no test relies on a fixed sleep. A test module
ends with `support.main()`, whose exit code is 77 if every test was skipped on this machine.
"""

import http.client
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PATCHBAY = os.environ.get("PATCHBAY", str(SOURCE / "build/dev/src/patchbay"))
KUBELET_SIM_DRIVER = os.environ.get(
    "KUBELET_SIM_DRIVER", str(SOURCE / "build/dev/tests/e2e/kubelet_sim_driver"))
CLUSTER_SIM_DRIVER = os.environ.get(
    "CLUSTER_SIM_DRIVER", str(SOURCE / "build/dev/tests/e2e/cluster_sim_driver"))
EXAMPLES = sorted((SOURCE / "examples/configs").glob("*.toml"))
PATIENCE = 60.0  # timeout in seconds for operations that normally take milliseconds
SKIPPED = 77


def make_node(path):
    """Creates a character device with a unique number: nodes with the same number are one device."""
    number = zlib.crc32(str(path).encode())
    os.mknod(path, stat.S_IFCHR | 0o666,
             os.makedev(1000 + (number >> 20) % 3000, number & 0xfffff))


def environment(**changes):
    """This process's environment, without variables that affect Patchbay."""
    env = {k: v for k, v in os.environ.items()
           if k not in ("PATCHBAY_CONFIG", "NODE_NAME", "TMPDIR") and not k.startswith("KUBERNETES_")}
    env.update({k: v for k, v in changes.items() if v is not None})
    return env


def run(*arguments, timeout=PATIENCE, **env):
    """Runs a command of Patchbay to its end."""
    return subprocess.run([PATCHBAY, *arguments], capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL, env=environment(**env))


class Lines:
    """The lines that a process writes, in their order."""

    def __init__(self, stream):
        self._stream = stream
        self._changed = threading.Condition()
        self._lines = []
        self._ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._stream:
            with self._changed:
                self._lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def all(self):
        with self._changed:
            return list(self._lines)

    def text(self):
        return "\n".join(self.all())

    def wait(self, wanted, start=0, timeout=PATIENCE):
        """The index and text of the first line from `start` for which `wanted` (a function, or a
        text it contains) holds."""
        if isinstance(wanted, str):
            text, wanted = wanted, lambda line: text in line
        deadline = time.monotonic() + timeout
        at = start
        with self._changed:
            while True:
                while at < len(self._lines):
                    if wanted(self._lines[at]):
                        return at, self._lines[at]
                    at += 1
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    raise AssertionError("timed out waiting for a line; the last lines are:\n" +
                                         "\n".join(self._lines[-40:]))
                self._changed.wait(left)

    def wait_end(self, timeout=PATIENCE):
        self._thread.join(timeout)
        return self._ended


class Process:
    """A program under test. If it still runs at the end of a `with`, it is killed."""

    def __init__(self, arguments, stdin=subprocess.DEVNULL, env=None):
        self.process = subprocess.Popen(arguments, stdin=stdin, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, errors="replace",
                                        env=env or environment())
        self.out = Lines(self.process.stdout)
        self.err = Lines(self.process.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for lines in (self.out, self.err):
            lines.wait_end()
        self.process.stdout.close()
        self.process.stderr.close()
        if self.process.stdin:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass

    def send(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=PATIENCE):
        """Returns the exit code after the process has ended and its output has been read."""
        try:
            code = self.process.wait(timeout)
            for lines in (self.out, self.err):
                lines.wait_end()
            return code
        except subprocess.TimeoutExpired:
            raise AssertionError("the process did not end; stderr:\n" + self.err.text()) from None


class Daemon(Process):
    """`patchbay run`."""

    def __init__(self, config, kubelet_dir, *more, listen="127.0.0.1:0", **env):
        super().__init__([PATCHBAY, "run", "--config", str(config), "--kubelet-dir",
                          str(kubelet_dir), "--listen", listen, *more], env=environment(**env))

    def address(self):
        """The address of the HTTP server."""
        _, line = self.err.wait("serving http")
        return line.rsplit("address=", 1)[1].strip()

    def get(self, path, timeout=PATIENCE):
        return get(self.address(), path, timeout)

    def end(self, number=signal.SIGTERM):
        """Sends a signal. Returns the exit code and the duration of the shutdown in seconds."""
        start = time.monotonic()
        self.send(number)
        return self.wait(), time.monotonic() - start


def get(address, path, timeout=PATIENCE):
    """Returns the status and the body of a GET request."""
    connection = http.client.HTTPConnection(address, timeout=timeout)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


class Simulator(Process):
    """A program that obeys commands on its stdin."""

    def __init__(self, *arguments):
        super().__init__(list(arguments), stdin=subprocess.PIPE)

    def ask(self, command, timeout=PATIENCE):
        """Sends a command. Returns the response."""
        start = len(self.out.all())
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        _, line = self.out.wait('{"answer":', start=start, timeout=timeout)
        return json.loads(line)

    def succeed(self, command):
        """The same for a command that must succeed."""
        answer = self.ask(command)
        if not answer["ok"]:
            raise AssertionError(f"{command}: {answer}")
        return answer


class Cluster(Simulator):
    """The built-in API server and the DRA side of the built-in kubelet for a node, in a separate process."""

    def __init__(self, kubelet_root, node):
        super().__init__(CLUSTER_SIM_DRIVER, str(kubelet_root), node)
        _, line = self.out.wait('{"daemon_keys":')
        facts = json.loads(line)
        self.daemon_keys, self.cdi_dir = facts["daemon_keys"], pathlib.Path(facts["cdi_dir"])


class Kubelet(Simulator):
    """The built-in kubelet, started in a separate process."""

    def __init__(self, directory, profile="sync", start=True, pod_resources=""):
        super().__init__(KUBELET_SIM_DRIVER, str(directory), profile, str(pod_resources))
        if start:
            self.ask("start")

    def ask(self, command, timeout=PATIENCE):
        answer = super().ask(command, timeout)
        if command.split()[0] in ("start", "restart") and not answer["ok"]:
            raise AssertionError(answer)
        return answer

    def mark(self):
        """A point in time, for wait_view."""
        return len(self.out.all())

    def view(self, resource):
        return self.ask("view " + resource)["view"]

    def wait_view(self, resource, wanted, since=0, timeout=PATIENCE):
        """Returns the first state of the resource, from `since` on, for which `wanted` is true."""
        found = {}

        def matches(line):
            event = json.loads(line)
            if event.get("event") != "view" or event["view"]["resource"] != resource:
                return False
            if not wanted(event["view"]):
                return False
            found.update(event["view"])
            return True

        self.out.wait(matches, start=since, timeout=timeout)
        return found

    def wait_listed(self, resource, since=0, timeout=PATIENCE):
        """Waits for the device list and the end of the registration, which can be after the list."""
        return self.wait_view(
            resource, lambda v: v["connected"] and v["lists"] > 0 and v["registrations"] > 0,
            since, timeout)


def health(view):
    """The health of each device of a view, by ID."""
    return {d["id"]: d["health"] for d in view["devices"]}


class TestCase(unittest.TestCase):
    """Each test has its own directory, with a path that is short enough for sockets."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="pb-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.kubelet_dir = self.dir / "k"

    def config(self, text, name="patchbay.toml"):
        path = self.dir / name
        path.write_text(text)
        return path

    def plugin_sockets(self):
        return sorted(p.name for p in self.kubelet_dir.glob("patchbay-*"))

    def await_true(self, condition, what, timeout=PATIENCE):
        """For conditions without an event, such as files. Polls until the deadline."""
        deadline = time.monotonic() + timeout
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)


def resource(name, match, more=""):
    return f'[[resource]]\nname = "{name}"\n{more}\n[[resource.match]]\n{match}\n'


def skip_unless_root():
    if os.geteuid() != 0:
        raise unittest.SkipTest("needs root")


def skip_unless_device_nodes():
    """Skips the test if root cannot create device nodes, as in a container without CAP_MKNOD."""
    skip_unless_root()
    with tempfile.TemporaryDirectory(prefix="pb-", dir="/tmp") as directory:
        try:
            os.mknod(f"{directory}/null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except PermissionError as error:
            raise unittest.SkipTest(f"cannot create device nodes: {error}") from None


def skip_unless_programs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise unittest.SkipTest(f"{program} is not installed")


def report_skipped(cases):
    """Writes the reasons of skipped cases for scripts/test, because ctest does not show them."""
    if not (path := os.environ.get("PATCHBAY_SKIPPED")):
        return
    name = pathlib.Path(sys.argv[0]).stem.removesuffix("_test")
    with open(path, "a", encoding="utf-8") as file:  # in one write, because other tests write to it at the same time
        file.write("".join(f"e2e.{name}: {case.id().rsplit('.', 1)[-1]}: {reason}\n"
                           for case, reason in cases))


def main():
    for program in (PATCHBAY, KUBELET_SIM_DRIVER, CLUSTER_SIM_DRIVER):
        if not os.access(program, os.X_OK):
            sys.exit(f"{program} is not built")
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    report_skipped(result.skipped)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun == len(result.skipped) else 0)
