"""Small models trained here: they learn, stop early, continue after a kill, and are used by the other parts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from porism.cli import main
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.models.directory import ModelDirectory
from porism.models.encoder import BiEncoder, CrossEncoder
from porism.models.tokens import LateInteraction, maxsim
from porism.models.trainees import BiEncoderTrainee, TrainingExample, TrainingSettings
from porism.models.training_loop import Training
from porism.search.learning.model_training import TrainingPosts, collection_pairs, train_model

SUBJECTS = [
    "groups",
    "rings",
    "fields",
    "graphs",
    "limits",
    "series",
    "primes",
    "knots",
    "sets",
    "maps",
    "trees",
    "loops",
]
EXAMPLES = [
    TrainingExample(f"what are {one} number {n}", f"{one} explained by {n}", f"{other} explained by {n}")
    for n in range(6)
    for one, other in zip(SUBJECTS, SUBJECTS[1:] + SUBJECTS[:1], strict=True)
]
FAST = TrainingSettings(epochs=6, batch=12, learning_rate=3e-3, length=16, validate_every=5, patience=8, warm_up=2)


def test_a_collection_trains_three_kinds(demo: Path, tmp_path: Path) -> None:
    settings = TrainingSettings(epochs=1, steps=12, batch=16, learning_rate=1e-3, length=48, validate_every=6)
    with Collection.open(demo / "collection") as collection:
        done = train_model(TrainingPosts(collection), tmp_path / "bi", "encoder", settings)
        cross = train_model(TrainingPosts(collection), tmp_path / "cross", "cross-encoder", settings)
    assert done.report.best >= done.report.before
    assert cross.report.best >= cross.report.before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bi", "cross"]  # nothing is left beside them
    encoder = BiEncoder.open(tmp_path / "bi")
    assert encoder.encode(["a proof"]).shape == (1, 128)
    assert encoder.record.length == 48
    assert CrossEncoder(ModelDirectory.open(tmp_path / "cross")).score([("a proof", "an answer")]).shape == (1,)
    late = LateInteraction(ModelDirectory.open(tmp_path / "bi"))
    assert maxsim(late.encode(["a proof"])[0], late.encode(["a proof", "x"])).argmax() == 0


def test_a_bi_encoder_learns(tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    trainee = BiEncoderTrainee(ModelDirectory.open(tiny("encoder")), FAST)
    report = Training(trainee, EXAMPLES, FAST, tmp_path / "model").run()
    assert report.best > report.before + 0.1
    saved = BiEncoder.open(tmp_path / "model").encode(["what are knots number 1", "knots explained by 1"])
    assert np.isfinite(saved).all()


def test_a_killed_training_continues(
    tmp_path: Path, tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def training(name: str) -> Training:
        trainee = BiEncoderTrainee(ModelDirectory.open(tiny("encoder")), FAST)
        return Training(trainee, EXAMPLES, FAST, tmp_path / name)

    whole = training("whole").run()
    steps, step = 0, Training._step

    def failing(self: Training) -> None:
        nonlocal steps
        steps += 1
        if steps > 12:
            raise KeyboardInterrupt
        step(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_step", failing)
        with pytest.raises(KeyboardInterrupt):
            training("killed").run()
    assert not (tmp_path / "killed").exists()
    report = training("killed").run()
    assert report.resumed_at == 10
    assert report.best == pytest.approx(whole.best, abs=1e-3)


def test_early_stopping(tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    settings = TrainingSettings(epochs=20, batch=12, learning_rate=1e-9, length=16, validate_every=2, patience=2)
    trainee = BiEncoderTrainee(ModelDirectory.open(tiny("encoder")), settings)
    report = Training(trainee, EXAMPLES, settings, tmp_path / "model").run()
    assert report.stopped_early
    assert report.steps == 4


def test_too_few_examples(tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    trainee = BiEncoderTrainee(ModelDirectory.open(tiny("encoder")), FAST)
    with pytest.raises(PorismError, match="there are 3 examples to train on"):
        Training(trainee, EXAMPLES[:3], FAST, tmp_path / "model")


def test_excluded_questions_are_in_no_pair(demo: Path) -> None:
    with Collection.open(demo / "collection") as collection:
        link = next(iter(collection.all_links()))
        every = collection_pairs(TrainingPosts(collection))
        some = collection_pairs(TrainingPosts(collection, [link.post_id]))
        other = collection_pairs(TrainingPosts(collection, [link.other_id]))
    assert some.links < every.links
    assert other.links < every.links


def test_a_collection_without_votes_and_with_titles_of_linked_questions(tmp_path: Path) -> None:
    posts = [
        {
            "id": 5,
            "type": "question",
            "thread_id": 5,
            "title": "What is a ring?",
            "tags": ["ring"],
            "body": "<p>R.</p>",
        },
        {"id": 6, "type": "answer", "thread_id": 5, "parent_id": 5, "body": "<p>Two operations.</p>"},
        {"id": 7, "type": "answer", "thread_id": 5, "parent_id": 5, "body": "<p>A thing on a finger.</p>"},
    ]
    (tmp_path / "posts.jsonl").write_text("\n".join(map(json.dumps, posts)))
    (tmp_path / "titles.jsonl").write_text('{"id": 9, "title": "Define rings", "body_in_slice": false}\n')
    (tmp_path / "links.tsv").write_text(
        "post_id\tother_id\tkind\tother_body_in_slice\tother_title\n5\t9\trelated\t0\tDefine rings\n"
    )
    with Collection.open(build([open_source(tmp_path, "slice")], tmp_path / "collection")) as collection:
        every, without = collection_pairs(TrainingPosts(collection)), collection_pairs(TrainingPosts(collection, [9]))
    assert [(one.query, one.positive) for one in every.examples if "Define" in one.query] == [
        ("Define rings", "What is a ring?\nR.")
    ]
    assert every.answers == 2  # nobody voted, so both are positives
    assert (every.links, without.links) == (1, 0)


def test_one_text_is_no_negative_of_itself(tiny: Callable[[str], Path]) -> None:
    """Two queries of a batch may have the same positive; were it a negative as well, the loss would be at least log
    2."""
    trainee = BiEncoderTrainee(ModelDirectory.open(tiny("encoder")), FAST)
    same = [TrainingExample("what are knots", "knots"), TrainingExample("define knots", "knots")]
    assert float(trainee.loss(same).detach()) == pytest.approx(0, abs=1e-6)


def test_a_vocabulary_from_scratch_is_always_the_same() -> None:
    """A training that was killed continues in another process, with weights for this vocabulary."""
    code = "import sys; from porism.models.trainees import vocabulary; print(vocabulary(sys.argv[1:]))"
    texts = [text for example in EXAMPLES for text in example]
    one, two = [subprocess.check_output([sys.executable, "-c", code, *texts]) for _ in range(2)]
    assert one == two
    assert len(one) > 1_000


def test_another_start_begins_again(tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    def training(start: str) -> Training:
        return Training(BiEncoderTrainee(ModelDirectory.open(tiny(start)), FAST), EXAMPLES, FAST, tmp_path / "model")

    assert training("encoder")._state.key == training("encoder")._state.key != training("masked")._state.key


def test_a_wrong_line_of_excluded_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ids").write_text("12\n\nL.5\n")
    command = [
        "model",
        "train",
        "encoder",
        str(tmp_path),
        "-o",
        str(tmp_path / "out"),
        "--exclude",
        str(tmp_path / "ids"),
    ]
    assert main(command) == 1
    assert f"{tmp_path / 'ids'}:3: not the id of a post: 'L.5'" in capsys.readouterr().err


KILLED = """
import os, signal, sys
from porism.cli import main
from porism.models.training_loop import Training

