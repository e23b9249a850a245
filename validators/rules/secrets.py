"""Secrets: keys, tokens, private keys and passwords in addresses.

Found by detect-secrets' detectors of forms; its guesses by entropy and by variable names are left
out, as they take every digest for a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
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

# a text without any of these holds no secret
_MARKS = re.compile(
    "|".join(
        re.escape(mark)
        for marks in (*_DETECTORS.values(), [mark for mark, _ in _FORMS.values()], [_KEY, "://"])
        for mark in marks
    )
)


def secrets(text: str) -> list[ExposedData]:
    """What opens something, in a text: each secret once, by the first kind that it is found to be,
    since two forms may fit one key.
    """
    if not _MARKS.search(text):
        return []
    result: list[ExposedData] = []
    for kind, prefix, secret in _secrets(text):
        if not any(secret in one.datum or one.datum in secret for one in result):
            masked = prefix and f"{prefix}…"
            result.append(ExposedData(f"a secret ({kind})", f"secrets ({kind})", masked, secret))
    return result


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
    if "://" in text and "@" in text:
        for match in _LOGIN.finditer(text):
            nobodys = _NO_HOST.search(match[2]) or NOBODYS.search(match[2])
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


class Secrets(ExposedRule):
    """Documents and queries with keys, tokens and passwords."""

    name = "secrets"
    severity = "warning"
    finds = "keys, tokens, private keys and passwords in addresses"
    order = 220

    def look(self, text: str) -> list[ExposedData]:
        return secrets(text)
