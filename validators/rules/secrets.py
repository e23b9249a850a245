"""Secrets: keys, tokens, private keys and passwords in addresses.

Found by detect-secrets' detectors of forms; its guesses by entropy and by variable names are left
out, as they take every digest for a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any

from retgen.validators.exposed import NOBODYS, ExposedData, ExposedRule

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
_Form = tuple[str, Sequence[str], re.Pattern[str], Callable[[str], Any]]
# forms that the detectors do not know (yet)
_MORE = {
    "Google API Key": ("AIza", r"(?<![\w-])AIza[\w-]{35}(?![\w-])"),
    "Hugging Face Token": ("hf_", r"(?<!\w)hf_[A-Za-z0-9]{34}(?!\w)"),
    "Anthropic API Key": ("sk-ant-", r"(?<![\w-])sk-ant-[\w-]{40,}"),
    "OpenAI Project Key": ("sk-proj-", r"(?<![\w-])sk-proj-[\w-]{40,}"),
    "GitHub Token": ("github_pat_", r"(?<!\w)github_pat_\w{60,}"),
}
_KEY = "-----BEGIN "  # a private key is one only with its body
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\n)+"
    r"(?:[\w-]+: [^\n]*\n)*\s*[A-Za-z0-9+/]{32}[A-Za-z0-9+/=\s\\]{64}"
)
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
# some forms begin at every place of a word, so that an endless one is looked at in pieces
_ENDLESS, _PIECE, _OVERLAP = re.compile(r"\S{10000,}"), 4_000, 2_000
_KINDS = 8  # different characters, fewer are a placeholder's

# a text without any of these holds no secret
_MARKS = re.compile(
    "|".join(map(re.escape, [_KEY, "://", *chain(*_DETECTORS.values()), *dict(_MORE.values())]))
)


class Secrets(ExposedRule):
    """Documents and queries with keys, tokens and passwords."""

    name = "secrets"
    severity = "warning"
    finds = "keys, tokens, private keys and passwords in addresses"
    order = 220

    def look(self, text: str) -> list[ExposedData]:
        return secrets(text)


def secrets(text: str) -> list[ExposedData]:
    """What opens something, in a text: each secret once, by the first kind that it is found to be,
    since two forms may fit one key.
    """
    result: list[ExposedData] = []
    if not _MARKS.search(text):
        return result
    for kind, prefix, secret in _secrets(_ENDLESS.sub(_in_pieces, text)):
        if not any(secret in one.datum or one.datum in secret for one in result):
            result.append(ExposedData(f"secret ({kind})", prefix and f"{prefix}…", secret))
    return result


def _in_pieces(word: re.Match[str]) -> str:
    """A word as several, of which each begins with the end of the one before."""
    starts = range(0, len(word[0]) - _OVERLAP, _PIECE - _OVERLAP)
    return " ".join(word[0][start : start + _PIECE] for start in starts)


def _secrets(text: str) -> Iterator[tuple[str, str, str]]:
    """(what, what all of these begin with, secret) of all secrets of a text that are no sample."""
    for kind, marks, form, is_valid in _forms():
        if not any(mark in text for mark in marks):
            continue
        for match in form.finditer(text):
            secret = max(filter(None, match.groups()), key=len, default="")
            secret = secret if len(secret) >= _KINDS else match[0]  # a group may be its prefix
            if is_valid(secret) and len(set(secret)) >= _KINDS and not _SAMPLE.search(secret):
                yield kind, next((mark for mark in marks if secret.startswith(mark)), ""), secret
    if _KEY in text and (key := _PRIVATE_KEY.search(text)):
        yield "Private Key", "", key[0]
    if "://" in text and "@" in text:
        for match in _LOGIN.finditer(text):
            nobodys = _NO_HOST.search(match[2]) or NOBODYS.search(match[2])
            if not (nobodys or _NO_LOGIN.fullmatch(match[1])):
                yield "Basic Auth Credentials", "", match[1]


@cache
def _forms() -> list[_Form]:
    """(what, marks of which a text holds one, form, whether what matches is valid) of secrets."""
    forms: list[_Form] = []
    for kind, (mark, form) in _MORE.items():
        forms.append((kind, (mark,), re.compile(form), bool))
    for (module, name), marks in _DETECTORS.items():
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
        is_valid = getattr(detector, "is_formally_valid", bool)
        forms += [(detector.secret_type, marks, form, is_valid) for form in detector.denylist]
    return forms
