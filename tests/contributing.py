#!/usr/bin/env python3
"""Follows CONTRIBUTING.md in a copy of the project: adds the discovery source and the configuration key of the page,
builds, and runs them.

    contributing.py [SOURCE_DIR]    exit 1 if the page misses a step or its code does not work

The code comes from the page. PLACES has the location of each block, which the page only describes.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Where the next block of code for a file goes: "before" or "after" a line, or "new" for a whole file.
PLACES = [
    ("src/model/spec.h", "before", "/// How a match finds devices."),
    ("src/discovery/sources.h", "after", "void ScanSource(const UdevPattern& udev, ScanContext& scan);"),
    ("src/discovery/names_source.cc", "new", ""),
    ("src/config/keys.cc", "before", '    Key("resource.match", "usb",'),
    ("src/config/match.cc", "before", "/// Compiles the source of a match whose conditions are compiled"),
    ("src/config/match.cc", "before", '  if (source == "usb")'),
    ("src/config/match.cc", "before", "bool FindsSeveral(const CommandSource&)"),
    ("tests/unit/discovery/names_source_test.cc", "new", ""),
    ("src/model/spec.h", "after", "  std::string description;"),
    ("src/config/keys.cc", "before", '    Key("resource", "replicas",'),
    ("src/config/validate.cc", "after", '  resource.Read("description",'),
    ("src/daemon/reload_plan.cc", "before", '    {"replicas", ChangeImpact::'),
]
SECTIONS = {"## Adding a discovery source": 5, "## Adding a configuration key": 4}  # and the files of src/ at most
BLOCK = re.compile(r"^ *```cpp\n(.*?)^ *```$", re.M | re.S)
FILE = re.compile(r"`((?:src|tests)/[\w/]+\.(?:cc|h))`")

CONFIG = """\
[[resource]]
name = "example.com/named"
owner = "lab 3"

[[resource.match]]
names = ["null", "zero"]
"""


def section(page, title):
    start = page.index(title + "\n")
    end = page.find("\n## ", start + 1)
    return page[start:end]


def blocks(text):
    """Returns (file, code) for each block of code; the file is the last one that the page names before it."""
    for match in BLOCK.finditer(text):
        lines = match[1].splitlines(keepends=True)
        indent = len(lines[0]) - len(lines[0].lstrip())
        code = "".join(line[indent:] if line.strip() else line for line in lines)
        yield FILE.findall(text[:match.start()])[-1], code


def insert(tree, file, how, anchor, code):
    path = tree / file
    if how == "new":
        path.write_text(code)
        return
    text = path.read_text()
    if "\n" + anchor not in text:
        sys.exit(f"{file}: no line begins with {anchor!r}; correct PLACES in tests/contributing.py")
    at = text.index("\n" + anchor) + 1
    if how == "after":
        at = text.index("\n", at) + 1
    if not anchor.startswith(" ") and "\n" in code.rstrip():
        code += "\n"  # between definitions
    path.write_text(text[:at] + code + text[at:])


def follow(tree):
    """Adds the source and the key. Returns the errors of the page."""
    page = (tree / "CONTRIBUTING.md").read_text()
    wrong, places = [], list(PLACES)
    for title, most in SECTIONS.items():
        touched = set()
        for file, code in blocks(section(page, title)):
            if not places or places[0][0] != file:
                return wrong + [f"{title}: no place is known for the code of {file}:\n{code}"]
            insert(tree, *places.pop(0), code)
            touched.add(file)
        in_src = sorted(file for file in touched if file.startswith("src/"))
        if len(in_src) > most:
            wrong.append(f"{title}: touches {len(in_src)} files of src/, at most {most}: {', '.join(in_src)}")
    wrong += [f"the page has no code for {file}" for file, _, _ in places]
    spec = tree / "src/model/spec.h"
    spec.write_text(re.sub(r"(using Source = std::variant<[^;]*)>;", r"\1, NamesSource>;", spec.read_text()))
    return wrong


def run(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{result.stdout}")
    return result.stdout


def copy(source, tree):
    files = run("git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for file in filter(None, files):
        if (source / file).is_file():
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / file, tree / file, follow_symlinks=False)


def check(tree):
    """Builds what uses the additions in the copy, and runs it. Not the whole program: spec.h is included everywhere."""
    environment = os.environ | {"CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}
    run("cmake", "--preset", "dev", cwd=tree, env=environment)
    run("cmake", "--build", "--preset", "dev", "--target", "offline_commands", "unit_discovery", cwd=tree, env=environment)
    build = tree / "build/dev"
    run("g++", "-std=c++20", "-fsyntax-only", "-Isrc", "src/daemon/reload_plan.cc", cwd=tree)
    ran = run(build / "tests/unit_discovery", "--gtest_filter=NamesSource.*", cwd=tree)
    patchbay = build / "tests/unit/cli/offline_commands"
    wrong = [] if "[  PASSED  ] 1 test." in ran or "[  SKIPPED ] 1 test" in ran else [f"the test did not run:\n{ran}"]
    empty = tree / "empty.toml"
    empty.write_text(CONFIG.replace('["null", "zero"]', "[]"))
    if subprocess.run([patchbay, "check", empty], capture_output=True).returncode != 1:
        wrong.append("`patchbay check` accepts an empty list of names")
    config = tree / "named.toml"
    config.write_text(CONFIG)
    listed = json.loads(run(patchbay, "devices", "--config", config, "--output", "json"))
    text = json.dumps(listed)
    wrong += [f"`patchbay devices` does not list {name}:\n{text}" for name in ("/dev/null", "/dev/zero")
              if name not in text]
    explained = run(patchbay, "explain", "--config", config, "--path", "/dev/full")
    if 'names = ["null", "zero"]' not in explained or "the match did not find it" not in explained:
        wrong.append(f"`patchbay explain` does not explain the source:\n{explained}")
    schema = run(patchbay, "schema")
    wrong += [f"`patchbay schema` has no {key}" for key in ('"names"', '"owner"') if key not in schema]
    return wrong


def main():
    source = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    with tempfile.TemporaryDirectory(prefix="contributing-") as directory:
        tree = pathlib.Path(directory).resolve()
        copy(source, tree)
        wrong = follow(tree) or check(tree)
    print("\n".join(wrong) or "CONTRIBUTING.md works")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
