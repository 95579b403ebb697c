"""The short way for frames on both servers: most take it, in order with the rest, and never without bound."""

import asyncio
import contextlib
import datetime
import functools
import os
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from conversations.tests.echo_asgi import FLOOD, MOST, PIECE
from conversations.tests.serving import daphne_command, free_port, process, uvicorn_command
from vocero.frames import MOST_UNREAD

PATIENCE = 20.0
PINGS = (b"\x89\xfd\0\0\0\0" + b"x" * 125) * 2_000
ECHO = "conversations.tests.echo_asgi:application"


def patient(test):
    """What never comes ends a test instead of holding it up."""

    @functools.wraps(test)
    async def within(**fixtures):
        async with asyncio.timeout(PATIENCE):
            await test(**fixtures)

    return within


def uvicorn(port, keys):
    command = uvicorn_command(port, ECHO)
    if keys:
        command += ["--ssl-keyfile", str(keys / "key.pem"), "--ssl-certfile", str(keys / "cert.pem")]
    return command


def uvicorn_on_asyncio(port, keys):
    return [word.replace("uvloop", "asyncio") for word in uvicorn(port, keys)]


def daphne(port, keys):
    if not keys:
        return daphne_command(port, ECHO)
    files = f"privateKey={keys / 'key.pem'}:certKey={keys / 'cert.pem'}"
    return [*daphne_command(free_port(), ECHO), "-e", f"ssl:{port}:interface=127.0.0.1:{files}"]


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A folder with a certificate of this machine's own."""
    folder, key = tmp_path_factory.mktemp("keys"), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    pem = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(private)
    return folder


@pytest.fixture(
    scope="module",
    params=[(uvicorn, False), (uvicorn, True), (uvicorn_on_asyncio, False), (daphne, False), (daphne, True)],
    ids=["uvicorn", "uvicorn with TLS", "uvicorn on asyncio", "daphne", "daphne with TLS"],
)
def echo(request, keys):
    """Connects to that server."""
    command, secure = request.param
    port, unchecked = free_port(), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    url, context = (f"wss://127.0.0.1:{port}", unchecked) if secure else (f"ws://127.0.0.1:{port}", None)
    with process(command(port, keys if secure else None), dict(os.environ)):
        yield lambda: connect(url, ssl=context, compression=None, proxy=None, max_size=None, max_queue=None)


@patient
async def test_whole_frames_take_the_short_way_of_any_size(echo):
    async with echo() as socket:
        for said in ("", "Hello.", "é🍸", "x" * 126, "x" * 70_000):
            await socket.send(said)
            way, _, heard = (await socket.recv()).partition(" ")
            assert heard == said
            assert way == "short" or len(said) > 60_000


@patient
async def test_what_comes_in_parts_keeps_its_place_among_the_others(echo):
    async with echo() as socket:
        said = [[f"{number} ", "and ", "more"] if number % 3 == 1 else f"{number}" for number in range(60)]
        for one in said:
            await socket.send(one)
        heard = [(await socket.recv()).partition(" ") for _ in said]
        assert [text for _, _, text in heard] == ["".join(one) for one in said]
        assert "long" in {way for way, _, _ in heard}


@patient
async def test_a_ping_is_answered_and_a_goodbye_is_said(echo):
    async with echo() as socket:
        await socket.send("Hello.")
        await (await socket.ping())
        await socket.close(4000)
    # Daphne says 1000 to any.
    assert socket.close_code in (4000, 1000)


@patient
async def test_text_that_is_not_utf_8_ends_the_socket(echo):
    async with echo() as socket:
        await socket.send(b"\xff\xfe", text=True)
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
    # Daphne hangs up without a word.
    assert closed.value.rcvd is None or closed.value.rcvd.code == 1007


@patient
async def test_a_client_that_does_not_read_gets_no_more_than_fits_and_then_all_of_it_in_order(echo):
    async with echo() as socket:
        socket.transport.pause_reading()
        await socket.send(FLOOD)
        await socket.send("after")
        socket.transport.resume_reading()
        pieces = 0
        while (heard := await socket.recv()) == PIECE:
            pieces += 1
        assert heard == f"short {pieces} taken"
        assert 0 < pieces < MOST
        assert (await socket.recv()).endswith("after")


@patient
async def test_a_client_that_pings_and_reads_no_answer_is_cut_off_before_the_answers_fill_the_memory(echo):
    async with echo() as socket:
        await socket.send("Hello.")
        await socket.recv()
        socket.transport.pause_reading()
        sent = 0
        with contextlib.suppress(ConnectionError, ConnectionClosed):
            while not socket.transport.is_closing() and sent < 4 * MOST_UNREAD:
                socket.transport.write(PINGS)
                sent += len(PINGS)
                await socket.drain()
        assert MOST_UNREAD < sent < 4 * MOST_UNREAD
        socket.transport.abort()
