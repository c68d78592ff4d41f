#!/usr/bin/env python3
"""Compares the fields of the log with the table in docs/logs.md: each field that a log call in src/ has
is in the table, and each in the table is in a log call.

    logs.py [SOURCE_DIR]    prints each difference; exit 1 if there is one
    logs.py --self-test     shows that it detects both kinds
"""

import pathlib
import re
import sys
import tempfile

CALL = re.compile(r"\blog_?\s*\.\s*(?:Debug|Info|Warning|Error)\(|\b(?:Log::Fields|LogField)\s+\w+[^;{]*=\s*\{|"
                  r"vector<LogField>\s+\w+\s*=\s*\{")
FIELD = re.compile(r'\{\s*"([^"]*)",')
NAME = re.compile(r"`([^`]+)`")


def balanced(text, start):
    """Returns the text up to the bracket that closes the one before `start`. Ignores brackets in
    strings."""
    depth, at, quoted = 1, start, False
    while at < len(text) and depth:
        if text[at] == "\\" and quoted:
            at += 1
        elif text[at] == '"':
            quoted = not quoted
        elif not quoted:
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start:at]


def used(root):
    """Returns the first location of each field, by name."""
    fields = {}
    for path in sorted(p for tree in ("src", "sim") for p in (root / tree).rglob("*") if p.suffix in (".h", ".cc")):
        text = path.read_text(encoding="utf-8")
        for call in CALL.finditer(text):
            line = text.count("\n", 0, call.start()) + 1
            for name in FIELD.findall("{" + balanced(text, call.end()) if call.group()[-1] == "{"
                                      else balanced(text, call.end())):
                fields.setdefault(name, f"{path.relative_to(root)}:{line}")
    return fields


def documented(page):
    """The names in the first column of the tables below "## Fields"."""
    section = page.partition("\n## Fields\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    return {name for row in rows for name in NAME.findall(row)}


def check(tree):
    fields = used(tree)
    known = documented((tree / "docs/logs.md").read_text(encoding="utf-8"))
    problems = [f"{at}: the field {name} is not in the table of docs/logs.md"
                for name, at in fields.items() if name not in known]
    problems += [f"docs/logs.md: no log call has the field {name}"
                 for name in sorted(known - fields.keys())]
    if not fields or not known:
        problems.append("no log calls, or no table, were found")
    return problems


def self_test():
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        (tree / "src").mkdir()
        (tree / "docs").mkdir()
        (tree / "docs/logs.md").write_text("\n## Fields\n\n| f | what |\n|---|---|\n| `a`, `b` | x |"
                                           "\n| `gone` | `c` |\n\n## More\n\n| `d` | |\n")
        (tree / "src/x.cc").write_text('log_.Info("m (",\n  {{"a", f({"no", 1})}, {"b", 2}});\n'
                                       'json = {{"e", 1}};\nlog.Error("m", {{"new", 1}});\n')
        found = check(tree)
    wanted = ["src/x.cc:1: the field no is not in the table of docs/logs.md",
              "src/x.cc:4: the field new is not in the table of docs/logs.md",
              "docs/logs.md: no log call has the field gone"]
    print("as expected" if found == wanted else f"found {found}")
    return 0 if found == wanted else 1


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    tree = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parent.parent
    problems = check(tree)
    print("\n".join(problems) if problems else "the fields are as documented")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
