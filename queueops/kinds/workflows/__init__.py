"""Workflows: durable async functions, replayed from their history; activities are tasks."""
