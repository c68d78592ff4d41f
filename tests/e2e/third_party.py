"""The bill of materials that scripts/third-party writes, read back."""

import functools
import gzip
import json
import re
import unittest
import urllib.parse

import support

SCHEMAS = support.SOURCE / "build/node/node_modules/@cyclonedx/cyclonedx-library/res/schema"
REFERRED = ("spdx", "jsf-0.82")


@functools.cache
def validator():
    """The official schema of CycloneDX, from the npm package of its library, with those that it refers to."""
    if not SCHEMAS.is_dir():
        raise unittest.SkipTest("the modules of tests/node are not installed; scripts/test does it")
    import jsonschema
    schema, *others = (json.loads((SCHEMAS / f"{name}.SNAPSHOT.schema.json").read_text())
                       for name in ("bom-1.6", *REFERRED))
    store = {urllib.parse.urljoin(schema["$id"], f"{name}.SNAPSHOT.schema.json"): other
             for name, other in zip(REFERRED, others, strict=True)}
    resolver = jsonschema.RefResolver.from_schema(schema, store=store)
    return jsonschema.Draft7Validator(schema, resolver=resolver, format_checker=jsonschema.FormatChecker())


def read(directory):
    """The notices and the bill in a directory."""
    return (gzip.decompress((directory / "NOTICES.gz").read_bytes()).decode(),
            json.loads((directory / "sbom.cdx.json").read_text()))


def problems(bill):
    """How a bill breaks the schema, or its own references."""
    found = [f"{error.json_path}: {error.message}"[:300] for error in validator().iter_errors(bill)]
    listed = [component["bom-ref"] for component in bill["components"]]
    program, *others = bill["dependencies"]
    if program["ref"] != bill["metadata"]["component"]["bom-ref"] or program["dependsOn"] != listed:
        found.append("the program does not depend on each component")
    if [other["ref"] for other in others] != listed:
        found.append("the dependencies are not those of the components")
    for component in bill["components"]:
        if purl_of(component["purl"])[:2] != (component["name"], component["version"]):
            found.append(f"{component['purl']} is not the name of {component['name']} {component['version']}")
    return found


def purl_of(text):
    """The name, version and qualifiers of a package of Debian."""
    name, version, query = re.fullmatch(r"pkg:deb/debian/([^@/?]+)@([^?]+)\?(.*)", text).groups()
    return urllib.parse.unquote(name), urllib.parse.unquote(version), dict(urllib.parse.parse_qsl(query))


def uses(bill):
    """How the program uses each package."""
    return {component["name"]: component["properties"][0]["value"] for component in bill["components"]}


def sources(notices):
    """The sources of Debian that have a section in the notices."""
    return re.findall(r"(?m)^=+\n(?!The license )(\S+) \S+$", notices)
