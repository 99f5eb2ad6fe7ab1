"""What the tests are made with: chains, cases, results and traces, processes and disks."""
