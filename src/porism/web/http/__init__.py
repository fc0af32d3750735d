"""What the servers share: processes, connections, requests with their parameters and errors, log lines."""
