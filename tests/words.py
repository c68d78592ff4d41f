#!/usr/bin/env python3
"""Checks that sources, tests and documents use the project's terms and American spelling.

    words.py [SOURCE_DIR]    prints each line that has a phrase of RULES and what to use instead; exit 1 if there is one
    words.py --self-test     shows that each rule finds its example and nothing in plain text

The name of a Python test is checked like a comment: "def test_what_is_left" reads "# What is left".
"""

import pathlib
import re
import sys

ROOTS = ("src", "sim", "net", "tests", "docs", "examples", "deploy", "dashboards", "scripts", "cmake", ".ci", "CMakeLists.txt",
         "CMakePresets.json", "CONTRIBUTING.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "Dockerfile",
         "README.md", "SECURITY.md", ".github")
TEXT = {".cc", ".h", ".md", ".py", ".sh", ".js", ".mjs", ".css", ".html", ".txt", ".cmake", ".toml", ".yaml", ".yml",
        ".scd", ".json", ".golden", ""}
# Files that hold the words on purpose, or texts of others.
EXEMPT = ("tests/words.py", "tests/unit/convert/files", "tests/fuzz/corpus", "tests/node")

# What to find, what to use instead, and an example.
RULES = (
    (r"(?<!mbegin )\bmend(s|ed|ing)?\b", "fix", "mend the file"),
    (r"\banew\b", "again; re-create", "made anew"),
    (r"\bmistakes?\b", "error", "it has mistakes"),
    (r"\bonce more\b", "again", "once more"),
    (r"\bhad best\b", "should", "it had best wait"),
    (r"\b(it|this|that|which) is no (?!longer|more\b)", "is not a valid …; must be …", "it is no path"),
    (r"\bso many\b", "the number of …; consecutive", "so many failures"),
    (r"\bof (no )?use\b", "usable; valid", "a file that is of use"),
    (r"\blest\b", "so that … not", "lest it hang"),
    (r"\bfor ever\b", "indefinitely; permanently", "waits for ever"),
    (r"\ball the same\b", "anyway; still", "ends all the same"),
    (r"\bwho(so)?ever\b", "any client; everyone who", "whoever asks"),
    (r"\bwhatever\b", "regardless of; any", "whatever it is"),
    (r"\bhardly\b", "unlikely; rarely", "hardly meant"),
    (r"\b(tells?|told|telling)\b", "report; log; notify; show", "it tells the kubelet"),
    (r"\b(no|some|every|any)body\b(?!\")", "no process; a client; all", "nobody reads it"),
    (r"\bwho holds what\b", "device usage", "who holds what"),
    (r"\bwish(es)?\b", "request", "the wish for devices"),
    (r"\bverdicts?\b", "result; health", "the verdict of a probe"),
    (r"\bgo(es)? on\b", "continue", "it goes on"),
    (r"\bunder way\b", "pending; running", "a call under way"),
    (r"\b(ha[sd]|have) gone\b", "was removed; has ended", "the device has gone"),
    (r"\b(held|hold|holds) to\b", "compare with; check against", "it is held to the schema"),
    (r"\b(no|any|every)thing of\b", "no … of", "nothing of it is left"),
    (r"\b(hears?|heard)\b", "receive; detect", "it hears events"),
    (r"\bbeside\b", "next to; in addition to", "beside the file"),
    (r"\blooked for\b", "searched for; scanned for", "what is looked for"),
    (r"\bin vain\b", "without success", "asked in vain"),
    (r"\b(comes?|came) of\b", "result", "nothing comes of it"),
    (r"\blooked at\b", "scanned; checked; read", "the host is looked at"),
    (r"\bthe own\b", "its own; the plugin", "the own socket"),
    (r"(^|;)\s*(///?<?|#) (?-i:What|Whether|Who|Whose|How (it|they|long|many|often))\b(?!.*\?)",
     "a sentence with a subject and a verb", "/// What the kernel says."),
    (r"\blicence", "license", "a licence"),
    (r"(behavi|col|fav|neighb|hon)our", "…or", "the behaviour"),
    (r"\b(optim|recogn|initial|serial|normal|organ|virtual|author|summar|minim|maxim|custom|synchron|util)"
     r"is(e[sd]?|ing|ation)\b", "…iz…", "optimised"),
)
COMPILED = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead, _ in RULES]
PYTHON_TEST = re.compile(r"\s*def test_(\w+)\(")


def test_name(name, line):
    """Returns the name of a Python test as a comment, or "" if the line does not define one."""
    found = PYTHON_TEST.match(line) if name.endswith(".py") else None
    return "# " + found[1].replace("_", " ").capitalize() if found else ""


def problems(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        if name == "CONTRIBUTING.md" and line.startswith("| ") and line.count("|") == 4:
            line = line.rsplit("|", 2)[0]  # the glossary's last column has the words to avoid
        test = test_name(name, line)
        for pattern, instead in COMPILED:
            if found := pattern.search(line) or pattern.search(test):
                yield f'{name}:{number}: "{found.group().strip()}": use {instead}'


def files(tree):
    for root in ROOTS:
        path = tree / root
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = str(file.relative_to(tree))
            if file.is_file() and file.suffix in TEXT and not name.startswith(EXEMPT):
                yield name, file


def check(tree):
    for name, file in files(tree):
        try:
            yield from problems(name, file.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue  # not a text


def self_test():
    wrong = [f"{pattern} does not find: {example}" for pattern, _, example in RULES
             if not re.search(pattern, example, re.IGNORECASE)]
    plain = ("Patchbay registers the resource again.\n/// Returns the device.\n// It is no longer listed.\n"
             "The color of the device is unlikely to change, and users are notified.\n")
    wrong += list(problems("plain", plain))
    for test in ("a_mistake_is_told", "nobody_listens_in_vain", "what_is_left", "takes_it_beside_the_file"):
        if not list(problems("a_test.py", f"    def test_{test}(self):\n")):
            wrong.append(f"no rule finds the test name {test}")
    wrong += list(problems("a_test.py", "    def test_keeps_the_last_valid_file(self):\n        test_it_tells()\n"))
    wrong += list(problems("a.cc", "    def test_it_tells_all(self):\n"))  # not Python
    print("\n".join(wrong) or "as expected")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    found = list(check(tree))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
