"""The systems of DPRL: learning to rank over Tangent-S candidates, and TangentCFT2 with and without tree edit
distance."""
