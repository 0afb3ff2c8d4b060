"""Writes src/switchcost/_verbs.py from the program's own description of its flags.

    switchcost man --format json | python make_verbs.py > src/switchcost/_verbs.py

A test compares the file with what the program says.
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from typing import Any

SCHEMA = "switchcost.flags/1"
#: Options without a keyword: the package reads JSON only, and these change the output, or run until they are stopped.
LEFT_OUT = {"format", "details", "output", "open", "quiet", "color", "figures", "explain", "live", "listen", "every"}
#: Options without a keyword of single verbs, because they change the shape of the result.
LEFT_OUT_OF = {"compare": {"history"}}
#: For each verb: its positional arguments as parameters, and the type of the result.
VERBS = {
    "measure": ("", "Measurement"),
    "observe": ("command: Sequence[str] = ()", "Observation"),
    "simulate": ("traces: Path | Sequence[Path], command: Sequence[str] = ()", "Simulation"),
    "compare": ("base: Path, new: Path", "Comparison"),
    "trace": ("command: Sequence[str], output: Path", "Trace"),
}
POSITIONALS = {
    "command": "The command and its arguments.",
    "traces": "The trace, or several, which are trials; or live for the command.",
    "base": "A record, or a folder of records of repeated runs.",
    "new": "What to compare with it: a record, or a folder of records.",
    "output": "The file for the trace, which must not exist.",
}
HEAD = '''"""The verbs of the program as functions. Made by make_verbs.py from what the program says of its flags: do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from . import _runs
from ._options import Form, Path, Percentage, Size, Time, words
from .comparison import Comparison
from .measurement import Measurement
from .observation import Observation
from .simulation import Simulation
from .traces import Trace
'''
TYPES = {"size": "Size", "time": "Time", "percentage": "Percentage", "integer": "int", "path": "Path", "text": "str"}


def main() -> None:
    """Reads the description from standard input, and writes the module to standard output."""
    sys.stdout.write(module(json.load(sys.stdin)))


def module(description: dict[str, Any]) -> str:
    """Returns the text of the module."""
    if description["schema"] != SCHEMA:
        sys.exit(f"found {description['schema']}, need {SCHEMA}")
    verbs = {verb["name"]: verb for verb in description["verbs"]}
    return HEAD + "".join(verb_of(verbs[name]) for name in VERBS)


def verb_of(verb: dict[str, Any]) -> str:
    """Returns the code of a verb: types of its closed lists, the table of its options, and its function."""
    left_out = LEFT_OUT | LEFT_OUT_OF.get(verb["name"], set())
    options = [argument for argument in verb["arguments"] if not argument["is_positional"] and argument["name"] not in left_out]
    lists = [closed(verb, option) for option in options if option["names"]]
    return "\n" + "".join(lists) + forms(verb, options) + function(verb, options)


def alias(verb: dict[str, Any], option: dict[str, Any]) -> str:
    """Returns the name of the type of a closed list."""
    return (verb["name"] + "-" + option["name"]).title().replace("-", "")


def closed(verb: dict[str, Any], option: dict[str, Any]) -> str:
    """Returns the definition of the type of a closed list."""
    names = ", ".join(json.dumps(name) for name in option["names"])
    lines = textwrap.wrap(names, 120, initial_indent="    ", subsequent_indent="    ")
    return f"{alias(verb, option)}: TypeAlias = Literal[\n" + "\n".join(lines) + ",\n]\n"


def parameter(option: dict[str, Any]) -> str:
    """Returns the keyword of an option."""
    name = option["name"].replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else str(name)


def form(option: dict[str, Any]) -> str:
    """Returns how an option is written on the command line: a `Form`."""
    if option["kind"] == "flag":
        return "flag"
    if option["kind"] == "size":
        return "sizes" if option["several"] else "size"
    return option["several"] or ("optional" if option["is_value_optional"] else "value")


def forms(verb: dict[str, Any], options: list[dict[str, Any]]) -> str:
    """Returns the table of a verb's options, with the form of each."""
    rows = "".join(f'    "{parameter(option)}": "{form(option)}",\n' for option in options)
    return f"\n_{verb['name'].upper()}: dict[str, Form] = {{\n{rows}}}\n"


def annotation(verb: dict[str, Any], option: dict[str, Any]) -> str:
    """Returns the keyword of an option with its type and default."""
    if option["kind"] == "flag":
        return f"{parameter(option)}: bool = False"
    one = alias(verb, option) if option["names"] else TYPES[option["kind"]]
    if option["several"]:
        return f"{parameter(option)}: {one} | Sequence[{one}] = ()"
    return f"{parameter(option)}: {one}{' | bool' if option['is_value_optional'] else ''} | None = None"


def function(verb: dict[str, Any], options: list[dict[str, Any]]) -> str:
    """Returns the code of a verb's function."""
    positionals, result = VERBS[verb["name"]]
    names = [part.partition(":")[0].strip() for part in positionals.split(", ") if part]
    parameters = [*positionals.split(", "), "*", *(annotation(verb, option) for option in options), "progress: bool = True"]
    signature = "".join(f"    {one},\n" for one in parameters if one)
    call = ", ".join([*names, f"words(_{verb['name'].upper()}, locals())", "progress"])
    body = f"    return _runs.{verb['name']}({call})\n"
    return f"\n\ndef {verb['name']}(\n{signature}) -> {result}:\n{documentation(verb, names, options)}{body}"


def documentation(verb: dict[str, Any], names: list[str], options: list[dict[str, Any]]) -> str:
    """Returns the docstring of a verb, from the program's help for the verb and each option."""
    rows = [f"{name}: {POSITIONALS[name]}" for name in names]
    rows += [f"{parameter(option)}: {told(option)}" for option in options]
    rows.append("progress: Show how far it is, where tqdm is installed.")
    wrapped = [textwrap.fill(row, 124, initial_indent=" " * 8, subsequent_indent=" " * 12) for row in rows]
    return f'    """{verb["about"]}.\n\n    Args:\n' + "\n".join(wrapped) + '\n    """\n'


def told(option: dict[str, Any]) -> str:
    """Returns the help of an option as a sentence, with its default."""
    default = f" [default: {option['default']}]" if option["default"] and "[default" not in option["help"] else ""
    return (option["help"] + default).replace("\\", "\\\\") + "."


if __name__ == "__main__":
    main()
