"""Syntax of functions as bytes: the same for every version of Python, and independent of comments,
docstrings, annotations, lines, and the file."""

from __future__ import annotations

import ast
import inspect
import linecache
import threading
import types
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from granchain.jit.reach import constant_bytes, hash_of_code, with_length

# Maximum number of cached files, which are those of a law and of its imports.
FILES = 64
# Fields of Python's syntax tree that do not affect what is computed.
SILENT = {"ctx", "kind", "type_comment", "annotation", "returns", "type_params"}
# Python 3.11 counts the depth of all trees in one place, so two threads that make a tree at the
# same time may both fail (https://github.com/python/cpython/issues/106905).
_TREE_LOCK = threading.Lock()
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def code_by_syntax(function: Callable) -> bytes:
    """Return the syntax of a function, without its defaults, which are values.

    The text must compile to the loaded function, because its file may have been edited. If no such
    text is found, the bytecode is returned.
    """
    code: types.CodeType = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename))
    code_hash = hash_of_code(code, documented=False)
    return (
        b"syntax " + syntax
        if (syntax := _syntax_of_functions(text).get((code.co_qualname, code_hash)))
        else b"bytecode " + code_hash
    )


@lru_cache(FILES)
def _syntax_of_functions(text: str) -> dict[tuple[str, bytes], bytes]:
    """Return the syntax of each function of a text, by name and hash of its compiled code."""
    try:
        with _TREE_LOCK:
            tree = ast.parse(text)
        blocks = list(_blocks(compile(text, "", "exec", dont_inherit=True)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    nodes: dict[tuple[str, int], list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS):
            first = min(
                (decorator.lineno for decorator in getattr(node, "decorator_list", ())),
                default=node.lineno,
            )
            nodes.setdefault((getattr(node, "name", "<lambda>"), first), []).append(node)
    codes: dict[tuple[str, int], list[types.CodeType]] = {}
    for block in blocks:
        codes.setdefault((block.co_name, block.co_firstlineno), []).append(block)
    return {
        (
            codes[key][0].co_qualname,
            hash_of_code(codes[key][0], documented=False),
        ): _of_definition(definitions[0])
        for key, definitions in nodes.items()
        # Two functions on one line cannot be distinguished.
        if len(definitions) == len(codes.get(key, ())) == 1
    }


def _blocks(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a block of code and all blocks within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _blocks(constant)


def _of_definition(node: Any) -> bytes:
    """Return the arguments and the body of a function."""
    arguments = node.args
    names = [
        [argument.arg for argument in arguments.posonlyargs],
        [argument.arg for argument in arguments.args],
        [argument.arg for argument in arguments.kwonlyargs],
    ]
    more = [argument and argument.arg for argument in (arguments.vararg, arguments.kwarg)]
    return with_length(repr((names, more)).encode()) + _node_bytes(_without_docstring(node))


def _without_docstring(node: Any) -> Any:
    """Return the body of a function or class without its docstring; a lambda has an expression."""
    body = node.body
    documented = (
        isinstance(body, list)
        and isinstance(body[0], ast.Expr)
        and inspect.cleandoc(ast.get_docstring(node) or "")
    )
    return body[1:] if documented else body


def _node_bytes(node: Any) -> bytes:
    """Return the type of a node of a syntax tree and its fields with a value."""
    if isinstance(node, list):
        return b"l" + b"".join(with_length(_node_bytes(element)) for element in node)
    if not isinstance(node, ast.AST):
        return constant_bytes(node)
    documented = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    fields = [
        (name, _without_docstring(node) if name == "body" and documented else value)
        for name, value in ast.iter_fields(node)
    ]
    filled = [
        (name, value)
        for name, value in fields
        if name not in SILENT and (isinstance(node, ast.Constant) or value not in (None, []))
    ]
    return type(node).__name__.encode() + b"".join(
        with_length(name.encode()) + with_length(_node_bytes(value)) for name, value in filled
    )
