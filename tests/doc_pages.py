"""The pages of the documentation as blocks that can be run, and the comparison of what they show with what they print.

A fenced block names its language. `console` blocks hold commands after `$ ` (going on after `\\` with `> `), each
followed by what it prints, on both streams. `sh` blocks are run as a whole; what they print is not shown. `python`
blocks of a page share their names; a `text` block directly after one shows what it prints. A block whose first line
names a file (```python my_file.py) is saved as that file. Other languages are data and are not run. A block that must
not run has `<!-- not run: reason -->` above it.

In shown output a line `...` matches any lines, and the character `…` any text within a line: use them for output that
is long or differs from machine to machine (times, digests).

`python tests/doc_pages.py PAGE..` follows pages and prints the differences; with `--write` it also writes the current
output into the pages (read them again: the text around it may no longer be true).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Results are records of benchmarks on data that is not part of the project: there is nothing to run.
PAGES = sorted([*(p for p in (ROOT / "docs").rglob("*.md") if p.parent.name != "results"), *ROOT.glob("README.md")])
RUN = ("console", "sh", "python")
DATA = ("text", "json", "xml", "tsv", "csv", "html", "css", "toml", "latex", "make")
FENCE = re.compile(
    r"^(?P<mark>```+)(?P<language>\w*)[ \t]*(?P<file>[\w./-]*)[^\n]*\n(?P<text>.*?)^(?P=mark)[ \t]*$", re.S | re.M
)
NOT_RUN = re.compile(r"<!-- not run: (?P<reason>(?:(?!-->).)+) -->\s*$", re.S)
LIMIT = 240
# A line of progress, which only a slow machine prints.
_PROGRESS = re.compile(r"^.*: [\d,]+ of [\d,]+, about [\d,]+ (?:minutes|seconds) remain\n", re.M)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its position, its content, why it is not run, the output that the next block shows, and the file
    to save it as."""

    page: Path
    line: int
    language: str
    text: str
    reason: str = ""
    shown: str | None = None
    file: str = ""

    @property
    def where(self) -> str:
        """The page and the line."""
        page = self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page
        return f"{page}:{self.line}"


@dataclass(frozen=True, slots=True)
class Difference:
    """A command whose output is not what the page shows."""

    where: str
    command: str
    shown: str
    printed: str

    def __str__(self) -> str:
        return f"{self.where}: {self.command}\n--- shown\n{self.shown}\n--- printed\n{self.printed}"


