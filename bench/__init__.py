"""The benchmarks that `make bench` runs; never imported by the product."""
