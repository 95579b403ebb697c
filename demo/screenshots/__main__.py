"""`python -m demo.screenshots [NAME …]`: runs the named makers, or every one that is there."""

import importlib
import pkgutil
import sys
from pathlib import Path

import demo.screenshots
from demo.screenshots.stage import SHARED

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "screenshots"


def makers() -> list[str]:
    """The modules here that make pictures; each has `make(folder)`."""
    found = [module.name for module in pkgutil.iter_modules(demo.screenshots.__path__)]
    return [name for name in found if name not in SHARED]


def main() -> int:
    """Exit code 2 for a name that is no maker's."""
    asked = sys.argv[1:] or makers()
    if unknown := set(asked) - set(makers()):
        print(
            f"No maker of pictures is called {', '.join(sorted(unknown))}; there are: {', '.join(makers())}"
        )
        return 2
    for name in asked:
        folder = PICTURES / name
        folder.mkdir(parents=True, exist_ok=True)
        importlib.import_module(f"demo.screenshots.{name}").make(folder)
        made = list(folder.glob("*.png"))
        size = sum(picture.stat().st_size for picture in made)
        print(f"{name}: {len(made)} pictures, {size / 1_000_000:.1f} MB in {folder.relative_to(Path.cwd())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
