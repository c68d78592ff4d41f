"""The command line from outside: the man page compared with `--help`, the completions of three shells, which really
complete, colors on a terminal, and YAML as another parser reads it.
"""

import functools
import json
import os
import pathlib
import pty
import re
import subprocess
import threading

import support

HERE = pathlib.Path(__file__).resolve().parent
COMPLETIONS = support.SOURCE / "deploy/completions"
MAN = support.SOURCE / "docs/man"


@functools.cache
def usage(command=None):
    return support.run(*([command] if command else []), "--help").stdout


def commands():
    return re.findall(r"^  ([a-z-]+)  ", usage().split("Subcommands:")[1], re.M)


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
        documented = re.findall(r"^## patchbay ([a-z-]+)", self.page, re.M)
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
        self.config(support.resource("example.com/one", 'path = "/dev/one"') +
                    support.resource("example.com/two", 'path = "/dev/two"'), "pool.toml")
        self.config(support.resource("example.com/three", 'path = "/dev/x"'), "pool/3.toml")

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
        self.assertEqual(self.complete("patchbay", "devices", "-c", "pool", ""), {"example.com/three"})
        self.assertEqual(self.complete(*asked, "none.toml", ""), set())
        self.assertEqual(self.complete(*asked, "pool", "example.com/three", ""), set())

    def test_a_config_that_cannot_be_read_has_no_resources(self):
        os.mkfifo(self.dir / "fifo")  # which would block a reader
        for config in ("fifo", "pool/none", "*"):
            self.assertEqual(self.complete("patchbay", "devices", "--config", config, ""), set(), config)

    def test_completes_choices_of_positionals(self):
        self.assertEqual(self.complete("patchbay", "completion", ""), {"bash", "zsh", "fish"})
        self.assertEqual(self.complete("patchbay", "completion", "z"), {"zsh"})

    def test_completes_files_and_directories(self):
        both, directories = {"pool", "pool.toml"}, {"pool"}
        for words, wanted in ((("check", "poo"), both), (("check", "--strict", "poo"), both),
                              (("diff", "pool", "poo"), both), (("run", "-c", "poo"), both),
                              (("run", "--host-root", "poo"), directories)):
            with self.subTest(words):
                found = self.complete("patchbay", *words)
                self.assertEqual({name.rstrip("/") for name in found}, wanted)


class Scripts(support.TestCase):
    """Those of a package are those that the program prints."""

    def test_installed_ones_are_printed_by_the_program(self):
        for shell, name in (("bash", "patchbay.bash"), ("zsh", "_patchbay"), ("fish", "patchbay.fish")):
            with self.subTest(shell):
                self.assertEqual(support.run("completion", shell).stdout, (COMPLETIONS / name).read_text(),
                                 f"write it: patchbay completion {shell} > deploy/completions/{name}")

    def test_are_valid(self):
        for shell, check in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])):
            with self.subTest(shell):
                support.skip_unless_programs(shell)
                script = self.dir / shell
                script.write_text(support.run("completion", shell).stdout)
                ran = subprocess.run([*check, str(script)], capture_output=True, text=True, timeout=60)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_zsh_can_source_it(self):
        """As in `source <(patchbay completion zsh)`, not only from a directory of functions."""
        support.skip_unless_programs("zsh")
        ran = subprocess.run(["zsh", "-f", "-c", "autoload -Uz compinit; compinit -u -D; "
                              f"source <({support.PATCHBAY} completion zsh); print $_comps[patchbay]"],
                             capture_output=True, text=True, timeout=60, cwd=self.dir,
                             env=support.environment(HOME=str(self.dir)))
        self.assertEqual((ran.stdout, ran.stderr), ("_patchbay\n", ""))


