"""Texts cut around what differs."""

from __future__ import annotations

from retgen.changes.examples import TextExample
from retgen.changes.report import example_sides, excerpts, printable


def test_a_long_text_is_shown_around_its_change() -> None:
    words = [f"w{i}" for i in range(8000)]
    a, b = " ".join(words), " ".join([*words[:4000], "new", *words[4001:]])
    before, after = excerpts(a, b)
    around = [" ".join(words[3988:4000]), " ".join(words[4001:4013])]
    assert "".join(piece for piece, _ in before) == f"… {around[0]} w4000 {around[1]} …"
    assert [piece for piece, special in before if special and piece] == ["w4000"]
    assert [piece for piece, special in after if special and piece] == ["new"]


def test_a_change_of_everything_is_cut() -> None:
    a, b = (" ".join(f"{name}{i}" for i in range(8000)) for name in "ab")
    before, _ = excerpts(a, b)
    assert [piece for piece, special in before if special] == [" ".join(f"a{i}" for i in range(80))]
    assert before[-1] == (" …", False)


def test_scripts_without_spaces_are_cut_by_characters() -> None:
    before, after = excerpts("更衣柜在左边", "更衣柜在右边")
    assert before == [("更衣柜在", False), ("", False), ("左", True), ("边", False)]
    assert after == [("更衣柜在", False), ("", False), ("右", True), ("边", False)]


def test_white_space_alone() -> None:
    example = TextExample("documents", "changed", "d1", {"text": "a b"}, {"text": "a b \n"})
    assert [part for part, _, _ in example_sides(example)] == ["text, white space alone"]
    example = TextExample("documents", "changed", "d1", {"text": "a b"}, {"text": "a c"})
    assert [part for part, _, _ in example_sides(example)] == ["text"]


def test_a_terminal_obeys_nothing() -> None:
    assert printable("plain é 柜") == "plain é 柜"
    assert printable("a\tb\x1b[0m\u202e") == "a\\tb\\x1b[0m\\u202e"
