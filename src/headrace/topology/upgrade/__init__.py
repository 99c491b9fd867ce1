"""Whether a new version of a topology can go on with what an old one has left in stores and topics."""
