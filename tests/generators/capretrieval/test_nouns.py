"""Noun phrases: whole ones, of prose."""

from __future__ import annotations

import pytest

from retgen.generators.capretrieval.nouns import is_prose, noun_phrases


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        # nothing that a verb or a participle may belong to
        (
            "It supports large applications requiring high performance output.",
            ["large applications", "high performance output"],
        ),
        ("A DVI based output driver.", ["output driver"]),
        (
            "You can use the default set of options to open multiple files.",
            ["default", "options", "multiple files"],
        ),
        ("Users run programs.", ["programs"]),
        ("Check differences between files.", ["differences", "files"]),
        ("postgresql-debversion implements the debversion type.", ["debversion type"]),
        # a part of a longer one is none
        ("The number of open windows.", ["open windows"]),
        ("It has the complete YAML 1.1 parser.", []),
        # participles and compounds that belong to their noun
        (
            "The program uses shared libraries for image processing",
            ["program", "shared libraries", "image processing"],
        ),
        ("The user's home directory, node.js and C++.", ["home directory", "node.js", "C++"]),
        # what may be the verb of what follows
        ("The package conflicting with itself and the interfaces Python.", []),
        # code, options and numbers
        ("Pass --verbose to /usr/bin/foo_bar or run x0 = 3 times.", []),
    ],
)
def test_english_phrases_are_whole(text: str, phrases: list[str]) -> None:
    found = [text[one.start : one.stop] for one in noun_phrases(text, "en")]
    assert [one for one in found if one in phrases] == phrases
    assert not {"applications requiring", "based output", "set", "run programs", "number"} & {
        *found
    }
    if not phrases:
        assert found == [one for one in found if " " not in one]


def test_other_languages_are_cut_at_function_words() -> None:
    text = "Die alte Brücke über den Fluss wurde erneuert."
    found = [(text[one.start : one.stop], one.is_name) for one in noun_phrases(text, "de")]
    assert found == [("alte Brücke", False), ("Fluss", True), ("erneuert", True)]


def test_adjectives_and_names_are_told() -> None:
    (phrase,) = noun_phrases("The deprecated configuration", "en")
    assert (phrase.words, phrase.adjectives) == (("deprecated", "configuration"), {"deprecated"})
    (name,) = noun_phrases("the StumpWM", "en")
    assert name.is_name
    for ordinary in ("the manager", "the tilde"):  # of which a lexicon lacks one
        (noun,) = noun_phrases(ordinary, "en")
        assert not noun.is_name


def test_prose_has_function_words_and_hardly_any_marks() -> None:
    assert is_prose("The kernel reads the file and writes it back to the disk.", "en")
    assert not is_prose("ssize_t readlinkat(int dirfd, const char *path, char *buf);", "en")
    assert not is_prose("alpha beta gamma delta epsilon zeta eta theta", "en")
    assert is_prose("Red kites", "en")  # too few words to tell
