"""Markov decision processes, of one agent or of several; what two papers share.

States, actions and joint indices are numbered from 0. Rewards are never part of a
model: the same dynamics are solved for many rewards.
"""
