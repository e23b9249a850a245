"""Documents in many writing systems: no word is cut, and a run has queries, or says why not."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from retgen import run
from retgen.generators.capretrieval.language import stopwords
from retgen.generators.capretrieval.nouns import noun_phrases, runs
from retgen.tokenizer import tokens
from retgen.validators.capretrieval.words import bare, single_words
from tests.conftest import read_jsonl

# a sentence by spaced words; with harakat, niqqud, joiners, and marks that follow others
SENTENCES = {
    "Hindi": "पुरानी किताबें हर सोमवार को मरम्मत के लिए भेजी जाती हैं",
    "Bengali": "বৃষ্টির দিনে নৌকাটি ঘাটে বাঁধা থাকে",
    "Tamil": "மழைக்காலத்தில் ஆற்றுப் படகுகள் கரையில் நிற்கும்",
    "Telugu": "వర్షాకాలంలో పడవలు ఒడ్డున ఉంటాయి",
    "Sinhala": "ශ්‍රී පාදය කන්ද උඩ පහන් දැල්වේ",
    "Arabic": "تُغْلَقُ المَكْتَبَةُ القَدِيمَةُ في يَوْمِ العُطْلَةِ",
    "Persian": "کتاب‌های قدیمی را می‌خوانند",
    "Hebrew": "הַסִּפְרִיָּה הַיְשָׁנָה נִסְגֶּרֶת בָּעֶרֶב",
    "Korean": "오래된 책들은 월요일마다 수리를 받는다",
    "Vietnamese": "thuyền đánh cá đậu ở bến suốt mùa mưa",
    "Greek": "ὁ παλαιὸς μύλος ἀλέθει τὸν σῖτον τῇ ἑσπέρᾳ",
    "Georgian": "ძველი წიგნები ორშაბათს იგზავნება",
    "Amharic": "አሮጌ መጻሕፍት ሰኞ ይላካሉ",
    "Turkish": "İzmir körfezinde eski gemiler bekler",
}


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("sentence", SENTENCES.values(), ids=SENTENCES)
def test_no_word_is_cut(sentence: str, form: str) -> None:
    words = sentence.split()
    folded = [unicodedata.normalize("NFKC", word).casefold() for word in words]
    text = unicodedata.normalize(form, f"“{', '.join(words)}”।")
    assert tokens(text) == single_words(text) == folded
    assert [one.text for some in runs(text) for one in some if one.plain] == (
        unicodedata.normalize(form, sentence).split()
    )


def test_a_hindi_sentence_ends_at_its_danda() -> None:
    text = "नाव घाट पर। बारिश से पानी और नाव।"
    phrases = [text[start:stop] for start, stop in noun_phrases(text, "hi")]
    assert phrases == ["नाव घाट", "बारिश", "पानी", "नाव"]


def test_titles_that_differ_in_a_vowel_sign_are_two() -> None:
    assert (bare("## की"), bare("का"), bare("max_Size!")) == ("की", "का", "maxsize")


DOCUMENTS = 20
# beginnings and ends of made-up words, and function words
PARTS = {
    "hi": ("कि खीं गु घू चे जै टो डौ तं दाँ", "नि पा फ़े बृ म्य र्ण लि वी शु क्ष", "और का से पर"),
    "ar": ("كِتَ سَلَ مَدِ رَسُ جَمِ لُغَ حَفِ شَرِ", "بُ نِ رَةُ لٌ مِيَ دِ عُ فَ", "في من مع لم"),
    "bn": ("কি খী গু ঘূ চে জৈ টো ডৌ", "নি পা ফে বৃ ম্য র্ণ লি শু", "এবং এর জন্য এই"),
    "ko": ("가나 다라 마바 사아 자차 카타", "파하 거너 더러 머버 서어 저처", "그리고 또는"),
}


def _folder(path: Path, code: str, form: str = "NFC") -> Path:
    """Documents of a title and three sentences, and a recipe over them."""
    first, last, function_words = map(str.split, PARTS[code])
    words = ["".join(parts) for parts in itertools.product(first, last, last)]
    step = 7 * len(last) + 1  # neighbours differ in all parts
    (path / "kb").mkdir()
    for number in range(DOCUMENTS):
        own = [words[step * (9 * number + i) % len(words)] for i in range(9)]
        said = [
            " ".join(itertools.chain(*zip(own[i : i + 4], function_words, strict=False)))
            for i in (0, 3, 5)
        ]
        text = f"# {' '.join(own[:2])}\n\n{'। '.join(said)}। \n"
        (path / "kb" / f"n{number:02}.md").write_text(unicodedata.normalize(form, text), "utf-8")
    recipe = path / "kb.yaml"
    recipe.write_text(
        "name: kb\nfamily: capretrieval\n"
        f"params: {{source: {{path: {path / 'kb'}}}, language: {code}}}\n"
    )
    return recipe


@pytest.mark.slow
@pytest.mark.parametrize("code", ["hi", "ar"])
def test_rules_write_queries_where_function_words_are_known(tmp_path: Path, code: str) -> None:
    assert stopwords(code) >= {*PARTS[code][2].split()}
    made = run(_folder(tmp_path, code), out=tmp_path / "out")
    queries = read_jsonl(made.path / "dataset" / "queries.jsonl")
    sets = Counter(row["metadata"]["set"] for row in queries)
    assert sets["found"] == DOCUMENTS
    assert min(sets["KW"], sets["SM"]) >= DOCUMENTS
    assert "lacking" not in made.manifest["notes"]


@pytest.mark.slow
@pytest.mark.parametrize(("code", "name"), [("bn", "Bengali"), ("ko", "Korean")])
def test_a_run_says_which_language_has_no_rules(tmp_path: Path, code: str, name: str) -> None:
    made = run(_folder(tmp_path, code, "NFD"), out=tmp_path / "out")
    assert made.manifest["notes"]["lacking"] == (
        f"0 queries of set KW; 0 queries of set SM; {name} has no rules: name a model (--model)"
    )
    queries = read_jsonl(made.path / "dataset" / "queries.jsonl")
    assert Counter(row["metadata"]["set"] for row in queries) == {"found": DOCUMENTS}
