"""`python -m demo.server`: prepares the demo's database, operator and static files, then serves Vocero."""

import argparse
import hashlib
from pathlib import Path

import django
from daphne.cli import CommandLineInterface
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connections

from demo.run import OPERATOR


def parsed_arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="demo.server", description="The demo's Vocero, on loopback.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--var", type=Path, required=True, help="folder of database, secrets and logs")
    parser.add_argument("--new-password", action="store_true", help="give the operator the kept password")
    return parser.parse_args()


def seed_operator(password: str, renew: bool) -> None:
    """The account of the admin; its password is set only when account or password are new."""
    people = get_user_model()._default_manager
    operator, made = people.get_or_create(
        username=OPERATOR, defaults={"is_staff": True, "is_superuser": True}
    )
    if made or renew:
        operator.set_password(password)
        operator.save()


def collect_static(stamp: Path) -> None:
    """Fill STATIC_ROOT with hashed names, only when a source file changed since the last time."""
    signature = static_signature()
    manifest = Path(settings.STATIC_ROOT) / "staticfiles.json"
    if manifest.exists() and stamp.exists() and stamp.read_text() == signature:
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(signature)


def static_signature() -> str:
    """A digest over name, size and time of every static file that the applications bring."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            facts = Path(storage.path(name)).stat()
            digest.update(f"{name}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def main() -> None:
    """Prepare, then serve until SIGTERM."""
    asked = parsed_arguments()
    folder: Path = asked.var / "demo"
    django.setup()
    call_command("migrate", interactive=False, verbosity=0)
    seed_operator((folder / "operator-password").read_text().strip(), asked.new_password)
    collect_static(folder / "static-signature")
    connections.close_all()
    CommandLineInterface().run(
        ["--bind", "127.0.0.1", "--port", str(asked.port), "--verbosity", "0", "vocero.asgi:application"]
    )


if __name__ == "__main__":
    main()
