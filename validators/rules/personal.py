"""Data of persons: e-mail addresses, phone numbers, bank accounts, card numbers.

Checked by what checks them elsewhere: phonenumbers (numbering plans) and python-stdnum (check
digits).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from retgen.validators.exposed import NOBODYS, ExposedData, ExposedRule

_EMAIL = re.compile(
    r"(?:(?<![\w.+%/:@=-])|(?<=mailto:)|(?<=mail:))([A-Za-z0-9][\w.+%-]{0,63})@((?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24})(?![\w@:-])"
)
# what follows a name and an @ elsewhere: units of systemd, pictures of many pixels; mailing lists
# and reply addresses
_NO_MAILBOX = re.compile(
    r"(?:^|\.)(?:service|socket|timer|mount|target|slice|path|png|jpe?g|svg|gif|js|html)$|"
    r"^(?:lists?|groups|mailman|bugs|tracker|vger|users\.noreply)\.|"
    r"(?:^|\.)(?:googlegroups\.com|lists\.[\w.-]+|noreply\.[\w.-]+)$"
)
_DIGITS = re.compile(r"\d(?:[ ()./-]{0,2}\d){6}")  # seven in a row, as people set them
_ABROAD = re.compile(r"\+ ?\(?\d")
_JOINED = re.compile(r"[\w.+/=-]")  # before the + of an address, of a sum, or of an encoded text
# numbers that are given to nobody, so that films and manuals can name them
_FICTION = re.compile(
    r"\+(?:1\d{3}555(?:01\d\d|1212)|447700900\d{3}|441632960\d{3}|442079460\d{3}|"
    r"441\d{2}4960\d{3}|6149157\d{4})"
)
_EDGE, _END = r"(?<![\w.+/=-])", r"(?![\w]|[.-]\d)"
_IBAN = re.compile(
    rf"{_EDGE}(?P<number>[A-Z]{{2}}\d\d(?: ?[A-Z0-9]{{4}}){{2,7}}(?: ?[A-Z0-9]{{1,3}})?){_END}"
)
# set in groups as on a card, or named: one number in ten has a right check digit by chance
_CARD = re.compile(
    rf"{_EDGE}(?P<number>\d{{4}}([ -])\d{{4}}\2\d{{4}}\2\d{{4}}|"
    rf"3[47]\d\d([ -])\d{{6}}\3\d{{5}}){_END}|"
    rf"(?i:card|visa|mastercard|amex|discover)\b[^\d\n]{{0,30}}(?P<named>\d{{13,16}}){_END}"
)
_ISSUED = re.compile(
    r"4\d{15}|5[1-5]\d{14}|2(?:2[3-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}|6(?:011|5\d\d)\d{12}"
)


class PersonalData(ExposedRule):
    """Documents and queries with data of persons."""

    name = "personal-data"
    severity = "warning"
    finds = "e-mail addresses, phone numbers, bank accounts, card numbers"
    order = 210

    def look(self, text: str) -> Iterator[ExposedData]:
        return personal_data(text)


def personal_data(text: str) -> Iterator[ExposedData]:
    """Data of persons in a text."""
    if "@" in text:
        yield from _addresses(text)
    if _DIGITS.search(text):
        yield from _phones(text)
        yield from _accounts(text)


def _addresses(text: str) -> Iterator[ExposedData]:
    for match in _EMAIL.finditer(text):
        local, domain = match[1], match[2].lower()
        address = text.endswith("://", 0, match.start())
        if not (address or NOBODYS.search(domain) or _NO_MAILBOX.search(domain)):
            form = f"{local[0]}…@{domain[0]}….{domain.rpartition('.')[2]}"
            yield ExposedData("e-mail address", form, f"{local}@{domain}".lower())


def _phones(text: str) -> Iterator[ExposedData]:
    if not _ABROAD.search(text):
        return
    from phonenumbers import PhoneNumberFormat, PhoneNumberMatcher, format_number

    for match in PhoneNumberMatcher(text, None):
        plain = format_number(match.number, PhoneNumberFormat.E164)
        last = plain[-8:]
        nobodys = len(set(last)) <= 2 or last in "12345678901" or _FICTION.fullmatch(plain)
        if not (nobodys or (match.start and _JOINED.match(text, match.start - 1))):
            code = str(match.number.country_code)
            form = f"+{code} and {len(plain) - 1 - len(code)} digits"
            yield ExposedData("phone number", form, plain)


def _accounts(text: str) -> Iterator[ExposedData]:
    """Numbers with check digits, and more than four different characters, unlike placeholders."""
    from stdnum import iban, luhn

    def card(number: str) -> bool:
        return bool(_ISSUED.fullmatch(number)) and luhn.is_valid(number)

    for kind, form, is_valid in (
        ("bank account number (IBAN)", _IBAN, iban.is_valid),
        ("card number", _CARD, card),
    ):
        for match in form.finditer(text):
            plain = re.sub(r"\W", "", match["number"] or match["named"])
            if len(set(plain)) > 4 and is_valid(plain):
                yield ExposedData(kind, f"{plain[:2]}… of {len(plain)} characters", plain)
