"""Jobs: work that other systems hand in. Each aggregation has its own limit, and the outcome goes to a callback."""
