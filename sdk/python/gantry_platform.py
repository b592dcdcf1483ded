"""Extensions of a Gantry platform: answer calls, call the platform, follow its events.

    async with await gantry_platform.connect("weather", "1.0.0") as weather:
        @weather.endpoint("forecast", summary="The weather of a day")
        async def forecast(input, call):
            return {"sunny": True}

        await weather.ready()
        await weather.run()

It implements the protocol in docs/PROTOCOL.md.
"""

import asyncio
import base64
import binascii
import json
import logging
import os
import secrets
import signal
from dataclasses import dataclass
from typing import Any, AsyncIterator, Awaitable, Callable

import nats
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

__all__ = ["Call", "Change", "Event", "Extension", "Followed", "GantryError", "connect"]

log = logging.getLogger("gantry_platform")

TOKEN_VARIABLE = "GANTRY_TOKEN"
SERVICES = "gantry.services.v1"
QUEUE = "gantry"
REQUEST_ID = "Gantry-Request-Id"
TRACE_HEADERS = ("traceparent", "tracestate")
EVENT = "Gantry-Event"
ERROR = "Nats-Service-Error"
ERROR_CODE = "Nats-Service-Error-Code"
# The header is for a first look; the whole message is in the body.
MAX_HEADER_LENGTH = 1_000
ANSWER_SECONDS = 5.0
DEFAULT_LIMIT_MS = 5_000
# The caller waits a little longer than the platform, so that the platform's own TIMEOUT arrives.
GRACE_SECONDS = 0.5
# A watch is answered after at most 25 seconds.
WATCH_SECONDS = 30.0
RETRY_SECONDS = 1.0
# A follower that is behind by more events ends: it would take ever more memory.
MAX_WAITING = 10_000

# Of every code that any call may answer; an endpoint's own are 409, but for those that say otherwise.
STATUS = {
    "INVALID_INPUT": 400,
    "UNAUTHENTICATED": 401,
    "DENIED": 403,
    "EXCEEDS_ROLE": 403,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "TOO_LARGE": 413,
    "THROTTLED": 429,
    "INTERNAL": 500,
    "OVERLOADED": 503,
    "UNAVAILABLE": 503,
    "TIMEOUT": 504,
    "STORAGE_FULL": 507,
}
OTHER_STATUS = 409


class GantryError(Exception):
    """An error with one of the platform's codes. Base decisions on `code`, never on the message."""

    def __init__(self, code: str, message: str, details: Any = None, request_id: str | None = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True)
class Event:
    """An event: its subject `gantry.events.v1.<resource>.<event>.<id>`, and its content."""

    subject: str
    body: Any


@dataclass(frozen=True)
class Change:
    """A stored value and its revision. The value of a deleted key is None."""

    key: str
    value: Any
    revision: int


@dataclass(frozen=True)
class Call:
    """The request that a handler answers. Calls made through it have the same request id and trace."""

    request_id: str
    headers: dict[str, str]
    _extension: "Extension"

    async def call(self, subject: str, input: Any = None, timeout: float = ANSWER_SECONDS) -> Any:
        """Like `Extension.call`, with the request id and trace of this request."""
        return await self._extension.call(subject, input, timeout, headers=self.headers)


Handler = Callable[[dict[str, Any], Call], Awaitable[Any]]


def _parse_token(token: str) -> tuple[str, str]:
    """Address of the broker and key id."""
    try:
        first, place, key_id, _ = token.split(".")
        address = json.loads(base64.urlsafe_b64decode(place + "=" * (-len(place) % 4)))["n"]
    except (ValueError, KeyError, TypeError, binascii.Error):
        first, address, key_id = "", "", ""
    if first != "gantry" or not isinstance(address, str) or not key_id:
        raise GantryError(
            "UNAUTHENTICATED",
            f'the token passed as token or in {TOKEN_VARIABLE} is not an API token of a Gantry platform: use the complete token that "gantry keys create" printed',
        )
    return address, key_id


async def connect(
    prefix: str,
    version: str,
    *,
    token: str | None = None,
    servers: str | list[str] | None = None,
    **about: Any,
) -> "Extension":
    """Connects a program as an extension. Raises GantryError, or the error of the NATS client if the first connection fails.
    After a lost connection, it reconnects automatically.

    token: API token (default: GANTRY_TOKEN). servers: address of the broker (default: the one in the token).
    about: name, description, menus, routes, widgets and resources of the registration.
    """
    token = token or os.environ.get(TOKEN_VARIABLE)
    if not token:
        raise GantryError("UNAUTHENTICATED", f"set {TOKEN_VARIABLE} to an API token, or pass it as token")
    address, key_id = _parse_token(token)
    extension = Extension(prefix, version, key_id, about)
    await extension._open(servers or address, token)
    return extension


