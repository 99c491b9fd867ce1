"""How fast Headrace is, beside its neighbours, in one run on one machine. See README.md."""
