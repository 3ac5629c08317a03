# SPDX-License-Identifier: Apache-2.0
"""Rule files: find, describe and order them. Only describe() and import_file() run their code, in a separate process
(_process.py).
"""

import importlib.util
import os
import sys
import traceback
from types import ModuleType
from typing import Dict, List, NamedTuple, Tuple, Union

MANDATORY = ("get_identifier", "apply", "get_name", "get_description")


class Rule(NamedTuple):
    """The description of a rule by its file."""

    path: str
    identifier: str
    name: str
    description: str
    section: str  # "" = no section
    parents: List[str]


def line_of(error: BaseException, path: str) -> int:
    """Return the innermost line of the file in a traceback, or the line of a syntax error; 0 = none."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno or 0
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return lines[-1] or 0 if lines else 0


def said(error: BaseException, path: str) -> str:
    """Describe an exception in one line, with the line of the file."""
    text = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
    line = line_of(error, path)
    return "{}{}{}".format(f"line {line}: " if line else "", type(error).__name__, ": " + text if text else "")


def import_file(path: str) -> ModuleType:
    """Run the file, which may import other files of its folder."""
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that NvRules is ours
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    assert spec is not None and spec.loader is not None  # true of every path that ends with .py
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _text(module: ModuleType, name: str, is_mandatory: bool) -> str:
    value = getattr(module, name)() if hasattr(module, name) else ""
    if not isinstance(value, str) or (is_mandatory and not value):
        raise TypeError(f"{name}() returned {value!r}")
    return value


def describe(path: str) -> Union[Rule, str, None]:
    """Return a Rule, or a str that describes an error, or None for a file that is not a rule but may be imported by
    rules.
    """
    try:
        module = import_file(path)
        if not hasattr(module, "get_identifier") and not hasattr(module, "apply"):
            return None
        missing = [name for name in MANDATORY if not callable(getattr(module, name, None))]
        if missing:
            return "missing function: {}".format(", ".join(missing))
        parents = module.get_parent_rules_identifiers() if hasattr(module, "get_parent_rules_identifiers") else []
        return Rule(
            path,
            _text(module, "get_identifier", True),
            _text(module, "get_name", False),
            _text(module, "get_description", False),
            _text(module, "get_section_identifier", False),
            [str(parent) for parent in parents],
        )
    except (Exception, SystemExit) as error:
        return said(error, path)


def files(folders: List[str]) -> Tuple[List[str], List[str]]:
    """Return (paths, errors): the Python files of the folders, sorted by name, except NvRules.py, which is ours."""
    paths: List[str] = []
    problems: List[str] = []
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            problems.append(f"cannot read the folder '{folder}': {error.strerror}")
            continue
        paths += [
            os.path.abspath(os.path.join(folder, name))
            for name in names
            if name.endswith(".py") and name != "NvRules.py"
        ]
    return paths, problems


def ordered(rules: List[Rule]) -> List[Rule]:
    """Sort rules by identifier, but parents before their children, as Nsight Compute does; a cycle of parents starts
    with its first rule by name.
    """
    by_name = {rule.identifier: rule for rule in rules}
    out: Dict[str, Rule] = {}  # in the order of insertion
    begun = set()

    for name in sorted(by_name):
        todo = [name]
        while todo:
            rule = by_name[todo[-1]]
            begun.add(rule.identifier)
            parent = next((p for p in rule.parents if p in by_name and p not in begun), None)
            if parent is not None:
                todo.append(parent)
            else:
                out.setdefault(rule.identifier, rule)
                todo.pop()
    return list(out.values())


def chosen(rules: List[Rule], names: List[str]) -> List[Rule]:
    """Return the named rules (all if no name is given), and the rules that they get numbers from."""
    by_name = {rule.identifier: rule for rule in rules}
    todo = [name for name in names if name in by_name] if names else list(by_name)
    found: Dict[str, Rule] = {}
    while todo:
        rule = by_name[todo.pop()]
        if rule.identifier not in found:
            found[rule.identifier] = rule
            todo += [parent for parent in rule.parents if parent in by_name]
    return [rule for rule in rules if rule.identifier in found]
