#!/usr/bin/env python3
"""Generates deploy/helm/patchbay/README.md from the comments of values.yaml.

    chart_readme.py    writes the file
"""

import json
import pathlib
import re

CHART = pathlib.Path(__file__).resolve().parents[2] / "deploy/helm/patchbay"
INTRODUCTION = """# Patchbay chart

Deploys [Patchbay](../../../README.md) as a DaemonSet: one unprivileged pod on every Linux node. The chart renders the
same objects as [deploy/kustomize](../../kustomize), which [docs/deploy.md](../../../docs/deploy.md) describes. It
works with Helm 3 and Helm 4.

```sh
kubectl create namespace patchbay
kubectl label namespace patchbay pod-security.kubernetes.io/enforce=privileged
helm install patchbay deploy/helm/patchbay --namespace patchbay --set-file config=patchbay.toml
helm test patchbay --namespace patchbay --logs
```

The pods mount directories of their node. Of the Pod Security levels, only `privileged` allows this; the pods need no
other privilege.

## Values

"""


def comments(text):
    """The comment above each key of the first two levels, by path, as one line."""
    found, lines, parent, block = {}, [], None, None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if block is not None and (not line.strip() or indent > block):
            continue
        block = None
        if line.strip().startswith("#"):
            lines.append(line.strip().removeprefix("#").removeprefix(" "))
            continue
        key = re.match(r"( *)([A-Za-z]\w*):(.*)", line)
        if key and indent in (0, 2):
            parent = key[2] if indent == 0 else parent
            path = (key[2],) if indent == 0 else (parent, key[2])
            # An indented line is an example, which a table cannot show.
            found[path] = " ".join(part for part in lines if part and not part.startswith(" "))
            block = indent if key[3].strip() == "|" else None
        lines = []
    return found


def readme(values_file):
    import yaml
    text = values_file.read_text()
    values = yaml.safe_load(text)
    schema = json.loads((values_file.parent / "values.schema.json").read_text())
    said = comments(text)
    rows = ["| value | default | description |", "|---|---|---|"]
    for key, value in values.items():
        about = schema["properties"][key]
        about = schema["definitions"][about["$ref"].rpartition("/")[2]] if "$ref" in about else about
        if isinstance(value, dict) and "properties" in about:
            for child, default in value.items():
                description = said.get((key, child)) or (said[key,] if child in ("enabled", "type") else "")
                rows.append(row(f"{key}.{child}", default, description))
        else:
            rows.append(row(key, "the null device" if key == "config" else value, said[key,]))
    return INTRODUCTION + "\n".join(rows) + "\n"


def row(key, default, description):
    shown = default if default == "the null device" else f"`{json.dumps(default, ensure_ascii=False)}`"
    return f"| `{key}` | {shown} | {description.replace('|', chr(92) + '|')} |"


if __name__ == "__main__":
    (CHART / "README.md").write_text(readme(CHART / "values.yaml"))
