"""Topologies that are written as data, so that Java and Python build the same one, and chance can write many."""
