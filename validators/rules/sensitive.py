"""Data of persons (e-mail addresses, phone numbers, accounts, cards) and secrets.

Checked by what checks them elsewhere: phonenumbers (numbering plans), python-stdnum (check digits,
structure), detect-secrets' detectors of forms; its guesses by entropy and by variable names are
left out, as they take every digest for a secret. A finding names the documents, the kind and a
masked form, never the datum.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from retgen.validators.rule import Batch, Finding, JudgedRule, RuleState

_SHOWN = 3  # masked forms in a message


class Leak(NamedTuple):
    """Something found: its kind in words (one, many), its masked form, "" for none, and what it is,
    so that it is counted once a text; that is kept nowhere.
    """

    kind: tuple[str, str]
    masked: str
    datum: str


@dataclass
class _Leaks(RuleState):
    """Kind to (document id, how many it holds, masked forms), in order, a document once."""

    leaks: dict[tuple[str, str], list[tuple[str, int, list[str]]]] = field(default_factory=dict)

    def add(self, text_id: str, leaks: Sequence[Leak]) -> None:
        kinds: dict[tuple[str, str], dict[str, str]] = {}
        for leak in leaks:
            kinds.setdefault(leak.kind, {})[leak.datum] = leak.masked
        for kind, forms in kinds.items():
            shown = list(dict.fromkeys(filter(None, forms.values())))[: _SHOWN + 1]
            self.leaks.setdefault(kind, []).append((text_id, len(forms), shown))


class Leaks(JudgedRule):
    """A rule over texts that hold what should not go out; `look` says what one text holds."""

    def marks(self) -> tuple[str, ...] | None:
        """A batch that holds none of these is not looked at; None: every one is."""
        return None

    @abstractmethod
    def look(self, text: str) -> list[Leak]:
        """All that a text holds."""

    def start(self) -> None:
        self.state: _Leaks = _Leaks()

    def scan(self, batch: Batch) -> None:
        if (marks := self.marks()) is not None:
            everything = "\n".join((*batch.titles, *batch.texts))
            if not any(mark in everything for mark in marks):
                return
        for doc_id, title, text in zip(batch.ids, batch.titles, batch.texts, strict=True):
            if leaks := self.look(f"{title}\n{text}" if title else text):
                self.state.add(doc_id, leaks)

    def findings(self) -> Iterator[Finding]:
        queries = _Leaks()
        for query in self.judgements.queries:
            if leaks := self.look(query.text):
                queries.add(query.query_id, leaks)
        for one, many, state in (
            ("document", "documents", self.state),
            ("query", "queries", queries),
        ):
            for kind, members in sorted(state.leaks.items()):
                ids = [text_id for text_id, *_ in members]
                total = sum(count for _, count, _ in members)
                shown = list(dict.fromkeys(form for *_, forms in members for form in forms))
                more = ", ..." if len(shown) > _SHOWN else ""
                who = f"{one} {ids[0]} holds" if len(ids) == 1 else f"{len(ids):,} {many} hold"
                what = kind[0] if total == 1 else f"{total:,} {kind[1]}"
                forms = f" ({', '.join(shown[:_SHOWN])}{more})" if shown else ""
                yield self.finding(ids, f"{who} {what}{forms}")


def mask(datum: str) -> str:
    """The first two letters or digits of a datum, and its length."""
    plain = re.sub(r"\W", "", datum)
    return f"{plain[:2]}… of {len(plain)} characters"


def personal_data(text: str) -> list[Leak]:
    """Data of persons in a text."""
    leaks = list(_addresses(text)) if "@" in text else []
    if _DIGITS.search(text):
        leaks += _phones(text)
        leaks += _numbers(text)
    return leaks


# --- e-mail -------------------------------------------------------------------------------------

_EMAIL = re.compile(
    r"(?:(?<![\w.+%/:@=-])|(?<=mailto:)|(?<=mail:))([A-Za-z0-9][\w.+%-]{0,63})@((?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24})(?![\w@:-])"
)
# RFC 2606 and 6761, and domains that stand for any domain in people's examples
_NOBODYS = re.compile(
    r"(?:^|\.)(?:example|test|invalid|localhost|local|internal|lan|domain|email|"
    r"(?:example|test|(?:my|your|some)?(?:domain|company|host|site|server)|somewhere|provider|foo|"
    r"bar|spam|acme|email|mail|sample|isp|[a-z])\.[a-z]{2,4}|gserviceaccount\.com)$"
)
# what follows a name and an @ elsewhere: units of systemd, pictures of many pixels
_NO_DOMAIN = re.compile(
    r"\.(?:service|socket|timer|mount|target|slice|path|png|jpe?g|svg|gif|js|html)$"
)
# mailing lists and reply addresses
_LIST_DOMAIN = re.compile(
    r"^(?:lists?|groups|mailman|bugs|tracker|vger|users\.noreply)\.|"
    r"(?:^|\.)(?:googlegroups\.com|lists\.[\w.-]+|noreply\.[\w.-]+)$"
)
_EMAIL_KIND = ("an e-mail address", "e-mail addresses")


def _addresses(text: str) -> Iterator[Leak]:
    for match in _EMAIL.finditer(text):
        local, domain = match[1], match[2].lower()
        if (
            _NOBODYS.search(domain)
            or _NO_DOMAIN.search("." + domain)
            or _LIST_DOMAIN.search(domain)
        ):
            continue
        if text[max(0, match.start() - 3) : match.start()].endswith("://"):
            continue
        form = f"{local[0]}…@{domain[0]}….{domain.rpartition('.')[2]}"
        yield Leak(_EMAIL_KIND, form, f"{local}@{domain}".lower())


# --- phone numbers ------------------------------------------------------------------------------

_DIGITS = re.compile(r"\d(?:[ ()./-]{0,2}\d){6}")  # seven in a row, as people set them
_ABROAD = re.compile(r"(?<![\w.+/=-])\+ ?(?:\(\d{1,3}\)|\d)[\d ()./-]{6,22}\d(?![\w])")
_DECIMAL = re.compile(r"\+\d+\.\d+")
_SAID = re.compile(
    r"\b(?:tele?(?:phone|fon)?|phone|mobile|cell|fax|call(?: us)?(?: at| on)?)\b"
    r"(?: ?(?:number|numbers|no|nr))?[.:]{0,2}\s{0,2}"
    r"(\(?[2-9]\d\d\)?[ .-]{0,2}[2-9]\d\d[ .-]\d{4})\b",
    re.IGNORECASE,
)
# numbers that are given to nobody, so that films and manuals can name them
_FICTION = re.compile(
    r"\+(?:1\d{3}555(?:01\d\d|1212)|447700900\d{3}|441632960\d{3}|442079460\d{3}|"
    r"441\d{2}4960\d{3}|6149157\d{4})"
)
_PHONE_KIND = ("a phone number", "phone numbers")


def _phones(text: str) -> Iterator[Leak]:
    if "+" in text:
        for match in _ABROAD.finditer(text):
            if _DECIMAL.fullmatch(match[0]):
                continue
            if leak := _phone(match[0], None):
                yield leak
    for match in _SAID.finditer(text):
        if leak := _phone(match[1], "US"):
            yield leak


def _phone(number: str, region: str | None) -> Leak | None:
    import phonenumbers

    try:
        parsed = phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_valid_number(parsed):
        return None
    plain = phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
    digits = plain.lstrip("+")
    if _FICTION.fullmatch(plain) or len(set(digits[-8:])) <= 2 or digits[-8:] in "12345678901":
        return None
    return Leak(
        _PHONE_KIND,
        f"+{parsed.country_code} and {len(digits) - len(str(parsed.country_code))} digits",
        plain,
    )


# --- numbers with check digits ------------------------------------------------------------------


class _Number(NamedTuple):
    kind: tuple[str, str]
    pattern: re.Pattern[str]  # group 1 is the number
    module: str  # of python-stdnum
    also: Callable[[str], bool]


def _varied(number: str) -> bool:
    """Whether it has more than four different letters and digits, as placeholders have not."""
    return len(set(re.sub(r"\W", "", number))) > 4


_CARD = ("a card number", "card numbers")
_ISSUED = re.compile(
    r"4\d{15}|5[1-5]\d{14}|2(?:2[3-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}|6(?:011|5\d\d)\d{12}"
)


def _is_card(number: str) -> bool:
    return bool(_ISSUED.fullmatch(re.sub(r"\W", "", number))) and _varied(number)


_EDGE, _END = r"(?<![\w.+/=-])", r"(?![\w]|[.-]\d)"
_NUMBERS = (
    _Number(
        ("a bank account number (IBAN)", "bank account numbers (IBAN)"),
        re.compile(
            rf"{_EDGE}([A-Z]{{2}}\d\d(?: ?[A-Z0-9]{{4}}){{2,7}}(?: ?[A-Z0-9]{{1,3}})?){_END}"
        ),
        "stdnum.iban",
        _varied,
    ),
    _Number(  # set in groups as on a card
        _CARD,
        re.compile(
            rf"{_EDGE}(\d{{4}}([ -])\d{{4}}\2\d{{4}}\2\d{{4}}|"
            rf"3[47]\d\d([ -])\d{{6}}\3\d{{5}}){_END}"
        ),
        "stdnum.luhn",
        _is_card,
    ),
    _Number(  # or named: one number in ten has a right check digit by chance
        _CARD,
        re.compile(rf"(?i:card|visa|mastercard|amex|discover)\b[^\d\n]{{0,30}}(\d{{13,16}}){_END}"),
        "stdnum.luhn",
        _is_card,
    ),
)


@cache
def _checker(module: str) -> Any:
    return import_module(module)


def _numbers(text: str) -> Iterator[Leak]:
    for number in _NUMBERS:
        for match in number.pattern.finditer(text):
            datum = match[1]
            bare = re.sub("[ -]", "", datum) if number.kind is _CARD else datum
            if number.also(datum) and _checker(number.module).is_valid(bare):
                yield Leak(number.kind, mask(datum), re.sub(r"\W", "", datum))


class PersonalData(Leaks):
    """Documents and queries with data of persons."""

    name = "personal-data"
    severity = "warning"
    finds = "e-mail addresses, phone numbers, bank accounts, card numbers"
    order = 210

    def look(self, text: str) -> list[Leak]:
        return personal_data(text)


# --- secrets ------------------------------------------------------------------------------------

# detector -> what its secrets begin with or hold; a text without it is not shown to the detector
_DETECTORS = {
    ("aws", "AWSKeyDetector"): ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"),
    ("azure_storage_key", "AzureStorageKeyDetector"): ("AccountKey=",),
    ("discord", "DiscordBotTokenDetector"): ("discord", "Discord"),
    ("github_token", "GitHubTokenDetector"): ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    ("gitlab_token", "GitLabTokenDetector"): ("glpat-", "gldt-", "glft-", "glrt-", "GR1348941"),
    ("jwt", "JwtTokenDetector"): ("eyJ",),
    ("mailchimp", "MailchimpDetector"): ("-us",),
    ("npm", "NpmDetector"): ("_authToken",),
    ("openai", "OpenAIDetector"): ("T3BlbkFJ",),
    ("pypi_token", "PypiTokenDetector"): ("pypi-",),
    ("sendgrid", "SendGridDetector"): ("SG.",),
    ("slack", "SlackDetector"): ("xox", "hooks.slack.com"),
    ("square_oauth", "SquareOAuthDetector"): ("sq0csp",),
    ("stripe", "StripeDetector"): ("sk_live", "rk_live"),
    ("telegram_token", "TelegramBotTokenDetector"): (":AA",),
    ("twilio", "TwilioKeyDetector"): ("AC", "SK"),
}
# forms that the detectors do not know (yet)
_FORMS = {
    "Google API Key": ("AIza", re.compile(r"(?<![\w-])AIza[\w-]{35}(?![\w-])")),
    "Hugging Face Token": ("hf_", re.compile(r"(?<!\w)hf_[A-Za-z0-9]{34}(?!\w)")),
    "Anthropic API Key": ("sk-ant-", re.compile(r"(?<![\w-])sk-ant-[\w-]{40,}")),
    "OpenAI Project Key": ("sk-proj-", re.compile(r"(?<![\w-])sk-proj-[\w-]{40,}")),
    "GitHub Token": ("github_pat_", re.compile(r"(?<!\w)github_pat_\w{60,}")),
}
_KEY = "-----BEGIN "  # a private key is one only with its body
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\n)+"
    r"(?:[\w-]+: [^\n]*\n)*\s*[A-Za-z0-9+/]{32}[A-Za-z0-9+/=\s\\]{64}"
)
_LOGIN_MARK = "://"
_LOGIN = re.compile(
    r"\b[a-z][a-z0-9+]{2,14}://[\w.%-]{2,40}:([^\s:@/<>{}$\[\]()\"'`]{6,64})@([\w.-]+\.[a-z]{2,})"
)
_NO_LOGIN = re.compile(
    r"(?i)\w*pass(?:word|wd|phrase)?\w*|(?:your|my|some)?[_-]?(?:secret|token|user|key)\w*|"
    r"changeme|hunter2|[*x.]+"
)
_NO_HOST = re.compile(
    r"(?:^|\.)(?:example|test|invalid|localhost|local)(?:\.[a-z]{2,4})?$|"
    r"^(?:\w*host|server|proxy|domain)\."
)
_SAMPLE = re.compile(r"(?i)example|sample|dummy|placeholder|1234567890|abcdef|x{4}|\.{3}|(.)\1{5}")
_KINDS = 8  # different characters, fewer are a placeholder's

MARKS = (
    *(mark for marks in _DETECTORS.values() for mark in marks if len(mark) > 2),
    *(mark for mark, _ in _FORMS.values()),
    "AC",
    "SK",
    _KEY,
    _LOGIN_MARK,
)


def secrets(text: str) -> list[Leak]:
    """What opens something, in a text; in none without one of `MARKS`."""
    return [
        Leak((f"a secret ({kind})", f"secrets ({kind})"), prefix and f"{prefix}…", secret)
        for kind, prefix, secret in _apart(_secrets(text))
    ]


def _apart(result: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """Each secret once, by the first kind that it was found to be: two forms may fit one key."""
    known: list[str] = []
    for kind, prefix, secret in result:
        if not any(secret in one or one in secret for one in known):
            known.append(secret)
            yield kind, prefix, secret


@cache
def _detector(module: str, name: str) -> Any:
    return getattr(import_module(f"detect_secrets.plugins.{module}"), name)()


def _secrets(text: str) -> Iterator[tuple[str, str, str]]:
    """(what, what all of these begin with, secret) of all secrets of a text that are no sample."""
    for kind, (mark, form) in _FORMS.items():
        if mark in text:
            for match in form.finditer(text):
                if _telling(match[0]):
                    yield kind, mark, match[0]
    for (module, name), marks in _DETECTORS.items():
        if any(mark in text for mark in marks):
            detector = _detector(module, name)
            for secret in _matches(detector, text):
                if _telling(secret):
                    prefix = next((mark for mark in marks if secret.startswith(mark)), "")
                    yield detector.secret_type, prefix, secret
    if _KEY in text and (key := _PRIVATE_KEY.search(text)):
        yield "Private Key", "", key[0]
    if _LOGIN_MARK in text and "@" in text:
        for match in _LOGIN.finditer(text):
            nobodys = _NO_HOST.search(match[2]) or _NOBODYS.search(match[2])
            if not (nobodys or _NO_LOGIN.fullmatch(match[1])):
                yield "Basic Auth Credentials", "", match[1]


def _matches(detector: Any, text: str) -> Iterator[str]:
    """What a detector's forms match. Its own search names the prefix where a form groups that."""
    valid = getattr(detector, "is_formally_valid", lambda secret: True)
    for form in detector.denylist:
        for match in form.finditer(text):
            secret = max((group for group in match.groups() if group), key=len, default="")
            secret = secret if len(secret) >= _KINDS else match[0]
            if valid(secret):
                yield secret


def _telling(secret: str) -> bool:
    return len(set(secret)) >= _KINDS and not _SAMPLE.search(secret)


class Secrets(Leaks):
    """Documents and queries with keys, tokens and passwords."""

    name = "secrets"
    severity = "warning"
    finds = "keys, tokens, private keys and passwords in addresses"
    order = 220

    def marks(self) -> tuple[str, ...]:
        return MARKS

    def look(self, text: str) -> list[Leak]:
        return secrets(text)
