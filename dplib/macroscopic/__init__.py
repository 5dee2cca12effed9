"""Leakage of robot swarms, modelled as chemical reaction networks.

The room of Prorok and Kumar, *A Macroscopic Model for Differential Privacy in Dynamic
Robotic Networks*. Nothing is added to what an observer sees: the question is how much a
swarm leaks by itself.

Everything meets in two shapes. A *swarm* is a network, where the robots of each type
start, and what is seen. A *law* is a function from the numbers of robots of each type
to the distribution of what is seen.

- `network`: a reaction `Network` (Section 2.1), read from lines such as
  ``A + R <-> AR : 3, 1`` by `parse`; `sbml`: by `read_sbml` from an SBML file.
- `swarm`: `Swarm`, made by `observing` (Equations 5 and 6); `TypeChange`, who is
  adjacent to whom (Definition 3). `files`: `read_network`, a swarm from a YAML file.
- `paper`: the swarms of the paper, `RESOURCE`, `pairs`, `tasks`, and the counterexample
  to Proposition 2, `two_routes`.
- `distribution`: `Distribution`, log probabilities with a certified error.
- `leakage`: the `leakage` of Equation 9 towards all adjacent teams, `between` two
  distributions; without smoothing, `two_sided_delta` and `identification`.
- `structure`: `deficiency`, `weakly_reversible`, `conservation_laws`, and the
  `balanced_point` of Lemma 1 where there is one, whatever Proposition 2 says.
- `stationary`: `observed`, the law in steady state; it picks the way by itself.
  `product_form` (Equation 10, normalised; Corollary 1) and `null_vector`, for any
  network, give states. `trees`: collaboration trees (Section 6.2), without states.
- `states`: `reachable` states, and the `generator` of Equation 4. `transient`: the law
  at a time, `observed`, and of states, `transient`, with a certificate (Section 5.2).

On pages: the fractions of Section 3 (01_snapshot); Proposition 1 (02_theory); the
formula of the pairs and triples (03_populations).
"""
