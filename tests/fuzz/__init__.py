"""Fuzzers: seeded and bounded; `python -m tests.fuzz KINDS --count N --seed S` runs them for longer."""
