"""A topology as a picture: boxes for sub-topologies, in them nodes and stores from top to bottom, topics in between."""
