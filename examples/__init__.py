"""Programs to read and run; `make demo` is one of them."""
