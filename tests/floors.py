#!/usr/bin/env python3
"""Holds the #include lines of src/ to the floors of the architecture.

A file may include its own room and rooms on floors below. A third-party library is included in its
own rooms only. Headers of the language and the system are free.

    floors.py [SOURCE_DIR]    prints each violation; exit 1 if there is one
    floors.py --self-test     shows each rule a file that breaks it
"""

import pathlib
import re
import sys
import tempfile

FLOORS = {
    "base": 0,
    "model": 1,
    "os": 1,
    "config": 2,
    "discovery": 3,
    "health": 3,
    "convert": 3,
    "inventory": 4,
    "hooks": 4,
    "status": 4,
    "kubelet": 5,
    "kubelet_sim": 5,
    "http": 5,
    "daemon": 6,
    "cli": 7,
    "main.cc": 8,
}

# By the longest prefix of the header's name. "base" gives the messages of all floors their format,
# and a compiled pattern is a plain value that "config" validates and "discovery" uses. Beast is
# spelled in the types of Asio. JSON is what a command of "discovery" prints, and what
# "cli" and "http" write, of which the part they share is in "inventory"; "kubelet_sim" keeps a
# checkpoint in it, as kubelets do.
LIBRARIES = {
    "tl/": {"base"},
    "spdlog/": {"base"},
    "fmt/": {"base"},
    "re2/": {"model"},
    "boost/asio": {"os", "http"},
    "boost/system/": {"os", "http"},
    "boost/beast": {"http"},
    "toml++/": {"config"},
    "yaml-cpp/": {"convert"},
    "libudev.h": {"discovery"},
    "grpc/": {"kubelet", "kubelet_sim"},
    "grpcpp/": {"kubelet", "kubelet_sim"},
    "google/protobuf/": {"kubelet", "kubelet_sim"},
    "prometheus/": {"http"},
    "CLI/": {"cli"},
    "absl/strings/escaping.h": {"kubelet_sim"},
    "absl/synchronization/mutex.h": {"kubelet"},
    "zlib.h": {"http"},
    "nlohmann/": {"cli", "discovery", "http", "inventory", "kubelet_sim"},
}
MESSAGES = {"kubelet", "kubelet_sim"}  # the rooms of generated *.pb.h
NO_THREADS = {"model", "config", "convert"}  # whose tests ThreadSanitizer need not see
THREADS = {"atomic", "barrier", "condition_variable", "execution", "future", "latch", "mutex",
           "os/thread_pool.h", "pthread.h", "semaphore", "shared_mutex", "stop_token", "thread"}
SYSTEM = {"arpa", "asm", "linux", "net", "netinet", "sys"}
LONG = 400

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)"|(\S.*))')


def room_of(path):
    """The room of a path relative to src/: its folder, or main.cc itself."""
    return path.split("/", 1)[0]


def check_library(room, header):
    if header.endswith(".pb.h"):
        if room not in MESSAGES:
            return f"the kubelet's messages ({header}) do not belong in {room}"
        return None
    prefixes = [p for p in LIBRARIES if header.startswith(p)]
    if prefixes:
        rooms = LIBRARIES[max(prefixes, key=len)]
        if room not in rooms:
            return f"<{header}> belongs in {' and '.join(sorted(rooms))}, not in {room}"
        return None
    folder, slash, _ = header.partition("/")
    if slash and folder not in SYSTEM:
        return f"<{header}> is of a library that has no room; see LIBRARIES in tests/floors.py"
    return None


def check_quoted(src, room, header):
    if header.endswith(".pb.h"):
        name = re.sub(r"(\.grpc)?\.pb\.h$", "", header)
        if not (src.parent / "proto" / (name + ".proto")).is_file():
            return f'"{header}" does not exist'
        return check_library(room, header)
    if ".." in header.split("/"):
        return f'"{header}" is relative; name it from src/'
    # What configure makes from x.h.in is x.h.
    if not (src / header).is_file() and not (src / (header + ".in")).is_file():
        return f'"{header}" does not exist below src/'
    other = room_of(header)
    if other == room:
        return None
    if FLOORS.get(other, -1) >= FLOORS[room]:
        return f"{room} (floor {FLOORS[room]}) may not include {other} (floor {FLOORS.get(other)})"
    return None


def check(src):
    """Returns the violations and the notes."""
    violations, notes = [], []
    files = sorted(p for p in src.rglob("*") if p.suffix in (".h", ".cc"))
    if not files:
        violations.append(f"{src}: no sources")
    for path in files:
        name = path.relative_to(src).as_posix()
        room = room_of(name)
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > LONG:
            notes.append(f"src/{name}: {len(lines)} lines")
        if room not in FLOORS:
            violations.append(f"src/{name}: {room} is not a room; see FLOORS in tests/floors.py")
            continue
        if path.suffix == ".h" and "#pragma once" not in lines:
            violations.append(f"src/{name}: has no #pragma once")
        for number, line in enumerate(lines, 1):
            include = INCLUDE.match(line)
            if not include:
                continue
            system, quoted, other = include.groups()
            if room in NO_THREADS and (system or quoted) in THREADS:
                problem = f"{room} has no threads; see NO_THREADS in tests/floors.py"
            elif system:
                problem = check_library(room, system)
            elif quoted:
                problem = check_quoted(src, room, quoted)
            else:
                problem = f"cannot tell what is included: {other}"
            if problem:
                violations.append(f"src/{name}:{number}: {problem}")
    return violations, notes