class Followed:
    """New events, until it is closed: `async for event in followed`.

    Events are not repeated: those that occur while the connection is lost are missed.
    """

    def __init__(self, subject: str):
        self.subject = subject
        self._queue: asyncio.Queue[Event | Exception | None] = asyncio.Queue()
        self._subscription: Any = None
        self._is_ended = False

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        item = await self._queue.get()
        if isinstance(item, Event):
            return item
        # Whoever asks again gets the same.
        self._queue.put_nowait(item)
        if item is None:
            raise StopAsyncIteration
        raise item

    async def _take(self, message: Msg) -> None:
        # Only the platform publishes here, but a caller may have a reply delivered anywhere.
        if self._is_ended or not message.headers or message.headers.get(EVENT) != message.subject:
            return
        if self._queue.qsize() < MAX_WAITING:
            self._queue.put_nowait(Event(message.subject, json.loads(message.data)))

        else:
            self._end(
                GantryError(
                    "OVERLOADED",
                    f"{MAX_WAITING} events of {self.subject} wait for this program, and no more are kept: follow again, then request the current state; do slow work outside of the loop",
                )
            )
            await self._subscription.unsubscribe()

    def _end(self, reason: Exception | None = None) -> None:
        self._is_ended = True
        self._queue.put_nowait(reason)

    async def close(self) -> None:
        await self._subscription.unsubscribe()
        self._end()


