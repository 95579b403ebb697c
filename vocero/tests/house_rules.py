"""The house rules as functions: a source text in, its offences out, each opening with its line number."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

FILE_LINES = 400
FUNCTION_LINES = 40
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
VAGUE_NAMES = {
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "base",
    "manager",
    "managers",
    "handler",
    "handlers",
}
# Written in two parts, so that this file keeps its own rule.
NOTES = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.:/])/(?:work|root|Users|home/\w+)/|\.\./sha" + r"red\b")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def long_file(text: str) -> list[str]:
    """A file has at most 400 lines."""
    count = len(text.splitlines())
    return [f"1: {count} lines"] if count > FILE_LINES else []


def long_functions(text: str) -> list[str]:
    """A function has at most 40 lines of code, its signature included, comments and docstrings not."""
    tree = ast.parse(text)
    lines = code_lines(text) - docstring_lines(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, Function):
            count = len(lines.intersection(range(node.lineno, (node.end_lineno or node.lineno) + 1)))
            if count > FUNCTION_LINES:
                found.append(f"{node.lineno}: {node.name} has {count} code lines")
    return found


def code_lines(text: str) -> set[int]:
    """The numbers of the lines that hold more than a comment or nothing."""
    return {
        number
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in LAYOUT
        for number in range(token.start[0], token.end[0] + 1)
    }


def docstring_lines(tree: ast.Module) -> set[int]:
    """The numbers of the lines of every docstring."""
    owners = [node for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef | ast.Module)]
    opening = [
        owner.body[0] for owner in owners if owner.body and ast.get_docstring(owner, clean=False) is not None
    ]
    return {number for node in opening for number in range(node.lineno, (node.end_lineno or 0) + 1)}


def catch_alls(text: str) -> list[str]:
    """Handlers and `suppress` calls that catch everything."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ExceptHandler) and catches_everything(node):
            found.append(f"{node.lineno}: catches everything")
        if isinstance(node, ast.Call) and called_name(node) == "suppress" and names_everything(node.args):
            found.append(f"{node.lineno}: suppresses everything")
    return found


def catches_everything(handler: ast.ExceptHandler) -> bool:
    """Whether it stops the unforeseen; `except BaseException` that ends in a bare raise only tidies up."""
    last = handler.body[-1]
    tidies = isinstance(last, ast.Raise) and last.exc is None and handler.type is not None
    if tidies and ast.unparse(handler.type) == "BaseException":
        return False
    return handler.type is None or names_everything([handler.type])


def names_everything(types: list[ast.expr]) -> bool:
    """Whether Exception or BaseException is among the types, tuples included."""
    names = {node.id for one in types for node in ast.walk(one) if isinstance(node, ast.Name)}
    return bool(names & {"Exception", "BaseException"})


def called_name(call: ast.Call) -> str:
    """The last part of what is called: `sleep` for `asyncio.sleep(…)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def environment_uses(text: str) -> list[str]:
    """Every use of the process's environment, with what is done to it."""
    return [f"{node.lineno}: {said}" for node, said in _environment_nodes(ast.parse(text))]


def _environment_nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    names = {"environ", "environb", "getenv", "putenv"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "os" and node.attr in names:
            yield node, f"os.{node.attr}"
        if isinstance(node, ast.ImportFrom) and node.module == "os" and names & {n.name for n in node.names}:
            yield node, "from os import …"


def sleeps(text: str) -> list[str]:
    """Calls of any `sleep`; `asyncio.sleep(0)`, which only yields, is none."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and called_name(node) == "sleep":
            yields = [ast.unparse(argument) for argument in node.args] == ["0"]
            if not yields:
                found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def missing_opening(text: str) -> list[str]:
    """A module opens with one line on what lives there; an empty one needs none."""
    tree = ast.parse(text)
    if not tree.body:
        return []
    first, _, rest = (ast.get_docstring(tree) or "").partition("\n")
    opened = first.endswith((".", "?", ".)")) and (not rest or rest.startswith("\n"))
    return [] if opened else ["1: no one-line opening that ends a sentence"]


def missing_script_opening(text: str) -> list[str]:
    """A script opens with a comment on what lives there."""
    return [] if not text.strip() or text.lstrip().startswith(("/*", "//")) else ["1: no opening comment"]


def left_notes(text: str) -> list[str]:
    """Notes of things to do later."""
    return lines_with(NOTES, text)


def machine_paths(text: str) -> list[str]:
    """Folders of one person's machine."""
    return lines_with(MACHINE_PATHS, text)


def lines_with(pattern: re.Pattern[str], text: str) -> list[str]:
    """The lines in which the pattern is found."""
    return [
        f"{n}: {line.strip()[:80]}" for n, line in enumerate(text.splitlines(), 1) if pattern.search(line)
    ]


def vague_name(stem: str) -> bool:
    """Whether a module's name says nothing about what lives there."""
    return bool(VAGUE_NAMES.intersection(re.split(r"[_\-.]", stem.lower())))


def settings_read(text: str) -> set[str]:
    """The names of the settings that the source of `vocero.env` asks its reader for."""
    asked = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and node.args)
    return {
        call.args[0].value
        for call in asked
        if isinstance(call.func, ast.Attribute)
        and ast.unparse(call.func.value) == "read"
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    }


def settings_shown(text: str) -> dict[str, str]:
    """Name and value of every setting of an `.env.example`, commented out or not."""
    return dict(re.findall(r"(?m)^(?:# ?)?([A-Z][A-Z0-9_]+)=(.*)$", text))


def pins(text: str) -> dict[str, str]:
    """Package and version of every pin of a requirements file."""
    found = re.findall(r"(?m)^([A-Za-z0-9._-]+)(?:\[[\w,]+\])?==([^\s;\\]+)", text)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}
