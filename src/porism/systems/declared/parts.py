"""The parts that declarations name, each with the class or function that makes it.

A factory takes a `SystemContext` and keyword options, and returns a retriever, a re-ranker, or (Task 3) an answerer.
Its signature is the list of its options: names, types and defaults. Options are checked against it, wherever they come
from."""

from __future__ import annotations

import importlib
import inspect
import json
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from porism.errors import PorismError, did_you_mean
from porism.safe_path import import_own
from porism.search.retriever import Reranker, Retriever
from porism.systems.answerer import Answerer

if TYPE_CHECKING:
    from porism.systems.declared.context import SystemContext

Part = Retriever | Reranker | Answerer
Factory = Callable[..., Part]

PARTS: Mapping[str, str] = {
    "thread_candidates": "porism.search.default:thread_candidates",
    "feature_reranker": "porism.search.default:feature_reranker",
    "formula_search": "porism.search.default:formula_search",
    "best_passage": "porism.systems.extracts:BestPassage",
    "approach0_answers": "porism.systems.approach0.retriever:answer_search",
    "approach0_formulas": "porism.systems.approach0.retriever:formula_search",
    "approach0_fusion": "porism.systems.approach0.late:fusion",
    "approach0_late": "porism.systems.approach0.late:AnswerLate",
    "approach0_rerank": "porism.systems.approach0.late:LateReranker",
    "block_reranker": "porism.systems.neural:block_reranker",
    "dense_answers": "porism.systems.neural:DenseSearch",
    "fuse": "porism.systems.declared.pipeline:fused_systems",
    "mathdowers_formulas": "porism.systems.mathdowers.retriever:formula_search",
    "math_amr": "porism.systems.dprl.math_amr:ContextSearch",
    "mathdowers_threads": "porism.systems.mathdowers.retriever:thread_search",
    "question_chain": "porism.systems.dprl.answers:ChainSearch",
    "answer_svm": "porism.systems.dprl.answers:SvmAnswers",
    "scm_contextual": "porism.systems.scm.retriever:contextual_search",
    "scm_interpolated": "porism.systems.scm.retriever:interpolated_search",
    "scm_joint": "porism.systems.scm.retriever:joint_search",
    "tangent_s": "porism.systems.tangent.retriever:tangent_s",
    "tag_cross_encoder": "porism.systems.neural:tag_cross_encoder",
    "tangent_cft2": "porism.systems.dprl.cft:CftSearch",
    "tree_edit": "porism.systems.dprl.rerankers:EditReranker",
    "svm_rank": "porism.systems.dprl.rerankers:SvmRank",
    "xy_phoc": "porism.systems.xyphoc.retriever:PhocSearch",
    "formula_tokens": "porism.systems.ju_nits:formula_tokens",
    "system": "porism.systems.declared.pipeline:one_system",
    "terrier": "porism.systems.baselines:terrier",
    "pyterrier": "porism.systems.baselines:pyterrier",
    "msm_bm25": "porism.systems.msm:msm_bm25",
    "msm_tfidf": "porism.systems.msm:msm_tfidf",
    "linked_posts": "porism.systems.baselines:LinkedPosts",
    "endpoint_answer": "porism.systems.generated_answers:EndpointAnswerer",
    "causal_answer": "porism.systems.generated_answers:CausalAnswerer",
    "extractive_summary": "porism.systems.extracts:Summary",
    "longest_prefix": "porism.systems.extracts:LongestPrefix",
    "sentence_windows": "porism.systems.extracts:BestWindow",
}


def part_factory(name: str) -> Factory:
    """Return the function that makes a part: one of PARTS, or `my_module:function` of the user's own."""
    place = PARTS.get(name, name)
    module_name, _, function = place.partition(":")
    if not function:
        otherwise = f"use one of {', '.join(PARTS)}, or my_module:function"
        raise PorismError(f"no part is named {name}", fix=did_you_mean(name, PARTS, otherwise))
    load = importlib.import_module if name in PARTS else import_own
    try:
        return typing.cast(Factory, getattr(load(module_name), function))
    except (ImportError, AttributeError) as error:
        raise PorismError(f"cannot import part {name}: {error}", fix="check module and function") from None


def part_options(name: str) -> Mapping[str, inspect.Parameter]:
    """Return the options of a part with their types and defaults. A parameter whose type is a dataclass groups options:
    its fields are options of the part."""
    return {option: parameter for _, members in _grouped(name) for option, parameter in members.items()}


def _grouped(name: str) -> Iterator[tuple[inspect.Parameter, Mapping[str, inspect.Parameter]]]:
    """Yield each parameter of a factory with the options that it means: itself, or the fields of its type."""
    for one in list(inspect.signature(part_factory(name), eval_str=True).parameters.values())[1:]:
        if isinstance(one.annotation, type) and is_dataclass(one.annotation):
            members = inspect.signature(one.annotation, eval_str=True).parameters
            yield one, {option: parameter.replace(kind=one.kind) for option, parameter in members.items()}
        elif one.kind is not inspect.Parameter.VAR_KEYWORD:
            yield one, {one.name: one}


def make_part(name: str, options: Mapping[str, Any], context: SystemContext) -> Part:
    """Make a part, after checking the names and types of its options."""
    checked = checked_options(name, options)
    arguments: dict[str, Any] = {}
    for one, members in _grouped(name):
        given = {option: checked[option] for option in members if option in checked}
        if isinstance(one.annotation, type) and is_dataclass(one.annotation):
            arguments[one.name] = one.annotation(**given)
        else:
            arguments |= given
    return part_factory(name)(context, **arguments)


def checked_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in the types of the part's signature; texts, as the command line gives them, are converted."""
    allowed = part_options(name)
    checked = {}
    for option, value in options.items():
        if option not in allowed:
            fix = did_you_mean(option, allowed, f"its options are {', '.join(allowed) or 'none'}")
            raise PorismError(f"part {name} has no option {option}", fix=fix)
        checked[option] = _converted(name, option, value, allowed[option].annotation)
    return checked


def _converted(part: str, option: str, value: Any, kind: Any) -> Any:
    """Return a value as `kind`, the annotation of the option."""
    choices = typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()
    plain = typing.get_origin(kind) or kind
    try:
        if choices and value not in choices:
            raise ValueError(f"choose one of {', '.join(map(str, choices))}")
        if isinstance(value, str) and plain in (int, float, bool, tuple, list):
            value = _parsed(value, plain)
        if plain is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if plain is tuple and isinstance(value, list):
            value = tuple(value)
        if plain in (int, float, bool, str, tuple) and (
            not isinstance(value, plain) or (plain is int and value is True)
        ):
            raise ValueError(f"write a {plain.__name__}")
        return value
    except ValueError as error:
        raise PorismError(f"part {part}: {option} is {value!r}", fix=str(error)) from None


def _parsed(text: str, kind: type) -> Any:
    if kind is tuple or kind is list:
        return [_number(item.strip()) for item in text.split(",") if item.strip()]
    if kind is bool:
        if text.lower() not in ("true", "false", "yes", "no"):
            raise ValueError("write true or false")
        return text.lower() in ("true", "yes")
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"write a number ({kind.__name__})") from None


def _number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
