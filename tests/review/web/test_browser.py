"""In a real browser: two people at once, keys and clicks, one adjudicates, the server is killed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen.review import open_review
from retgen.review.report import report
from tests.programs import needed

pytestmark = pytest.mark.slow
EACH = 34  # items that each of two people judges between two kills, three times

_SERVE = """
import sys
from retgen.review import open_review
from retgen.review.web.serve import serve
review = open_review(sys.argv[1], out=sys.argv[2], annotators=["anna", "ben"])
serve(review, port=int(sys.argv[3]), open_browser=False)
"""


class Server:
    """A review's server in a process of its own, which can be killed and started again."""

    def __init__(self, run: Path, out: Path) -> None:
        self.run, self.out, self.port = run, out, 0
        self.start()

    def start(self) -> None:
        """Start it at the port it had, and wait until it answers."""
        words = [sys.executable, "-c", _SERVE, str(self.run), str(self.out), str(self.port)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        line = self.process.stdout.readline()
        found = re.fullmatch(r"review: (http://127.0.0.1:(\d+)/)\n", line)
        assert found, line
        self.address, self.port = found[1], int(found[2])

    def kill(self) -> None:
        """End it at once, whatever it does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()


@pytest.fixture
def server(limit_run: Path, tmp_path: Path) -> Iterator[Server]:
    run = tmp_path / "run"
    shutil.copytree(limit_run, run)
    result = Server(run, tmp_path / "review")
    yield result
    result.kill()


Open = Callable[[], Any]


@pytest.fixture
def browsers(tmp_path: Path) -> Iterator[Open]:
    """Open a browser; all are closed at the end."""
    from selenium import webdriver

    chromium, driver = needed(
        "chromium", "chromedriver", package="Debian's chromium and chromium-driver"
    )
    opened: list[Any] = []

    def open_one() -> Any:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        folder = tmp_path / f"browser{len(opened)}"
        for word in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--window-size=1200,900",
            f"--user-data-dir={folder}",
        ):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(driver)
        opened.append(webdriver.Chrome(options=options, service=service))
        return opened[-1]

    yield open_one
    for one in opened:
        one.quit()


def _wait(driver: Any, done: Callable[[Any], Any]) -> Any:
    from selenium.common.exceptions import (
        NoSuchElementException,
        StaleElementReferenceException,
        WebDriverException,
    )
    from selenium.webdriver.support.ui import WebDriverWait

    ignored = (NoSuchElementException, StaleElementReferenceException, WebDriverException)
    return WebDriverWait(driver, 30, 0.02, ignored).until(done)


def _shown(driver: Any) -> str:
    """The address of the form, which names the item that is on the page.

    Empty while the page loads: its keys are listened to from then on.
    """
    if driver.execute_script("return document.readyState") != "complete":
        return ""
    return str(driver.find_element("css selector", "form.verdict-form").get_attribute("action"))


def _judge(driver: Any, number: int, *, keys: bool, wrong_every: int) -> list[tuple[str, str]]:
    """Judge by what LIMIT's drawing marks; every so many are given the wrong verdict."""
    given = []
    for i in range(number):
        form = _wait(driver, _shown)
        right = "1" if driver.find_elements("css selector", "mark.found") else "0"
        value = {"1": "0", "0": "1"}[right] if i % wrong_every == wrong_every - 1 else right
        if keys:
            driver.find_element("tag name", "body").send_keys(value)
        else:
            driver.find_element("css selector", f"button[value='{value}']").click()
        _wait(driver, lambda one, form=form: _shown(one) not in ("", form))
        given.append((form.rsplit("/", 1)[1], value))
    return given


def test_two_people_judge_while_the_server_is_killed(server: Server, browsers: Open) -> None:
    people = {"anna": (browsers(), True, 1_000), "ben": (browsers(), False, 10)}
    given: dict[str, list[tuple[str, str]]] = {name: [] for name in people}
    failed: list[BaseException] = []

    def work(name: str) -> None:
        driver, keys, wrong = people[name]
        try:
            driver.get(f"{server.address}judge/{name}")
            given[name] += _judge(driver, EACH, keys=keys, wrong_every=wrong)
        except BaseException as error:
            failed.append(error)

    for stretch in range(3):
        threads = [threading.Thread(target=work, args=[name]) for name in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        if stretch < 2:
            server.kill()
            server.start()

    review = open_review(server.run, out=server.out)
    kept = {
        name: [
            (v.item_id, str(v.relevance)) for v in review.store.verdicts() if v.annotator == name
        ]
        for name in people
    }
    assert kept == given  # each once, in the order in which they were given
    assert [len(kept[name]) for name in people] == [3 * EACH, 3 * EACH]

    first, second = (dict(given[name]) for name in people)
    differ = {i for i in first if first[i] != second[i]}
    assert {item.item_id for item in review.open_items()} == differ
    assert len(differ) == 9
    driver = people["anna"][0]
    driver.get(f"{server.address}adjudicate/anna")
    for _ in differ:
        form = _wait(driver, _shown)
        assert "ben" in driver.find_element("css selector", "table.verdicts").text
        driver.find_element("tag name", "body").send_keys("1")
        _wait(
            driver,
            lambda one, form=form: (
                "form.verdict-form"
                and (
                    "Nothing waits" in one.find_element("tag name", "h1").text
                    or _shown(one) != form
                )
            ),
        )
    settled = [v for v in review.standing() if v.settles]
    assert {v.item_id for v in settled} == differ
    assert review.open_items() == []

    result = report(review)
    (one,) = result["labels"]
    assert (one["settled"], one["wrong"], one["open"], one["waiting"]) == (3 * EACH, 0, 0, 0)
    assert result["agreement"]["items"] == 3 * EACH
    assert result["agreement"]["raw"]["value"] == pytest.approx(1 - 9 / (3 * EACH))
    for driver, _, _ in people.values():
        severe = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
        assert severe == []  # nothing that the content policy had to block


def test_keys_fields_and_undo(server: Server, browsers: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    driver = browsers()
    driver.get(server.address)
    driver.find_element("link text", "ben").click()
    form = _wait(driver, _shown)
    body = driver.find_element("tag name", "body")
    body.send_keys("c")
    field = driver.switch_to.active_element
    assert field.get_attribute("id") == "comment"
    field.send_keys("10 of 10 x")  # letters in a field are no verdicts
    assert _shown(driver) == form
    field.send_keys(Keys.ESCAPE)
    driver.find_element("tag name", "body").send_keys("x")
    _wait(driver, lambda one: _shown(one) != form)
    assert "can't tell" in driver.switch_to.active_element.text  # the strip is read first
    driver.find_element("tag name", "body").send_keys("u")
    _wait(driver, lambda one: _shown(one) == form)
    driver.find_element("id", "keys").click()
    driver.find_element("tag name", "h1").click()
    driver.find_element("tag name", "body").send_keys("1")
    assert _shown(driver) == form
    review = open_review(server.run, out=server.out)
    assert [(v.relevance, v.comment, v.withdrawn) for v in review.store.verdicts()] == [
        (None, "10 of 10 x", False),
        (None, "", True),
    ]


def test_from_the_first_page_to_a_verdict_with_the_keyboard_alone(
    server: Server, browsers: Open
) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    driver = browsers()
    driver.get(server.address)

    def tab_to(text: str) -> None:
        for _ in range(20):
            ActionChains(driver).send_keys(Keys.TAB).perform()
            focused = driver.switch_to.active_element
            if focused.tag_name in ("a", "button") and text in focused.text:
                return
        raise AssertionError(text)

    tab_to("anna")
    ActionChains(driver).send_keys(Keys.ENTER).perform()
    form = _wait(driver, _shown)
    ActionChains(driver).send_keys("w").send_keys(Keys.DOWN).send_keys(Keys.ESCAPE).perform()
    tab_to("Relevant")
    ActionChains(driver).send_keys(Keys.ENTER).perform()
    _wait(driver, lambda one: _shown(one) not in ("", form))
    (verdict,) = open_review(server.run, out=server.out).store.verdicts()
    assert (verdict.annotator, verdict.relevance) == ("anna", 1)
    assert verdict.reason == "holds the words, not the answer"


def test_without_scripts_forms_do_all(server: Server, browsers: Open) -> None:
    driver = browsers()
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    driver.get(f"{server.address}judge/anna")
    driver.find_element("css selector", "button[value='0']").click()
    _wait(driver, lambda one: "1 of" in one.find_element("css selector", ".progress").text)
    driver.find_element("css selector", "button[value='unsure']").click()
    _wait(driver, lambda one: "2 of" in one.find_element("css selector", ".progress").text)
    driver.find_element("css selector", "form.undo button").click()
    _wait(driver, lambda one: "1 of" in one.find_element("css selector", ".progress").text)
    review = open_review(server.run, out=server.out)
    assert [v.relevance for v in review.store.verdicts()] == [0, None, None]


def test_a_phone_has_all_in_its_width(server: Server, browsers: Open) -> None:
    driver = browsers()
    size = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for path in ("", "judge/anna", "adjudicate/anna", "report"):
        driver.get(f"{server.address}{path}")
        assert driver.execute_script("return document.documentElement.scrollWidth") == 400
    driver.get(f"{server.address}judge/anna")
    for button in driver.find_elements("css selector", ".choice"):
        place = button.rect
        assert place["height"] >= 44
        assert place["x"] >= 0
        assert place["x"] + place["width"] <= 400


def test_ctrl_c_ends_it_cleanly(server: Server) -> None:
    os.kill(server.process.pid, signal.SIGINT)
    assert server.process.stdout
    rest = server.process.stdout.read()
    assert server.process.wait(120) == 0
    assert rest == (
        "Ctrl-C ends it; nothing is lost.\n"
        f"Stopped. Every verdict that was confirmed is in {server.out / 'verdicts.sqlite'}.\n"
    )
