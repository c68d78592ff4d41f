"""The JSON Schema of the configuration: taplo, which editors use for TOML, accepts all valid configurations
with it, and rejects errors that a schema can detect."""

import datetime
import itertools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import tomllib
import unittest

import support
import taplo
from support import EXAMPLES, SOURCE, resource, run

BAD_SAMPLES = os.environ.get("BAD_SAMPLES", str(SOURCE / "build/dev/tests/e2e/bad_samples"))
SCHEMA = SOURCE / "patchbay.schema.json"
CONFIGURATIONS = EXAMPLES + sorted((SOURCE / "deploy/kustomize").rglob("patchbay.toml"))

# Errors that `check` finds and a schema cannot: the code, a pattern for the texts (all of that code if
# empty), and why.
UNSEEN = [
    ("duplicate-resource", "", "no schema compares two entries"),
    ("shared-node", "", "no schema compares two entries"),
    ("duplicate-section", "", "no schema compares two files"),
    ("unknown-variable", r"(?<!group_by = )['\"][^'\"]*{\w+}|group_by = '\w+'",
     "the variables depend on the matches"),
    ("bad-env-name", "claim_env = ", "the beginning of a name is an ordinary string"),
    ("bad-format", "", "the type of a variable depends on the matches"),
    ("no-host-node", "", "only the matches determine whether devices have nodes"),
    ("not-with-source", "exclusive = true", "the key is in the resource, and the source is in its match"),
    ("needs-key", r"pod_resources = ''", "the key is in [daemon], and a resource needs it"),
    ("bad-path", r"mount\]\]\nhost_path = '/'", "the root is valid together with container_path"),
    ("bad-path", r"host_path = '/dev/{(usb_serial|id)}'", "the origin of a variable depends on the matches"),
    ("bad-path", r"'/\./sys/|'/proc/", "a pattern cannot describe normalized paths and the exceptions below /proc"),
    ("matches-nothing", "exclude = ", "a schema cannot evaluate a glob"),
    ("matches-nothing", "usb_port = |pci_address = ", "a pattern cannot describe which globs are names"),
    ("matches-nothing", r"'/dev//x|/\\\.\\\./", "a schema cannot evaluate a regular expression"),
    ("matches-nothing", "subsystem = 'net'", "a schema cannot determine which subsystems have nodes"),
    ("bad-glob", r"[\w/-]\[[\w-]*['\"]|{a'", "a pattern cannot describe the syntax of globs"),
    ("bad-glob", r"'/(d\*/y|\{dev,proc|\*\*)", "a pattern cannot expand braces"),
    ("bad-regex", r"'/(\.\*|dev/a\||proc/)", "nor find the beginning of a regular expression"),
    ("bad-regex", r"\[z-a\]|\\\\d\[|a\(|\(USB", "a schema cannot check the syntax of RE2"),
    ("reserved-variable", "", "no schema reads a regular expression"),
    ("bad-command", r"\['(mkfs|bin/|'[,\]])", "drafts 7 and 2020-12 have no common keyword for the first "
                                              "item of a list"),
    ("template-in-program", "", "and cannot relate the items of a list"),
    ("no-condition", r"udev = .*= \[\]", "an empty list is valid together with another condition"),
    ("out-of-range", "= '[0-9]", "a duration is a string, which has no bounds"),
    ("socket-path-too-long", "driver = ", "no schema adds the lengths of two values"),
    ("bad-listen-address", "65536", "a port in a string has no bounds"),
    ("bad-attribute", "patchbay.dev/a", "the name of the driver is in [daemon.dra]"),
    ("bad-attribute", "x{65}|{(int|version) = '", "the length and the type are those of the rendered text"),
    ("bad-attribute", "replicas = 2", "the number of attributes depends on replicas"),
    ("bad-resource-name", "api = 'dra'", "the length depends on the API"),
    ("wrong-type", "2020-01-01", "taplo passes a date to the schema as a string"),
]
# taplo 0.9 crashes with a stack overflow.
NOT_FOR_TAPLO = {"file-too-large"}


def why_unseen(code, text):
    for entry in UNSEEN:
        if entry[0] == code and re.search(entry[1], text):
            return entry
    return None


def toml_blocks(page):
    """The chapter and the text of each block of TOML in a page of docs/."""
    text = (SOURCE / "docs" / page).read_text()
    for chapter in re.split(r"^## ", text, flags=re.M)[1:]:
        title = chapter.split("\n", 1)[0]
        for block in re.findall(r"^```toml\n(.*?)^```$", chapter, re.M | re.S):
            yield title, block


