"""Private messages between agents that learn together.

The room of Zhao et al., *DPMAC: Differentially Private Communication for Cooperative
Multi-Agent Reinforcement Learning*.
"""
