"""Pictures of the caller's page in every state, played against a stand-in server; in a process of its own."""

import math
import subprocess
import sys
import tempfile
import wave
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import django
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

from demo.screenshots.palette import shrink

Scheme = Literal["light", "dark"]

ROOT = Path(__file__).resolve().parents[2]
# Files as they lie in the tree, under their own names; nothing else of the settings matters here.
SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "vocero.settings",
    "SECRET_KEY": "pictures",
    "DEBUG": "true",
    "ENV_FILE": "",
}
CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
)
SIZES = {
    "desktop": ViewportSize(width=1280, height=800),
    "phone": ViewportSize(width=390, height=844),
    "landscape": ViewportSize(width=740, height=360),
}
COLOURS = 200
SETTLED_MS = 1200
PATIENCE_MS = 60_000
RATE = 48_000
# Time stands still, but for the two seconds that a sheet or a running tool has been there; so does chance.
STEADY = """{
  const waits = () => document.querySelector("#sheet[open], .chip[data-tone='running']");
  Date.now = () => 1796083200000 + (waits() ? 2000 : 0);
  Math.random = () => 0.5;
}"""

MAIN = ("speaking", "ready", "tool", "sheet", "listening", "interrupted", "captions", "ended")
MORE = (
    "connecting",
    "awaiting-microphone",
    "hearing",
    "thinking",
    "muted",
    "reconnecting",
    "written",
    "microphone-denied",
    "unknown-caller",
    "settings",
    "holding",
    "rated",
    "tools-ended",
)
# Scenes, size, colours, language.
TAKES: tuple[tuple[tuple[str, ...], str, Scheme, str], ...] = (
    (MAIN, "desktop", "light", "en"),
    (MAIN, "phone", "light", "en"),
    (("speaking", "ready"), "desktop", "dark", "en"),
    (("speaking",), "desktop", "light", "es"),
    (("hearing",), "desktop", "light", "ar"),
    (("speaking", "sheet"), "phone", "dark", "en"),
    (("ready",), "phone", "light", "es"),
    (("speaking", "sheet"), "landscape", "light", "en"),
    (MORE, "desktop", "light", "en"),
    (MORE, "phone", "light", "en"),
)
BEST = "speaking-desktop"


def make(folder: Path) -> None:
    """Takes all pictures into the folder, and the best one beside it as `call.png`."""
    command = [sys.executable, "-m", "demo.screenshots.page", str(folder)]
    subprocess.run(command, cwd=ROOT, env={**SETTINGS, "PATH": "/usr/bin:/bin"}, check=True)


def main() -> None:
    folder = Path(sys.argv[1])
    django.setup()
    expect.set_options(timeout=PATIENCE_MS)
    with tempfile.TemporaryDirectory() as given, sync_playwright() as playwright:
        voice = Path(given) / "voice.wav"
        write_tone(voice)
        sound = f"--use-file-for-fake-audio-capture={voice}"
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, sound])
        for names, size, scheme, language in TAKES:
            take(chromium, folder, names, size, scheme, language)
        chromium.close()
    (folder.parent / "call.png").write_bytes((folder / f"{BEST}.png").read_bytes())


def write_tone(path: Path) -> None:
    """What the microphone hears: a tone that is always as loud."""
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        for i in range(RATE):
            file.writeframes(
                round(7000 * math.sin(2 * math.pi * 200 * i / RATE)).to_bytes(2, "little", signed=True)
            )


def take(
    chromium: Browser,
    folder: Path,
    names: Iterable[str],
    size: str,
    scheme: Scheme = "light",
    language: str = "en",
) -> None:
    context = chromium.new_context(
        viewport=SIZES[size],
        color_scheme=scheme,
        reduced_motion="reduce",
        locale=language,
        extra_http_headers={"Accept-Language": language},
    )
    context.add_init_script(STEADY)
    extra = [word for word in (scheme, language) if word not in ("light", "en")]
    for name in names:
        shown(context, name, folder / f"{'-'.join([name, size, *extra])}.png", language)
    context.close()


def shown(context: BrowserContext, name: str, path: Path, language: str) -> None:
    """Plays one scene and takes its picture."""
    # Django has to be set up before these are read.
    from conversations.tests.page.scenes import SCENES, SPANISH_WORDS  # noqa: PLC0415
    from conversations.tests.page.server import Line, PageServer  # noqa: PLC0415

    scene = next(scene for scene in SCENES if scene.name == name)
    page = context.new_page()
    with PageServer().running() as server:
        server.words = SPANISH_WORDS if language == "es" else {}
        scene.show(page, server, Line(page))
        settle(page)
        page.screenshot(path=path, animations="disabled", caret="hide")
        page.close()
    shrink(path, COLOURS)


def settle(page: Page) -> None:
    """Nothing is under the pointer, the keyboard is nowhere, and levels have been drawn."""
    page.mouse.move(0, 0)
    page.evaluate("() => document.activeElement.blur()")
    page.wait_for_timeout(SETTLED_MS)


if __name__ == "__main__":
    main()
