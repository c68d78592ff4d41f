"""The part of JSON Schema that docs/api.md uses. Unknown keywords are errors."""

import datetime
import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
ANNOTATIONS = {"$schema", "$defs", "title", "description"}


def problems(schema, value, root=None, at="$"):
    """The errors of a value, one per line. Keys that are not in the schema are errors."""
    root = root or schema
    found = []
    for word, wanted in schema.items():
        if word in ANNOTATIONS or word == "additionalProperties":
            continue
        if word == "$ref":
            assert wanted.startswith("#/$defs/"), wanted
            found += problems(root["$defs"][wanted.removeprefix("#/$defs/")], value, root, at)
        elif word == "type":
            names = wanted if isinstance(wanted, list) else [wanted]
            if not any(_is(value, name) for name in names):
                found.append(f"{at}: {value!r} is not of type {wanted}")
        elif word == "enum":
            if value not in wanted:
                found.append(f"{at}: {value!r} is none of {wanted}")
        elif word == "minimum":
            if isinstance(value, (int, float)) and value < wanted:
                found.append(f"{at}: {value} is less than {wanted}")
        elif word == "format":
            if isinstance(value, str) and not _is_time(value):
                found.append(f"{at}: {value!r} is not a {wanted}")
        elif word == "required":
            if isinstance(value, dict):
                found += [f"{at}: has no {key}" for key in wanted if key not in value]
        elif word == "items":
            if isinstance(value, list):
                for i, item in enumerate(value):
                    found += problems(wanted, item, root, f"{at}[{i}]")
        elif word == "properties":
            pass  # below, with additionalProperties
        else:
            raise ValueError(f"unknown keyword in the schema: {word}")
    if isinstance(value, dict) and ("properties" in schema or "additionalProperties" in schema):
        for key, item in value.items():
            rule = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if rule is None:
                found.append(f"{at}: the schema has no {key}")
            else:
                found += problems(rule, item, root, f"{at}.{key}")
    return found


def _is(value, name):
    if name in ("integer", "number"):
        kinds = int if name == "integer" else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def _is_time(text):
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text):
        return False
    datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return True
