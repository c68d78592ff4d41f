#!/usr/bin/env python3
"""Checks the #include lines of src/ and sim/ against the table of floors in their CMakeLists.txt.

A file may include its own room and those that its room names in ROOMS, all on lower floors, and of
third-party libraries the HEADERS that its room names. Headers of the language and the system are
free. Two types of namespace patchbay have different names, also if no file sees both: the linker keeps one of
their functions. docs/architecture.md repeats the table with the first sentence of each room's README.

    floors.py [SOURCE_DIR]    prints each violation; exit 1 if there is one
    floors.py --write         writes the table in docs/architecture.md
    floors.py --self-test     checks files that break each rule
"""

import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent
# The programs, above the room that each calls, and what they do.
PROGRAMS = {"main.cc": ("cli", "calls the command line and returns its exit code"),
            "sim/main.cc": ("sim/try", "is the program `patchbay-try`")}


class Room:
    """One line of the table."""

    def __init__(self, words):
        self.name, lists = words[0], {"FLOOR": [], "ROOMS": [], "HEADERS": [], "LIBRARIES": []}
        self.has_threads = "NO_THREADS" not in words
        current = None
        for word in words[1:]:
            if word in lists:
                current = lists[word]
            elif word != "NO_THREADS":
                current.append(word)
        self.floor = int(lists["FLOOR"][0])
        self.rooms, self.headers = lists["ROOMS"], lists["HEADERS"]


def read_table(text):
    """The rooms by name, in the order of the text, and the programs above them."""
    calls = re.findall(r"^patchbay_room\(([^)]*)\)", text, re.M)
    rooms = {room.name: room for room in (Room(call.split()) for call in calls)}
    for program, (room, _) in PROGRAMS.items():
        rooms[program] = Room([program, "FLOOR", str(rooms[room].floor + 1), "ROOMS", room])
    return rooms


TABLE = read_table("".join((ROOT / tree / "CMakeLists.txt").read_text(encoding="utf-8") for tree in ("src", "sim")))


def rooms_below(room):
    """Returns the rooms that a room may include: its ROOMS, and theirs."""
    found = set()
    for other in TABLE[room].rooms:
        found |= {other} | rooms_below(other)
    return found


THREADS = {"atomic", "barrier", "condition_variable", "execution", "future", "latch", "mutex",
           "os/thread_pool.h", "pthread.h", "semaphore", "shared_mutex", "stop_token", "thread"}
SYSTEM = {"arpa", "asm", "linux", "net", "netinet", "sys"}
LONG = 400

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)"|(\S.*))')


def room_of(path):
    """The room of a path as in #include: its folder, that of sim/ with "sim/" before it, or a program itself."""
    parts = path.split("/")
    return "/".join(parts[:2] if parts[0] == "sim" else parts[:1])


def is_of(header, library):
    """A library is named by how its headers begin, generated messages by how they end."""
    return header.endswith(library) if library.startswith(".") else header.startswith(library)


def check_library(room, header):
    known = {library for r in TABLE.values() for library in r.headers if is_of(header, library)}
    if known:
        library = max(known, key=len)
        rooms = sorted(r.name for r in TABLE.values() if library in r.headers)
        if room not in rooms:
            return f"{header} belongs in {' and '.join(rooms)}, not in {room}"
        return None
    folder, slash, _ = header.partition("/")
    if slash and folder not in SYSTEM:
        return f"<{header}> is of a library that no room names in src/CMakeLists.txt"
    return None


def check_quoted(src, room, header):
    if header.endswith(".pb.h"):
        name = re.sub(r"(\.grpc)?\.pb\.h$", "", header)
        if not (src.parent / "proto" / (name + ".proto")).is_file():
            return f'"{header}" does not exist'
        return check_library(room, header)
    if header.startswith("net/"):  # of a program of its own; a library for rooms
        return check_library(room, header) if (src.parent / header).is_file() else f'"{header}" does not exist'
    if ".." in header.split("/"):
        return f'"{header}" is relative; name it from src/, or as "sim/..."'
    # CMake generates x.h from x.h.in.
    path = (src.parent if header.startswith("sim/") else src) / header
    if not path.is_file() and not path.with_name(path.name + ".in").is_file():
        return f'"{header}" does not exist'
    other = room_of(header)
    if other == room:
        return None
    if other not in rooms_below(room):
        return f"{room} may not include {other}; see src/CMakeLists.txt"
    return None


