"""A small lab for tests: a collection of a few threads (one post is an attack), topics, runs, pools and a journal."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

from porism.corpus.build.pipeline import build
from porism.corpus.content import Content
from porism.corpus.sources.detect import open_source
from porism.corpus.topics.files import read_topics
from porism.evaluate.runs.lookup import CollectionLookup
from porism.lab.judging.items import TrainingItem, load_pool, load_topics, load_training
from porism.lab.judging.journal import Journal
from porism.lab.judging.people import add_account
from porism.lab.pooling.build import PoolOptions, build_pool, read_pool_run
from porism.lab.pooling.pool import JudgmentPool
from porism.store import open_content

PASSWORD = "correct horse battery"

# The body of a post that tries every known way to run a script. `pwned` must never be set.
ATTACK = """<p>An answer <script>window.pwned=1</script> with <img src=x onerror="window.pwned=2"> and
<a href="javascript:window.pwned=3">a link</a>, <svg onload="window.pwned=4"><script>window.pwned=5</script></svg>
<iframe srcdoc="<script>parent.pwned=6</script>"></iframe> <math><mtext><style><img src=x onerror="window.pwned=7"></style></mtext></math>
<form action="/logout" method="post"><input name="csrf"><button>Press</button></form> <body onload="window.pwned=8">
<style>body{display:none}</style> <a href="https://math.stackexchange.com/a/12">inside</a> <a href="https://example.org/">outside</a>
<meta http-equiv="refresh" content="0;url=https://example.org/"> ${arq_topic_title} <textarea></textarea></p>
<p>Formula: <span class="math-container">$\\text{<script>window.pwned=9</script>}$</span> and
<span class="math-container">$x^2 <img src=x onerror=window.pwned=10>$</span> end.</p>"""

QUESTIONS = {
    1: ("Why is $x^2$ never negative?", "<p>For real $x$, why do we have $x^2 \\ge 0$? I know that $0^2=0$.</p>"),
    2: ("Sum of the first $n$ odd numbers", "<p>Show that $1+3+\\dots+(2n-1)=n^2$, please. Is $n^2$ the sum?</p>"),
    3: ("An integral of $e^{-x^2}$", "<p>How do I get $\\int_{-\\infty}^{\\infty} e^{-x^2}\\,dx=\\sqrt{\\pi}$?</p>"),
}
ANSWERS = {
    11: (
        1,
        "<p>If $x>0$ then $x^2=x\\cdot x>0$.</p><p>If $x<0$ write $x=-y$; then $x^2=y^2$.</p><ul><li>Done.</li></ul>",
    ),
    12: (
        1,
        '<p>Squares are products of equal signs, so $x^2 \\ge 0$. See <a href="https://math.stackexchange.com/questions/2/sum">the sum</a>.</p>',
    ),
    13: (1, ATTACK),
    14: (2, "<p>By induction: $n^2+(2n+1)=(n+1)^2$.</p>"),
    15: (2, "<p>Draw squares: each odd number is an L of dots around $n^2$.</p>"),
    16: (3, "<p>Square it and use polar coordinates: $I^2=\\int\\int e^{-r^2} r\\,dr\\,d\\theta=\\pi$.</p>"),
    17: (3, "<p>It is a known constant, see tables. $x^2$ is not needed.</p>"),
    18: (3, "<p>Differentiate under the integral; $\\sqrt{\\pi}$ appears.</p><p>Ünïcode ∑ too.</p>"),
}
TOPICS = """<?xml version="1.0" encoding="utf-8"?>
<Topics>
<Topic number="{p}.1">{f1}<Title>Is a square ever negative?</Title>
<Question>&lt;p&gt;Why is &lt;span class="math-container" id="q_1"&gt;$x^2$&lt;/span&gt; at least &lt;span class="math-container" id="q_2"&gt;$0$&lt;/span&gt;?&lt;/p&gt;</Question><Tags>algebra,inequality</Tags></Topic>
<Topic number="{p}.2">{f2}<Title>Gaussian integral</Title>
<Question>&lt;p&gt;Compute &lt;span class="math-container" id="q_3"&gt;$\\int e^{{-x^2}}dx$&lt;/span&gt; with a proof.&lt;/p&gt;</Question><Tags>integration</Tags></Topic>
</Topics>
"""


def write_dump(folder: Path) -> Path:
    """A dump of the questions and answers above."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, (title, body) in QUESTIONS.items():
        rows.append(
            f'<row Id="{number}" PostTypeId="1" CreationDate="2015-01-0{number}T00:00:00.000" Score="5" Title={quoteattr(title)} Body={quoteattr(body)} Tags="&lt;algebra&gt;" OwnerUserId="1" />'
        )
    for number, (parent, body) in ANSWERS.items():
        rows.append(
            f'<row Id="{number}" PostTypeId="2" ParentId="{parent}" CreationDate="2015-02-{number}T00:00:00.000" Score="2" Body={quoteattr(body)} OwnerUserId="1" />'
        )
    (folder / "Posts.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n<posts>\n' + "\n".join(rows) + "\n</posts>\n", encoding="utf-8"
    )
    comment = quoteattr("Good point about $x$ <script>window.pwned=11</script>")
    (folder / "Comments.xml").write_text(
        f'<?xml version="1.0" encoding="utf-8"?>\n<comments>\n<row Id="1" PostId="12" Score="1" Text={comment} CreationDate="2015-03-01T00:00:00.000" UserId="1" />\n</comments>\n',
        encoding="utf-8",
    )
    (folder / "Users.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n<users>\n<row Id="1" Reputation="1234" DisplayName="Ada" CreationDate="2011-01-01T00:00:00.000" />\n</users>\n',
        encoding="utf-8",
    )
    return folder


