"""Golden files: what others rely on (code, scripts, stored data). `python -m tests.golden` writes them anew."""