def check_table():
    for room in TABLE.values():
        for other in room.rooms:
            if TABLE[other].floor >= room.floor:
                yield f"{room.name} (floor {room.floor}) is not above {other} (floor {TABLE[other].floor})"
            if other.startswith("sim/") and not room.name.startswith("sim/"):
                yield f"{room.name} is in the program, and may not include {other}"


def first_sentence(room):
    """Returns the purpose of a room from the start of its README: "`room/` does …"."""
    folder = ROOT / ("" if room.startswith("sim/") else "src") / room
    text = (folder / "README.md").read_text(encoding="utf-8")
    paragraph = " ".join(text.split("\n\n")[1].split())
    return re.split(r"(?<=[.:]) (?=[A-Z`])", paragraph)[0].rstrip(".:").removeprefix(f"`{room}/` ")


def document():
    """The table as docs/architecture.md has it."""
    lines = ["| floor | room | what it does |", "|---|---|---|"]
    for room in sorted(TABLE.values(), key=lambda room: -room.floor):
        if room.name in PROGRAMS:
            lines.append(f"| {room.floor} | `{room.name}` | {PROGRAMS[room.name][1]} |")
        else:
            lines.append(f"| {room.floor} | `{room.name}/` | {first_sentence(room.name)} |")
    return "\n".join(lines) + "\n"


DOCUMENT = ROOT / "docs/architecture.md"
IN_DOCUMENT = re.compile(r"^\| floor \|.*\n(?:\|.*\n)*", re.M)


def write_document():
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(IN_DOCUMENT.sub(lambda _: document(), text), encoding="utf-8")


def check_document():
    found = IN_DOCUMENT.search(DOCUMENT.read_text(encoding="utf-8"))
    if not found or found.group() != document():
        yield "docs/architecture.md: the table of floors differs; run tests/floors.py --write"


NAMESPACE = re.compile(r"^(?:inline )?namespace\s*([\w:]*)\s*\{$")
TYPE = re.compile(r"^(?:class|struct|union|enum(?: class)?) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: :[^:].*)?(?: \{.*)?$")


def types_of(lines):
    """Yields the number of the line and the name of each type that is defined in namespace patchbay: none that is
    nested, declared only, specialized, or in an anonymous or another namespace. clang-format indents none of them."""
    open_namespaces = []
    for number, line in enumerate(lines, 1):
        if found := NAMESPACE.match(line):
            open_namespaces.append(found.group(1))
        elif line.startswith("}  // namespace"):
            open_namespaces.pop()
        elif open_namespaces == ["patchbay"] and (found := TYPE.match(line)):
            yield number, found.group(1)


def check(root):
    """Returns the violations and the notes."""
    src = root / "src"
    violations, notes, types = [], [], {}
    files = sorted(p for tree in (src, root / "sim") for p in tree.rglob("*") if p.suffix in (".h", ".cc"))
    if not files:
        violations.append(f"{root}: no sources")
    for path in files:
        name = path.relative_to(root).as_posix()
        room = room_of(name.removeprefix("src/"))
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > LONG:
            notes.append(f"{name}: {len(lines)} lines")
        for number, type_name in types_of(lines):
            first = types.setdefault(type_name, name)
            if first != name:
                violations.append(f"{name}:{number}: {first} has another type {type_name}")
        if room not in TABLE:
            violations.append(f"{name}: {room} is not a room; see src/CMakeLists.txt")
            continue
        if path.suffix == ".h" and "#pragma once" not in lines:
            violations.append(f"{name}: has no #pragma once")
        for number, line in enumerate(lines, 1):
            include = INCLUDE.match(line)
            if not include:
                continue
            system, quoted, other = include.groups()
            if not TABLE[room].has_threads and (system or quoted) in THREADS:
                problem = f"{room} has no threads; see NO_THREADS in src/CMakeLists.txt"
            elif system:
                problem = check_library(room, system)
            elif quoted:
                problem = check_quoted(src, room, quoted)
            else:
                problem = f"cannot determine the included file: {other}"
            if problem:
                violations.append(f"{name}:{number}: {problem}")
    return violations, notes


