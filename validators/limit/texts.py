"""Step 1, read the texts: what a document states and what a query asks for, by their words alone.

"Geneva Durben likes Quokkas, Marzipan and Sundials."  ("Geneva Durben", [812, 1544, 97])
"Who likes Marzipan?"                                  Question(wanted=(1544,))
"Who likes Marzipan but not Sundials?"                 Question((1544,), ruled_out=(97,))
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.tokenizer import content_stems, stems, tokens
from retgen.validators.rule import Batch, Finding, Judgements

_MIDDLE, _TAIL = " likes ", "."  # of a document: NAME likes A, B and C.
_HEAD, _END = "Who likes ", "?"  # of a query without an operator

# Queries with operators. Of each attribute in its order: "+" it is wanted, "|" one of these is,
# "-" it is ruled out.
_WORDINGS = {
    "Who likes {} and {}?": "++",
    "Who likes both {} and {}?": "++",
    "Which people like {} as well as {}?": "++",
    "Who likes {} and also {}?": "++",
    "Who likes not only {} but also {}?": "++",
    "Who likes {} or {}?": "||",
    "Who likes {} or {} or both?": "||",
    "Which people like {} or {}?": "||",
    "Who likes at least one of {} and {}?": "||",
    "Who likes {}, {} or both?": "||",
    "Who likes {} but not {}?": "+-",
    "Who likes {} and does not like {}?": "+-",
    "Which people like {} but do not like {}?": "+-",
    "Who likes {} without liking {}?": "+-",
    "Who does not like {} but likes {}?": "-+",
    "Who likes both {} and {} but not {}?": "++-",
    "Who likes {} and {} but does not like {}?": "++-",
    "Which people like {} as well as {} but do not like {}?": "++-",
    "Who likes {} and {} without liking {}?": "++-",
    "Who does not like {} but likes both {} and {}?": "-++",
}


# Faker's, whose names people have
_LOCALES = (
    "cs_CZ da_DK de_DE en_GB en_US es_ES es_MX fi_FI fr_FR hr_HR hu_HU it_IT nl_NL no_NO pl_PL "
    "pt_BR ro_RO sv_SE"
).split()


class LimitSpec(NamedTuple):
    """What the recipe promises, as far as it can be read from the files.

    `attributes`: every allowed attribute and its id. `row_sums`: the relevant documents of a
    query, as (least, most). `per_query`: how many attributes a query asks for. `cells`: where
    queries have operators, how many there are of each (operator, number of answers).
    """

    documents: int
    queries: int
    attributes_per_doc: int
    attributes: dict[str, int]
    row_sums: tuple[int, int]
    per_query: int = 1
    descriptions: dict[str, str] | None = None  # what a query says -> the attribute it stands for
    hard_negatives: int = 0
    balanced: bool = False
    cells: Mapping[tuple[str, int], int] | None = None
    common_documents: int | None = None  # what any two queries share exactly, if fixed
    relevant_documents: int | None = None  # documents that are relevant to some query, if fixed
    column_sum: int | None = None  # queries that each of them is relevant to, if fixed
    surname_half: tuple[int, str] | None = None  # (seed, "test" | "train")
    training: bool = False  # whether the qrels are there as training pairs, too


def error(kind: str, ids: Iterable[str], message: str) -> Finding:
    return Finding(f"limit-proof/{kind}", "error", list(ids), message)


# --- what agents and the catalogue say ------------------------------------------------------------


def read_attributes(files: Sequence[Path]) -> list[str]:
    """The attributes of catalogue files in order; headings, blank lines and #comments left out."""
    lines = (line.strip() for path in files for line in path.read_text("utf-8").splitlines())
    return [line for line in lines if line and line[0] not in "[#"]


def check_catalogue(attributes: Iterable[str]) -> Iterator[Finding]:
    """No two attributes share a word, so no document answers a query by words of several."""
    owner: dict[str, str] = {}
    for attribute in attributes:
        for stem in sorted(content_stems(attribute)):
            if (other := owner.setdefault(stem, attribute)) != attribute:
                yield error("catalogue", [], f"{other!r} and {attribute!r} share {stem!r}")


def read_descriptions(path: Path) -> dict[str, str]:
    """Description -> attribute, as a run was told by its agents."""
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    return {row["description"]: row["attribute"] for row in rows}


def split_half(attributes: Sequence[str], seed: int, split: str) -> set[str]:
    """One half: ordered by SHA-256 of (seed, attribute), the first half is test."""
    if split == "all":
        return set(attributes)
    order = sorted(attributes, key=lambda a: hashlib.sha256(f"{seed}\n{a}".encode()).digest())
    middle = (len(order) + 1) // 2
    return set(order[:middle] if split == "test" else order[middle:])


# --- documents ------------------------------------------------------------------------------------


