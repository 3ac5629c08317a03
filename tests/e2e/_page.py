# SPDX-License-Identifier: Apache-2.0
"""What tests do with the page of `trace report --html` in a browser (_browser.py)."""
import json
import os

from lib import tap

CANVAS = ".timeline .scroller canvas"
ABOUT = ".timeline .details"


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
