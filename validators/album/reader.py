"""Captions and queries read back into facts, by the words of album.yaml and where they stand.

Nothing of the generator is used. A text is cut into the longest words that are known: names of
album.yaml, and the words around them that texts are made of. Any other word makes the text
unreadable. What a word stands for and what stands beside it say the rest: a number and a colour
belong to the next thing, what follows a deed is what it is done to, and from a word like
"background" on, to the end of its sentence, things are seen in passing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from retgen.yaml_text import read_yaml

FILE = Path(__file__).parent / "album.yaml"  # what pictures show, read by generator and proof
LIKELY_FILE = FILE.with_name("likely.yaml")  # the definition of the grade 1 in qrels_graded
# role -> meaning -> words around the names of album.yaml ("_" is a blank)
_AROUND = {
    "number": {"1": "a an 一", "2": "two 两", "3": "three 三"},
    # from here to the end of its sentence a text speaks of what is seen in passing
    "passing": {
        "": "background edge further_back behind footer bottom "
        "背景 画面边缘 后方 画面角落里 底部 页脚处 边栏"
    },
    "and": {"": "and 和"},
    "before": {"": "in_front_of 前"},
    # a topic of what is written stands behind one of these
    "about": {"": "about 关于 内容与 主题是"},
    "plain": {
        "": "the photo picture shows snapshot of is are at in on by it from dated with there can "
        "be seen half_hidden small link page to line mentions narrow banner 照片里 图中 图片展示了 "
        "这张照片拍的是 的 有 在 正在 正 里 上 边 中 场景 拍摄地点在 中有 里还能看到 露出 是 "
        "隐约可见 日期在 有关 这是 照片 还有一条 页面 链接 顺带提到了 有一小条 横幅"
    },
}
_NAMES = ("thing", "topic", "month", "place", "landmark", "moment", "action", "deed", "colour")
_ASKED = (
    "thing",
    "number",
    "colour",
    "action",
    "object",
    "place",
    "moment",
    "topic",
    "month",
    "other",
)
_END, _PAUSE = ".。", ",，;；"


class Unreadable(Exception):
    """A text that does not read as one scene, or one query; says why."""


class Word(NamedTuple):
    """A word of a text: its role in the lexicon, and what it stands for there."""

    role: str
    meaning: str


class Thing(NamedTuple):
    """Something named: `at` is where among the words. `number` None: not said."""

    role: str
    meaning: str
    number: int | None
    colour: str | None
    at: int


class AlbumLexicon(NamedTuple):
    """`words`: role and meaning by the word; `above`: what each meaning is a kind of, all steps.

    `roles`: by meaning; `kinds`: the meanings that others are a kind of.
    """

    words: Mapping[str, Word]
    above: Mapping[str, frozenset[str]]
    roles: Mapping[str, str]
    kinds: frozenset[str]
    longest: int


@cache
def lexicon() -> AlbumLexicon:
    """The words that texts of an album are made of."""
    tree = read_yaml(FILE)
    lines = [
        *_lines(tree["things"], "thing"),
        *_lines(tree["landmarks"], "landmark"),
        *_lines(tree["topics"], "topic"),
        *_lines(tree["places"], "place"),
        *_lines(tree["months"], "month"),
        *_lines(tree["moments"], "moment"),
        *_lines(list(chain(*tree["colours"].values())), "colour"),
    ]
    for action in tree["actions"]:
        below = action.get("under", [])
        lines += _lines({action["say"]: below}, "deed" if "of" in action else "action")
    words: dict[str, Word] = {}
    above: dict[str, frozenset[str]] = {}
    for line, role, kinds in lines:
        meaning, names, units = _names(line, role)
        above[meaning] = kinds
        words |= dict.fromkeys(names, Word(role, meaning))
        words |= dict.fromkeys(units, Word("unit", ""))
    for role, meanings in _AROUND.items():
        for meaning, listed in meanings.items():
            around = (one.replace("_", " ") for one in listed.split())
            words |= dict.fromkeys(around, Word(role, meaning))
    roles = {word.meaning: word.role for word in words.values()}
    kinds = frozenset().union(*above.values())
    return AlbumLexicon(words, above, roles, kinds, max(map(len, words)))


def _lines(
    tree: Any, role: str, above: frozenset[str] = frozenset()
) -> Iterator[tuple[str, str, frozenset[str]]]:
    """(line, role, what it is a kind of) of nested lines; what nobody asks for is no kind."""
    below: Mapping[str, Any] = tree if isinstance(tree, dict) else dict.fromkeys(tree, ())
    for line, inner in below.items():
        if "!unasked" in line:
            yield from _lines(inner, role, above)
        else:
            yield line, role, above
            yield from _lines(inner, role, above | {_names(line, role)[0]})


def _names(line: str, role: str) -> tuple[str, list[str], list[str]]:
    """The meaning of a line, its names in lower case, and what is counted in its place."""
    english, chinese = re.sub(r" [@#!]\w+", "", line).split(";")
    names, units = list[str](), list[str]()
    for one in english.split(" / "):
        text, _, unit = one.strip().partition(" [")
        name, *further = text.split(", ")  # a plural, or how a place or moment stands in a text
        names += [name, *(further if role in ("thing", "landmark", "moment") else ())]
        units += unit.rstrip("]").split(", ") if unit else []
    text, _, last = (part.strip() for part in chinese.partition(","))
    names += text.split(" / ")
    if role == "moment":
        names.append(last)
    elif role in ("thing", "landmark"):
        units.append(last)
    return names[0], [one.lower() for one in names], units


_LETTERS = re.compile(r"[a-zà-ÿ-]+")


def words_of(text: str) -> list[Word]:
    """The words of a text and its punctuation (role "."), longest first."""
    known = lexicon()
    lower, result, at = text.lower(), list[Word](), 0
    while at < len(lower):
        letter = lower[at]
        if letter in _END or letter in _PAUSE:
            result.append(Word("." if letter in _END else ",", ""))
            at += 1
        elif letter == " ":
            at += 1
        else:
            for stop in range(min(len(lower), at + known.longest), at, -1):
                inside = _LETTERS.match(letter) and lower[stop : stop + 1]
                if lower[at:stop] in known.words and not (inside and _LETTERS.match(inside)):
                    result.append(known.words[lower[at:stop]])
                    at = stop
                    break
            else:
                word = _LETTERS.match(lower, at)
                raise Unreadable(f"{(word[0] if word else letter)!r} is no word of an album")
    return result


def _things(words: Sequence[Word]) -> list[Thing]:
    """What is named, with the number and the colour that stand before it."""
    result: list[Thing] = []
    number: int | None = None
    colour: str | None = None
    for at, (role, meaning) in enumerate(words):
        match role:
            case "number":
                number = int(meaning)
            case "colour":
                colour = meaning
            case "topic":  # a number before it is of what it is the topic of
                result.append(Thing(role, meaning, None, None, at))
            case "thing" | "landmark":
                result.append(Thing(role, meaning, number, colour, at))
                number = colour = None
            case "place" | "action" | "deed" | "." | ",":
                if colour is not None:
                    raise Unreadable(f"{colour} is the colour of nothing")
                number = None
    if colour is not None:
        raise Unreadable(f"{colour} is the colour of nothing")
    return result


def _single(role: str, found: Sequence[str]) -> str | None:
    if len(found) > 1:
        raise Unreadable(f"it names two of what it has one of ({role}): {', '.join(found)}")
    return found[0] if found else None


def read_caption(text: str) -> list[str]:
    """The facts of a caption, as the corpus notes them in its metadata."""
    words = words_of(text)
    main, passing = _split_words(words)
    things = _things(main)
    facts: dict[str, Any] = dict.fromkeys(
        ("subject", "number", "colour", "action", "object", "place", "moment", "topic", "month")
    )
    for role in ("moment", "month"):
        facts[role] = _single(role, [word.meaning for word in main if word.role == role])
    acts = [i for i, word in enumerate(main) if word.role in ("action", "deed")]
    facts["action"] = _single("action", [main[i].meaning for i in acts])
    places = [word.meaning for word in main if word.role == "place"]
    places += [one.meaning for one in things if _before(main, one)]
    facts["place"] = _single("place", places)
    facts["topic"] = _single("topic", [one.meaning for one in things if one.role == "topic"])
    _topics(main, things)
    named = [one for one in things if one.role != "topic" and not _before(main, one)]
    if acts and main[acts[0]].role == "deed":
        after = [one for one in named if one.at > acts[0]]
        if len(after) != 1 or after[0].colour is not None:
            raise Unreadable(f"{facts['action']} is done to one thing, which is named after it")
        facts["object"] = after[0].meaning
        named.remove(after[0])
    if len(named) != 1 or named[0].number is None or named[0].role != "thing":
        raise Unreadable("it has no single subject that is counted")
    facts["subject"], facts["number"] = named[0].meaning, named[0].number
    facts["colour"] = named[0].colour
    written = facts["topic"] is not None
    if written == (facts["action"] is not None) or written == (facts["place"] is not None):
        raise Unreadable("it is neither of something done somewhere nor of something written")
    result = [f"{name}={value}" for name, value in facts.items() if value is not None]
    for one in _things(passing):
        if (one.role == "topic") != written or one.number not in (None, 1):
            raise Unreadable(f"{one.meaning} in passing is not read")
        colour = f"{one.colour} " if one.colour else ""
        result.append(f"passing={colour}{one.meaning}")
    elsewhere = ("action", "deed", "place", "month", "moment")
    strange = [word.meaning for word in passing if word.role in elsewhere]
    if strange:
        raise Unreadable(f"{strange[0]} stands with what is seen in passing")
    return result


def _split_words(words: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """Words of the scene, and of what is in passing: from the clause of such a word on."""
    main: list[Word] = []
    passing: list[Word] = []
    sentence: list[list[Word]] = [[]]
    for word in (*words, Word(".", "")):
        if word.role not in ".,":
            sentence[-1].append(word)
            continue
        if word.role == ",":
            sentence.append([])
            continue
        cues = [i for i, clause in enumerate(sentence) if any(w.role == "passing" for w in clause)]
        first = cues[0] if cues else len(sentence)
        for i, clause in enumerate(sentence):
            (main if i < first else passing).extend((*clause, Word(",", "")))
        sentence = [[]]
    return main, passing


def _topics(words: Sequence[Word], things: Sequence[Thing]) -> None:
    """What is written is about its topics, and never the other way round."""
    for one in things:
        if one.role == "topic" and (one.at == 0 or words[one.at - 1].role != "about"):
            raise Unreadable(f"nothing is said to be about {one.meaning}")


def _before(words: Sequence[Word], one: Thing) -> bool:
    """Whether something stands in front of it: English says so before it, Chinese after it."""
    if one.role != "landmark":
        return False
    around = (*words[max(0, one.at - 2) : one.at], *words[one.at + 1 : one.at + 2])
    return any(word.role == "before" for word in around)


def read_query(text: str) -> dict[str, Any]:
    """What a query asks for, as the queries note it in their metadata."""
    words = words_of(text)
    asked: dict[str, Any] = dict.fromkeys(_ASKED)
    if any(word.role in ("passing", ".", ",") for word in words):
        raise Unreadable("it is no phrase")
    things = _things(words)
    for role in ("moment", "month", "place"):
        asked[role] = _single(role, [word.meaning for word in words if word.role == role])
    acts = [i for i, word in enumerate(words) if word.role in ("action", "deed")]
    asked["action"] = _single("action", [words[i].meaning for i in acts])
    if len(things) > 1:
        _topics(words, things)
    named: list[Thing] = []
    for one in things:
        if one.role == "topic" and len(things) > 1:
            asked["topic"] = _single("topic", [*filter(None, [asked["topic"]]), one.meaning])
        elif _before(words, one):
            asked["place"] = _single("place", [*filter(None, [asked["place"]]), one.meaning])
        else:
            named.append(one)
    if acts and words[acts[0]].role == "deed":
        after = [one for one in named if one.at > acts[0]]
        if not after:
            raise Unreadable(f"{asked['action']} is done to something, which is not named")
        asked["object"] = after[0].meaning
        named.remove(after[0])
    joined = [i for i, word in enumerate(words) if word.role == "and"]
    if joined and (len(named) != 2 or not named[0].at < joined[0] < named[1].at):
        raise Unreadable("'and' does not join two things")
    if len(named) > (2 if joined else 1):
        raise Unreadable("it names things that nothing joins")
    if joined:
        asked["other"] = named.pop().meaning
    if named:
        one = named[0]
        asked["thing"], asked["colour"] = one.meaning, one.colour
        asked["number"] = one.number if one.number != 1 else None
    if asked["place"] and not any(asked[key] for key in ("thing", "action", "moment")):
        asked["thing"], asked["place"] = asked["place"], None
    elif named and named[0].role == "landmark" and asked["moment"] and not asked["action"]:
        asked["thing"], asked["place"] = None, asked["thing"]
    result = {key: value for key, value in asked.items() if value is not None}
    if not result:
        raise Unreadable("it asks for nothing")
    return result
