"""Aggregations of jobs, and destinations of callbacks: the names and settings of their lanes, and their jobs."""