class Output(support.TestCase):
    def setUp(self):
        super().setUp()
        (self.dir / "host/srv").mkdir(parents=True)
        for name in ('no', '1e3', '- a: "b" # c', "new\nline", "Ger\u00e4t", "\u2028", "\U000e0001", "\x85\x7f\t"):
            (self.dir / "host/srv" / name).touch()
        (self.dir / "host/srv").joinpath(os.fsdecode(b"\xff\xfe")).touch()
        self.more = ("--config", str(self.config(
            "[[resource]]\nname = 'a.com/x'\nmatch = [{ path = '/srv/*', type = 'any' }]\n"
            "[resource.env]\nNO = '{path}'\n" + support.resource("a.com/none", 'path = "/srv/none/*"'))),
            "--host-root", str(self.dir / "host"))

    def test_yaml_has_the_content_of_json(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        names = support.run("devices", "a.com/x", *self.more, "-o", "name").stdout.splitlines()
        id_ = next(name for name in names if not name.startswith("-"))
        other = str(self.config("[daemon]\nrescan = '3m'\n" + support.resource("a.com/y", 'path = "/srv/*"'), "new.toml"))
        for command in (("devices", *self.more), ("devices", "--probe", *self.more), ("explain", *self.more),
                        ("explain", "--path", "/srv/new\nline", *self.more), ("check", other),
                        ("check", str(self.dir / "none.toml")), ("diff", self.more[1], other),
                        ("allocate", "a.com/x", id_, *self.more)):
            with self.subTest(command):
                read = support.run(*command, "--output", "json").stdout
                made = support.run(*command, "--output", "yaml").stdout
                self.assertEqual(yaml.safe_load(made), json.loads(read))
                self.assertEqual(made == read, read == "[]\n")

    def test_device_classes_are_yaml_documents(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        config = str(self.config("[daemon]\napi = 'dra'\n" + support.resource("a.com/x", 'path = "/dev/null"') +
                                 support.resource("a.com/Y_2", 'path = "/dev/zero"', "replicas = 9"), "dra.toml"))
        read = json.loads(support.run("device-classes", "--config", config, "--output", "json").stdout)
        made = support.run("device-classes", "--config", config).stdout
        self.assertEqual(list(yaml.safe_load_all(made)), read["items"])
        self.assertEqual(len(read["items"]), 2)

    def test_names_can_be_arguments(self):
        names = support.run("devices", "a.com/x", "--output", "name", *self.more).stdout.splitlines()
        self.assertGreater(len(names), 4)
        for name in names:
            self.assertEqual(support.run("allocate", "a.com/x", *self.more, "--", name).returncode, 0, name)


class Terminal(support.TestCase):
    """Colors are for people at a terminal."""

    def at_terminal(self, *arguments, to_terminal=("stdout", "stderr"), **env):
        """What a command prints on a terminal, and what it prints on a pipe."""
        controller, terminal = pty.openpty()
        streams = {name: terminal if name in to_terminal else subprocess.PIPE for name in ("stdout", "stderr")}
        shown = []

        def read():
            try:
                while part := os.read(controller, 1 << 16):
                    shown.append(part)
            except OSError:  # nothing has it open any more
                pass

        process = subprocess.Popen([support.PATCHBAY, *arguments], stdin=subprocess.DEVNULL,
                                   env=support.environment(**{"TERM": "xterm", "NO_COLOR": "", **env}), **streams)
        os.close(terminal)
        reader = threading.Thread(target=read)
        reader.start()
        try:
            piped = "".join(part.decode() for part in process.communicate(timeout=support.PATIENCE) if part)
        finally:
            process.kill()
            process.wait()
            reader.join()
            os.close(controller)
        return b"".join(shown).decode().replace("\r\n", "\n"), piped

    def setUp(self):
        super().setUp()
        self.file = str(self.config(support.resource("a.com/x", 'path = "/dev/null"', "replcas = 2")))
        self.good = str(self.config(support.resource("a.com/x", 'path = "/dev/null"'), "good.toml"))

    def test_diagnostics_explain_and_tables_are_colored(self):
        shown, _ = self.at_terminal("check", self.file)
        self.assertIn("\x1b[1;31merror[unknown-key]:\x1b[m", shown)
        self.assertIn("\x1b[36mhint:\x1b[m", shown)
        shown, _ = self.at_terminal("explain", "--config", self.good)
        self.assertIn("\x1b[32mlisted\x1b[m     null: /dev/null", shown)
        shown, _ = self.at_terminal("devices", "--config", self.good)
        self.assertIn("\x1b[32mHealthy\x1b[m", shown)
        shown, _ = self.at_terminal("try", "--once", "--config", self.good)
        self.assertIn("\x1b[32myes\x1b[m", shown)
        for output in ("json", "yaml", "name"):
            shown, _ = self.at_terminal("devices", "--config", self.good, "-o", output)
            self.assertNotIn("\x1b", shown)

    def test_only_a_terminal_gets_colors(self):
        shown, piped = self.at_terminal("devices", "--config", self.good, to_terminal=("stderr",))
        self.assertIn("Healthy", piped)
        self.assertNotIn("\x1b", shown + piped)
        shown, piped = self.at_terminal("devices", "--config", self.file, to_terminal=("stderr",))
        self.assertIn("\x1b[1;31merror", shown)
        shown, piped = self.at_terminal("devices", "--config", self.file, to_terminal=("stdout",))
        self.assertIn("error[unknown-key]", piped)
        self.assertNotIn("\x1b", shown + piped)

    def test_the_environment_can_turn_them_off(self):
        plain = support.run("explain", "--config", self.good).stdout
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            with self.subTest(env):
                self.assertEqual(self.at_terminal("explain", "--config", self.good, **env)[0], plain)

    def test_colors_are_the_only_difference(self):
        for command in (("explain", "--config", self.good), ("devices", "--config", self.good),
                        ("check", self.file)):
            shown, _ = self.at_terminal(*command)
            ran = support.run(*command)
            self.assertEqual(re.sub(r"\x1b\[[0-9;]*m", "", shown), ran.stdout + ran.stderr)


class Input(support.TestCase):
    def test_check_reads_a_pipe(self):
        for command in (("check", "-"), ("check", "--config", "-")):
            ran = subprocess.run([support.PATCHBAY, *command], input="x = 1\n", capture_output=True, text=True,
                                 timeout=support.PATIENCE, env=support.environment())
            self.assertEqual((ran.returncode, ran.stderr), (1, ""))
            self.assertTrue(ran.stdout.startswith("<stdin>:1:1: error[unknown-key]: "), ran.stdout)


    def test_closed_stdin_is_an_error(self):
        for command in ("check -", "convert --from generic-device-plugin -"):
            ran = subprocess.run(["sh", "-c", f'exec "$0" {command} <&-', str(support.PATCHBAY)], capture_output=True,
                                 text=True, timeout=support.PATIENCE, env=support.environment())
            self.assertEqual(ran.returncode, 1, ran)
            self.assertIn("<stdin> cannot be read: Bad file descriptor", ran.stdout + ran.stderr)


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


class Memory(support.TestCase):
    """Files that need more memory than a pod has are refused, or do not search everything."""

    def run_in(self, limit, matches, *command):
        """Runs the command for resources with these matches. Returns its code and output."""
        config = self.dir / "memory.toml"
        config.write_text("".join(
            f"[[resource]]\nname = 'example.com/r{i}'\n[[resource.match]]\ntype = 'any'\n{match}\n"
            for i, match in enumerate(matches)))
        with open(self.dir / "output", "w+") as output:
            process = subprocess.Popen([support.PATCHBAY, *command, "--config", str(config)], stdout=output,
                                       stderr=subprocess.STDOUT, env=support.environment())
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertLess(usage.ru_maxrss * 1024, limit)
            output.seek(0)
            return process.returncode, output.read()

    def test_patterns_that_need_too_much_are_refused(self):
        for match, said in ((r"regex = '/dev/(?i)\pL{300}N'", "too large"),
                            (r"regex = '/dev/\pLN'", "too much memory"),
                            ("path = '/dev/{" + "a," * 60 + "b}" + "/a" * 1900 + "'", "too much memory"),
                            ("path = '/**/*N'", "all of /")):
            with self.subTest(match=match[:40]):
                code, output = self.run_in(160 << 20, [match] * 120, "check")
                self.assertEqual(code, 1)
                self.assertIn(said, output)

    def test_a_scan_ends_where_its_memory_does(self):
        root = self.dir / "host"
        for i in range(200):
            for j in range(100):
                (root / f"dev/{i}/{j}/x").mkdir(parents=True)
        for match in ("path = '/dev/**'", "regex = '/dev/.*'"):
            with self.subTest(match=match):
                code, said = self.run_in(256 << 20, [match] * 10, "devices", "--host-root", str(root))
                self.assertEqual(code, 0, said)
                self.assertIn("this and all that follows is not searched", said)


if __name__ == "__main__":
    support.main()
