# SPDX-License-Identifier: Apache-2.0
"""Pages of `trace report --html`: parsed as a browser would, and used in a browser (_browser.py)."""
import base64
import collections
import html.parser
import json
import os
import sys

from _browser import Browser, find
from lib import tap, trace

CANVAS = ".timeline .scroller canvas"
ABOUT = ".timeline .details"


class Page(html.parser.HTMLParser):
    """The elements of a page: `tags`, the content security `policy`, and the data (`content`; `reports` are its reports)."""
    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.tags, self.data, self.policy, self.inside = [], "", "", False
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            self.text = file.read()
        self.feed(self.text)
        self.content = json.loads(self.data) if self.data else {}
        self.reports = self.content.get("reports", [])

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        self.inside = attributes.get("id") == "data"
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        self.data += data if self.inside else ""


def write(path, *files):
    """Write the page of `files` to `path`, and return it. The command must print nothing."""
    result = trace("report", "--html", "-f", "true", "-o", path, *files)
    if result.status != 0 or result.err:
        raise RuntimeError(result)
    return Page(path)


Row = collections.namedtuple("Row", "track row start length name count taken busy")


def rows_of(text):
    """Return the rows of a track as the page decodes them: start, length, name, count, time taken, time busy (None for a single event: its kind decides)."""
    data, numbers = base64.b64decode(text), []
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    at, last, rows = 0, 0, []
    while at < len(numbers):
        last += numbers[at]
        length, several, name = numbers[at + 1] >> 1, numbers[at + 1] & 1, numbers[at + 2]
        rows.append((last, length, name, *(numbers[at + 3:at + 6] if several else (1, length, None))))
        at += 6 if several else 3
    return rows


def level_rows(level):
    return [Row(track, row, *each) for track, row, text in level["track_rows"] for each in rows_of(text)]


def shows(browser, name, path):
    browser.open(path)
    urls, wrong = browser.requests()
    failed = browser.evaluate("document.documentElement.dataset.failed || ''")
    tap.ok(not failed and not wrong and all(url.startswith("file://") and url.endswith(os.path.basename(path)) for url in urls),
           f"{name}: shown without a complaint, and without asking for anything", (failed, wrong, urls))
    browser.wait("!document.querySelector('.timeline .status') || document.querySelector('.timeline .status').textContent !== ''")


def find_event(browser, *texts):
    """Move the pointer over the timeline until the tip has all the texts; return where."""
    x, y, width, height = browser.box(CANVAS)
    for down in range(30, int(height), 8):
        for part in range(16, 100, 2):
            at = x + width * part / 100, y + down
            browser.mouse("mouseMoved", *at)
            shown = browser.evaluate("(() => { const t = document.querySelector('.tip'); return t && !t.hidden ? t.textContent : ''; })()")
            if all(text in shown for text in texts):
                return at
    raise RuntimeError(f"no event with {texts}")


def about(browser):
    """Return what the page says about the selected event: a dict of its lines, and the frames of its callchain."""
    lines = browser.evaluate(f"[...document.querySelectorAll('{ABOUT} dt')].map((t) => [t.textContent, t.nextElementSibling.textContent])")
    return dict(lines), browser.evaluate(f"[...document.querySelectorAll('{ABOUT} ol li')].map((f) => f.textContent)")


def search(browser, text):
    browser.evaluate(f"(() => {{ const i = document.querySelector('.timeline input'); i.value = {json.dumps(text)}; i.dispatchEvent(new Event('input')); }})()")
    browser.wait("document.querySelector('.timeline .matches').textContent.endsWith(' found')")
    next_match(browser)


def next_match(browser):
    browser.evaluate("document.querySelector('.timeline input').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")


def run_in_browser(tests):
    """Run tests of pages in one browser, or skip them where there is none. Names after the first argument of the file choose tests."""
    if not find():
        for test in tests:
            tap.skip(test.__name__, "no chromium here")
        return
    with Browser() as browser:
        for test in tests:
            if len(sys.argv) > 2 and test.__name__ not in sys.argv[2:]:
                continue
            test(browser)
            tap.ok(not browser.requests()[1], f"{test.__name__}: no error in the page's script", browser.requests()[1][:1])
