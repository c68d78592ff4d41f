"""Runs `suggest` on other hosts, and tests that what it prints finds exactly the devices that it names.

The hosts are those of the examples, and suggest/NAME.toml, machines whose output is suggest/NAME.golden.

    python3 suggest_test.py --write    updates the golden files; review the diff
"""

import difflib
import re
import shutil
import tomllib

import golden
from support import SOURCE, run

HERE = SOURCE / "tests/e2e"
MACHINES = sorted((HERE / "suggest").glob("*.toml"))
HOSTS = MACHINES + sorted((HERE / "examples").glob("*.toml"))
NOTHING = "this host has no device that containers use\n"
IS_SHARED = "Nothing that stays"

# Names with numbers that the kernel gives in the order in which it finds devices.
COUNTED = re.compile(r"\b(tty(?:USB|ACM)|video|v4l-subdev|media|event|mouse|js|input|hidraw|renderD|"
                     r"controlC|[pmh][a-zA-Z]*C(?=\d+D)|card|gpiochip|uverbs|tpm|tpmrm|sr|sg|host|target|ata|spidev|"
                     r"spi|i2c-|apex_|cec|accel|lp|cdc-wdm)(\d+)(?![\da-z])")


def without_comments(toml):
    """The tables of a file, in any order."""
    text = re.sub(r"(?m)^ *#.*\n", "", uncommented(toml))
    return sorted(re.split(r"\n\n", text))


def uncommented(toml):
    """The file with the devices that are comments."""
    return re.sub(r"(?m)^#( (?: *(?:\[|[A-Za-z_]+ = )|  +#).*|)$", lambda line: line[1].removeprefix(" "), toml)


class Suggest(golden.OnAnotherHost):
    def suggest(self, root):
        ran = run("suggest", "--host-root", str(root))
        if ran.returncode:
            self.assertEqual((ran.returncode, ran.stdout), (1, ""))
            self.assertTrue(ran.stderr.endswith(NOTHING), ran.stderr)
        return ran.stdout

    def found(self, toml, root):
        """The devices of a valid file by the names of their resources."""
        config = self.config(toml)
        checked = run("check", "--strict", "-c", str(config))
        self.assertEqual((checked.returncode, checked.stderr), (0, ""), checked.stdout)
        document = self.devices(config, root)
        self.assertEqual([r["rejected"] for r in document["resources"] if r["rejected"]], [])
        return {r["name"]: r["devices"] for r in document["resources"]}

    def assert_exact(self, toml, root):
        """Asserts that each match finds one device, with the nodes of its comment."""
        found, toml = self.found(toml, root), re.sub(r"(?m)^#.*\n", "", toml)
        resources = tomllib.loads(toml).get("resource", [])
        for resource, text in zip(resources, re.split(r"(?m)^\[\[resource\]\]$", toml)[1:], strict=True):
            devices = found[resource["name"]]
            matches = text.split("\n\n")[1:]
            self.assertEqual(len(devices), len(resource["match"]), text)
            if "replicas" in resource or "/vfio" in resource["name"]:
                continue
            named = re.findall(r"\(((?:/dev/[^ ,]+(?:, )?)+)\)", re.sub(r"\n *# ", " ", text))
            self.assertEqual(sorted(sorted(names.split(", ")) for names in named),
                             sorted(sorted(d["paths"]) for d in devices if d["paths"]), matches)

    def test_finds_exactly_what_it_names(self):
        for host in HOSTS:
            with self.subTest(host=str(host.relative_to(HERE))):
                root, _ = self.host(host)
                toml = self.suggest(root)
                if re.search(r"(?m)^\[\[resource\]\]$", toml):
                    self.assert_exact(toml, root)
                if toml and IS_SHARED not in toml:
                    self.assert_exact(uncommented(toml), root)
                shutil.rmtree(root)

    def test_stays_the_same_when_the_kernel_counts_differently(self):
        for host in MACHINES:
            with self.subTest(host=host.name):
                root, _ = self.host(host)
                text = COUNTED.sub(lambda name: f"{name[1]}{int(name[2]) + 95}", host.read_text())
                later = self.dir / f"{host.stem}-later.toml"
                later.write_text(text)
                self.assertNotEqual(text, host.read_text())
                later_root, _ = self.host(later)
                suggested, again = self.suggest(root), self.suggest(later_root)
                self.assertEqual(without_comments(suggested), without_comments(again))
                ids = [{name: sorted(d["id"] for d in devices) for name, devices in
                        self.found(uncommented(toml), at).items()}
                       for toml, at in ((suggested, root), (again, later_root))]
                self.assertEqual(ids[0], ids[1])

    def test_output_matches_golden_files(self):
        self.assertTrue(MACHINES)
        for host in MACHINES:
            with self.subTest(host=host.name):
                root, _ = self.host(host)
                toml = self.suggest(root)
                file = host.with_suffix(".golden")
                if golden.WRITE:
                    file.write_text(toml)
                difference = "".join(difflib.unified_diff(
                    file.read_text().splitlines(True) if file.exists() else [], toml.splitlines(True),
                    str(file.relative_to(SOURCE)), "now"))
                self.assertFalse(difference, "\nIf that is better, run it with --write")


if __name__ == "__main__":
    golden.main()