def read_document(text: str) -> tuple[str, list[str]]:
    """The name and the attributes that a text states; empty where it is no such sentence."""
    name, found, listed = text.removesuffix(_TAIL).partition(_MIDDLE)
    if not (name and found and text.endswith(_TAIL)):
        return "", []
    start, both, last = listed.rpartition(" and ")
    return name, [*start.split(", "), last] if both else [last]


class DocumentTerms(NamedTuple):
    """What the texts of some documents say.

    `names` (documents,); `terms` (sum of counts,): ids of the attributes, -1 for what is none;
    `counts` (documents,): attributes of each. `spelled`: all are what their metadata say.
    """

    names: list[str]
    terms: NDArray[np.int64]
    counts: NDArray[np.uint32]
    spelled: bool


class DocumentReader:
    """Reads many documents at once.

    Where the attributes that the metadata number, written out in their order, give a text letter by
    letter, these are the attributes of the text: no attribute holds a separator, so that a list can
    be read in one way only. That is four times as fast as to cut every list apart, which is done
    where it fails for any document.

    `attributes`: text -> id; `size`: of each list.
    """

    def __init__(self, attributes: Mapping[str, int], size: int) -> None:
        self.attributes, self.size = attributes, size
        # "A, B and C" must not be another list too
        self._able = size > 2 and not any("," in a or " and " in f" {a} " for a in attributes)
        # in the list, before the last, last, and first; what no attribute has is in no text
        self._forms = np.full((4, max(attributes.values(), default=0) + 1), "\0", object)
        for text, number in attributes.items():
            self._forms[:, number] = f"{text}, ", f"{text} and ", f"{text}.", f" likes {text}, "
        self._places = np.array([3, *[0] * (size - 3), 1, 2])

    def read(self, batch: Batch) -> DocumentTerms:
        """What the texts of a batch say."""
        terms = self._stated(batch.metadata) if self._able else None
        if terms is not None and (names := self._names(batch.texts, terms)):
            counts = np.full(len(batch), self.size, np.uint32)
            return DocumentTerms(names, terms.ravel(), counts, True)
        both = [read_document(text) for text in batch.texts]
        counts = np.fromiter((len(listed) for _, listed in both), np.uint32, len(both))
        every = chain.from_iterable([listed for _, listed in both])
        found = map(self.attributes.get, every, repeat(-1))
        terms = np.fromiter(found, np.int64, int(counts.sum()))
        return DocumentTerms([name for name, _ in both], terms, counts, False)

    def _stated(self, metadata: Sequence[Any]) -> NDArray[np.int64] | None:
        """The ids of the metadata, (documents, size); None where any of them are none."""
        try:
            noted = [one["attributes"] for one in metadata]
            if set(map(len, noted)) != {self.size}:
                return None
            flat = list(chain.from_iterable(noted))
            if set(map(type, flat)) != {int}:
                return None
            terms = np.fromiter(flat, np.int64, len(flat))
        except (TypeError, KeyError, OverflowError):
            return None
        if terms.min() < 0 or terms.max() >= self._forms.shape[1]:
            return None
        return terms.reshape(len(noted), self.size)

    def _names(self, texts: Sequence[str], terms: NDArray[np.int64]) -> list[str]:
        """What stands before the lists; [] where any text does not end in its list."""
        names = []
        for text, parts in zip(texts, self._forms[self._places, terms].tolist(), strict=True):
            listed = "".join(parts)
            name = text[: -len(listed)]
            if not text.endswith(listed) or not name or " likes " in name:
                return []
            names.append(name)
        return names


# --- names ----------------------------------------------------------------------------------------


class NameReader:
    """Tells what is wrong with a name: a first name and a surname of Faker's, no attribute's word.

    Test and train sets share no surname: the lowest bit of the first byte of SHA-256 of
    (seed, surname) says of which half it is.
    """

    def __init__(self, spec: LimitSpec) -> None:
        self._half = spec.surname_half
        words = {word for attribute in spec.attributes for word in tokens(attribute)}
        self._of_attributes = frozenset(stems(sorted(words)))
        self._fault = cache(self._fault_of)

    def fault(self, name: str) -> str:
        """What is wrong with a name, "" for nothing."""
        first, _, last = name.partition(" ")
        return self._fault(first, "first name") or self._fault(last, "surname")

    def _fault_of(self, word: str, what: str) -> str:
        if not word.isalpha():
            return f"{word!r} is no {what}"
        if stems([word.casefold()])[0] in self._of_attributes:
            return f"the {what} {word!r} is a word of an attribute too"
        if word not in _listed_names("first_names" if what == "first name" else "last_names"):
            return f"the {what} {word!r} is in none of Faker's lists"
        if self._half is not None and what == "surname":
            seed, split = self._half
            digest = hashlib.sha256(f"{seed}\n{word}".encode()).digest()
            if ("test", "train")[digest[0] & 1] != split:
                return f"the surname {word!r} is not of the {split} half"
        return ""


