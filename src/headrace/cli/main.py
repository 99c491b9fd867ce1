"""The entry point: finds the command, runs it, and turns errors into one clear message."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from headrace.errors import HeadraceError

COMMANDS = {
    "run": "run a topology on Spark",
    "describe": "show a topology as text, as data or as a picture",
    "explain": "show how a topology runs on Spark: stages, tasks, stores",
    "check": "compare a topology with a saved one before an upgrade",
    "standby": "keep a warm copy of an application's stores on this host",
    "drill": "rebuild all stores from the changelogs as a rehearsal",
    "rescale": "give a stopped application another number of tasks",
    "reset": "start a stopped application afresh",
    "topics": "list, create, describe, alter and delete topics",
    "produce": "write records from standard input to a topic",
    "consume": "print the records of a topic",
}
"""Every command and what it does; each is a module here with a function `register`."""

_ON_TOPICS = ("topics", "produce", "consume")


def parser_for(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser. Only the module of the wanted command is imported: `run` brings Spark along."""
    parser = argparse.ArgumentParser(prog="headrace", description="Kafka Streams for Python, on Spark.")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    wanted = next((argument for argument in arguments if not argument.startswith("-")), None)
    for name, summary in COMMANDS.items():
        if name == wanted:
            import_module(f"headrace.cli.{name}").register(commands)
        else:
            commands.add_parser(name, help=summary)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code. 1: it did not work, 2: wrong usage, 130: Ctrl-C; `check` has its own."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        args = parser_for(given).parse_args(given)
        code: int = args.action(args)
        sys.stdout.flush()
        return code
    except HeadraceError as error:
        # No program of the user's has a line in what the commands on topics do.
        shown = error.message if given and given[0] in _ON_TOPICS else error
        print(f"headrace: {shown}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has seen enough, as in `headrace consume t | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.filename is None:
            raise
        # A folder that is none, a file that may not be written.
        print(f"headrace: `{error.filename}`: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
