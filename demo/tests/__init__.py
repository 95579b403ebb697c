"""Tests of the demo services, over their real protocols."""
