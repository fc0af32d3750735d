from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from porism.lab.sampling import seeded_random, shuffled, stratified_sample


def test_random_choices_depend_on_seed_and_purpose_only() -> None:
    assert seeded_random(1, "A.1", "order").random() == seeded_random(1, "A.1", "order").random()
    assert seeded_random(1, "A.1", "order").random() != seeded_random(1, "A.2", "order").random()
    # Neither the platform nor the version may change a published pool.
    assert shuffled(range(8), 1, "A.1") == [4, 3, 2, 5, 6, 1, 0, 7]


def test_a_sample_contains_rare_strata_and_is_proportional_otherwise() -> None:
    strata = {3: [f"h{n}" for n in range(2)], 0: [f"n{n}" for n in range(90)], 1: [f"l{n}" for n in range(8)]}
    sample = stratified_sample(strata, 20, 7, "A.1")
    assert len(sample) == len(set(sample)) == 20
    kinds = [name[0] for name in sample]
    # One each, then 17 shared over 1, 89, 7 of 97: .18, 15.6, 1.2 -> 0, 16, 1.
    assert (kinds.count("h"), kinds.count("n"), kinds.count("l")) == (1, 17, 2)
    assert sample == stratified_sample(strata, 20, 7, "A.1")
    assert sample != stratified_sample(strata, 20, 8, "A.1")


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(0, 60), st.integers(0, 5))
def test_a_sample_has_the_requested_size_and_draws_from_every_stratum(sizes: list[int], size: int, seed: int) -> None:
    strata = {name: [(name, n) for n in range(count)] for name, count in enumerate(sizes)}
    sample = stratified_sample(strata, size, seed)
    assert len(sample) == len(set(sample)) == min(size, sum(sizes))
    if size >= sum(count > 0 for count in sizes):
        assert {name for name, _ in sample} == {name for name, count in enumerate(sizes) if count}
