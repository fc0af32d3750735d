"""All readers under attack, by name."""

from __future__ import annotations

from attack.fuzz.reader import Reader
from attack.fuzz.readers import archives, assessment, formulas, lab, notes, patterns, served, site, texts

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        *formulas.READERS,
        *texts.READERS,
        *notes.READERS,
        *lab.READERS,
        *archives.READERS,
        *served.READERS,
        *assessment.READERS,
        *site.READERS,
        *patterns.READERS,
    )
}