class Extension:
    """A connected extension. It sends heartbeats, and registers again automatically after a lost connection or when the
    platform no longer knows it."""

    def __init__(self, prefix: str, version: str, key_id: str, about: dict[str, Any]):
        self.prefix = prefix
        self.connection: Client
        self._inbox = f"_INBOX.{key_id}"
        self._about = {"name": prefix, **about, "prefix": prefix, "version": version}
        self._instance = secrets.token_hex(8)
        self._endpoints: list[dict[str, Any]] = []
        self._handlers: list[tuple[str, Handler, dict[str, Any]]] = []
        self._followed: list[Followed] = []
        self._waiting: dict[str, asyncio.Future[Msg]] = {}
        self._published: dict[str, str] = {}
        self._subscriptions: list[Any] = []
        self._in_flight: set[asyncio.Task[None]] = set()
        self._heart: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()
        self._is_stopping = False

    async def __aenter__(self) -> "Extension":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.stop()

    async def _open(self, servers: str | list[str], token: str) -> None:
        # The client would try for ever, also with a token that is refused: the first failure to connect is the caller's.
        failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def error(reason: Exception) -> None:
            if not connecting.done() and not failed.done():
                failed.set_exception(reason)
            else:
                await self._refused(reason)

        connecting = asyncio.ensure_future(
            nats.connect(
                servers,
                token=token,
                name=self.prefix,
                inbox_prefix=self._inbox.encode(),
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.5,
                disconnected_cb=self._disconnected,
                reconnected_cb=self._reconnected,
                closed_cb=self._closed,
                error_cb=error,
            )
        )
        await asyncio.wait({connecting, failed}, return_when=asyncio.FIRST_COMPLETED)
        if failed.done() and not connecting.done():
            connecting.cancel()
            failed.result()
        failed.cancel()
        self.connection = await connecting
        await self.connection.subscribe(f"{self._inbox}.*", cb=self._reply)

    def endpoint(self, name: str, **declared: Any) -> Callable[[Handler], Handler]:
        """Declares an endpoint with summary, input, output, errors, limitMs and method. The handler returns the reply, or raises
        GantryError with one of the codes that the endpoint declares. `ready` registers all declared endpoints."""

        def declare(handler: Handler) -> Handler:
            endpoint = {"name": name, **declared}
            self._endpoints.append(endpoint)
            subject = declared.get("subject", f"gantry.extensions.{self.prefix}.{name}")
            self._handlers.append((subject, handler, endpoint))
            return handler

        return declare

    async def ready(self) -> None:
        """Registers the extension with all declared endpoints. Raises GantryError if the platform refuses."""
        while self._handlers:
            subject, handler, endpoint = self._handlers.pop(0)
            self._subscriptions.append(
                await self.connection.subscribe(subject, queue=QUEUE, cb=self._answerer(handler, endpoint))
            )
        await self.connection.flush()
        answer = await self._register()
        if self._heart is None:
            self._heart = asyncio.create_task(self._beat(answer["heartbeatEveryMs"] / 1_000))

    async def call(
        self,
        subject: str,
        input: Any = None,
        timeout: float = ANSWER_SECONDS,
        *,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Calls the platform or an endpoint of another extension. Raises GantryError with a code of the called operation, or
        with DENIED, UNAVAILABLE or TIMEOUT. timeout: in seconds."""
        # The client's own reply subjects can be guessed.
        inbox = f"{self._inbox}.{secrets.token_hex(16)}"
        reply: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._waiting[inbox] = reply
        self._published[inbox] = subject
        try:
            body = json.dumps({} if input is None else input).encode()
            await self.connection.publish(subject, body, reply=inbox, headers=headers)
            message = await asyncio.wait_for(reply, timeout + GRACE_SECONDS)
        except asyncio.TimeoutError:
            raise GantryError("TIMEOUT", f"{subject} did not answer in time") from None
        except nats.errors.MaxPayloadError:
            raise GantryError("TOO_LARGE", f"the request to {subject} is larger than the limit") from None
        except nats.errors.Error as error:
            raise GantryError("UNAVAILABLE", f"the broker cannot be reached: {error}") from error
        finally:
            del self._waiting[inbox]
            del self._published[inbox]
        return _answer_of(message, subject)

    async def follow(self, subject: str) -> Followed:
        """Follows events, such as `gantry.events.v1.migrations.>`. The loop over them raises DENIED if the key may not
        subscribe to the subject, and OVERLOADED if it is so slow that 10,000 events wait for it."""
        followed = Followed(subject)
        self._followed.append(followed)
        followed._subscription = await self.connection.subscribe(subject, cb=followed._take)
        await self.connection.flush()
        return followed

    async def get(self, key: str) -> Change | None:
        """Returns a stored value, or None if the key does not exist."""
        try:
            found = await self._store("get", key=key)
        except GantryError as error:
            if error.code == "NOT_FOUND":
                return None
            raise
        return Change(key, json.loads(found["value"]), found["revision"])

    async def put(self, key: str, value: Any, revision: int | None = None) -> int:
        """Stores a JSON value and returns its revision. revision: expected current revision, 0 if the key must not exist; raises
        CONFLICT if the current revision differs."""
        expected = {} if revision is None else {"revision": revision}
        return (await self._store("put", key=key, value=json.dumps(value), **expected))["revision"]

    async def watch(self, after: int = 0, beginning: str = "") -> AsyncIterator[Change]:
        """Yields everything stored after a revision, then each change. To continue after an interruption, pass the last
        revision that you processed: no change is missed. beginning: only keys that start with it."""
        while True:
            found = await self._store("watch", timeout=WATCH_SECONDS, after=after, beginning=beginning)
            for change in found["changes"]:
                value = json.loads(change["value"]) if "value" in change else None
                yield Change(change["key"], value, change["revision"])
            after = found["revision"]

    async def record_usage(self, dimension: str, quantity: float, owner: str | None = None) -> None:
        """Records usage and returns when the record is stored. owner: default: the owner of the extension."""
        record = {"prefix": self.prefix, "id": secrets.token_hex(16), "dimension": dimension, "quantity": quantity}
        await self.call(f"{SERVICES}.usage.record", record if owner is None else {**record, "owner": owner})

    async def run(self) -> None:
        """Runs until the program receives SIGINT or SIGTERM, or `stop` is called."""
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, self._stopped.set)
        await self._stopped.wait()
        if not self._is_stopping and self.connection.is_closed:
            raise GantryError("UNAVAILABLE", "the broker closed the connection permanently: check whether the key was revoked or has expired")

    async def _closed(self) -> None:
        for followed in self._followed:
            followed._end()
        self._stopped.set()

    async def stop(self) -> None:
        """Deregisters the extension, finishes calls in progress, and closes the connection."""
        self._is_stopping = True
        self._stopped.set()
        if self.connection.is_closed:
            return
        if self._heart is not None:
            self._heart.cancel()
            try:
                await self._extensions("deregister", {"prefix": self.prefix, "instance": self._instance})
            except GantryError as error:
                log.warning("%s: could not deregister: %s", self.prefix, error)
        for followed in self._followed:
            followed._end()
        for subscription in self._subscriptions:
            await subscription.drain()
        # A handler may call this itself.
        others = self._in_flight - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
        await self.connection.drain()

    async def _store(self, verb: str, timeout: float = ANSWER_SECONDS, **input: Any) -> Any:
        return await self.call(f"{SERVICES}.extension-storage.{verb}", {"prefix": self.prefix, **input}, timeout)

    async def _extensions(self, verb: str, input: dict[str, Any]) -> Any:
        return await self.call(f"{SERVICES}.extensions.{verb}", input)

    async def _register(self) -> Any:
        about = {**self._about, "instance": self._instance, "endpoints": self._endpoints}
        return await self._extensions("register", about)

    async def _beat(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await self._extensions("heartbeat", {"prefix": self.prefix, "instance": self._instance})
            except GantryError as error:
                if error.code == "NOT_FOUND":
                    await self._register_again()
                else:
                    log.warning("%s: heartbeat failed: %s", self.prefix, error)

    async def _disconnected(self) -> None:
        # What was asked on the old connection is not answered on the next one.
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(GantryError("UNAVAILABLE", "the connection to the broker was lost before the reply arrived"))

    async def _reconnected(self) -> None:
        if self._heart is not None:
            # The client waits for this callback before it handles replies.
            self._work(self._register_again())

    async def _register_again(self) -> None:
        while not self._stopped.is_set():
            try:
                await self._register()
                return
            except GantryError as error:
                log.warning("%s: registration failed: %s", self.prefix, error)
                if error.code not in ("UNAVAILABLE", "TIMEOUT", "OVERLOADED", "THROTTLED", "STORAGE_FULL"):
                    return
            await asyncio.sleep(RETRY_SECONDS)

    def _work(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def _reply(self, message: Msg) -> None:
        waiting = self._waiting.get(message.subject)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    async def _refused(self, error: Exception) -> None:
        """The broker tells of a refusal by its text alone: `Permissions Violation for Publish to "…"`."""
        text = str(error)
        is_told = False
        if "permissions violation for publish" in text.lower():
            for inbox, subject in self._published.items():
                if f'"{subject.lower()}"' in text.lower() and not self._waiting[inbox].done():
                    is_told = True
                    reason = f"this key may not publish to {subject}: it needs a rule for it in pub.allow"
                    self._waiting[inbox].set_exception(GantryError("DENIED", reason))
        elif "permissions violation for subscription" in text.lower():
            for followed in self._followed:
                if f'"{followed.subject.lower()}"' in text.lower():
                    is_told = True
                    reason = f"this key may not subscribe to {followed.subject}: it needs a rule for it in sub.allow"
                    followed._end(GantryError("DENIED", reason))
        # Such as that of an endpoint.
        if not is_told:
            log.warning("%s: the broker reported an error: %s", self.prefix, text)

    def _answerer(self, handler: Handler, endpoint: dict[str, Any]) -> Callable[[Msg], Awaitable[None]]:
        async def take(message: Msg) -> None:
            # Somebody could have the answer delivered to a subject that only an extension may write to.
            if message.reply.startswith("_INBOX."):
                self._work(self._answer(message, handler, endpoint))

        return take

    async def _answer(self, message: Msg, handler: Handler, endpoint: dict[str, Any]) -> None:
        given = message.headers or {}
        request_id = given.get(REQUEST_ID) or secrets.token_hex(16)
        headers = {REQUEST_ID: request_id, **{name: given[name] for name in TRACE_HEADERS if given.get(name)}}
        limit_ms = endpoint.get("limitMs", DEFAULT_LIMIT_MS)
        try:
            try:
                input = json.loads(message.data or b"{}")
            except ValueError:
                raise GantryError("INVALID_INPUT", "input: the body is not valid JSON") from None
            output = await asyncio.wait_for(handler(input, Call(request_id, headers, self)), limit_ms / 1_000)
            await self.connection.publish(message.reply, json.dumps(output).encode())
        except GantryError as error:
            await self._fail(message, error, request_id)
        except asyncio.TimeoutError:
            text = f"no_answer: {message.subject} did not answer within {limit_ms} ms"
            await self._fail(message, GantryError("TIMEOUT", text, {"reason": "no_answer"}), request_id)
        except Exception:
            # What went wrong is nobody's business outside.
            log.exception("%s failed", message.subject)
            await self._fail(message, GantryError("INTERNAL", "the extension failed"), request_id)

    async def _fail(self, message: Msg, error: GantryError, request_id: str) -> None:
        body = {"code": error.code, "message": error.message, "requestId": request_id}
        if error.details is not None:
            body["details"] = error.details
        headers = {
            # A header cannot carry a line break.
            ERROR: " ".join(error.message.split())[:MAX_HEADER_LENGTH],
            ERROR_CODE: str(STATUS.get(error.code, OTHER_STATUS)),
        }
        await self.connection.publish(message.reply, json.dumps(body).encode(), headers=headers)


def _answer_of(message: Msg, subject: str) -> Any:
    headers = message.headers or {}
    if headers.get("Status") == "503":
        raise GantryError("UNAVAILABLE", f"nothing answers on {subject}: check the spelling of the subject, and that its service is running")
    try:
        answer = json.loads(message.data)
    except ValueError:
        raise GantryError("INTERNAL", f"{subject} has failed: the answer is not UTF-8 JSON") from None
    if ERROR_CODE not in headers:
        return answer
    if not isinstance(answer, dict) or not isinstance(answer.get("code"), str):
        raise GantryError("INTERNAL", headers.get(ERROR, ""))
    raise GantryError(answer["code"], str(answer.get("message", "")), answer.get("details"), answer.get("requestId"))
