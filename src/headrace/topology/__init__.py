"""The processing graph: nodes, stores, sub-topologies, and how to show them."""
