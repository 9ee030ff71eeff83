"""The same attention in bertviz and CircuitsVis: how much longer they paint, and how many more bytes they send.

Their Python makes the HTML, as in a notebook. The scripts that it loads from elsewhere are served from here, and have
been loaded before the clock starts, as our modules have. Both sides are timed in fresh pages of the same browser.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from playwright.sync_api import Browser

from bench.browser import chromium, plain_page
from bench.pictures import (
    HEADS,
    LAYERS,
    TOKENS,
    Pictures,
    grid,
    lines,
    matrix,
    milliseconds_to_paint,
    random_weights,
    words,
)
from bench.ratios import Result, compare, counted, own_clock

MAX_LINES = 6  # heads that our lines show together
CDN = "https://cdnjs.cloudflare.com/ajax/libs"
PACKAGES = {  # from npm, which has no jQuery 2.0.0
    f"{CDN}/require.js/2.3.6/require.min.js": ("requirejs", "2.3.6", "require.js"),
    f"{CDN}/d3/5.7.0/d3.min.js": ("d3", "5.7.0", "dist/d3.min.js"),
    f"{CDN}/jquery/2.0.0/jquery.min.js": ("jquery", "2.1.4", "dist/jquery.min.js"),
}
REQUIRE = f'<script src="{CDN}/require.js/2.3.6/require.min.js"></script>'
INSTALL = "python -m pip install -r bench/requirements.txt"
WITHOUT_WEBGL = """
const context = HTMLCanvasElement.prototype.getContext
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return /webgl/.test(kind) ? null : context.call(this, kind, ...more)
}
delete window.OffscreenCanvas"""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """One of their pictures. `load` fetches its scripts, `there` says in the page that it is drawn, both JavaScript."""

    name: str
    html: str
    scripts: Mapping[str, str]
    load: str
    there: str
    marks: str  # what is counted afterwards, as a CSS selector
    count: int
    before: str = ""

    def milliseconds_to_paint(self, browser: Browser) -> float:
        """From HTML received to painted, in a fresh page. Raises RuntimeError if not all of it was drawn."""
        with plain_page(browser, {"html": self.html.encode()}, self.scripts, self.before) as page:
            page.evaluate(self.load)
            took = float(page.evaluate("(there) => bench.display('/html', there)", self.there))
            drawn = page.evaluate("(marks) => document.querySelectorAll(marks).length", self.marks)
            if drawn != self.count:
                raise RuntimeError(f"{self.name} has drawn {drawn} of {self.count} {self.marks}")
            return took


def peer_results() -> Iterator[Result | str]:
    """Time and bytes of theirs over ours; a sentence for what cannot be compared."""
    if missing := [name for name in ("bertviz", "circuitsvis", "IPython") if find_spec(name) is None]:
        yield f"Not compared with bertviz and CircuitsVis, because {', '.join(missing)} cannot be imported: {INSTALL}"
        return
    weights = random_weights(LAYERS, HEADS, TOKENS, TOKENS)
    all_heads = [("grid", grid(weights))]
    some_heads = [("lines", lines(weights[0, :MAX_LINES]))]
    one_layer = [("grid", grid(weights[:1])), ("matrix", matrix(weights[0, 0]))]
    with chromium() as browser:
        try:
            scripts = bertviz_scripts()
        except RuntimeError as error:
            yield f"Not compared with bertviz: {error}"
        else:
            yield from _compared(browser, model_view(scripts), all_heads, f"grid, {LAYERS * HEADS} heads", 5, ">= 20")
            yield from _compared(browser, head_view(scripts), some_heads, f"lines, {MAX_LINES} heads", 9, ">= 5")
        name = f"grid and matrix, {HEADS} heads"
        yield from _compared(browser, attention_heads(), one_layer, name, 5, ">= 20")
        yield _times(browser, attention_patterns(), one_layer, name, 3, ">= 20")
        yield _times(browser, attention_patterns(webgl=False), one_layer, name, 5, "")


def _compared(browser: Browser, peer: Peer, ours: Pictures, name: str, rounds: int, aim: str) -> Iterator[Result]:
    yield _times(browser, peer, ours, name, rounds, aim)
    sent = sum(len(payload) for _, payload in ours)
    yield counted(f"{peer.name} / our {name}: bytes", len(peer.html.encode()) / sent, aim=">= 25")


def _times(browser: Browser, peer: Peer, ours: Pictures, name: str, rounds: int, aim: str) -> Result:
    return compare(
        f"{peer.name} / our {name}: time to paint",
        partial(peer.milliseconds_to_paint, browser),
        partial(milliseconds_to_paint, browser, ours),
        rounds=rounds,
        aim=aim,
        seconds=own_clock,
    )


# ---- bertviz: SVG lines, one for each weight


def model_view(scripts: Mapping[str, str]) -> Peer:
    """All heads of all layers."""
    from bertviz import model_view as view

    html = view(_layers(), words(TOKENS), html_action="return", display_mode="light").data
    return _bertviz("bertviz model_view", html, scripts, LAYERS * HEADS * TOKENS**2)


def head_view(scripts: Mapping[str, str]) -> Peer:
    """The first layer, with the heads that our lines show."""
    from bertviz import head_view as view

    html = view(_layers(), words(TOKENS), layer=0, heads=[*range(MAX_LINES)], html_action="return").data
    return _bertviz("bertviz head_view", html, scripts, HEADS * TOKENS**2)


def _bertviz(name: str, html: str, scripts: Mapping[str, str], count: int) -> Peer:
    paths = {"d3": f"{CDN}/d3/5.7.0/d3.min", "jquery": f"{CDN}/jquery/2.0.0/jquery.min"}
    if not html.startswith(REQUIRE):
        raise RuntimeError(f"{name} does not load its scripts as it did in bertviz 1.4.1")
    return Peer(
        name=name,
        html=html.removeprefix(REQUIRE),
        scripts=scripts,
        load=f"""() => new Promise((done) => {{
          const script = document.createElement("script")
          script.src = "{CDN}/require.js/2.3.6/require.min.js"
          script.onload = () => {{
            require.config({{ paths: {paths} }})
            requirejs(["jquery", "d3"], () => done())
          }}
          document.head.append(script)
        }})""",
        there="() => document.querySelector('#vis svg') !== null",  # drawn in one go, by one function
        marks="#vis line",
        count=count,
    )


def _layers() -> list[object]:
    import torch

    return [torch.from_numpy(layer)[None] for layer in random_weights(LAYERS, HEADS, TOKENS, TOKENS)]


def bertviz_scripts() -> Mapping[str, str]:
    """The scripts that its pages load, by their addresses, from npm by way of a folder that is kept.

    Raises RuntimeError if npm is missing or cannot fetch them.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "viz-transformer" / "bench"
    cache.mkdir(parents=True, exist_ok=True)
    found = {}
    for address, (package, version, member) in PACKAGES.items():
        archive = cache / f"{package}-{version}.tgz"
        if not archive.is_file():
            npm = shutil.which("npm")
            if npm is None:
                raise RuntimeError("its scripts come from npm, which is not installed")
            command = [npm, "pack", f"{package}@{version}", "--pack-destination", str(cache)]
            done = subprocess.run(command, capture_output=True, text=True, cwd=cache, timeout=300)
            if done.returncode or not archive.is_file():
                raise RuntimeError(f"npm cannot fetch {package} {version}: {done.stderr.strip()[-200:]}")
        with tarfile.open(archive) as packed:
            file = packed.extractfile(f"package/{member}")
            assert file is not None
            found[address] = file.read().decode()
    return found


