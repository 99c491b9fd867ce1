"""A topology built by hand: nodes, sub-topologies, stores, and what a runtime reads from it."""

from __future__ import annotations

import json
import re

from headrace import Processor, StreamsBuilder, Topology, key_value_store
from headrace.origin import NOWHERE
from headrace.topology.nodes import ProcessorNode, RepartitionTopic, SinkNode, SourceNode


def names(nodes: tuple[object, ...]) -> list[str]:
    return [node.name for node in nodes]  # type: ignore[attr-defined]


def test_nodes_keep_the_order_in_which_they_were_added() -> None:
    topology = (
        Topology().add_source("in", "a").add_processor("work", Processor, "in").add_sink("out", "b", "work")
    )
    assert list(topology.nodes) == ["in", "work", "out"]
    assert [type(node) for node in topology.nodes.values()] == [SourceNode, ProcessorNode, SinkNode]


def test_a_parent_named_twice_forwards_once() -> None:
    topology = Topology().add_source("in", "a").add_processor("work", Processor, ["in", "in"])
    assert topology.nodes["work"].parents == ("in",)  # type: ignore[union-attr]


def test_unconnected_nodes_are_separate_sub_topologies() -> None:
    topology = Topology().add_source("a", "a").add_source("b", "b").add_sink("c", "c", "a")
    assert [names(sub.nodes) for sub in topology.sub_topologies()] == [["a", "c"], ["b"]]


def test_a_shared_store_joins_sub_topologies() -> None:
    topology = Topology().add_source("a", "a").add_source("b", "b")
    topology.add_processor("pa", Processor, "a").add_processor("pb", Processor, "b")
    assert len(topology.sub_topologies()) == 2
    topology.add_state_store(key_value_store("s", value=int), ["pa", "pb"])
    (sub,) = topology.sub_topologies()
    assert names(sub.nodes) == ["a", "b", "pa", "pb"]
    assert names(sub.stores) == ["s"]


def test_global_stores_take_a_number_but_are_no_sub_topology() -> None:
    builder = StreamsBuilder()
    builder.global_table("g", value=int, store="gs")
    builder.stream("s", value=int).to("o")
    topology = builder.build()
    assert [sub.id for sub in topology.sub_topologies()] == [1]
    (node,) = topology.global_stores
    assert (node.store.name, node.store.logging, node.source.topics) == ("gs", False, ("g",))
    description = topology.describe()
    assert [part.id for part in description.global_stores] == [0]
    assert [part.id for part in description.subtopologies] == [1]


def test_a_store_that_nothing_uses_is_in_no_sub_topology() -> None:
    topology = Topology().add_source("a", "a").add_state_store(key_value_store("s", value=int))
    assert [sub.stores for sub in topology.sub_topologies()] == [()]
    assert list(topology.stores) == ["s"]


def test_a_processor_may_bring_its_store() -> None:
    topology = Topology().add_source("a", "a").add_state_store(key_value_store("old", value=int))
    topology.add_processor("p", Processor, "a", stores=["old", key_value_store("new", value=int)])
    assert topology.nodes["p"].stores == ("old", "new")  # type: ignore[union-attr]


def test_one_store_may_be_brought_by_several_processors() -> None:
    store = key_value_store("s", value=int)
    topology = Topology().add_source("a", "a")
    topology.add_processor("p", Processor, "a", stores=[store]).add_processor(
        "q", Processor, "a", stores=[store]
    )
    assert topology.stores["s"] is store


def test_sinks_know_a_topic_or_how_to_choose_one() -> None:
    def choose(key: object, value: object, metadata: object) -> str:
        return "b"

    topology = Topology().add_source("a", "a").add_sink("fixed", "b", "a").add_sink("chosen", choose, "a")
    assert [(s.topic, s.extractor) for s in topology.sub_topologies()[0].sinks] == [
        ("b", None),
        (None, choose),
    ]
    assert (
        "Sink: chosen (extractor class: test_sinks_know_a_topic_or_how_to_choose_one.<locals>.choose)"
        in str(topology.describe())
    )


