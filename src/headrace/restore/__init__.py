"""Bringing stores back: how far a restore is, rebuilding them as a drill, and copies that are kept warm."""
