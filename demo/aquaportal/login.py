"""Phone login: `POST /login` with a phone gives a session token and its user."""

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from demo.aquaportal.portal import Portal, entry_of


class LoginBody(BaseModel):
    """What a login sends."""

    phone: str = Field(min_length=1, max_length=40)


async def answer_login(portal: Portal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a login: 200 with the token, 401 for an unknown phone, 400 and 405 for what is no login."""
    request = Request(scope, receive)
    await (await logged_in(portal, request))(scope, receive, send)


async def logged_in(portal: Portal, request: Request) -> JSONResponse:
    """The response to a login."""
    if request.method != "POST":
        return refused(405, "method_not_allowed", "Log in with POST.")
    try:
        body = LoginBody.model_validate_json(await request.body())
    except ValidationError:
        return refused(400, "invalid", 'Send {"phone": "+34600000001"}.')
    login = portal.accounts.log_in(body.phone)
    if login is None:
        return refused(401, "unknown_phone", "No user has this phone.")
    token, caller = login
    portal.journal.note(entry_of(request.scope), caller=caller.phone)
    user = {"id": caller.user_id, "name": caller.name}
    return JSONResponse({"sessionToken": token, "user": user}, headers={"Cache-Control": "no-store"})


def refused(status: int, error: str, message: str) -> JSONResponse:
    """An error in JSON."""
    return JSONResponse({"error": error, "message": message}, status)
