"""Operations console: a Django app that shows tasks, explains their states and acts on them through the engine."""
