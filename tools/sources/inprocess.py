"""Tools that are async methods of an object in this process: the method is the declaration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

from pydantic import BaseModel, ValidationError

from tools.contract import CallContext, Caller, Tool, ToolFailure, ToolResult
from tools.naming import alias

NAME = "inprocess"
# Such a tool may wait for a person.
TIME_LIMIT = 170.0
MOST_PROBLEMS = 3

Method = Callable[..., Any]


class DeclarationRefused(TypeError):
    """A method that cannot be a tool; the text names it and the mend, for the integrator."""


def declared(method: Method, source: str) -> Tool:
    """The tool that a bound async method declares: its name, its docstring, its one pydantic model or none.

    A tool without a model has no parameters at all. Raises DeclarationRefused.
    """
    model = model_of(method)
    description = inspect.getdoc(method) or ""
    return Tool(method.__name__, description, _schema(model) if model else {}, source)


def model_of(method: Method) -> type[BaseModel] | None:
    """The pydantic model of the method's one parameter, or None; raises DeclarationRefused."""
    name = getattr(method, "__qualname__", repr(method))
    if not inspect.ismethod(method):
        raise DeclarationRefused(
            f"{name} is not a bound method: make it a method and list self.{_last(name)}."
        )
    if not inspect.iscoroutinefunction(method):
        raise DeclarationRefused(f"{name} is not async: write async def {_last(name)}.")
    if alias(method.__name__) != method.__name__:
        raise DeclarationRefused(
            f"{name} has a name that model APIs refuse: use letters, digits and _, at most 64."
        )
    parameters = list(inspect.signature(method).parameters.values())
    if not parameters:
        return None
    return _one_model(name, parameters, _hints(name, method))


def _one_model(
    name: str, parameters: Sequence[inspect.Parameter], hints: Mapping[str, Any]
) -> type[BaseModel]:
    first, kind = parameters[0], _model(hints.get(parameters[0].name))
    for parameter in parameters:
        if parameter.name == "session":
            raise DeclarationRefused(f"{name} asks for session: leave it out and use self.session.")
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise DeclarationRefused(
                f"{name} takes any arguments: name them as fields of one pydantic model."
            )
    if len(parameters) > 1 or kind is None:
        raise DeclarationRefused(
            f"{name} takes {', '.join(parameter.name for parameter in parameters)}: "
            "gather them as fields of one pydantic model, and take that alone."
        )
    if first.kind is inspect.Parameter.KEYWORD_ONLY:
        raise DeclarationRefused(f"{name} takes {first.name} by keyword only: leave out the * before it.")
    return kind


def _model(kind: object) -> type[BaseModel] | None:
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _hints(name: str, method: Method) -> Mapping[str, Any]:
    try:
        return get_type_hints(method)
    except NameError as error:
        raise DeclarationRefused(
            f"{name} has an annotation that cannot be found ({error.name}): "
            "define the model at the top of its module."
        ) from error


def _last(name: str) -> str:
    return name.rpartition(".")[2].strip("<>") or "tool"


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The model's schema with its objects closed: a wrapped or invented argument is told, not dropped."""
    schema = model.model_json_schema()
    if model.model_config.get("extra") == "allow":
        return schema
    for part in (schema, *schema.get("$defs", {}).values()):
        if "properties" in part:
            part.setdefault("additionalProperties", False)
    return schema


class InProcessSource:
    """The tools of one object, for one conversation; `methods` are fixed for as long as the source lives.

    A method answers with JSON or a short text, and says no in its own words by raising
    ToolFailure("tool_error", sentence); whatever else it raises is a bug, told to nobody but the log.
    Raises DeclarationRefused when made.
    """

    def __init__(self, methods: Sequence[Method], name: str = NAME) -> None:
        self.name = name
        self._tools = tuple(declared(method, name) for method in methods)
        self._methods = {method.__name__: (method, model_of(method)) for method in methods}
        if len(self._methods) < len(self._tools):
            names = [tool.name for tool in self._tools]
            twice = next(name for name in names if names.count(name) > 1)
            raise DeclarationRefused(f"{twice} is declared twice: give one of them another name.")
        self._closed = False

    async def tools(self, caller: Caller) -> Sequence[Tool]:
        """All of them, whoever asks."""
        self._refuse()
        return self._tools

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        """What the method returns."""
        self._refuse()
        if name not in self._methods:
            raise ToolFailure("tool_error", f"There is no tool {name}.")
        method, model = self._methods[name]
        given = () if model is None else (_parsed(model, arguments),)
        try:
            return ToolResult(await method(*given))
        except ToolFailure as failure:
            if failure.code != "tool_error":
                raise
            return ToolResult(failure.message, is_error=True)

    async def aclose(self) -> None:
        """Ends the source; the object is its owner's."""
        self._closed = True

    def _refuse(self) -> None:
        if self._closed:
            raise ToolFailure("unavailable", "The tools of this conversation are closed.")


def _parsed(model: type[BaseModel], arguments: Mapping[str, Any]) -> BaseModel:
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}"
            for one in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        told = "; ".join(problems[:MOST_PROBLEMS])
        raise ToolFailure("invalid_arguments", f"The arguments do not fit: {told}") from error
