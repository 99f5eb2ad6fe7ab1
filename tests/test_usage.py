"""Invalid command lines are refused with location, problem, requirement, and correction."""

import pytest
from support.refused import refused

from granchain.cli import obey
from granchain.cli.process import program


def commands(command, path=()):
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


def wrong_lines(root):
    """Return every kind of invalid command line of every command, from the declarations of the
    command."""
    for path, command in commands(root):
        words = ("--no-such-option=1", "-hz", "--help=3", "--\x1b[2J\u202e" + 500 * "x")
        yield from ((*path, word) for word in words)
        if hasattr(command, "commands"):
            yield from ((*path, word) for word in ("no-such-command", "\x1b[31m", "x" * 500))
            continue
        needed = [
            word
            for one in command.params if one.required
            for word in (*one.opts[: one.param_type_name == "option"], "x")
        ]  # fmt: skip
        if needed:
            yield path
        if not any(one.nargs == -1 for one in command.params):
            yield (*path, *needed, *["too many"] * (len(command.params) + 1))
        for option in command.params:
            if option.param_type_name == "option":
                flag = "=yes" if option.is_flag else ""
                yield (*path, *needed, option.opts[0] + flag)
                if str(option.type_descriptor.annotation).find("str") < 0 and not flag:
                    yield (*path, *needed, option.opts[0], "5 mm\x1b[31m")


@pytest.mark.promise("I2")
def test_every_wrong_command_line_names_location_problem_requirement_and_fix(capsys, figure):
    command = program()
    lines = list(wrong_lines(command))
    lacking = []
    for line in lines:
        code, said = obey(line), capsys.readouterr()
        (sentence,) = said.err.splitlines()
        _, where, problem, *_ = sentence.split(": ", 2)
        parts = (
            where
            and 0 < problem.find(". Usage: ") < problem.find(". See ")
            and problem.endswith("--help.")
        )
        if code != 2 or said.out or not parts or not sentence.isprintable():
            lacking.append((line, sentence))
    assert len(lines) > 300 and {line[0] for line in lines if len(line) > 1} >= set(
        command.commands
    )
    print(*lacking, sep="\n")
    figure("wrong command lines whose message lacks a part", len(lacking), at_most=0)


def test_a_wrong_command_line_is_refused_with_what_is_meant(obeyed):
    for line, sentence in refused("usage"):
        assert sentence in obeyed(*line, code=2).err
