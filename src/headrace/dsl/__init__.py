"""The DSL: streams and tables as a fluent interface over a logical graph."""
