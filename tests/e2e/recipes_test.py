"""Runs every recipe of docs/recipes.md on a host with its devices, and compares the devices it finds and rejects
and the allocations with a golden file.

A recipe is a section with one TOML block. recipes/NAME.toml describes its host, where NAME is the anchor of the
section, and recipes/NAME.golden is the result (see golden.py).

    python3 recipes_test.py --write    updates the golden files; review the diff
"""

import re

import golden
from support import SOURCE, run

PAGE = SOURCE / "docs/recipes.md"
HOSTS = SOURCE / "tests/e2e/recipes"


def recipes():
    """The text before the sections, and the TOML blocks of each section by its anchor."""
    beginning, *sections = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.M)
    return beginning, {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"):
                       re.findall(r"^```toml\n(.*?)^```$", text, flags=re.M | re.S)
                       for heading, text in zip(sections[::2], sections[1::2])}


class Recipes(golden.OnAnotherHost):
    def test_output_matches_golden_files(self):
        index, sections = recipes()
        self.assertGreater(len(sections), 15)
        for name, blocks in sections.items():
            with self.subTest(recipe=name):
                self.assertIn(f"](#{name})", index)
                self.assertEqual(len(blocks), 1, "a recipe has one TOML block")
                config = self.config(blocks[0])
                checked = run("check", "--strict", str(config))
                self.assertEqual((checked.returncode, checked.stderr), (0, ""), checked.stdout)
                self.compare(config, HOSTS / f"{name}.toml")

    def test_no_unused_host_or_golden_files(self):
        known = {f"{name}.{kind}" for name in recipes()[1] for kind in ("toml", "golden")}
        self.assertEqual({path.name for path in HOSTS.iterdir()}, known)


if __name__ == "__main__":
    golden.main()
