"""All kills, with a progress bar and tables at the end: `make chaos`.

python -m tests.chaos                                 everything
python -m tests.chaos --only windowed-kafka           one round; the tables have all that was run so far
python -m tests.chaos --only windowed-kafka --first 4 --seed 7
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from tests.chaos.kills import Outcome, Result, run
from tests.chaos.report import report
from tests.chaos.schedule import Round, all_rounds, share_of
from tests.kafka.broker import Broker
from tests.progress import Progress
from tests.quick_java import make_archive, use_archive
from tests.tables import replace_generated

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".cache" / "chaos"
PAGE = ROOT / "docs" / "operations" / "chaos.md"


def main() -> int:
    """Run what the command line asks for; 1 when something was lost or doubled."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="of the inputs, and of the kills by chance")
    parser.add_argument("--only", action="append", help="a round such as `windowed-kafka`; again for more")
    parser.add_argument(
        "--share", default="1/1", help="such as 2/3: the second third of each round, over new topics"
    )
    parser.add_argument("--first", type=int, help="only so many kills of each round, or of its share")
    parser.add_argument("--chance", type=int, help="kills by chance in a round (16, and 6 on Kafka)")
    parser.add_argument("--fresh", action="store_true", help="forget what was run before")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    rounds = all_rounds(options.seed, options.chance)
    if options.only:
        unknown = set(options.only) - {each.name for each in rounds}
        if unknown:
            parser.error(
                f"no round {', '.join(unknown)}: there are {', '.join(each.name for each in rounds)}"
            )
        rounds = [each for each in rounds if each.name in options.only]
    shares = [share_of(each, options.share) for each in rounds]
    rounds = [replace(each, kills=each.kills[: options.first]) for each in shares]
    if options.fresh:
        for file in KEPT.glob("*.json"):
            file.unlink()
    print(f"chaos: {sum(len(each.kills) for each in rounds)} kills, seed {options.seed}", flush=True)
    make_archive()
    use_archive()
    failed = [outcome for outcome in _run_all(rounds) if outcome.why]
    text = report(KEPT)
    print(f"\n{text}\n")
    for outcome in failed:
        print(f"FAILED {outcome.round}: {outcome.why}")
        count = len(outcome.results)
        print(
            f"  again: python -m tests.chaos --only {outcome.round.name} --first {count} --seed {options.seed}"
        )
    if options.write and not failed:
        replace_generated(PAGE, "chaos", text)
    return 1 if failed else 0


def _run_all(rounds: Sequence[Round]) -> list[Outcome]:
    bar = Progress(sum(len(each.kills) for each in rounds), "kills")
    outcomes = []
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-chaos-")))
        servers = None
        if any(each.log == "kafka" for each in rounds):
            broker = Broker(scratch / "broker")
            stack.callback(broker.close)
            servers = broker.start().bootstrap_servers
        for each in rounds:
            bar.show(f"{each} starts")

            def told(result: Result, each: Round = each) -> None:
                bar.step(f"{each}: {result.victim} at {result.point}, {result.seconds:.1f} s")

            outcomes.append(run(each, scratch / each.name, servers, told))
            outcomes[-1].save(KEPT)
            bar.done += len(each.kills) - len(outcomes[-1].results)
    bar.end()
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
