"""Simulate a search that waits for many shards: python -m bench.fan_out [TIMES] [--median 18 --high 85].

TIMES is a file with the measured times of a shard in ms, one in a line (`python -m bench cluster_speed --save TIMES`),
from which times are drawn. Without it the time of a shard is log-normal, through a median and a 95th percentile. A
search takes as long as its slowest shard. With a second request, a shard that is later than 95 % of the times is asked
again on another copy, and the first answer counts.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

SEARCHES = 4000
SHARDS = (1, 3, 10, 100, 1000)
NORMAL_95 = 1.6449  # the 95th percentile of the normal distribution
Times = npt.NDArray[np.float64]
Draw = Callable[[tuple[int, ...]], Times]


def measured(path: Path, chance: np.random.Generator) -> tuple[Draw, float]:
    """Return what draws measured times, and their 95th percentile."""
    found = np.loadtxt(path, ndmin=1)
    return lambda shape: chance.choice(found, shape), float(np.percentile(found, 95))


def log_normal(median: float, high: float, chance: np.random.Generator) -> tuple[Draw, float]:
    """Return what draws times from their median and 95th percentile, and the latter."""
    spread = math.log(high / median) / NORMAL_95
    return lambda shape: chance.lognormal(math.log(median), spread, shape), high


def slowest(draw: Draw, shards: int, again_after: float) -> Times:
    """Return the times of searches. A shard that takes longer than `again_after` is asked a second time."""
    found = np.empty(SEARCHES)
    for at in range(0, SEARCHES, 500):
        first = draw((500, shards))
        second = again_after + draw((500, shards))
        found[at : at + 500] = np.where(first > again_after, np.minimum(first, second), first).max(axis=1)
    return found


def main() -> None:
    """Print a table for docs/why/scale.md."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("times", type=Path, nargs="?", metavar="TIMES", help="measured times of a shard, in ms")
    parser.add_argument("--median", type=float, default=18.0, help="of a shard, in ms (default: %(default)s)")
    parser.add_argument("--high", type=float, default=85.0, help="95th percentile, in ms (default: %(default)s)")
    options = parser.parse_args()
    chance = np.random.default_rng(1)
    own = log_normal(options.median, options.high, chance) if options.times is None else measured(options.times, chance)
    draw, high = own
    print("| shards | median | 95 % | median with a second request | 95 % |\n|--:|--:|--:|--:|--:|")
    for shards in SHARDS:
        row = [f"{shards:,}"]
        for again_after in (math.inf, high):
            found = slowest(draw, shards, again_after)
            row += [f"{np.percentile(found, share):,.0f} ms" for share in (50, 95)]
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
