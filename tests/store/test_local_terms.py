"""Terms of formulas in bulk are the terms of the analysers, formula by formula."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.test_words import whole_form
from porism.analysis.features import features, operator_table
from porism.analysis.terms import feature_terms
from porism.corpus.content import Expression
from porism.formula import parse
from porism.formula.binary import pack
from porism.store.embedded.formulas import codes
from porism.store.embedded.formulas.codes import encode, encode_expressions, local_terms
from porism.store.embedded.formulas.packed_layouts import layout_table
from porism.store.embedded.terms.dictionary import hash_terms

LATEX = ["x", "", r"\frac{a+b}{2}=c^2", "a^2+b^2=c^2", r"\sum_{i=1}^n i^2", "a^2+b^2=c^2", r"\int_0^1 f(x)\,dx"]


def test_codes_and_forms_are_those_of_the_analysers() -> None:
    trees = [(parsed.layout, parsed.operators) for parsed in map(parse, LATEX)]
    table = operator_table([operators for _, operators in trees])
    terms = local_terms(layout_table([pack(parse(text)) for text in LATEX]), table)
    encoded = encode(range(1, len(LATEX) + 1), table, terms)
    own = [features(*pair) for pair in trees]
    for family, found in terms.items():
        all_terms = [term for one in own for term in getattr(one, family)]
        assert found.hashes[found.codes].tolist() == hash_terms(all_terms).tolist()
        assert found.sizes.tolist() == [len(getattr(one, family)) for one in own]
        lists, indexed = encoded.lists[family], [feature_terms(one)[family] for one in own]
        assert found.hashes[lists.codes].tolist() == hash_terms([term for part in indexed for term in part]).tolist()
        assert lists.sizes.tolist() == [len(part) for part in indexed]
        assert np.all(np.diff(found.indexed.astype(int)) <= 0)  # the terms of posts have the lower codes
    assert encoded.forms.tolist() == [whole_form(feature_terms(one)) for one in own]


class _Content:
    """What `encode_expressions` reads of a collection."""

    def expressions_by_id(self, ids: Sequence[int]) -> dict[int, Expression]:
        """Return expressions with their trees."""
        given = {number: LATEX[number - 1] for number in ids}
        return {
            number: Expression(number, text, None, None, pack(parse(text)), "", "", 1) for number, text in given.items()
        }


def test_other_expressions_add_only_the_terms_of_posts() -> None:
    content: object = _Content()
    extra = encode_expressions(content, range(1, len(LATEX) + 1))  # type: ignore[arg-type]
    for family, hashes in extra.hashes.items():
        used = np.unique(extra.encoded.lists[family].codes)
        assert used.tolist() == list(range(len(hashes)))
    assert encode_expressions(content, []) is codes._NO_FORMULAS  # type: ignore[arg-type]
