"""HTTP API of jobs: other systems hand in jobs and read what came of them. Its URLs are in `urls`."""
