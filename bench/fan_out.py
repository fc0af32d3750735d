"""Simulate a search that waits for many shards: python -m bench.fan_out [--median 18 --high 85].

The time of a shard is log-normal, through its measured median and 95th percentile. A search takes as long as its
slowest shard. With a second request, a shard that is late is asked again on another copy, and the first answer counts.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

SEARCHES = 4000
SHARDS = (1, 3, 10, 100, 1000)
NORMAL_95 = 1.6449  # the 95th percentile of the normal distribution


def times(median: float, high: float, shape: tuple[int, ...], chance: np.random.Generator) -> np.ndarray:
    """Draw times of shards in ms from their median and 95th percentile."""
    drawn: np.ndarray = chance.lognormal(math.log(median), math.log(high / median) / NORMAL_95, shape)
    return drawn


def slowest(median: float, high: float, shards: int, again_after: float, chance: np.random.Generator) -> np.ndarray:
    """Return the times of searches. A shard that takes longer than `again_after` is asked a second time."""
    first = times(median, high, (SEARCHES, shards), chance)
    second = again_after + times(median, high, (SEARCHES, shards), chance)
    found: np.ndarray = np.where(first > again_after, np.minimum(first, second), first).max(axis=1)
    return found


def main() -> None:
    """Print a table for docs/why/scale.md."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--median", type=float, default=18.0, help="of a shard, in ms (default: %(default)s)")
    parser.add_argument("--high", type=float, default=85.0, help="95th percentile, in ms (default: %(default)s)")
    options = parser.parse_args()
    print("| shards | median | 95 % | median with a second request | 95 % |\n|--:|--:|--:|--:|--:|")
    for shards in SHARDS:
        row = [f"{shards:,}"]
        for again_after in (math.inf, options.high):
            found = slowest(options.median, options.high, shards, again_after, np.random.default_rng(1))
            row += [f"{np.percentile(found, share):,.0f} ms" for share in (50, 95)]
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
