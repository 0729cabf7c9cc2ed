"""What tests share: tasks, servers, processes, waiting, the machine."""
