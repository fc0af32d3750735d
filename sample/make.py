"""Generate the sample collection from its hand-written source: `python sample/make.py [FOLDER]`. The result is the same each time."""

from __future__ import annotations

import sys
from pathlib import Path

from making.dump import Dump
from making.lab import write_lab
from making.source import read_threads

HERE = Path(__file__).parent


def main(folder: Path) -> None:
    """Write the dump, topics, judgments and runs into the folder."""
    dump = Dump(read_threads(HERE / "source" / "posts"), HERE / "source" / "users.tsv")
    dump.write(folder / "dump")
    write_lab(HERE / "source", folder, dump)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
