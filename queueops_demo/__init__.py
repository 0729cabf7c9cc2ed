"""The demo: the console, a worker, the watchdog and real sample work, started with one command."""
