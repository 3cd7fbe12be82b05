"""Many series: found below a folder, shared among processes or a cluster, with a row and a report for each."""