def blocks(page: Path) -> list[Block]:
    """Return all blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    made = []
    for one, after in zip(found, [*found[1:], None], strict=False):
        follows = after is not None and not text[one.end() : after.start()].strip()
        output = after["text"] if after is not None and follows and after["language"] == "text" else None
        reason = NOT_RUN.search(text[: one.start()])
        line = text.count("\n", 0, one.start()) + 1
        words = " ".join(reason["reason"].split()) if reason else ""
        shown = output if one["language"] == "python" and not one["file"] else None
        made.append(Block(page, line, one["language"], one["text"], words, shown, one["file"]))
    return made


def same(shown: str, printed: str) -> bool:
    """Return whether the printed text matches the shown text, in which `...` and `…` match anything."""
    lines = shown.strip("\n").split("\n")
    parts = [
        r"(?:.*\n)*?" if line.strip() == "..." else ".+".join(map(re.escape, line.rstrip().split("…"))) + r"[ \t]*\n"
        for line in lines
    ]
    # The last line may be open: nothing printed, nothing shown.
    return re.fullmatch("".join(parts), printed.strip("\n") + "\n") is not None


def commands(text: str) -> list[tuple[str, str]]:
    """Return the commands of a console block, each with the output that the block shows."""
    found: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif line.startswith("> ") and found and found[-1][0][-1].endswith("\\") and not found[-1][1]:
            found[-1][0].append(line[2:])
        elif found:
            found[-1][1].append(line)
        else:
            raise ValueError(f"a console block starts with '$ ', not with {line!r}")
    return [("\n".join(command), "\n".join(output)) for command, output in found]


@dataclass(slots=True)
class Reader:
    """Follows a page in a folder, as a reader would."""

    folder: Path
    names: dict[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, demo: Path) -> Reader:
        """Return a reader in a folder with the sample and a copy of the demo."""
        (folder / "sample").symlink_to(ROOT / "sample")
        shutil.copytree(demo, folder / "demo")
        return cls(folder)

    def read(self, page: Path) -> list[Difference]:
        """Follow a page from top to bottom and return the differences. Stop the server whose process id the page left
        in `server.pid`."""
        try:
            return [difference for block in blocks(page) for difference in self.follow(block)]
        finally:
            self.shell("test -e server.pid && kill $(cat server.pid)")

    def shell(self, script: str) -> tuple[str, int]:
        """Return what a shell prints on both streams, in a terminal 100 characters wide, and its exit code."""
        paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        settings = {
            **os.environ,
            "PATH": paths,
            "PYTHONUNBUFFERED": "1",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=settings, text=True, encoding="utf-8", stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=LIMIT,
        )  # fmt: skip
        return _PROGRESS.sub("", done.stdout), done.returncode

    def python(self, block: Block) -> str:
        """Return what a Python block prints. It can import files of the folder, as in a shell there."""
        import contextlib
        import io

        out = io.StringIO()
        sys.path.insert(0, str(self.folder))
        try:
            with contextlib.chdir(self.folder), contextlib.redirect_stdout(out):
                exec(compile("\n" * block.line + block.text, str(block.page), "exec"), self.names)
        finally:
            sys.path.remove(str(self.folder))
        return out.getvalue()

    def follow(self, block: Block) -> list[Difference]:
        """Run or save one block and return the differences from what it shows."""
        if block.file and not block.reason:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            return []
        if block.reason or block.language not in RUN:
            return []
        if block.language == "python":
            printed = self.python(block)
            shown = printed if block.shown is None else block.shown
            return (
                []
                if same(shown, printed)
                else [Difference(block.where, "python", shown.strip("\n"), printed.strip("\n"))]
            )
        if block.language == "sh":
            printed, code = self.shell("set -e\n" + block.text)
            return [Difference(block.where, block.text, "exit code 0", f"{printed}exit code {code}")] if code else []
        ran = [(command, shown, self.shell(command)[0]) for command, shown in commands(block.text)]
        return [
            Difference(block.where, command, shown, printed.strip("\n"))
            for command, shown, printed in ran
            if not same(shown, printed)
        ]


def renewed(shown: str, printed: str) -> str:
    """Return the printed text with the omissions of the shown one: as many lines around `...`, and `…` in lines that
    still match."""
    old, new = shown.strip("\n").split("\n"), printed.strip("\n").split("\n")
    kept = [line for line in old if "…" in line]
    lines = [next((one for one in kept if same(one, line)), line.rstrip()) for line in new]
    if "..." in old:
        before, after = old.index("..."), len(old) - old.index("...") - 1
        if len(lines) > before + after:
            lines = [*lines[:before], "...", *lines[len(lines) - after :]]
    return "\n".join(lines)


def renew(page: Path, differences: list[Difference]) -> None:
    """Write the current output into a page."""
    text = page.read_text(encoding="utf-8")
    for one in differences:
        number = int(one.where.rpartition(":")[2])
        start = sum(len(line) for line in text.splitlines(keepends=True)[: number - 1])
        head = (
            text.find(one.command.replace("\n", "\n> "), start)
            if one.command != "python"
            else text.find("```text\n", start)
        )
        at = text.index(one.shown, head) if one.shown else text.index("\n", head) + 1
        new = renewed(one.shown, one.printed) + ("" if one.shown else "\n")
        text = text[:at] + new + text[at + len(one.shown) :]
    page.write_text(text, encoding="utf-8")


def main() -> int:
    """Follow pages and print the differences; with `--write`, write the current output into them."""
    names = [name for name in sys.argv[1:] if name != "--write"]
    pages = [Path(name).resolve() for name in names] or PAGES
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "sample").symlink_to(ROOT / "sample")
        Reader(Path(place)).shell("porism demo --build-only")
        for page in pages:
            folder = Path(place) / page.stem
            folder.mkdir(exist_ok=True)
            differences = Reader.of(folder, Path(place) / "demo").read(page)
            wrong += len(differences)
            print("".join(f"{one}\n\n" for one in differences), end="")
            if "--write" in sys.argv:
                renew(page, sorted(differences, key=lambda one: -int(one.where.rpartition(":")[2])))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
