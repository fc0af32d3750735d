"""A small site lives for a minute: changes by the API, searches, kills, and the same answers as an index built from
scratch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attack.living.compare import answer_differences  # noqa: E402
from attack.living.site import LivingSite  # noqa: E402


def test_the_same_seed_gives_the_same_site(tmp_path: Path) -> None:
    one, other = (LivingSite(tmp_path / name, 30, 7) for name in ("one", "other"))
    for number in range(60):
        assert one.change(probe=number % 9 == 0) == other.change(probe=number % 9 == 0)
    assert one.posts == other.posts
    one.write_dump(tmp_path / "last")
    rows = (tmp_path / "last" / "Posts.xml").read_text("utf-8").count("<row ")
    assert rows == len(one.posts)
    assert all(post.parent_id is None or post.parent_id in one.posts for post in one.posts.values())


class _Engine:
    """Answers every query with the same hits."""

    def __init__(self, *scores: tuple[int, float]) -> None:
        self.hits = [type("Hit", (), {"id": number, "score": score}) for number, score in scores]

    def search(self, query: str, k: int, kind: str) -> _Engine:
        return self


def test_other_answers_are_noticed() -> None:
    wanted = _Engine((1, 3.0), (2, 2.0), (3, 1.0))
    assert not answer_differences(wanted, wanted, ["q"])  # type: ignore[arg-type]
    for other in (_Engine((1, 3.0), (3, 2.0), (2, 1.0)), _Engine((1, 3.1), (2, 2.0), (3, 1.0)), _Engine((1, 3.0))):
        assert len(answer_differences(other, wanted, ["q"])) == 1  # type: ignore[arg-type]


def test_a_site_lives() -> None:
    """`make living`, small: 60 posts, 60 changes, an applier and a whole server killed."""
    options = ["--posts", "60", "--changes", "60", "--kills", "2", "--queries", "20", "--searchers", "1"]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    run = subprocess.run(
        [sys.executable, "-m", "attack.living", *options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert "| answers of 20 queries that differ | 0 |" in run.stdout
