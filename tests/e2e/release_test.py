"""The program of the release preset: hardened, and linked statically with gRPC."""

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

    def test_program_is_hardened(self):
        stripped = self.dir / "patchbay"
        subprocess.run(["strip", "-o", str(stripped), str(RELEASE)], check=True)
        self.assertEqual(elf.missing_hardening(stripped), set())

    def test_detects_missing_hardening(self):
        source, program = self.dir / "a.c", self.dir / "a"
        source.write_text("int main(void) { return 0; }\n")
        subprocess.run(["gcc", "-no-pie", "-Wl,-z,norelro,-z,lazy,-z,execstack", "-o", str(program),
                        str(source)], check=True)
        self.assertEqual(len(elf.missing_hardening(program)), 7)

    def test_own_functions_have_stack_protectors(self):
        """The archives of Debian are always hardened, so only functions of Patchbay are checked."""
        ran = subprocess.run(["objdump", "--disassemble", "--no-show-raw-insn", "--demangle",
                              "--section=.text", str(RELEASE)], capture_output=True, text=True,
                             check=True, timeout=100)
        guards, ours = 0, False
        for line in ran.stdout.splitlines():
            if line.endswith(">:"):
                ours = "<patchbay::" in line
            elif ours and re.search(r"call +\w+ <__stack_chk_fail@plt>", line):
                guards += 1
        self.assertGreater(guards, 100)

    def test_flags_enable_fortify(self):
        """If the compiler proves that a copy fits, as in all functions of Patchbay, it emits no checked call.
        Therefore this compiles a copy that it cannot prove."""
        ninja = (RELEASE.parents[1] / "build.ninja").read_text()
        flags = set(re.findall(r"^build src/CMakeFiles/patchbay_\w+\.dir/.*: CXX_COMPILER.*\n(?:  .*\n)*?"
                               r"  FLAGS = (.*)$", ninja, re.MULTILINE))
        self.assertGreater(len(flags), 0)
        source, made = self.dir / "copy.cc", self.dir / "copy.o"
        source.write_text("#include <cstring>\nchar to[8];\n"
                          "void Copy(const char* from, std::size_t n) { std::memcpy(to, from, n); }\n")
        for line in flags:
            subprocess.run(["g++", *line.split(), "-fno-lto", "-c", "-o", str(made), str(source)],
                           check=True)
            symbols = subprocess.run(["nm", "--undefined-only", str(made)], capture_output=True,
                                     text=True, check=True).stdout
            self.assertIn("__memcpy_chk", symbols, line)

    def test_needs_only_the_expected_libraries(self):
        self.assertLessEqual(set(elf.needed(RELEASE)), SHARED)


if __name__ == "__main__":
    support.main()
