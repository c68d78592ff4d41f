"""The program of preset release: hardened, as it was told to be, and with gRPC within."""

import collections
import re
import subprocess
import unittest

import elf
import support

RELEASE = support.SOURCE / "build/release/src/patchbay"
SHARED = {"ld-linux-x86-64.so.2", "libc.so.6", "libgcc_s.so.1", "libm.so.6",
          "libprometheus-cpp-core.so.1.0", "libstdc++.so.6", "libtomlplusplus.so.3", "libudev.so.1"}


class Release(support.TestCase):
    def setUp(self):
        super().setUp()
        if not RELEASE.exists():
            raise unittest.SkipTest("preset release is not built")

    def test_is_hardened(self):
        stripped = self.dir / "patchbay"
        subprocess.run(["strip", "-o", str(stripped), str(RELEASE)], check=True)
        self.assertEqual(elf.missing_hardening(stripped), set())

    def test_a_program_that_is_not_is_found_out(self):
        source, program = self.dir / "a.c", self.dir / "a"
        source.write_text("int main(void) { return 0; }\n")
        subprocess.run(["gcc", "-no-pie", "-Wl,-z,norelro,-z,lazy,-z,execstack", "-o", str(program),
                        str(source)], check=True)
        self.assertEqual(len(elf.missing_hardening(program)), 7)

    def test_its_own_functions_are_guarded(self):
        """Debian's archives are hardened in any case, so it is our functions that have to tell."""
        ran = subprocess.run(["objdump", "--disassemble", "--no-show-raw-insn", "--demangle",
                              "--section=.text", str(RELEASE)], capture_output=True, text=True,
                             check=True, timeout=100)
        calls, ours = collections.Counter(), False
        for line in ran.stdout.splitlines():
            if line.endswith(">:"):
                ours = "<patchbay::" in line
            elif ours and (call := re.search(r"call +\w+ <(__\w+_chk(?:_fail)?)@plt>", line)):
                calls[call[1]] += 1
        guarded = calls.pop("__stack_chk_fail", 0)
        print(f"{guarded} guards of the stack, fortified: {dict(calls)}")
        self.assertGreater(guarded, 100)
        self.assertGreater(sum(calls.values()), 0)

    def test_needs_little_at_run_time(self):
        self.assertLessEqual(set(elf.needed(RELEASE)), SHARED)


if __name__ == "__main__":
    support.main()
