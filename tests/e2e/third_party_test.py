"""The notices and the bill of materials: they list exactly the libraries of the program."""

import copy
import json
import os
import pathlib
import re
import subprocess
import tempfile

import support
import third_party

BUILD = pathlib.Path(support.PATCHBAY).parents[1]
# Two programs of one library of each kind, and of one room. They are also linked with an archive that it does not use. A test
# and a room that is not linked include headers that the programs do not include.
NINJA = """
rule compile
  command = g++ -std=c++20 -MD -MF $out.d -c $in -o $out
  deps = gcc
  depfile = $out.d
rule link
  command = g++ -Wl,-Map=$out.map -Wl,--as-needed $in -l:libz.a -l:libyaml-cpp.a -ludev -lcares -o $out
rule archive
  command = ar rcs $out $in
build src/main.o: compile main.cc
build sim/main.o: compile try.cc
build src/CMakeFiles/patchbay_one.dir/one.o: compile one.cc
build src/CMakeFiles/patchbay_two.dir/two.o: compile two.cc
build src/libpatchbay_one.a: archive src/CMakeFiles/patchbay_one.dir/one.o
build src/libpatchbay_two.a: archive src/CMakeFiles/patchbay_two.dir/two.o
build tests/test.o: compile test.cc
build src/patchbay: link src/main.o
build src/patchbay-try: link src/main.o sim/main.o src/libpatchbay_one.a
build all: phony src/patchbay src/patchbay-try src/libpatchbay_two.a tests/test.o
default all
"""
MAIN = """#include <libudev.h>
#include <linux/input.h>
#include <zlib.h>
int main() { return udev_new() && zlibVersion() ? 0 : 1; }
"""
ONE = """#include <tl/expected.hpp>
int One() { return *tl::expected<int, int>(1); }
"""


TRY = """int One();
int (*one)() = One;
"""


def dpkg(*arguments):
    return subprocess.run(["dpkg-query", *arguments], capture_output=True, text=True, check=False).stdout


def sources_of(paths):
    """The source package of each installed file; dpkg lists each with or without the /usr of a merged /usr."""
    spelled = {name: path for path in map(str, paths) for name in (path, "/usr" + path, path.removeprefix("/usr"))}
    owners = {}
    for line in dpkg("--search", *spelled).splitlines():
        packages, _, path = line.partition(": ")
        if not line.startswith("diversion "):
            owners[spelled[path]] = packages.split(", ")[0]
    sources = dict(line.split() for line in dpkg("--show", "--showformat", "${binary:Package} ${source:Package}\n",
                                                 *owners.values()).splitlines())
    return {path: sources[owner] for path, owner in owners.items()}


def written(build, directory):
    """The notices and the bill of a build."""
    directory = pathlib.Path(directory)
    subprocess.run([support.SOURCE / "scripts/third-party", build, directory], check=True, timeout=120,
                   env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"})
    return third_party.read(directory)


class ThirdParty(support.TestCase):
    @classmethod
    def setUpClass(cls):
        support.skip_unless_programs("dpkg", "ninja", "ldd")
        with tempfile.TemporaryDirectory() as directory:
            cls.notices, cls.bill = written(BUILD, directory)

    def test_lists_every_library_of_the_program(self):
        loaded = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", support.PATCHBAY], capture_output=True, text=True,
                                                          check=True).stdout)
        self.assertGreater(len(loaded), 7)
        # The table of src/CMakeLists.txt: what the rooms that the program is linked with may include.
        table = (support.SOURCE / "src/CMakeLists.txt").read_text()
        loaded_rooms = set(re.findall(r"^LOAD .*\blibpatchbay_(\w+)\.a$",
                                      (BUILD / "src/patchbay.map").read_text(errors="replace"), re.MULTILINE))
        prefixes = set()
        for room, text in re.findall(r"^patchbay_room\((\w+) ([^)]*)\)", table, re.MULTILINE):
            if room in loaded_rooms:
                prefixes.update(text.partition("HEADERS")[2].partition("LIBRARIES")[0].split())
        prefixes -= {".pb.h", *(p for p in prefixes if (support.SOURCE / p).exists())}
        self.assertGreater(len(prefixes), 10)
        included = [next(path for path in sorted(pathlib.Path("/usr/include").glob(f"{prefix.rstrip('/')}*"))
                         if path.name == pathlib.Path(prefix).name) for prefix in prefixes]
        expected = sources_of([*loaded, *included])
        self.assertEqual(expected.keys(), {*loaded, *map(str, included)})
        self.assertLessEqual(set(expected.values()), set(third_party.sources(self.notices)))
        listed = {third_party.purl_of(component["purl"])[2]["upstream"].split("@")[0] for component in self.bill["components"]}
        self.assertLessEqual(set(expected.values()), listed)

    def test_lists_no_unused_library(self):
        for name, text in (("build.ninja", NINJA), ("main.cc", MAIN), ("try.cc", TRY), ("test.cc", "#include <nlohmann/json_fwd.hpp>\n"),
                           ("one.cc", ONE), ("two.cc", "#include <openssl/ssl.h>\n"), ("CMakeCache.txt", "")):
            (self.dir / name).write_text(text)
        subprocess.run(["ninja", "--quiet", "-C", self.dir], check=True, timeout=120)
        notices, bill = written(self.dir, self.dir)
        gcc = subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True, check=True).stdout.strip()
        of_udev = {"libcap2"}  # the libudev of Debian 13 needs it
        self.assertEqual(set(third_party.sources(notices)) - of_udev,
                         {f"gcc-{gcc}", "glibc", "systemd", "tl-expected", "zlib"})
        self.assertEqual({name: use for name, use in third_party.uses(bill).items() if name not in of_udev}, {
            "libc6": "loaded at run time",
            "libc6-dev": "linked statically",  # the code that runs before main()
            "libexpected-dev": "compiled in from headers",
            f"libgcc-{gcc}-dev": "linked statically",
            "libudev1": "loaded at run time",
            "zlib1g-dev": "linked statically"})

    def test_sbom_is_valid(self):
        self.assertEqual(third_party.problems(self.bill), [])
        for component in self.bill["components"]:
            with self.subTest(component=component["name"]):
                self.assertEqual(dpkg("--show", "--showformat", "${Version}\n", component["name"]).splitlines()[0],
                                 component["version"])
                self.assertTrue(component["licenses"])

    def test_validator_rejects_an_invalid_sbom(self):
        bill = copy.deepcopy(self.bill)
        bill["components"][0]["licenses"] = [{"license": {"id": "Expat"}}]
        bill["components"][1]["version"] += "x"
        self.assertEqual(len(third_party.problems(bill)), 2)

    def test_output_is_reproducible(self):
        self.assertEqual(written(BUILD, self.dir), (self.notices, self.bill))
        self.assertEqual(self.bill["metadata"]["timestamp"], "2023-11-14T22:13:20Z")

    def test_includes_referenced_licenses(self):
        referred = {os.path.basename(os.path.realpath(path))
                    for path in re.findall(r"/usr/share/common-licenses/[\w.-]*\w", self.notices)}
        self.assertIn("LGPL-2.1", referred)
        self.assertEqual(sorted(referred), re.findall(r"(?m)^=+\nThe license (\S+)$", self.notices))


if __name__ == "__main__":
    support.main()
