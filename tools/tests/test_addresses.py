"""Names that change where they lead, addresses in disguise, and what is connected to in the end."""

import socket

import httpx2
import pytest

from tools.addresses import AddressRefused, Pinned, kind_of, resolved
from tools.tests.serving import serving

PUBLIC = "93.184.216.34"
INSIDE = ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1", "fe80::1"]


class Network(httpx2.AsyncBaseTransport):
    """Where connections arrive; an address in `away` does not take them."""

    def __init__(self):
        self.requests = []
        self.away = set()
        self.closed = 0

    async def handle_async_request(self, request):
        if request.url.host in self.away:
            raise httpx2.ConnectError("refused")
        self.requests.append(request)
        return httpx2.Response(200, text="hello")

    async def aclose(self):
        self.closed += 1


class Names:
    """A nameserver that gives each of its answers once, the last one for ever."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, host, port):
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def client(network, names, **options):
    return httpx2.AsyncClient(transport=Pinned(lambda: network, resolve=names, **options))


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        (PUBLIC, "public"),
        ("2606:2800:220:1:248:1893:25c8:1946", "public"),
        ("127.0.0.1", "private"),
        ("10.1.2.3", "private"),
        ("100.64.0.1", "private"),
        ("240.0.0.1", "private"),
        ("::1", "private"),
        ("fd00:ec2::254", "private"),
        ("fec0::1", "private"),
        ("::ffff:127.0.0.1", "private"),
        ("::ffff:7f00:1", "private"),
        ("::7f00:1", "private"),
        ("64:ff9b::7f00:1", "private"),
        ("2002:7f00:1::", "private"),
        ("169.254.169.254", "barred"),
        ("::ffff:169.254.169.254", "barred"),
        ("fe80::1%eth0", "barred"),
        ("0.0.0.0", "barred"),
        ("::", "barred"),
        ("224.0.0.1", "barred"),
    ],
)
def test_an_address_is_what_it_leads_to_in_every_disguise_case_175(address, kind):
    assert kind_of(address) == kind


@pytest.mark.parametrize("later", INSIDE)
async def test_a_name_that_was_public_never_leads_inside_afterwards_case_175(later):
    network, names = Network(), Names([PUBLIC], [later])
    async with client(network, names) as http:
        await http.get("http://bridge.example/tools")
        await http.get("http://bridge.example/tools")
        assert [request.url.host for request in network.requests] == [PUBLIC, PUBLIC]
        network.away.add(PUBLIC)
        with pytest.raises(httpx2.ConnectError):
            await http.get("http://bridge.example/tools")
        with pytest.raises(AddressRefused):
            await http.get("http://bridge.example/tools")
    assert names.asked == 2
    assert len(network.requests) == 2


async def test_a_name_is_remembered_as_public_by_whoever_comes_after_case_175():
    network, names, known = Network(), Names([PUBLIC], ["127.0.0.1"]), set()
    async with client(network, names, were_public=known) as http:
        await http.get("http://bridge.example/tools")
    async with client(network, names, were_public=known) as http:
        with pytest.raises(AddressRefused):
            await http.get("http://bridge.example/tools")
    assert len(network.requests) == 1


async def test_of_a_mixed_answer_only_what_is_public_is_connected_to_case_175():
    network = Network()
    async with client(network, Names(["127.0.0.1", PUBLIC, "169.254.169.254"])) as http:
        await http.get("http://bridge.example/tools")
    assert [request.url.host for request in network.requests] == [PUBLIC]


async def test_a_name_of_the_operators_own_network_is_allowed_a_link_local_one_is_not():
    network = Network()
    async with client(network, Names(["172.18.0.4"])) as http:
        await http.get("http://apipilot:8000/tools")
    async with client(network, Names(["169.254.169.254"])) as http:
        with pytest.raises(AddressRefused):
            await http.get("http://apipilot:8000/tools")
    async with client(network, Names(["169.254.169.254"]), allow_private=True) as http:
        await http.get("http://apipilot:8000/tools")
    assert [request.url.host for request in network.requests] == ["172.18.0.4", "169.254.169.254"]


async def test_the_host_header_and_the_tls_name_stay_those_of_the_url():
    network = Network()
    async with client(network, Names([PUBLIC])) as http:
        await http.post("https://bridge.example:8443/run?x=1", json={"a": 1})
    (request,) = network.requests
    assert str(request.url) == f"https://{PUBLIC}:8443/run?x=1"
    assert request.headers["host"] == "bridge.example:8443"
    assert request.extensions["sni_hostname"] == "bridge.example"


async def test_hosts_at_one_address_share_no_connection():
    made = []

    def make():
        made.append(Network())
        return made[-1]

    async with httpx2.AsyncClient(transport=Pinned(make, resolve=Names([PUBLIC]))) as http:
        await http.get("https://one.example/")
        await http.get("https://two.example/")
        await http.get("https://one.example/")
    assert [len(network.requests) for network in made] == [2, 1]
    assert [network.closed for network in made] == [1, 1]


async def test_the_next_address_is_tried_where_one_takes_no_connection():
    network, names = Network(), Names(["10.0.0.1", "10.0.0.2"])
    network.away.add("10.0.0.1")
    async with client(network, names) as http:
        await http.get("http://apipilot/")
        network.away.clear()
        await http.get("http://apipilot/")
    assert [request.url.host for request in network.requests] == ["10.0.0.2", "10.0.0.2"]
    assert names.asked == 1


async def test_a_name_that_does_not_resolve_is_a_failed_connection():
    async def nowhere(host, port):
        raise socket.gaierror(-2, "unknown")

    async with client(Network(), nowhere) as http:
        with pytest.raises(httpx2.ConnectError):
            await http.get("http://bridge.example/")


async def test_a_real_server_is_reached_by_its_name():
    async def app(scope, receive, send):
        if scope["type"] == "http":
            host = dict(scope["headers"])[b"host"]
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": host})

    assert "127.0.0.1" in await resolved("localhost", 80)
    async with serving(app) as origin:
        named = origin.replace("127.0.0.1", "localhost")
        inner = Pinned(lambda: httpx2.AsyncHTTPTransport(trust_env=False))
        async with httpx2.AsyncClient(transport=inner) as http:
            assert (await http.get(named)).text == named.removeprefix("http://")
            assert (await http.get(origin)).text == origin.removeprefix("http://")