@cache
def _listed_names(kind: str) -> frozenset[str]:
    """All spellings that Faker has of "first_names" or "last_names"."""
    words: set[str] = set()
    for locale in _LOCALES:
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        for key in dir(provider):  # inherited lists too
            listed = getattr(provider, key)
            if key.startswith(kind) and isinstance(listed, dict | list | tuple):
                words.update(listed)
    return frozenset(words)


# --- queries --------------------------------------------------------------------------------------


class Question(NamedTuple):
    """What a query asks for: all of `wanted` (one of them where `any_of`), none of `ruled_out`."""

    wanted: tuple[int, ...]
    ruled_out: tuple[int, ...] = ()
    any_of: bool = False

    @property
    def attributes(self) -> tuple[int, ...]:
        """All, what is ruled out last."""
        return self.wanted + self.ruled_out

    @property
    def operator(self) -> str:
        """As metadata names it."""
        if self.any_of:
            return "or"
        return "-".join(["and"] * (len(self.wanted) - 1) + ["and-not"] * len(self.ruled_out))

    def answered_by(self, held: frozenset[int]) -> bool:
        """Whether a document that holds these of its attributes is relevant."""
        wanted = held.intersection(self.wanted)
        enough = bool(wanted) if self.any_of else len(wanted) == len(self.wanted)
        return enough and held.isdisjoint(self.ruled_out)

    def nearly_answered_by(self, held: frozenset[int]) -> bool:
        """Whether it is a hard negative: only what is ruled out, or one thing, is in its way."""
        missing = len(self.wanted) - len(held.intersection(self.wanted))
        if self.any_of:
            return False
        if self.ruled_out:
            return not missing and not held.isdisjoint(self.ruled_out)
        return missing == 1


class QueryReader:
    """Reads what queries ask for."""

    def __init__(self, spec: LimitSpec) -> None:
        self.spec = spec
        longest = sorted(spec.attributes, key=len, reverse=True)
        self._any = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")

    def read(self, text: str) -> Question | str:
        """What a query asks for, or why that cannot be told."""
        return self._operators(text) if self.spec.cells else self._conjunction(text)

    def _conjunction(self, text: str) -> Question | str:
        spec = self.spec
        if not (text.startswith(_HEAD) and text.endswith(_END)):
            return "its text follows none of the query templates"
        inner = text[len(_HEAD) : -len(_END)]
        if spec.descriptions is not None:
            meant = spec.descriptions.get(inner, inner)
            if meant not in spec.attributes:
                return f"{inner!r} describes no attribute"
            if given := content_stems(meant) & content_stems(text):
                return f"{min(given)!r} is a word of what it should not name, {meant!r}"
            return Question((spec.attributes[meant],))
        named = inner.split(" and ")
        if unknown := [one for one in named if one not in spec.attributes]:
            return f"{unknown[0]!r} is no attribute of the catalogue's part that the recipe uses"
        if len(set(named)) != spec.per_query or len(named) != spec.per_query:
            return f"it asks for {len(named)} attributes, not {spec.per_query}"
        return Question(tuple(spec.attributes[one] for one in named))

    def _operators(self, text: str) -> Question | str:
        found = [self.spec.attributes[name] for name in self._any.findall(text)]
        signs = _WORDINGS.get(wording := self._any.sub("{}", text))
        if signs is None:
            return f"{wording!r} is no wording of a query"
        if len(set(found)) < len(found):
            return "it names an attribute twice"
        both = list(zip(found, signs, strict=True))
        return Question(
            tuple(term for term, sign in both if sign != "-"),
            tuple(term for term, sign in both if sign == "-"),
            "|" in signs,
        )


def read_queries(
    spec: LimitSpec, judgements: Judgements
) -> tuple[dict[str, Question], list[Finding]]:
    """What each query asks for, and the queries that cannot be read or say something else."""
    reader = QueryReader(spec)
    result: dict[str, Question] = {}
    errors: list[Finding] = []
    asked: dict[tuple[int, ...], str] = {}
    for query in judgements.queries:
        question = reader.read(query.text)
        if isinstance(question, str):
            errors.append(query_error(query.query_id, question))
            continue
        result[query.query_id] = question
        if query.facts.get("attributes") != list(question.attributes):
            why = "the attribute ids in its metadata are not those of its words"
            errors.append(query_error(query.query_id, why))
        stated = query.facts.get("operator")
        if spec.cells and stated != question.operator:
            why = f"its metadata gives the operator {stated!r}, its words say {question.operator!r}"
            errors.append(query_error(query.query_id, why))
        # with operators no two queries ask for one attribute, else for the same ones
        terms = question.attributes
        keys = [(one,) for one in terms] if spec.cells else [tuple(sorted(terms))]
        for key in keys:
            if (other := asked.setdefault(key, query.query_id)) != query.query_id:
                message = f"queries {other} and {query.query_id} ask for the same"
                if spec.cells:
                    message += f" thing, attribute {key[0]}"
                errors.append(error("query", [other, query.query_id], message))
    return result, errors


def query_error(query_id: str, message: str) -> Finding:
    return error("query", [query_id], f"query {query_id}: {message}")
