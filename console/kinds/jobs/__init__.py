"""Jobs: the pages of aggregations and of the callback queue, and the tab with both records of a job."""
