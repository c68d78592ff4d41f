"""A real browser that a test drives."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

import support

DRIVER = pathlib.Path(__file__).parent / "page/browser.mjs"
MODULES = os.environ.get("NODE_MODULES", str(support.SOURCE / "build/node"))
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome")
                 if (found := shutil.which(name))), None)


def skip_unless_browser():
    support.skip_unless_programs("node")
    if CHROMIUM is None:
        raise unittest.SkipTest("chromium is not installed")
    if not (pathlib.Path(MODULES) / "node_modules/playwright-core").is_dir():
        raise unittest.SkipTest("playwright-core is not in build/node; scripts/test installs it")


class Browser(support.Process):
    """A window of a headless browser, see page/browser.mjs."""

    def __init__(self):
        super().__init__(["node", str(DRIVER)], stdin=subprocess.PIPE,
                         env=support.environment(NODE_MODULES=MODULES, CHROMIUM=CHROMIUM))

    def do(self, **command):
        start = len(self.out.all())
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        _, line = self.out.wait("{", start=start, timeout=120)
        answer = json.loads(line)
        if "error" in answer:
            raise AssertionError(f"{command}: {answer['error']}")
        return answer["ok"]

    def see(self, expression):
        return self.do(evaluate=expression)

    def texts(self, selector):
        """The texts of all visible elements."""
        return self.see(f"[...document.querySelectorAll({json.dumps(selector)})]"
                        ".filter((e) => e.checkVisibility()).map((e) => e.textContent)")

    def devices(self):
        return self.texts("tr.device .toggle")
