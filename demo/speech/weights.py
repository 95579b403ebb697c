"""Where the models lie inside their packages, and proof that they are the ones that were measured."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

_CHUNK = 1 << 20


class WeightsMissing(Exception):
    """A package is not installed, or a model in it is not the pinned one; the message names it."""


def weights(package: str, path: str, sha256: str) -> Path:
    """The path of a model file inside an installed package, its digest checked; raises WeightsMissing."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise WeightsMissing(f"{package} is not installed")
    found = Path(spec.submodule_search_locations[0]) / path
    if not found.is_file():
        raise WeightsMissing(f"{package} has no {path}")
    if digest(found) != sha256:
        raise WeightsMissing(f"{path} of {package} is not the pinned model")
    return found


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()
