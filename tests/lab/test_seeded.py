from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from porism.lab.sampling import chance, shuffled, stratified


def test_chance_depends_on_seed_and_purpose_alone() -> None:
    assert chance(1, "A.1", "order").random() == chance(1, "A.1", "order").random()
    assert chance(1, "A.1", "order").random() != chance(1, "A.2", "order").random()
    # The platform and the version must not change a pool that was published.
    assert shuffled(range(8), 1, "A.1") == [4, 3, 2, 5, 6, 1, 0, 7]


def test_rare_strata_are_in_the_sample_and_shares_are_proportional() -> None:
    strata = {3: [f"h{n}" for n in range(2)], 0: [f"n{n}" for n in range(90)], 1: [f"l{n}" for n in range(8)]}
    sample = stratified(strata, 20, 7, "A.1")
    assert len(sample) == len(set(sample)) == 20
    kinds = [name[0] for name in sample]
    # One each, then 17 shared over 1, 89, 7 of 97: .18, 15.6, 1.2 -> 0, 16, 1.
    assert (kinds.count("h"), kinds.count("n"), kinds.count("l")) == (1, 17, 2)
    assert sample == stratified(strata, 20, 7, "A.1")
    assert sample != stratified(strata, 20, 8, "A.1")


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(0, 60), st.integers(0, 5))
def test_a_sample_has_the_asked_size_and_draws_from_every_stratum(sizes: list[int], size: int, seed: int) -> None:
    strata = {name: [(name, n) for n in range(count)] for name, count in enumerate(sizes)}
    sample = stratified(strata, size, seed)
    assert len(sample) == len(set(sample)) == min(size, sum(sizes))
    if size >= sum(count > 0 for count in sizes):
        assert {name for name, _ in sample} == {name for name, count in enumerate(sizes) if count}
