"""Errors of the command line's parser, in the form that every error has: where, got, allowed,
what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from typer.exceptions import TyperException
from typer.main import get_command

from granchain.cli.options import app
from granchain.errors import nearest


def wrong_use(error: TyperException, arguments: Sequence[str]) -> str:
    """The sentence of a command line that cannot be read.

    Parameters
    ----------
    error : TyperException
    arguments : sequence of str
        Without the name of the program.
    """
    context, option = getattr(error, "ctx", None), getattr(error, "option_name", None)
    path, command = (
        command_of(arguments, option)
        if context is None
        else (context.command_path.split()[1:], context.command)
    )
    parameters = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
    parameter = getattr(error, "param", None) or parameters.get(option)
    if hasattr(error, "possibilities"):
        where, got = path, f"the option {quoted_argument(option)}"
        allowed, advice = allowed_and_meant(
            option,
            [*(name for name in parameters if name.startswith("-")), "--help"],
            "take it out",
        )
    elif option is not None and (parameter is None or parameter.is_flag):
        where, got, allowed, advice = (
            [*path, option],
            "a value",
            f"{option} alone",
            "take the value out",
        )
    elif parameter is not None:
        where, value = [*path, option_name(parameter)], value_in(arguments, parameter)
        missing = option is not None or hasattr(error, "param_type")
        got = "nothing" if missing else quoted_argument(value)
        kind = (
            parameter.metavar
            if missing
            else "a whole number"
            if "integer" in error.format_message()
            else "a number"
        )
        allowed, advice = (
            f"{kind} ({parameter.help.rstrip('.')})",
            "give it" if missing else "write it so",
        )
    elif hasattr(command, "commands"):
        word = next((word for word in arguments[len(path) :] if not word.startswith("-")), None)
        where, got = [*path, "command"], "nothing" if word is None else quoted_argument(word)
        allowed, advice = allowed_and_meant(word, list(command.commands), "name one of these")
    else:
        extra = re.search(r"\(((?!s\)).*)\)$", error.format_message(), re.DOTALL)
        taken = [option_name(one) for one in command.params if one.param_type_name == "argument"]
        where, got = (
            path,
            f"{quoted_argument(extra[1] if extra else error.format_message())} beside what it "
            "takes",
        )
        allowed, advice = (
            f"options and {', '.join(taken) or 'no argument'}",
            "take it out, or quote a value with spaces",
        )
    see = " ".join(["granchain", *path, "--help"])
    return (
        f"{' '.join(where) or 'command'}: got {got}, allowed {allowed}; "
        f"{advice}{'' if advice.endswith('?') else ', or'} see {see}"
    )


def command_of(arguments: Sequence[str], option: str | None) -> tuple[list[str], Any]:
    """The command that a command line names before an option, and the words that lead to it."""
    path: list[str] = []
    command: Any = get_command(app)
    for word in arguments:
        if (
            word == option
            or word.startswith(f"{option}=")
            or word not in getattr(command, "commands", {})
        ):
            break
        path.append(word)
        command = command.commands[word]
    return path, command


def allowed_and_meant(word: str | None, known: Sequence[str], otherwise: str) -> tuple[str, str]:
    """What is allowed, and which of it was meant."""
    near = None if word is None else nearest(word, known)
    return ", ".join(known), otherwise if near is None else f'did you mean "{near}"?'


def option_name(parameter: Any) -> str:
    """A parameter as one writes it."""
    return parameter.opts[0] if parameter.param_type_name == "option" else str(parameter.metavar)


def value_in(arguments: Sequence[str], parameter: Any) -> str:
    """The last value of an option on a command line."""
    found = ""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in parameter.opts:
            found = value if equals else following
    return found


def quoted_argument(word: str | None) -> str:
    """A word of a command line, shortened."""
    text = word or ""
    return f'"{text[:60]}{"..." if len(text) > 60 else ""}"'
