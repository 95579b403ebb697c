"""Small files: a palette is enough for pages of few colours."""

from pathlib import Path

from PIL import Image


def shrink(path: Path, colours: int) -> None:
    """Writes the picture again with so many colours."""
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