# File, text, and a part of the violation; None if there is none.
SELF_TEST = [
    ("base/a.h", "#pragma once\n#include <string>\n#include <sys/stat.h>\n", None),
    ("base/b.h", "#include <string>\n", "no #pragma once"),
    ("base/c.cc", '#include "base/a.h"\n#include <fmt/format.h>\n', None),
    ("base/d.cc", '#include "os/a.h"\n', "may not include os"),
    ("base/e.cc", '#include "../os/a.h"\n', "relative"),
    ("base/f.cc", '#include "base/none.h"\n', "does not exist"),
    ("base/g.cc", "#include MACRO\n", "cannot determine"),
    ("base/h.cc", '// #include "cli/a.h"\n', None),
    ("model/a.h", '#pragma once\n#include "base/a.h"\n#include <re2/re2.h>\n', None),
    ("model/b.cc", "#include <fmt/format.h>\n", "belongs in base"),
    ("model/d.cc", "#include <mutex>\n", "has no threads"),
    ("os/e.cc", "#include <mutex>\n", None),
    ("model/c.cc", '#include "os/a.h"\n', "may not include os"),
    ("os/a.h", "#pragma once\n#include <boost/asio/post.hpp>\n", None),
    ("os/b.cc", "#include <boost/beast/http.hpp>\n", "belongs in http and kube and sim/api_server"),
    ("os/c.cc", "#include <boost/filesystem.hpp>\n", "no room names"),
    ("os/d.cc", "#include <openssl/ssl.h>\n", "belongs in dra and kube and sim/api_server"),
    ("os/f.cc", "#include <gnutls/gnutls.h>\n", "no room names"),
    ("kube/a.h", "#pragma once\n", None),
    ("kube/a.cc", '#include "os/a.h"\n#include <boost/beast/http.hpp>\n#include <openssl/ssl.h>\n', None),
    ("kube/b.cc", '#include "cdi/a.h"\n', "may not include cdi"),
    ("discovery/b.cc", '#include "kube/a.h"\n', "may not include kube"),
    ("cdi/a.h", '#pragma once\n#include "os/a.h"\n#include "model/a.h"\n', None),
    ("cdi/b.cc", '#include "kube/a.h"\n', "may not include kube"),
    ("config/a.cc", '#include "model/a.h"\n#  include <toml++/toml.h>\n', None),
    ("discovery/a.cc", "#include <toml++/toml.h>\n", "belongs in config"),
    ("convert/a.cc", '#include "base/a.h"\n#include <yaml-cpp/parser.h>\n', None),
    ("convert/b.cc", '#include "kubelet/a.h"\n', "may not include kubelet"),
    ("config/b.cc", "#include <yaml-cpp/yaml.h>\n", "belongs in convert"),
    ("inventory/a.cc", '#include "deviceplugin.pb.h"\n', "belongs in dra and kubelet and sim/kubelet"),
    ("inventory/b.cc", "#include <grpcpp/server.h>\n", "belongs in dra and kubelet and rpc and sim/kubelet"),
    ("kubelet/a.h", '#pragma once\n#include "deviceplugin.grpc.pb.h"\n', None),
    ("kubelet/b.cc", '#include "missing.pb.h"\n', "does not exist"),
    ("kubelet/c.cc", "#include <nlohmann/json.hpp>\n", "belongs in base and cdi and cli"),
    ("sim/kubelet/a.cc", '#include "kubelet/a.h"\n', "may not include kubelet"),
    ("sim/api_server/a.cc", '#include "os/a.h"\n#include <boost/beast/http.hpp>\n#include <openssl/ssl.h>\n', None),
    ("sim/api_server/b.cc", '#include "kubelet/a.h"\n', "may not include kubelet"),
    ("sim/try/a.cc", '#include "daemon/a.h"\n#include "sim/kubelet/a.h"\n', None),
    ("sim/kubelet/a.h", "#pragma once\n", None),
    ("sim/kubelet/b.cc", '#include "sim/try/a.h"\n', "does not exist"),
    ("sim/kubelet/c.cc", '#include "daemon/a.h"\n', "may not include daemon"),
    ("sim/main.cc", '#include "cli/a.h"\n#include "sim/kubelet/a.h"\n', None),
    ("cli/b.cc", '#include "sim/kubelet/a.h"\n', "may not include sim/kubelet"),
    ("daemon/a.h", '#pragma once\n#include "kubelet/a.h"\n#include <grpcpp/server.h>\n',
     "belongs in dra and kubelet"),
    ("cli/a.h", '#pragma once\n#include "daemon/a.h"\n#include <CLI/CLI.hpp>\n', None),
    ("cli/made.h.in", "#pragma once\n", None),
    ("main.cc", '#include "cli/a.h"\n#include "cli/made.h"\n', None),
    ("hooks/a.cc", '#include "base/a.h"\n#include "model/a.h"\n', None),
    ("inventory/c.cc", '#include "status/a.h"\n', "may not include status"),
    ("status/a.h", "#pragma once\n", None),
    ("attic/a.cc", "int a;\n", "not a room"),
    ("os/t.h", "#pragma once\nnamespace patchbay {\nclass Twin {\n};\nstruct Part : Twin {};\n}  // namespace patchbay\n",
     None),
    ("rpc/t.cc", "namespace patchbay {\nnamespace {\nstruct Twin {\n};\n}  // namespace\nclass Twin;\n"
     "struct Outer::Twin {};\nstruct Holder {\n  struct Twin {};\n};\n}  // namespace patchbay\n", None),
    ("rpc/u.cc", "namespace patchbay::sim {\nstruct Twin {};\n}  // namespace patchbay::sim\n", None),
    ("rpc/v.cc", "namespace patchbay {\nenum class Twin { kA };\n}  // namespace patchbay\n", "os/t.h has another type Twin"),
    ("rpc/w.cc", "namespace patchbay {\nstruct Part final {\n};\n}  // namespace patchbay\n", "another type Part"),
]


