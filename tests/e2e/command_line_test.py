"""Compares the documentation of the command line with `--help`: the man page, and the completions of three shells,
which really complete.
"""

import functools
import os
import pathlib
import re
import subprocess

import support

HERE = pathlib.Path(__file__).resolve().parent
COMPLETIONS = support.SOURCE / "deploy/completions"
MAN = support.SOURCE / "docs/man"


@functools.cache
def usage(command=None):
    return support.run(*([command] if command else []), "--help").stdout


def commands():
    return re.findall(r"^  ([a-z]+)  ", usage().split("Subcommands:")[1], re.M)


def options(command=None):
    """The options of a command except --help: long name to short name, and to the possible values."""
    found = re.findall(r"^  (?:(-[a-z]),)?(--[a-z-]+)(?: ([a-z|-]*\|[a-z|-]*))?", usage(command), re.M)
    return {long: (short, choices.split("|") if choices else [])
            for short, long, choices in found if long != "--help"}


def chapter(page, title, level):
    """The content of a page below a heading, up to the next heading of its level."""
    hashes = "#" * level
    found = re.search(rf"^{hashes} {title}\b.*\n((?:(?!#{{1,{level}}} ).*\n)*)", page, re.M)
    return found and found[1]


class ManPage(support.TestCase):
    """docs/man/patchbay.1.scd. A failure means that a command or an option was added, removed or changed."""

    def setUp(self):
        super().setUp()
        self.page = (MAN / "patchbay.1.scd").read_text()

    def assert_has(self, text, options_of):
        said = re.findall(r"^(?:\*(-[a-z])\*, )?\*(--[a-z-]+)\*(.*)$", text, re.M)
        self.assertEqual({long: short for short, long, _ in said},
                         {long: short for long, (short, _) in options_of.items()})
        for _, long, value in said:
            choices = options_of[long][1]
            self.assertEqual(sorted(re.findall(r"\*([a-z-]+)\*", value)), sorted(choices), long)

    def test_documents_every_command_with_its_options(self):
        documented = re.findall(r"^## patchbay ([a-z]+)", self.page, re.M)
        self.assertEqual(documented, commands())
        for command in commands():
            with self.subTest(command):
                self.assert_has(chapter(self.page, f"patchbay {command}", 2), options(command))

    def test_documents_the_global_options(self):
        text = chapter(self.page, "OPTIONS", 1)
        self.assertIn("*-h*, *--help*\n", text)
        self.assert_has(text.replace("*-h*, *--help*\n", ""), options())

    def test_headings_have_no_underscores(self):
        """scdoc does not interpret underscores there."""
        for page in MAN.glob("*.scd"):
            self.assertNotRegex(page.read_text(), r"(?m)^#.* \[?_")

    def test_pages_are_well_formed(self):
        support.skip_unless_programs("scdoc", "man")
        for page in ("patchbay.1", "patchbay.toml.5"):
            made = self.dir / page
            with open(MAN / f"{page}.scd", encoding="utf-8") as source, open(made, "wb") as file:
                subprocess.run(["scdoc"], stdin=source, stdout=file, check=True, timeout=60)
            ran = subprocess.run(["man", "--warnings", "-Tutf8", "-l", str(made)], text=True,
                                 capture_output=True, env=support.environment(LC_ALL="C.UTF-8"),
                                 timeout=60)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertIn(f"{page[:-2]}({page[-1]})", re.sub(".\b", "", ran.stdout))


class Completion:
    """The expected completions of each shell. A word is completed after the others of its line."""

    def setUp(self):
        super().setUp()
        bin_dir = self.dir / "bin"
        bin_dir.mkdir()
        (bin_dir / "patchbay").symlink_to(support.PATCHBAY)
        self.env = support.environment(PATH=f"{bin_dir}:{os.environ['PATH']}", HOME=str(self.dir),
                                       TERM="xterm", LC_ALL="C.UTF-8")
        (self.dir / "pool").mkdir()
        self.config('name = "example.com/one"\nname="example.com/two"\n# name = "a.com/no"\n',
                    "pool.toml")
        self.config("name = 'example.com/three'\n", "pool/3.toml")

    def ask(self, *command):
        ran = subprocess.run(command, capture_output=True, text=True, cwd=self.dir, env=self.env,
                             stdin=subprocess.DEVNULL, timeout=60)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), command)
        return {line for line in ran.stdout.splitlines() if line}

    def test_completes_commands(self):
        self.assertEqual(self.complete("patchbay", ""), set(commands()))

    def test_completes_options_of_every_command(self):
        self.assertEqual(self.complete("patchbay", "--"), {"--help", *options()})
        for command in commands():
            with self.subTest(command):
                self.assertEqual(self.complete("patchbay", command, "--"),
                                 {"--help", *options(command)})

    def test_completes_choices(self):
        for command in commands():
            for option, (short, choices) in options(command).items():
                with self.subTest(command=command, option=option):
                    if choices:
                        self.assertEqual(self.complete("patchbay", command, option, ""), set(choices))
                    if choices and short:
                        self.assertEqual(self.complete("patchbay", command, short, ""), set(choices))

    def test_completes_resources_of_the_configuration(self):
        asked = ("patchbay", "allocate", "--config")
        self.assertEqual(self.complete(*asked, "pool.toml", ""), {"example.com/one", "example.com/two"})
        self.assertEqual(self.complete(*asked, "pool", "example.com/t"), {"example.com/three"})
        self.assertEqual(self.complete("patchbay", "explain", "-c", "pool", ""), {"example.com/three"})
        self.assertEqual(self.complete(*asked, "none.toml", ""), set())
        self.assertEqual(self.complete(*asked, "pool", "example.com/three", ""), set())

    def test_completes_files_and_directories(self):
        both, directories = {"pool", "pool.toml"}, {"pool"}
        for words, wanted in ((("check", "poo"), both), (("check", "--strict", "poo"), both),
                              (("diff", "pool", "poo"), both), (("run", "-c", "poo"), both),
                              (("run", "--host-root", "poo"), directories)):
            with self.subTest(words):
                found = self.complete("patchbay", *words)
                self.assertEqual({name.rstrip("/") for name in found}, wanted)


class Bash(Completion, support.TestCase):
    def complete(self, *words):
        return self.ask("bash", "--norc", str(HERE / "complete.bash"), str(COMPLETIONS), *words)

    def test_completes_value_after_equals_sign(self):
        self.assertEqual(self.complete("patchbay", "check", "--output", "=", "j"), {"json"})


class Zsh(Completion, support.TestCase):
    def setUp(self):
        support.skip_unless_programs("zsh")
        super().setUp()

    def complete(self, *words):
        found = self.ask("zsh", "-f", str(HERE / "complete.zsh"), str(COMPLETIONS), " ".join(words))
        return {word for word in found if not re.fullmatch("-[a-z]", word)}

    def test_completes_value_after_equals_sign(self):
        self.assertEqual(self.complete("patchbay", "check", "--output=j"), {"json"})


class Fish(Completion, support.TestCase):
    def setUp(self):
        support.skip_unless_programs("fish")
        super().setUp()

    def complete(self, *words):
        found = self.ask("fish", "--no-config", "-c", f"source {COMPLETIONS}/patchbay.fish\n"
                         "complete -C $argv[1]", "--", " ".join(words))
        return {line.split("\t")[0] for line in found}

    def test_completes_value_after_equals_sign(self):
        self.assertEqual(self.complete("patchbay", "check", "--output=j"), {"--output=json"})


if __name__ == "__main__":
    support.main()