# ---- CircuitsVis: one layer, all heads small and one large


def attention_heads() -> Peer:
    """What CircuitsVis recommends: charts on canvases."""
    from circuitsvis.attention import attention_heads as view

    html = view(random_weights(LAYERS, HEADS, TOKENS, TOKENS)[0], words(TOKENS), mask_upper_tri=False).show_code()
    return _circuitsvis("attention_heads", "AttentionHeads", html, "canvas.style.width !== ''")


def attention_patterns(*, webgl: bool = True) -> Peer:
    """The older picture, which computes with WebGL where it finds it: without a graphics card that is slow."""
    from circuitsvis.attention import attention_patterns as view

    html = view(words(TOKENS), random_weights(LAYERS, HEADS, TOKENS, TOKENS)[0]).show_code()
    made = _circuitsvis("attention_patterns", "AttentionPatterns", html, f"canvas.width === {TOKENS}")
    return made if webgl else replace(made, name=f"{made.name} kept from WebGL", before=WITHOUT_WEBGL)


def _circuitsvis(name: str, element: str, html: str, drawn: str) -> Peer:
    import circuitsvis

    address = f"https://unpkg.com/circuitsvis@{circuitsvis.__version__}/dist/cdn/esm.js"
    if address not in html:
        raise RuntimeError(f"CircuitsVis {circuitsvis.__version__} does not load its script from {address}")
    bundle = files("circuitsvis").joinpath("dist/cdn/iife.js").read_text(encoding="utf-8")
    code, _, _ = bundle.rpartition("//# sourceMappingURL")
    canvases = HEADS + 1
    return Peer(
        name=f"CircuitsVis {name}",
        html=html,
        scripts={address: f"{code}\nexport const {{ render, {element} }} = CircuitsVis\n"},
        load=f"async () => {{ await import('{address}') }}",
        there=f"""() => {{
          const all = [...document.querySelectorAll("canvas")]
          return all.length === {canvases} && all.every((canvas) => {drawn})
        }}""",
        marks="canvas",
        count=canvases,
    )
