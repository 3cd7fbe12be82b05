"""Metrics, statistics, tables and figures."""
