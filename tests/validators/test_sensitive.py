"""Personal data and secrets: found, named by document and kind, and never repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen.validators.rules.personal import personal_data
from retgen.validators.rules.secrets import secrets
from tests.validators.sets import findings_in, plain


def personal(text: str) -> list[tuple[str, str]]:
    return [(leak.kind, leak.masked) for leak in personal_data(text)]


def secret(text: str) -> list[tuple[str, str]]:
    return [(leak.kind, leak.masked) for leak in secrets(text)]


@pytest.mark.parametrize(
    ("text", "kind", "masked"),
    [
        ("write to Mary <mary.hall@brunel.ac.uk>", "e-mail address", "m…@b….uk"),
        ("[me](mailto:mary.hall@brunel.ac.uk)", "e-mail address", "m…@b….uk"),
        ("e-mail:mary.hall@brunel.ac.uk", "e-mail address", "m…@b….uk"),
        ("tel. +49 30 901820", "phone number", "+49 and 8 digits"),
        (
            "pay to DE02 1203 0000 0000 2020 51",
            "bank account number (IBAN)",
            "DE… of 22 characters",
        ),
        ("my card 4716 2545 1234 5679 expires", "card number", "47… of 16 characters"),
        ("Visa: 4716254512345679", "card number", "47… of 16 characters"),
    ],
)
def test_personal_data(text: str, kind: str, masked: str) -> None:
    assert personal(text) == [(kind, masked)]


@pytest.mark.parametrize(
    "text",
    [
        "john.hall@example.com, a@b.test, me@host.invalid, root@localhost.localdomain.local",
        "debian-devel@lists.debian.org over ssh://user1@host.org/x",
        "git clone git@github.com:owner/name.git",
        "systemctl start getty@tty1.service with icon@2x.png",
        "12345+name@users.noreply.github.com",
        "call +1 212 555 0123, or +44 7700 900123",
        "+12345678, +1.25000000 or 2024-01-31 12:30:45, 192.168.100.200, 1.2.3.4.5.6.7.8",
        "order 4716254512345679 was shipped",  # a right check digit alone says little
        "4111 1111 1111 1111 is the test card",
        "ISBN 978-3-16-148410-0, DOI 10.1000/182, sha 9f86d081884c7d659a2feaa0c55ad015",
    ],
)
def test_no_person(text: str) -> None:
    assert personal(text) == []


# put together here, so that no scanner takes this file for a leak
AWS = "AKIA" + "Q7ZD4LMN2XCVB3TU"
GITHUB = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
OPENAI = "sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ" + "T3BlbkFJ" + "zX8cV6bN4mQ2wE0rT5yU"
GOOGLE = "AIza" + "SyD3k9Lm2Qw8Er5Ty1Ui4Op7As6Df0Gh9Jk"
BODY = "MIIEowIBAAKCAQEAx7Tq2Zb9LkfWcQ0vYp3dRt6uNsJmHgEaViBoXlKz5yDwPrTf"
PRIVATE = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY[::-1]}\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "kind", "masked"),
    [
        (f"key = {AWS}", "secret (AWS Access Key)", "AKIA…"),
        (f"token: {GITHUB}", "secret (GitHub Token)", "ghp_…"),
        (f"?key={GOOGLE}", "secret (Google API Key)", "AIza…"),
        (PRIVATE, "secret (Private Key)", ""),
        ("postgres://app:k9Tz4wQe@db.firm.net/x", "secret (Basic Auth Credentials)", ""),
        (f"https://bot:{GITHUB}@git.firm.net", "secret (GitHub Token)", "ghp_…"),
        (OPENAI, "secret (OpenAI Project Key)", "sk-proj-…"),
        # in a word that is looked at in pieces: minified JSON, prose without blanks
        *(
            (f'{"长" * before}"{AWS}"{"文" * 9000}', "secret (AWS Access Key)", "AKIA…")
            for before in (1990, 3990, 9000)
        ),
    ],
)
def test_secrets(text: str, kind: str, masked: str) -> None:
    assert secret(text) == [(kind, masked)]


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "x" * 36,
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
        "https://user:password@host.com/ and ftp://me:hunter2@example.com",
        "https://user:he%2F%2Fo@pypi.company.com/simple",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "password = 'correct horse battery staple'",
        "eyJ is how a token begins",
    ],
)
def test_no_secret(text: str) -> None:
    assert secret(text) == []


def test_one_finding_a_kind_and_no_datum(tmp_path: Path) -> None:
    texts = {f"d{i}": plain(i) for i in range(5)}
    texts["a"] = "ask mary.hall@brunel.ac.uk or tom.lee@brunel.ac.uk"
    texts["b"] = "ask zed@kiwi.nz or +49 30 901820"
    findings = findings_in(tmp_path, "personal-data", texts, {"q0": "who is tom.lee@brunel.ac.uk"})
    assert findings == [
        (["q0"], "query q0 holds an e-mail address (t…@b….uk)"),
        (["a", "b"], "2 documents hold 3 e-mail addresses (m…@b….uk, t…@b….uk, z…@k….nz)"),
        (["b"], "document b holds a phone number (+49 and 8 digits)"),
    ]
    findings = findings_in(tmp_path, "secrets", {**texts, "c": f"{AWS} and {GITHUB}"})
    assert findings == [
        (["c"], "document c holds a secret (AWS Access Key) (AKIA…)"),
        (["c"], "document c holds a secret (GitHub Token) (ghp_…)"),
    ]