def test_nodes_remember_the_line_that_made_them() -> None:
    topology = Topology().add_source("a", "a")
    assert topology.nodes["a"].origin.file == __file__


def test_repartition_topics_and_joined_sources() -> None:
    builder = StreamsBuilder()
    table = builder.table("t", value=int)
    rekeyed = builder.stream("s", value=int).select_key(lambda key, value: key)
    rekeyed.join(table, join=lambda a, b: a, name="j").to("o", value=int)
    builder.stream("x", value=int).repartition(name="r", partitions=7)
    topology = builder.build()
    assert topology.repartition_topics == (
        RepartitionTopic("j-repartition"),
        RepartitionTopic("r-repartition", 7),
    )
    (group,) = topology.copartition_groups()
    assert {topic for source in group for topic in source.topics} == {"t", "j-repartition"}


def test_joined_groups_that_share_a_source_are_one() -> None:
    topology = Topology().add_source("a", "a").add_source("b", "b").add_source("c", "c")
    topology.copartition(["a", "b"], "j", NOWHERE).copartition(["b", "c"], "k", NOWHERE)
    (group,) = topology.copartition_groups()
    assert names(group) == ["a", "b", "c"]


def test_joins_of_merged_sources_follow_the_source_that_stays() -> None:
    builder = StreamsBuilder()
    builder.stream("s", value=int).to("copy")
    builder.stream("s", value=int).join(builder.table("t", value=int), join=lambda a, b: a).to("o", value=int)
    (group,) = builder.build().copartition_groups()
    assert sorted(topic for source in group for topic in source.topics) == ["s", "t"]


def test_a_stream_aggregate_alone_sends_no_old_values() -> None:
    builder = StreamsBuilder()
    builder.stream("s", value=int).group_by_key().count().to_stream().to("o")
    assert builder.build().old_values == frozenset()


def test_json_has_nodes_edges_stores_and_topics() -> None:
    builder = StreamsBuilder()
    builder.stream("s", value=int, name="in").group_by_key().count(store="counts", name="n").to_stream().to(
        "o"
    )
    data = json.loads(builder.build().to_json())
    (sub,) = data["subtopologies"]
    assert [(node["type"], node["name"]) for node in sub["nodes"]][:2] == [
        ("source", "in"),
        ("processor", "n"),
    ]
    assert sub["nodes"][0]["children"] == ["n"]
    assert sub["nodes"][1]["parents"] == ["in"]
    assert sub["nodes"][1]["stores"] == ["counts"]
    assert sub["nodes"][3]["topic"] == "o"
    assert sub["stores"][0]["kind"] == "timestamped_key_value"
    assert data["global_stores"] == []


def test_mermaid_draws_topics_nodes_stores_and_lookups() -> None:
    builder = StreamsBuilder()
    risk = builder.global_table("risk", value=int, store="scores")
    stream = builder.stream(re.compile("in-<.*>"), value=int)
    stream.join(risk, on=lambda key, value: key, join=lambda a, b: a, name="look").to("o", value=int)
    text = builder.build().to_mermaid()
    assert text.startswith("flowchart TD\n")
    assert '{{"/in-&lt;.*&gt;/"}}' in text
    ids = dict(re.findall(r'^\s+(\w+)[\[({]+"([^"]+)"', text, re.MULTILINE))
    by_name = {name: number for number, name in ids.items()}
    assert f"{by_name['scores']} -.-> {by_name['look']}" in text
    assert all(re.fullmatch(r"(subgraph )?\w+.*", line.strip()) for line in text.splitlines())


def test_an_empty_topology_is_described_too() -> None:
    assert str(Topology().describe()) == "Topologies:\n "
    assert Topology().to_mermaid() == "flowchart TD\n"
