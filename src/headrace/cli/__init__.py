"""The `headrace` command: one file per sub-command."""
