"""The budget: what counts as a line, and that no part is above its limit."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.size import Size, code_lines, main, sizes, tracked_files


def test_no_part_is_above_its_limit(capsys: pytest.CaptureFixture[str]) -> None:
    rows = sizes(tracked_files())
    assert {row.part: (row.count, row.limit) for row in rows if row.count > row.limit} == {}
    assert [row.part for row in rows if not row.count] == []
    assert main(rows) == 0
    assert capsys.readouterr().out.count("\n") == len(rows) == 24
    lines = {row.part: row.count for row in rows if row.unit == "code lines"}
    assert lines.pop("all outside tests") == sum(lines.values()) - lines["tests"]
    over = Size("agents", "code lines", 1200, 1000)
    assert main([over]) == 1
    assert capsys.readouterr().out == "agents    1,200 of   1,000 code lines  200 too many\n"


def test_a_line_counts_that_holds_code() -> None:
    source = '''
        """A module,
        described."""

        import os  # counts
        # does not

        TEXT = """
        counts, as it is a value

        """


        class Row:
            """Described."""

            def name(self) -> str:
                "One line."
                return (
                    "a"
                    # does not
                    "b"
                )

            "no docstring, as it does not stand first"
    '''
    assert code_lines(dedent(source)) == 1 + 4 + 1 + 5 + 1
    assert code_lines("") == code_lines('"""Only described."""\n') == 0
