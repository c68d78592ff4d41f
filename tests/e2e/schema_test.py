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

# The codes of errors that the schema finds as well; it knows keys, types, words and ranges, not the form of strings.
SEEN = ("syntax", "unknown-key", "wrong-type", "missing-key", "wrong-combination", "out-of-range")
# It also finds a word that is not one of the choices of the key, and an empty list, of another code.
SEEN_VALUE = re.compile(r"^((preferred_allocation|type|before_first) = '|api = '(?!dra'|device-plugin'))|= \[\]", re.M)
# Errors of these codes that it cannot find: the code, a pattern for the texts, and why.
UNSEEN = [
    ("wrong-combination", "exclusive = true", "the key is in the resource, and the source is in its match"),
    ("wrong-combination", "pod_resources = ''", "the key is in [daemon], and a resource needs it"),
    ("wrong-combination", r"device_node\]\]|grant_group|count = 3\n+\[resource.health", "only the matches determine "
                                                                                   "whether devices have nodes"),
    ("wrong-combination", "net_device", "only the matches and variables determine whether interfaces can move"),
    ("out-of-range", "= '[0-9]", "a duration is a string, which has no bounds"),
    ("wrong-type", "2020-01-01", "taplo passes a date to the schema as a string"),
]
# taplo 0.9 crashes with a stack overflow at a large file.
NOT_FOR_TAPLO = {"unreadable-file"}


def is_seen(code, text):
    """Whether the schema rejects a sample; None if it may or may not."""
    if code == "bad-value" and SEEN_VALUE.search(text):
        return True
    if code not in SEEN:
        return None
    return not any(code == of and re.search(pattern, text) for of, pattern, _ in UNSEEN)


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
        severities = dict(re.findall(r"^\| \[`([a-z-]+)`\]\(.*?\) \| (error|warning) \|",
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
        refused = set(taplo.lint([path for path, _, _ in samples], SCHEMA))
        seen = 0
        for path, severity, code in samples:
            text = path.read_text(encoding="utf-8", errors="replace")
            expected = False if severity == "warning" else is_seen(code, text)
            seen += expected is True
            with self.subTest(code=code, text=text[:300]):
                self.assertIn(expected, (path in refused, None))
        self.assertGreater(seen, 150)
        for code, pattern, why in UNSEEN:
            self.assertTrue(any(of == code and re.search(pattern, path.read_text(errors="replace"))
                                for path, _, of in samples), f"no sample: {code}, {why}")

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
            if code in NOT_FOR_TAPLO:
                continue
            expected = False if severity == "warning" else is_seen(code, text)
            with self.subTest(code=code, text=text[:300]):
                self.assertIn(expected, (not validator.is_valid(document), None))

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
