"""The hardening of a program that readelf can show."""

import re
import subprocess


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], capture_output=True, text=True,
                          check=True, timeout=60).stdout


def needed(program):
    """The names of the shared libraries that it needs."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", program))


def missing_hardening(program):
    """The hardening that is missing in a program."""
    header, dynamic = readelf("--file-header", program), readelf("--dynamic", program)
    segments, symbols = readelf("--program-headers", program), readelf("--dyn-syms", program)
    there = {
        "position-independent": "DYN (Position-Independent Executable" in header,
        "relocations read-only": "GNU_RELRO" in segments,
        "bound at the start": "BIND_NOW" in dynamic and re.search(r"Flags:.*\bNOW\b", dynamic),
        "a stack that is not executable": re.search(r"GNU_STACK.* RW +0x", segments),
        "nothing writable that is a program": not re.search(r"LOAD.* RWE ", segments),
        "the stack protector": "__stack_chk_fail@" in symbols,
        "fortified functions": re.search(r" __\w+_chk@", symbols),
        "no symbols of its own": ".symtab" not in readelf("--sections", program),
    }
    return {what for what, is_there in there.items() if not is_there}
