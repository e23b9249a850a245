from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retgen.tokenizer import (
    STOPWORDS,
    content_stems,
    is_unspaced,
    length,
    named_scripts,
    stems,
    tokens,
    words_only,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who likes Quokkas, Fish & Chips?", "who likes quokkas fish chips"),
        ("“It’s” the Straße №5", "it s the strasse 5"),
        ("Кто любит чай? ΤΙ ΚΑΝΕΙΣ", "кто любит чай τι κανεισ"),
        ("한국어 문장은 띄어 쓴다", "한국어 문장은 띄어 쓴다"),
        ("हिन्दी में लिखा", "हिन्दी में लिखा"),
        ("cafe\u0301 CAFÉ", "café café"),
        ("İzmir", "i\u0307zmir"),
        ("1\ufe0f\u20e3 ❤\ufe0flove", "1 love"),
        ("紫色的花，猫", "紫 紫色 色 色的 的 的花 花 猫"),
        ("WeChat更新2次", "wechat 更 更新 新 2 次"),
        ("ＷｅＣｈａｔ", "wechat"),
        ("東京のカフェ", "東 東京 京 京の の のカ カ カフ フ フェ ェ"),
        ("ｶﾌｪ", "カ カフ フ フェ ェ"),
        ("ที่นี่ ๑๒", "ที่ ที่นี่ นี่ ๑๒"),
        ("𠀀𠀁", "𠀀 𠀀𠀁 𠀁"),
        ("、。！ …", ""),
    ],
)
def test_the_script_decides(text: str, expected: str) -> None:
    assert tokens(text) == expected.split()


@pytest.mark.slow
@given(st.text(st.characters(max_codepoint=0x2FF)) | st.text(st.characters(codec="cp1251")))
def test_latin_and_cyrillic_words_are_runs_of_word_characters(text: str) -> None:
    text = re.sub("[İǰ]", "", text)  # two letters that casefold to a letter and its mark
    assert tokens(text) == re.findall(r"\w+", text.casefold())


def test_a_phrase_is_cut_alike_wherever_it_stands() -> None:
    phrase = "紫色的花"
    for text in ("一朵紫色的花开了", "東京で紫色的花を", f"a{phrase}b", "他说：“紫色的花”"):
        assert set(tokens(phrase)) <= set(tokens(text))
    assert not set(tokens(phrase)) <= set(tokens("花色的紫"))


def test_what_is_known_of_a_text() -> None:
    assert named_scripts(["plain", "naïve"]) == []
    assert named_scripts(["plain", "東京の", "ภาษา"]) == ["Han", "kana", "Thai"]
    assert [one for one in tokens("WeChat更新 2 ок") if is_unspaced(one)] == ["更", "更新", "新"]
    assert [
        text for text in ("naïve — “ок” …", "cafe\u0301", "更", "हिन्दी") if words_only(text)
    ] == ["naïve — “ок” …"]


def test_length_counts_words_or_characters() -> None:
    lengths = {
        text: length(text) for text in ("four words, no more", "紫色的花", "微信 WeChat2更新 !")
    }
    assert list(lengths.values()) == [4, 4, 5]
    assert [length(text) for text in ("", "a\nb", "  a  b\n\n", "a — b")] == [0, 2, 2, 3]


def test_content_stems_are_without_function_words() -> None:
    assert content_stems("Who was running with the dogs?") == {"run", "dog"}
    assert content_stems("紫色 flowers") == {"紫", "紫色", "色", "flower"}
    assert stems(["更新", "ภา"]) == ["更新", "ภา"]
    assert "who" in STOPWORDS
