"""OpenTelemetry for tasks of all kinds: spans and metrics by the conventions for messaging.

    INSTALLED_APPS = [..., "queueops", "queueops.contrib.opentelemetry"]

The project sets up the SDK and its exporters, as for its requests. Needs `pip install 'queueops[opentelemetry]'`.
"""
