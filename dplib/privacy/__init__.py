"""Mechanisms of differential privacy, and what they promise. No agents here.

- `dplib.privacy.adjacency`: which data count as neighbours, and whose privacy
  that makes it;
- `dplib.privacy.laplace`, `dplib.privacy.laplace_profile`: the Laplace
  mechanism, its calibration and its exact privacy profile;
- `dplib.privacy.gaussian`, `dplib.privacy.gaussian_profile`: the Gaussian
  mechanism, three calibrations and its exact privacy curve;
- `dplib.privacy.divergence`: privacy loss, max divergence and hockey-stick
  curve between two discrete laws;
- `dplib.privacy.enumeration`: exact privacy of a finite mechanism;
- `dplib.privacy.smoothing`: laws in which no outcome is impossible;
- `dplib.privacy.composition`: releases as values, and the rules that add them;
- `dplib.privacy.kfold`: sharper rules for one release repeated k times;
- `dplib.privacy.trajectory`: Laplace messages at every step under one budget.

A pair (epsilon, delta) is a statement only together with an adjacency, so
every function that states a guarantee asks for one. All mechanisms are
idealised: they are analysed in real arithmetic, and run in floating point.
"""