def make_collection(folder: Path) -> Path:
    """The collection of the dump."""
    dump = write_dump(folder / "dump")
    return build([open_source(dump)], folder / "collection", jobs=1)


def write_topics(folder: Path) -> tuple[Path, Path]:
    """Topics of Task 1 and Task 2."""
    first, second = folder / "topics1.xml", folder / "topics2.xml"
    first.write_text(TOPICS.format(p="A", f1="", f2=""), encoding="utf-8")
    marks = [
        "<Formula_Id>q_1</Formula_Id><Latex>x^2</Latex>",
        "<Formula_Id>q_3</Formula_Id><Latex>\\int e^{-x^2}dx</Latex>",
    ]
    second.write_text(TOPICS.format(p="B", f1=marks[0], f2=marks[1]), encoding="utf-8")
    return first, second


def write_runs(folder: Path, content: Content) -> dict[str, Path]:
    """A primary and an alternate run of Task 1, one of Task 3, one of Task 2 that finds every x^2."""
    folder.mkdir(parents=True, exist_ok=True)
    lists = {
        "Red-task1-one-auto-both-P": {"A.1": [11, 12, 13], "A.2": [16, 17]},
        "Blue-task1-two-auto-text-A": {"A.1": [12, 15], "A.2": [18, 16]},
    }
    paths = {}
    for name, topics in lists.items():
        lines = [
            f"{topic}\t{post}\t{rank}\t{10 - rank}\t{name}\n"
            for topic, posts in topics.items()
            for rank, post in enumerate(posts, 1)
        ]
        paths[name] = _write(folder / f"{name}.tsv", lines)
    written = ["A.1\t1\t1.0\tgen\tX\tA square is a product of $x$ with itself; signs cancel, so $x^2\\ge 0$.\n"]
    paths["Red-task3-gen-auto-both-generate-P"] = _write(folder / "Red-task3-gen-auto-both-generate-P.tsv", written)
    found = [f for f in content.formulas() if f.kind != "comment"]
    same = [f for f in found if f.latex.replace(" ", "") == "x^2"]
    other = [f for f in found if "sqrt" in f.latex]
    lines = [f"B.1\t{f.id}\t{f.post_id}\t{rank}\t{50 - rank}\tf\n" for rank, f in enumerate([*same, *other], 1)]
    paths["Red-task2-f-auto-math-P"] = _write(folder / "Red-task2-f-auto-math-P.tsv", lines)
    return paths


def _write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(lines), encoding="utf-8")
    return path


class LabCase:
    """Everything above, made once in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.collection_path = make_collection(folder)
        self.collection = open_content(self.collection_path)
        self.ids = CollectionLookup(self.collection_path)
        self.topics1, self.topics2 = write_topics(folder)
        self.runs = write_runs(folder / "runs", self.collection)

    def pool(self, task: int) -> JudgmentPool:
        """The pool of a task."""
        options = PoolOptions(task, seed=3)
        names = [name for name in self.runs if ("task2" in name) == (task == 2)]
        topics = [topic.id for topic in read_topics(self.topics2 if task == 2 else self.topics1)]
        return build_pool(
            [read_pool_run(self.runs[name], options, topics, self.ids) for name in names], options, self.ids
        )

    def journal(self, path: Path, *, training: bool = False) -> Journal:
        """A journal with both pools, three assessors, an organiser and two teams."""
        made = Journal.create(path)
        for task, topics in ((1, self.topics1), (2, self.topics2)):
            pool = self.pool(task)
            load_topics(made, task, read_topics(topics))
            load_pool(made, task, pool.items, pool.answers)
        if training:
            trained = [topic for topic in read_topics(self.topics1) if topic.id == "A.1"]
            load_topics(
                made, 1, [type(topic)(f"T.{n}", topic.title, topic.question) for n, topic in enumerate(trained, 1)]
            )
            load_training(
                made,
                1,
                [
                    TrainingItem(1, "T.1", "11", 3, "It settles both signs."),
                    TrainingItem(1, "T.1", "15", 0, "Another question."),
                    TrainingItem(1, "T.1", "17", 1),
                ],
            )
        for name, role in (
            ("ann", "assessor"),
            ("bob", "assessor"),
            ("cyd", "assessor"),
            ("olga", "organiser"),
            ("Red", "team"),
            ("Blue", "team"),
        ):
            add_account(made, name, role, PASSWORD)
        return made