# File, text, and what the violation must say; None where there is none.
SELF_TEST = [
    ("base/a.h", "#pragma once\n#include <string>\n#include <sys/stat.h>\n", None),
    ("base/b.h", "#include <string>\n", "no #pragma once"),
    ("base/c.cc", '#include "base/a.h"\n#include <fmt/format.h>\n', None),
    ("base/d.cc", '#include "os/a.h"\n', "may not include os"),
    ("base/e.cc", '#include "../os/a.h"\n', "relative"),
    ("base/f.cc", '#include "base/none.h"\n', "does not exist"),
    ("base/g.cc", "#include MACRO\n", "cannot tell"),
    ("base/h.cc", '// #include "cli/a.h"\n', None),
    ("model/a.h", '#pragma once\n#include "base/a.h"\n#include <re2/re2.h>\n', None),
    ("model/b.cc", "#include <fmt/format.h>\n", "belongs in base"),
    ("model/d.cc", "#include <mutex>\n", "has no threads"),
    ("os/e.cc", "#include <mutex>\n", None),
    ("model/c.cc", '#include "os/a.h"\n', "may not include os"),
    ("os/a.h", "#pragma once\n#include <boost/asio/post.hpp>\n", None),
    ("os/b.cc", "#include <boost/beast/http.hpp>\n", "belongs in http"),
    ("os/c.cc", "#include <boost/filesystem.hpp>\n", "has no room"),
    ("os/d.cc", "#include <openssl/ssl.h>\n", "has no room"),
    ("config/a.cc", '#include "model/a.h"\n#  include <toml++/toml.h>\n', None),
    ("discovery/a.cc", "#include <toml++/toml.h>\n", "belongs in config"),
    ("convert/a.cc", '#include "base/a.h"\n#include <yaml-cpp/parser.h>\n', None),
    ("convert/b.cc", '#include "kubelet/a.h"\n', "may not include kubelet"),
    ("config/b.cc", "#include <yaml-cpp/yaml.h>\n", "belongs in convert"),
    ("inventory/a.cc", '#include "deviceplugin.pb.h"\n', "do not belong in inventory"),
    ("inventory/b.cc", "#include <grpcpp/server.h>\n", "belongs in kubelet and kubelet_sim"),
    ("kubelet/a.h", '#pragma once\n#include "deviceplugin.grpc.pb.h"\n', None),
    ("kubelet/b.cc", '#include "missing.pb.h"\n', "does not exist"),
    ("kubelet/c.cc", "#include <nlohmann/json.hpp>\n", "belongs in cli"),
    ("kubelet_sim/a.cc", '#include "kubelet/a.h"\n', "may not include kubelet"),
    ("daemon/a.h", '#pragma once\n#include "kubelet/a.h"\n#include <grpcpp/server.h>\n',
     "belongs in kubelet"),
    ("cli/a.h", '#pragma once\n#include "daemon/a.h"\n#include <CLI/CLI.hpp>\n', None),
    ("cli/made.h.in", "#pragma once\n", None),
    ("main.cc", '#include "cli/a.h"\n#include "cli/made.h"\n', None),
    ("attic/a.cc", "int a;\n", "not a room"),
]


def self_test():
    failures = []
    with tempfile.TemporaryDirectory() as tree:
        src = pathlib.Path(tree) / "src"
        proto = pathlib.Path(tree) / "proto"
        proto.mkdir()
        (proto / "deviceplugin.proto").touch()
        for name, text, _ in SELF_TEST:
            (src / name).parent.mkdir(parents=True, exist_ok=True)
            (src / name).write_text(text, encoding="utf-8")
        (src / "base/long.cc").write_text("\n" * (LONG + 1), encoding="utf-8")
        violations, notes = check(src)
        for name, _, expected in SELF_TEST:
            found = [v for v in violations if re.match(rf"src/{re.escape(name)}:", v)]
            if expected is None and found:
                failures.append(f"{name} is allowed, but: {found}")
            elif expected is not None and (len(found) != 1 or expected not in found[0]):
                failures.append(f"{name} must be refused ({expected}), but: {found}")
        if len(notes) != 1 or "base/long.cc" not in notes[0]:
            failures.append(f"the long file is not noted: {notes}")
        if not check(pathlib.Path(tree) / "empty")[0]:
            failures.append("an empty tree passes")
    print("\n".join(failures) if failures else f"{len(SELF_TEST)} files judged as expected")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    tree = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parent.parent
    violations, notes = check(tree / "src")
    for note in notes:
        print("note:", note)
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