def place(name):
    return name if name.startswith("sim/") else "src/" + name


def self_test():
    failures = []
    with tempfile.TemporaryDirectory() as tree:
        src = pathlib.Path(tree) / "src"
        proto = pathlib.Path(tree) / "proto"
        proto.mkdir()
        (proto / "deviceplugin.proto").touch()
        for name, text, _ in SELF_TEST:
            path = src.parent / place(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (src / "base/long.cc").write_text("\n" * (LONG + 1), encoding="utf-8")
        violations, notes = check(src.parent)
        for name, _, expected in SELF_TEST:
            found = [v for v in violations if v.startswith(place(name) + ":")]
            if expected is None and found:
                failures.append(f"{name} is allowed, but: {found}")
            elif expected is not None and (len(found) != 1 or expected not in found[0]):
                failures.append(f"{name} must be refused ({expected}), but: {found}")
        if len(notes) != 1 or "base/long.cc" not in notes[0]:
            failures.append(f"the long file is not noted: {notes}")
        if not check(pathlib.Path(tree) / "empty")[0]:
            failures.append("an empty tree passes")
    print("\n".join(failures) if failures else f"{len(SELF_TEST)} files checked as expected")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if arguments == ["--write"]:
        write_document()
        return 0
    violations, notes = check(pathlib.Path(arguments[0]) if arguments else ROOT)
    violations += [*check_table(), *check_document()]
    for note in notes:
        print("note:", note)
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
