"""The views: each asks one question or does one deed."""