step = Training._step

def killing(self):
    step(self)
    if self._state.step == 7:
        os.kill(os.getpid(), signal.SIGKILL)

Training._step = killing
main(sys.argv[1:])
"""


@pytest.mark.parametrize("kind", ["encoder", "cross-encoder"])
def test_a_training_that_is_killed_leaves_no_litter_in_the_end(
    demo: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model"
    options = ["--steps", "9", "--tokens", "32", "--batch", "8", "--validate-every", "3", "--rate", "1e-3"]
    command = ["model", "train", kind, str(demo / "collection"), "-o", str(out), *options]
    killed = subprocess.run([sys.executable, "-c", KILLED, *command], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert sorted(path.name for path in tmp_path.iterdir()) == [".model.scratch", ".model.training.pt"]
    assert main(command) == 0
    assert "9 steps, continued at step 6" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    record = json.loads((out / "training.json").read_text())
    assert [one["step"] for one in record["course"]] == [3, 6, 9]
    assert ModelDirectory.open(out).kind == ("bi-encoder" if kind == "encoder" else kind)


def test_a_loss_that_is_no_number_stops_the_training(tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    settings = TrainingSettings(epochs=6, batch=12, learning_rate=1e30, length=16, validate_every=50, warm_up=1)
    trainee = BiEncoderTrainee(ModelDirectory.open(tiny("encoder")), settings)
    with pytest.raises(PorismError, match=r"the loss of step \d+ is not a number"):
        Training(trainee, EXAMPLES, settings, tmp_path / "model").run()
    assert not list(tmp_path.iterdir())


def test_too_few_examples_leave_nothing(demo: Path, tmp_path: Path) -> None:
    with Collection.open(demo / "collection") as collection:
        every = frozenset(collection.question_ids())
        with pytest.raises(PorismError, match="there are 0 examples to train on"):
            train_model(TrainingPosts(collection, every), tmp_path / "model", "encoder", FAST)
    assert not list(tmp_path.iterdir())
