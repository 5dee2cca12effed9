"""Private reward functions for multi-agent Markov decision processes.

The room of Benvenuti, Hawkins, Fallin, Chen, Bialy, Dennis and Hale, *Differentially
Private Reward Functions in Policy Synthesis for Markov Decision Processes*. Agents are
numbered from 0 here and from 1 in the paper.
"""
