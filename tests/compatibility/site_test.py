#!/usr/bin/env python3
"""Makes the site of the documentation and follows each link and anchor in it; no page loads anything from a network.  In
a browser, from the disk: the search finds, nothing is wider than the screen, and text can be read, light and dark.

BROOD_SHOTS names a directory for pictures.

usage: site_test.py BUILD_DIRECTORY SOURCE_DIRECTORY
"""

import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "web"))
from support import Browser  # noqa: E402

BUILD, SOURCE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
PATIENCE = 60  # seconds, for the search to answer on a busy machine
LOOKED_AT = ["index.html", "redis.html", "cpp.html", "commands.html", "man/brood.1.html"]
# Texts whose contrast with their ground is below that of WCAG's level AA.
FAINT = """(() => {
  const parts = color => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => { const f = c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const over = (above, below) => { const a = above[3] ?? 1; return [0, 1, 2].map(i => above[i] * a + below[i] * (1 - a)); };
  const ground = e => { if (!e) return [255, 255, 255]; const c = parts(getComputedStyle(e).backgroundColor); return (c[3] ?? 1) === 1 ? c : over(c, ground(e.parentElement)); };
  const faint = new Set();
  for (const e of document.querySelectorAll("article *, .md-nav *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length || e.closest(".headerlink, .md-clipboard, button, label")) continue;
    const below = ground(e), [a, b] = [light(over(parts(getComputedStyle(e).color), below)), light(below)].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) faint.add(e.outerHTML.slice(0, 100));
  }
  return [...faint].slice(0, 5);
})()"""

WIDE = "[...document.querySelectorAll('article *')].filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest('pre, table')).map(e => e.outerHTML.slice(0, 100)).slice(0, 5)"


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {attributes.get("id"), attributes.get("name")} - {None}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        if tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loaded.append(attributes["href"])
        if tag in ("script", "img", "iframe") and attributes.get("src"):
            self.loaded.append(attributes["src"])


def make(root):
    """The site, with the reference of the headers if Doxygen is there."""
    reference = []
    if shutil.which("doxygen") and (BUILD / "packaging/Doxyfile").exists():
        settings = (BUILD / "packaging/Doxyfile").read_text() + f"\nOUTPUT_DIRECTORY = {root}/reference\nGENERATE_XML = NO\n"
        subprocess.run(["doxygen", "-"], input=settings, cwd=root, text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        reference = [root / "reference/html"]
    subprocess.run([SOURCE / "packaging/doc/site/make_site", SOURCE, root / "work", root / "site", *reference], check=True)
    return root / "site"


def broken_links(site):
    pages = {path: Page(path) for path in site.rglob("*.html") if "reference" not in path.relative_to(site).parts}
    for path, page in pages.items():
        for link in page.links + page.loaded:
            place = f"{path.relative_to(site)}: {link}"
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded:
                    yield f"{place} is loaded from elsewhere"
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir() or not target.exists():
                yield f"{place} leads to no file"
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors | {"__skip"}:
                yield f"{place} leads to no anchor"


def left_out(site):
    """Guides and commands that the site or its search lacks."""
    found = {document["location"] for document in json.loads((site / "search/search_index.json").read_text())["docs"]}
    wanted = {path.stem + ".html" for path in (SOURCE / "packaging/doc").glob("*.md") if path.name != "reference.md"}
    commands = re.findall(r"^\.Ss ([a-z]+)$", (SOURCE / "packaging/man/brood.1").read_text(), flags=re.M)
    wanted |= {f"man/brood.1.html#{command}" for command in commands} | {"man/brood.toml.5.html#crashes", "security.html"}
    return [f"the search does not know {location}" for location in sorted(wanted - found)]


def seen(site, root):
    """What is wrong to the eye."""
    browser = Browser(root)
    shots = os.environ.get("BROOD_SHOTS")
    try:
        for path in LOOKED_AT:
            for width, dark in ((1400, False), (1400, True), (400, False)):
                browser.size(width, 1000, dark)
                browser.go(f"file://{site}/{path}")
                browser.ask("localStorage.clear()")    # the choice of light or dark
                browser.go(f"file://{site}/{path}")
                if browser.ask("document.body.dataset.mdColorScheme") != ("slate" if dark else "default"):
                    yield f"{path} does not follow the reader's choice of {'dark' if dark else 'light'}"
                name = f"{path} at {width}, {'dark' if dark else 'light'}"
                if shots:
                    browser.shot(f"{shots}/{path.replace('/', '-')}-{width}-{'dark' if dark else 'light'}.png")
                if browser.ask("document.documentElement.scrollWidth > innerWidth"):
                    yield f"{name}: wider than the screen: {browser.ask(WIDE)}"
                yield from (f"{name}: faint: {text}" for text in browser.ask(FAINT))
        browser.size(1400, 1000)
        browser.go(f"file://{site}/index.html?q=quarantine")
        deadline = time.monotonic() + PATIENCE
        while not (results := browser.ask("[...document.querySelectorAll('.md-search-result__item a')].map(a => a.getAttribute('href'))")):
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        if not any("crashes.html" in result for result in results):
            yield f"the search for quarantine finds {results}"
        if shots:
            browser.shot(f"{shots}/search.png")
        asked = {event["params"]["request"]["url"] for event in browser.events if event.get("method") == "Network.requestWillBeSent"}
        yield from (f"it asks for {url}" for url in asked if not url.startswith(("file:", "data:")))
        yield from (f"the browser complains: {complaint}" for complaint in browser.complaints())
    finally:
        browser.close()


def main():
    with tempfile.TemporaryDirectory(prefix="brood-site-") as temporary:
        root = pathlib.Path(temporary)
        site = make(root)
        wrong = [*broken_links(site), *left_out(site)]
        if Browser.find():
            wrong += seen(site, root)
        for what in wrong:
            print(what)
        print(f"{len(list(site.rglob('*.html')))} pages, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
