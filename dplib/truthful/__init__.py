"""Approximately truthful multi-agent optimization with a trusted cloud.

The room of Hale & Egerstedt, arXiv 1509.08161. Agents are numbered from 0 here
and from 1 in the paper: agent 6 of the paper is index 5.
"""