def as_taplo(value):
    """A document in the form in which taplo validates it."""
    if isinstance(value, dict):
        return {key: as_taplo(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_taplo(item) for item in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return value


class Schema(support.TestCase):
    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory(prefix="pb-schema-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def write(self, texts):
        """Creates a file for each text, in the same order."""
        paths = [self.directory / f"{i}.toml" for i in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text, encoding="utf-8")
        return paths

    def bad_samples(self):
        """The path, severity and code of the samples of diagnostics_test.cc and docs/diagnostics.md."""
        ran = subprocess.run([BAD_SAMPLES, self.directory], capture_output=True, text=True, check=True)
        for line in ran.stdout.splitlines():
            number, severity, code = line.split()
            yield self.directory / f"{number}.toml", severity, code
        severities = dict(re.findall(r"^## (.*)\n\n\*(error|warning)\*",
                                     (SOURCE / "docs/diagnostics.md").read_text(), re.M))
        for i, (code, text) in enumerate(toml_blocks("diagnostics.md")):
            path = self.directory / f"page-{i}.toml"
            path.write_text(text)
            yield path, severities[code], code

    def refused_by_check(self, paths):
        """The files in which `check` finds errors; a few at a time, because it prints at most 200."""
        refused = set()
        for i in range(0, len(paths), 50):
            ran = run("check", "--output", "json", *map(str, paths[i:i + 50]))
            findings = json.loads(ran.stdout)
            self.assertNotIn("too-many-findings",
                             {f["code"] for f in findings if f["severity"] == "error"})
            refused |= {pathlib.Path(f["file"]) for f in findings if f["severity"] == "error"}
        return refused

    def test_file_matches_the_command_output(self):
        ran = run("schema")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(SCHEMA.read_text(), ran.stdout,
                         "after a change of the keys: patchbay schema > patchbay.schema.json")

    def test_each_configuration_names_its_schema(self):
        for path in CONFIGURATIONS:
            with self.subTest(path=path):
                line, empty = path.read_text().splitlines()[:2]
                self.assertTrue(line.startswith("#:schema ") and not empty, line)
                named = line.removeprefix("#:schema ")
                self.assertEqual((path.parent / named).resolve(), SCHEMA)
                if path in EXAMPLES:  # which users copy
                    self.assertEqual(named, "./patchbay.schema.json")

    def test_each_configuration_is_valid(self):
        taplo.skip_unless_installed()
        self.assertEqual(taplo.lint(CONFIGURATIONS), {})

    def test_copy_next_to_the_schema_is_validated(self):
        taplo.skip_unless_installed()
        (self.directory / SCHEMA.name).write_text(run("schema").stdout)
        good, bad = self.write([EXAMPLES[0].read_text(),
                                EXAMPLES[0].read_text().replace("\nname", "\nnmae", 1)])
        self.assertEqual(set(taplo.lint([good, bad])), {bad})

    def test_accepts_files_that_check_accepts(self):
        taplo.skip_unless_installed()
        texts = [text for page in sorted((SOURCE / "docs").glob("*.md"))
                 for _, text in toml_blocks(page.name)]
        texts += [path.read_text(encoding="utf-8", errors="replace")
                  for path in sorted((SOURCE / "tests/fuzz/corpus/config").iterdir())]
        paths = self.write(texts)
        good = [path for path in paths if run("check", str(path)).returncode == 0]
        self.assertGreater(len(good), 15)
        self.assertEqual(taplo.lint(good, SCHEMA), {})

    def test_rejects_errors_that_a_schema_can_detect(self):
        taplo.skip_unless_installed()
        samples = [s for s in self.bad_samples() if s[2] not in NOT_FOR_TAPLO]
        self.assertGreater(len(samples), 200)
        refused = set(taplo.lint([path for path, _, _ in samples], SCHEMA))
        needed = set()
        for path, severity, code in samples:
            text = path.read_text(encoding="utf-8", errors="replace")
            unseen = why_unseen(code, text)
            needed.add(unseen)
            seen = severity == "error" and not unseen
            with self.subTest(code=code, text=text[:300]):
                self.assertEqual(path in refused, seen, unseen or "the schema should detect it")
        # The samples of two files are not in the table.
        self.assertEqual([e for e in UNSEEN if e not in needed and e[0] != "duplicate-section"], [])

    def assert_same_as_check(self, texts, refused_by_schema):
        paths = self.write(texts)
        refused = self.refused_by_check(paths)
        self.assertTrue(refused and refused != set(paths))
        by_schema = refused_by_schema(paths)
        for path in paths:
            with self.subTest(text=path.read_text()):
                self.assertEqual(path in by_schema, path in refused, "the result of the schema")

    @staticmethod
    def refused_by_taplo(paths):
        return set(taplo.lint(paths, SCHEMA))

    @staticmethod
    def refused_by_jsonschema(paths):
        """The same, in a tenth of the time."""
        validator = jsonschema_or_skip().Draft202012Validator(json.loads(SCHEMA.read_text()))
        return {path for path in paths if not validator.is_valid(tomllib.loads(path.read_text()))}

    def test_key_combinations_of_a_match_agree_with_check(self):
        lines = ["path = '/dev/x*'", "regex = '/dev/y.'", "usb = '*:1234'", "serial = 'A*'",
                 "pci = '*:1234'", "udev = { subsystem = 'tty' }", "udev = { driver = 'x' }",
                 "command = ['/bin/x']", "timeout = '1s'", "count = 2", "exclude = '/dev/z'",
                 "id = 'x'", "type = 'any'", "group_by = 'path'", "require = '/dev/z'", "usb_port = '1-2'",
                 "pci_address = '*'", "not = { usb_port = '1-3' }", "together = true", "max_devices = 2",
                 "allow_mounted = true", "exclude_required = true",
                 "device_node = [{ host_path = '/dev/z', container_path = '/dev/y{slot}' }]"]
        keys = json.loads(SCHEMA.read_text())["properties"]["resource"]["items"]["properties"]["match"]["items"]
        self.assertEqual(set(keys["properties"]), {line.split()[0] for line in lines}, "a line for each key")
        self.assert_same_as_check(
            [resource(f"a.com/x{i}", match) for i, match in enumerate(sets_of(lines, 3))],
            self.refused_by_jsonschema)

    def test_key_combinations_of_health_agree_with_check(self):
        taplo.skip_unless_installed()
        lines = ["command = ['/bin/x']", "open = true", "open = false", "file = '/sys/x'",
                 "equals = 'x'", "matches = 'x'", "period = '1s'"]
        self.assert_same_as_check(
            [resource(f"a.com/x{i}", "path = '/dev/x*'") + "[resource.health]\n" + health
             for i, health in enumerate(sets_of(lines, 5))],
            self.refused_by_taplo)

    def test_jsonschema_agrees_with_taplo(self):
        jsonschema = jsonschema_or_skip()
        schema = json.loads(SCHEMA.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for path in CONFIGURATIONS:
            with self.subTest(path=path):
                validator.validate(as_taplo(tomllib.loads(path.read_text())))
        for path, severity, code in self.bad_samples():
            try:
                document = as_taplo(tomllib.loads(path.read_text(encoding="utf-8")))
            except (UnicodeDecodeError, tomllib.TOMLDecodeError):
                continue  # not parsed, so not validated
            text = path.read_text()
            seen = severity == "error" and code not in NOT_FOR_TAPLO and not why_unseen(code, text)
            with self.subTest(code=code, text=text[:300]):
                self.assertEqual(validator.is_valid(document), not seen)

    def test_defaults_and_examples_are_valid(self):
        jsonschema = jsonschema_or_skip()

        def walk(schema, at):
            for value in [*schema.get("examples", []), *([schema["default"]] if "default" in schema else [])]:
                with self.subTest(at=at, value=value):
                    jsonschema.Draft202012Validator(schema).validate(value)
            for name, inner in schema.get("properties", {}).items():
                walk(inner, f"{at}.{name}")
                self.assertTrue(inner["title"] and inner["description"], name)
            if isinstance(items := schema.get("items"), dict):
                walk(items, at)

        walk(json.loads(SCHEMA.read_text()), "")


def jsonschema_or_skip():
    try:
        import jsonschema
    except ImportError:
        raise unittest.SkipTest("python3-jsonschema is not installed") from None
    return jsonschema


def sets_of(lines, most):
    """Sets of up to `most` of the lines, each key once."""
    for size in range(most + 1):
        for some in itertools.combinations(lines, size):
            keys = [line.split(" = ")[0] for line in some]
            if len(set(keys)) == len(keys):
                yield "\n".join(some) + "\n"


if __name__ == "__main__":
    support.main()
