"""HTTP of jobs: requests to addresses that the network guard allows, within their time, and what failed."""
