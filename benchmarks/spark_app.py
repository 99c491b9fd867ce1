"""W1 with Spark's own aggregation, as well set up as we know: the row that Headrace is compared with.

It reads the same embedded log in batches of the same size. It writes one row per key and batch, not every update, and
it appends them without a transaction.
"""

from __future__ import annotations

import argparse
import signal
import threading
import time
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.spark_source import LogSource
from headrace.log import LogConfig, open_log
from headrace.log.arrow import SCHEMA, ArrowOutgoing
from headrace.spark.session import cores, session

ORDER = "order_id string, customer string, amount double, status string, ts long"
STATE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    # What Headrace turns off, because its rows are few and packed, is what makes this one fast.
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.streaming.stateStore.providerClass": STATE,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.shuffle.partitions": str(cores()),
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -Xshare:auto -Dlog4j2.level=ERROR",
}


def totals(orders: DataFrame) -> DataFrame:
    """The aggregation: count, sum and last time of each customer's paid orders."""
    return (
        orders.select(F.from_json("value", ORDER).alias("order"))
        .select("order.*")
        .filter("status != 'cancelled'")
        .groupBy("customer")
        .agg(F.count("*").alias("n"), F.sum("amount").alias("total"), F.max("ts").alias("ts"))
        .select(
            F.col("customer").cast("binary").alias("key"),
            F.to_json(F.struct("n", "total", "ts")).cast("binary").alias("value"),
            F.col("ts").alias("timestamp"),
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("log", "input", "output", "state-dir", "mark"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    spark = session(None, "aggregation", SETTINGS)
    spark.dataSource.register(LogSource)
    options = {"log": args.log, "topic": args.input, "mark": args.mark}
    source = spark.readStream.format("embedded_log").options(**options).load()
    log = open_log(LogConfig(directory=args.log))

    def write(frame: DataFrame, number: int) -> None:
        table = frame.toArrow().cast(SCHEMA)
        log.append([ArrowOutgoing(args.output, batch) for batch in table.to_batches()])

    query = (
        totals(source)
        .writeStream.outputMode("update")
        .foreachBatch(write)
        .option("checkpointLocation", args.state_dir)
        .start()
    )
    first = Path(f"{args.mark}-first")
    while not first.exists() and query.isActive and not stop.is_set():
        time.sleep(0.05)
    print(f"FIRST {first.read_text()}", flush=True)
    while query.isActive and not stop.is_set():
        stop.wait(0.1)
    if query.exception() is not None:
        raise query.exception()  # type: ignore[misc]
    query.stop()


if __name__ == "__main__":
    main()
