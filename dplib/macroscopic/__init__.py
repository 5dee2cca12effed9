"""Leakage of robot swarms, modelled as chemical reaction networks.

The room of Prorok and Kumar, *A Macroscopic Model for Differential Privacy in Dynamic
Robotic Networks*.
"""
