# Runs one function in Python and speaks folio's frames on descriptor 3 (see frames.rs for the protocol).
#
# Ordinary functions run on the thread that reads frames: a thread that leads takes requests one after another and
# answers a whole batch with one write. A second thread looks every few milliseconds whether the leader is stuck
# inside one call; then it leads, and the first one finishes what it has. Where most calls are slow the leader asks
# for that before each. So short functions never change threads and slow ones still run side by side. Coroutines
# and ASGI applications run on an event loop instead.
import asyncio
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import io
import json
import logging
import os
import select
import socket
import struct
import sys
import threading
import time
import traceback
import types
from collections import deque
from contextvars import ContextVar
from urllib.parse import parse_qsl, unquote

SPECIALISE, READY, FAILED, REQUEST, RESPONSE, BODY, CANCEL, CREDIT, LOG, PING, PONG = range(1, 12)
LAST = 0x80
WINDOW = 256 * 1024
PIECE = 64 * 1024
# Of a longer line one byte more is sent, so that the server knows that it is cut.
LINE_MAX = 60 * 1024
HEADER = struct.Struct("<IBI")
ANSWER = struct.Struct("<IBII")
COUNT = struct.Struct("<I")
STUCK = 0.005
HELD_MAX = 0.001
SLOW = 0.001
SLOW_ENOUGH = 4
EXECUTION = b"folio-execution"

REQUEST_ID = b"folio-request-id"
# What folio says of a connection that is encrypted.
ENCRYPTED = (b"x-forwarded-proto", b"https")
# Lines before the client's headers: four, the request's id, and six headers of Fission's, for Fission's signatures.
CLIENT = 18

# The stream and the head of the request that whatever runs now belongs to.
NOBODY = (0, b"")
_asking = ContextVar("asking", default=NOBODY)
_request = ContextVar("request")


def frame(kind, stream, payload=b""):
    return HEADER.pack(len(payload), kind, stream) + payload


def answer_frame(kind, stream, head, body=b""):
    return ANSWER.pack(4 + len(head) + len(body), kind, stream, len(head)) + head + body


# ---------------------------------------------------------------- requests, flask style


class Many(dict):
    """A dictionary of first values that also knows the others."""

    def __init__(self, pairs=()):
        super().__init__()
        self._lists = {}
        for name, value in pairs:
            self._lists.setdefault(name, []).append(value)
            self.setdefault(name, value)

    def get(self, name, default=None, type=None):
        value = super().get(name, default)
        if type is None or value is default:
            return value
        try:
            return type(value)
        except (TypeError, ValueError):
            return default

    def getlist(self, name, type=None):
        return [value if type is None else type(value) for value in self._lists.get(name, [])]

    def to_dict(self, flat=True):
        return dict(self) if flat else {name: list(values) for name, values in self._lists.items()}


class Headers:
    """Names without case, in order."""

    def __init__(self, pairs=()):
        if isinstance(pairs, (dict, Headers)):
            pairs = pairs.items()
        self._pairs = [(str(name), str(value)) for name, value in pairs or ()]

    def get(self, name, default=None, type=None):
        wanted = name.lower()
        for known, value in self._pairs:
            if known.lower() == wanted:
                if type is None:
                    return value
                try:
                    return type(value)
                except (TypeError, ValueError):
                    return default
        return default

    def getlist(self, name):
        return [value for known, value in self._pairs if known.lower() == name.lower()]

    get_all = getlist

    def add(self, name, value):
        self._pairs.append((name, str(value)))

    def set(self, name, value):
        self.remove(name)
        self.add(name, value)

    def remove(self, name):
        self._pairs = [pair for pair in self._pairs if pair[0].lower() != name.lower()]

    def setdefault(self, name, value):
        known = self.get(name)
        if known is None:
            self.add(name, value)
        return value if known is None else known

    def update(self, other):
        for name, value in other.items() if hasattr(other, "items") else other:
            self.set(name, value)

    extend = update

    def __getitem__(self, name):
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name, value):
        self.set(name, value)

    def __delitem__(self, name):
        self.remove(name)

    def __contains__(self, name):
        return self.get(name) is not None

    def __iter__(self):
        return iter(self._pairs)

    def __len__(self):
        return len(self._pairs)

    def items(self):
        return list(self._pairs)

    def keys(self):
        return [name for name, _ in self._pairs]

    def values(self):
        return [value for _, value in self._pairs]


class HttpError(Exception):
    def __init__(self, code, description=None):
        super().__init__(description or f"status {code}")
        self.code = code
        self.description = description


class once:
    """An attribute that is made when it is first looked at."""

    def __init__(self, make):
        self.make = make
        self.name = make.__name__

    def __get__(self, owner, _):
        value = owner.__dict__[self.name] = self.make(owner)
        return value


class Request:
    def __init__(self, head, data):
        self._head = head
        self.data = data

    @once
    def _lines(self):
        return self._head.decode("latin-1").split("\n")

    @once
    def method(self):
        return self._lines[0]

    @once
    def _target(self):
        return self._lines[1].partition("?")

    @once
    def path(self):
        return unquote(self._target[0])

    @once
    def query_string(self):
        return self._target[2].encode("latin-1")

    @once
    def full_path(self):
        return f"{self.path}?{self._target[2]}"

    @once
    def view_args(self):
        return json.loads(self._lines[3]) if self._lines[3] else {}

    @once
    def headers(self):
        lines = self._lines
        return Headers([(lines[at].title(), lines[at + 1]) for at in range(4, len(lines) - 1, 2)])

    @once
    def args(self):
        return Many(parse_qsl(self._target[2], keep_blank_values=True))

    @once
    def content_type(self):
        return self.headers.get("content-type")

    @once
    def mimetype(self):
        return (self.content_type or "").partition(";")[0].strip().lower()

    @once
    def content_length(self):
        return len(self.data)

    @once
    def is_json(self):
        return self.mimetype == "application/json" or self.mimetype.endswith("+json")

    @once
    def form(self):
        if self.mimetype == "application/x-www-form-urlencoded":
            return Many(parse_qsl(self.data.decode(errors="replace"), keep_blank_values=True))
        return self._multipart[0]

    @once
    def files(self):
        return self._multipart[1]

    @once
    def _multipart(self):
        if self.mimetype != "multipart/form-data":
            return Many(), Many()
        from email.parser import BytesParser
        from email.policy import HTTP

        start = b"content-type: " + self.content_type.encode("latin-1") + b"\r\n\r\n"
        fields, files = [], []
        for part in BytesParser(policy=HTTP).parsebytes(start + self.data).iter_parts():
            name = part.get_param("name", header="content-disposition")
            content = part.get_payload(decode=True) or b""
            if part.get_filename() is None:
                fields.append((name, content.decode(errors="replace")))
            else:
                file = io.BytesIO(content)
                file.filename, file.name, file.content_type = part.get_filename(), name, part.get_content_type()
                files.append((name, file))
        return Many(fields), Many(files)

    @once
    def values(self):
        return Many(list(self.args.items()) + list(self.form.items()))

    @once
    def cookies(self):
        pairs = (pair.strip().partition("=") for pair in self.headers.get("cookie", "").split(";"))
        return Many([(name, unquote(value.strip('"'))) for name, found, value in pairs if found])

    @once
    def host(self):
        return self.headers.get("host", "localhost")

    @once
    def scheme(self):
        return self.headers.get("x-forwarded-proto", "http")

    @once
    def host_url(self):
        return f"{self.scheme}://{self.host}/"

    url_root = host_url

    @once
    def base_url(self):
        return f"{self.scheme}://{self.host}{self._target[0]}"

    @once
    def url(self):
        return f"{self.scheme}://{self.host}{self._lines[1]}"

    @once
    def remote_addr(self):
        return self.headers.get("x-forwarded-for", "").partition(",")[0].strip() or None

    @once
    def user_agent(self):
        return self.headers.get("user-agent", "")

    @once
    def stream(self):
        return io.BytesIO(self.data)

    @once
    def json(self):
        return self.get_json()

    def get_data(self, cache=True, as_text=False, parse_form_data=False):
        return self.data.decode(errors="replace") if as_text else self.data

    def get_json(self, force=False, silent=False, cache=True):
        if not force and not self.is_json:
            if silent:
                return None
            raise HttpError(415, "the request's content type is not application/json")
        try:
            return json.loads(self.data)
        except ValueError as error:
            if silent:
                return None
            raise HttpError(400, f"the request's body is not JSON: {error}") from None


class CurrentRequest:
    """Stands for the request that is being answered."""

    def __getattr__(self, name):
        try:
            return getattr(_request.get(), name)
        except LookupError:
            raise RuntimeError("there is no request outside of a call") from None

    def __setattr__(self, name, value):
        setattr(_request.get(), name, value)


class Context:
    """What `main(context)` is called with."""

    def __init__(self, request):
        self.request = request

    def __getattr__(self, name):
        return getattr(self.request, name)


class ExecutionContext(Context):
    """The same for an execution, to which it is also the mapping that Qinling has."""

    session = {"os_session": None}

    def __getitem__(self, key):
        return self.session[key]

    def __contains__(self, key):
        return key in self.session

    def __iter__(self):
        return iter(self.session)

    def __len__(self):
        return len(self.session)

    def keys(self):
        return self.session.keys()

    def get(self, key, default=None):
        return self.session.get(key, default)


# ---------------------------------------------------------------- answers, flask style

REASONS = {200: "OK", 201: "CREATED", 204: "NO CONTENT", 302: "FOUND", 400: "BAD REQUEST", 404: "NOT FOUND"}


class Response:
    default_mimetype = "text/html"

    def __init__(self, response=None, status=200, headers=None, mimetype=None, content_type=None):
        self.response = response if response is not None else b""
        self.status = status
        self.headers = Headers(headers)
        if content_type is None and "content-type" not in self.headers:
            content_type = mimetype or self.default_mimetype
            if content_type.startswith("text/"):
                content_type += "; charset=utf-8"
        if content_type is not None:
            self.headers.set("Content-Type", content_type)

    @property
    def status(self):
        return f"{self.status_code} {REASONS.get(self.status_code, 'UNKNOWN')}"

    @status.setter
    def status(self, value):
        self.status_code = int(value.split()[0]) if isinstance(value, str) else int(value)

    @property
    def data(self):
        return self.get_data()

    @data.setter
    def data(self, value):
        self.response = value

    def get_data(self, as_text=False):
        body = self.response
        if not isinstance(body, (str, bytes)):
            body = b"".join(part.encode() if isinstance(part, str) else part for part in body)
            self.response = body
        body = body.encode() if isinstance(body, str) else body
        return body.decode() if as_text else body

    def set_data(self, value):
        self.response = value

    def get_json(self, **_):
        return json.loads(self.get_data())

    @property
    def mimetype(self):
        return self.headers.get("content-type", "").partition(";")[0]

    @mimetype.setter
    def mimetype(self, value):
        self.headers.set("Content-Type", value)

    @property
    def content_type(self):
        return self.headers.get("content-type")

    @content_type.setter
    def content_type(self, value):
        self.headers.set("Content-Type", value)

    def set_cookie(self, key, value="", max_age=None, path="/", secure=False, httponly=False, samesite=None, **_):
        text = f"{key}={value}"
        text += f"; Max-Age={max_age}" if max_age is not None else ""
        text += "; Secure" if secure else ""
        text += "; HttpOnly" if httponly else ""
        text += f"; Path={path}" if path else ""
        text += f"; SameSite={samesite}" if samesite else ""
        self.headers.add("Set-Cookie", text)

    def delete_cookie(self, key, path="/"):
        self.set_cookie(key, max_age=0, path=path)


def make_response(*parts):
    value = parts[0] if len(parts) == 1 else parts
    if isinstance(value, Response):
        return value
    status, headers = 200, None
    if isinstance(value, tuple):
        value, *more = value
        for part in more:
            if isinstance(part, (int, str)):
                status = part
            else:
                headers = part
    if isinstance(value, Response):
        if len(parts) > 1 or status != 200:
            value.status = status
        value.headers.update(Headers(headers))
        return value
    if value is None:
        raise TypeError("the function returned None, which is no answer")
    if isinstance(value, (str, bytes)):
        return Response(value, status, headers)
    if isinstance(value, (bytearray, memoryview)):
        return Response(bytes(value), status, headers)
    if isinstance(value, types.GeneratorType):
        return Response(value, status, headers)
    return Response(json.dumps(value), status, headers, mimetype="application/json")


def jsonify(*values, **named):
    value = named if named else values[0] if len(values) == 1 else list(values)
    return Response(json.dumps(value), mimetype="application/json")


def abort(code, description=None):
    if isinstance(code, Response):
        raise Raised(code)
    raise HttpError(code, description)


class Raised(Exception):
    def __init__(self, response):
        self.response = response


def redirect(location, code=302):
    return Response("", code, {"Location": location})


class FlaskFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Found last, so that a package's own flask comes first."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "flask" else None

    def create_module(self, spec):
        module = types.ModuleType("flask", "The part of flask that functions use, as folio provides it.")
        logger = logging.getLogger("app")
        if not logger.handlers:
            logger.addHandler(logging.StreamHandler(sys.stderr))
            logger.setLevel(logging.INFO)
        module.__dict__.update(
            request=CurrentRequest(), Response=Response, Request=Request, jsonify=jsonify, abort=abort,
            make_response=make_response, redirect=redirect, json=json, g=threading.local(),
            current_app=types.SimpleNamespace(logger=logger, config={}, name="folio", make_response=make_response),
            _is_folio=True,
        )
        return module

    def exec_module(self, module):
        pass


# ---------------------------------------------------------------- from a value to an answer

PLAIN = b"200\ncontent-type\ntext/html; charset=utf-8"
JSON = b"200\ncontent-type\napplication/json"


def head_of(response):
    lines = [str(response.status_code)]
    for name, value in response.headers.items():
        if "\n" in value or "\r" in value or "\n" in name:
            raise ValueError(f"the header {name!r} has a line break")
        lines += (name, value)
    return "\n".join(lines).encode("latin-1")


def encode(value):
    """A head and a body, which is bytes or something to iterate."""
    kind = type(value)
    if kind is str:
        return PLAIN, value.encode()
    if kind is dict or kind is list:
        return JSON, json.dumps(value).encode()
    response = make_response(value)
    body = response.response
    if isinstance(body, str):
        body = body.encode()
    return head_of(response), body


def is_execution(head):
    return EXECUTION in head and EXECUTION in head.split(b"\n")[CLIENT::2]


def encode_raised(error):
    """An error as the result of an execution, which is kept: in the words of those who know Qinling."""
    consumed = isinstance(error, SystemExit) and error.code or isinstance(error, (MemoryError, BlockingIOError))
    if consumed:
        text = "Function execution failed because of too much resource consumption"
    else:
        text = None if isinstance(error, SystemExit) else str(error)
    return b"500\ncontent-type\napplication/json", json.dumps(text).encode()


def encode_error(error):
    """What a raised error says to the client; absent if it is a failure."""
    if isinstance(error, HttpError):
        text = error.description or REASONS.get(error.code, "")
        return encode(Response(text, error.code, mimetype="text/plain"))
    if isinstance(error, Raised):
        return encode(error.response)
    return None


# ---------------------------------------------------------------- which way a function wants to be called


def positional(parameter):
    return parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)


def style_of(function):
    """`asgi`, `nothing`, `context` or `keywords`."""
    target = function
    if not inspect.isroutine(function) and not inspect.isclass(function):
        target = type(function).__call__
        target = target.__get__(function)
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return "nothing"
    required = [p for p in parameters if positional(p) and p.default is p.empty]
    is_async = inspect.iscoroutinefunction(target)
    named = [p.name for p in parameters]
    if is_async and (len(required) == 3 or named[:3] == ["scope", "receive", "send"]):
        return "asgi"
    if not parameters:
        return "nothing"
    if len(parameters) == 1 and len(required) == 1:
        return "context"
    return "keywords"


def keywords_of(request, accepted, takes_all):
    """Qinling's way: a JSON object's members, or the query's, and anything else as one positional text."""
    texts = []
    data = request.data
    values = dict(request.args) if request._target[2] else {}
    if data:
        try:
            parsed = json.loads(data)
        except ValueError:
            parsed = None
        if isinstance(parsed, dict):
            values.update(parsed)
        elif request.mimetype == "application/x-www-form-urlencoded":
            values.update(request.form)
        else:
            texts.append(data.decode(errors="replace"))
    if takes_all or "context" in accepted:
        values["context"] = {"os_session": None}
    return texts, values


def caller_of(function):
    """A function from a request to the value the user's function returns."""
    style = style_of(function)
    if style == "nothing":
        return lambda request: function()
    parameters = inspect.signature(function).parameters.values()
    if style == "context":
        return caller_of_one(function, next(iter(parameters)).name)
    accepted = {p.name for p in parameters}
    takes_all = any(p.kind == p.VAR_KEYWORD for p in parameters)

    def call(request):
        texts, values = keywords_of(request, accepted, takes_all)
        return function(*texts, **values)

    call.is_json = True
    return call


def caller_of_one(function, name):
    """The same for one parameter: the whole request, but in an execution only under a name that says so."""
    whole = name in ("context", "request")

    def call(request):
        if not is_execution(request._head):
            return function(Context(request))
        if whole:
            return function(ExecutionContext(request))
        texts, values = keywords_of(request, (), False)
        value = function(*texts, **values)
        return awaited_as_json(value) if inspect.iscoroutine(value) else as_json(value)

    return call


async def awaited_as_json(value):
    return as_json(await value)


def as_json(value):
    if isinstance(value, Response):
        return value
    return Response(json.dumps(value), mimetype="application/json")


# ---------------------------------------------------------------- frames


class Wire:
    """Cuts what was read into frames."""

    def __init__(self):
        self.rest = b""
        self.uploads = {}

    def feed(self, data):
        if self.rest:
            data = self.rest + data
            self.rest = b""
        at, end, unpack = 0, len(data), HEADER.unpack_from
        while end - at >= 9:
            size, kind, stream = unpack(data, at)
            at += 9
            if at + size > end:
                at -= 9
                break
            if kind == REQUEST | LAST:
                head = at + 4 + COUNT.unpack_from(data, at)[0]
                self.request(stream, data[at + 4:head], data[head:at + size])
            else:
                self.other(kind, stream, data[at:at + size])
            at += size
        if at < end:
            self.rest = data[at:]

    def other(self, kind, stream, payload):
        if kind == CANCEL:
            self.cancel(stream)
        elif kind == CREDIT:
            self.grant(stream, COUNT.unpack(payload)[0])
        elif kind == REQUEST:
            head = 4 + COUNT.unpack_from(payload)[0]
            self.upload(stream, payload[4:head])
        elif kind & ~LAST == BODY:
            self.piece(stream, payload, kind & LAST)
        elif kind == PING:
            self.send(frame(PONG, stream))
        elif kind == SPECIALISE:
            self.specialise(json.loads(payload))

    # Functions that want all of a body at once.
    def upload(self, stream, head):
        self.uploads[stream] = (head, [])

    def piece(self, stream, payload, last):
        upload = self.uploads.get(stream)
        if upload is None:
            return
        upload[1].append(payload)
        if last:
            del self.uploads[stream]
            self.request(stream, upload[0], b"".join(upload[1]))
        else:
            self.send(frame(CREDIT, stream, COUNT.pack(len(payload))))


# ---------------------------------------------------------------- ordinary functions: leader and followers


class Seat:
    """One thread and what it has not sent yet."""

    def __init__(self):
        self.out = deque()

    def take(self):
        """Empties it. Two threads may do so at once; each piece goes to one of them."""
        pieces, next_piece = [], self.out.popleft
        try:
            while True:
                pieces.append(next_piece())
        except IndexError:
            return pieces


class Threads(Wire):
    def __init__(self, connection):
        super().__init__()
        self.connection = connection
        self.readable = select.poll()
        self.readable.register(connection, select.POLLIN)
        self.queue = deque()
        self.lock = threading.Lock()
        self.reading = threading.Lock()
        self.sending = threading.Lock()
        self.baton = threading.Lock()
        self.unpark = threading.Event()
        self.credited = threading.Condition()
        self.credits = {}
        self.handover = threading.Event()
        self.slow = 0
        self.parked = False
        self.inside = False
        self.beat = 0
        self.threads = 1
        self.concurrency = 1
        self.handler = None
        self.leader = Seat()
        self.seats = threading.local()
        self.replacement = None

    # frames

    def request(self, stream, head, body):
        self.queue.append((stream, head, body))

    def cancel(self, stream):
        self.uploads.pop(stream, None)
        for job in list(self.queue):
            if job[0] == stream:
                try:
                    self.queue.remove(job)
                except ValueError:
                    return  # Another thread took it just now, and answers.
                return self.send(frame(FAILED | LAST, stream))
        with self.credited:
            if stream in self.credits:
                self.credits[stream] = None
            self.credited.notify_all()

    def grant(self, stream, count):
        with self.credited:
            if self.credits.get(stream) is not None:
                self.credits[stream] += count
            self.credited.notify_all()

    def send(self, data):
        with self.sending:
            self.connection.sendall(data)

    def flush(self, seat):
        if seat.out:
            self.send(b"".join(seat.take()))

    def specialise(self, order):
        self.replacement = specialise(self, order)

    # threads

    def lead(self, seat):
        """Takes requests until another thread has taken over, or until an event loop should."""
        queue, run, lock, monotonic = self.queue, self.run, self.lock, time.monotonic
        while True:
            since = monotonic()
            while queue:
                try:
                    job = queue.popleft()
                except IndexError:
                    break
                self.beat += 1
                self.inside = True
                if self.parked:
                    self.parked = False
                    self.unpark.set()
                if self.slow > SLOW_ENOUGH:
                    self.handover.set()
                begun = monotonic()
                run(seat, job)
                now = monotonic()
                if now - begun > SLOW:
                    self.slow = min(self.slow + 1, 2 * SLOW_ENOUGH)
                elif self.slow:
                    self.slow -= 1
                # The others of this batch take long, and whoever has an answer should not wait for them.
                if queue and now - since > HELD_MAX:
                    self.flush(seat)
                    since = now
                with lock:
                    led = self.leader is seat
                    if led:
                        self.inside = False
                if not led:
                    return self.flush(seat)
            self.flush(seat)
            if self.replacement is not None:
                return self.replacement
            self.read()

    def read(self):
        with self.reading:
            if self.queue:
                return
            data = self.connection.recv(65536)
            if not data:
                os._exit(0)
            self.feed(data)

    def follow(self, seat):
        self.seats.seat = seat
        while True:
            with self.baton:
                self.watch(seat)
            if self.threads < self.concurrency and not self.baton.locked():
                self.hire()
            self.lead(seat)

    def hire(self):
        self.threads += 1
        threading.Thread(target=self.follow, args=(Seat(),), daemon=True).start()

    def watch(self, seat):
        """Returns as the leader once the leader is stuck."""
        seen, quiet = -1, 0
        while True:
            handed = self.handover.wait(STUCK)
            if handed:
                self.handover.clear()
            beat = self.beat
            if self.inside and (handed or beat == seen):
                with self.lock:
                    if self.inside and self.beat == beat:
                        stuck = self.leader
                        self.leader = seat
                        self.inside = False
                        waiting = stuck.take()
                        break
            quiet = quiet + 1 if beat == seen else 0
            seen = beat
            if quiet > 20:
                self.park()
                quiet = 0
        if waiting:
            self.send(b"".join(waiting))

    def park(self):
        """Sleeps until somebody is inside a call again."""
        self.unpark.clear()
        self.parked = True
        # Whoever goes inside looks at `parked` afterwards, so one of the two sees the other.
        if self.inside:
            self.parked = False
        else:
            self.unpark.wait()

    # calls

    def run(self, seat, job):
        stream, head, body = job
        _asking.set((stream, head))
        try:
            head, body = self.handler(Request(head, body))
            kind = type(body)
            if kind is bytes and len(body) <= WINDOW:
                size = len(head)
                seat.out.append(ANSWER.pack(4 + size + len(body), RESPONSE | LAST, stream, size) + head + body)
            else:
                self.pour(seat, stream, head, body)
        except BaseException as error:
            self.fail(seat, stream, error, is_execution(job[1]))
        _asking.set(NOBODY)

    def fail(self, seat, stream, error, is_execution):
        begun = stream in self.credits
        self.credits.pop(stream, None)
        told = None if begun else encode_error(error)
        if told is None and is_execution and not begun:
            seat.out.append(frame(LOG, stream, b"\3" + describe(error)))
            told = encode_raised(error)
        if told is None:
            seat.out.append(frame(FAILED | LAST, stream, describe(error)))
        else:
            seat.out.append(answer_frame(RESPONSE | LAST, stream, *told))

    def pour(self, seat, stream, head, body):
        """Sends a body in pieces, never more than folio asked for."""
        with self.credited:
            self.credits[stream] = WINDOW
        # Sent by this thread itself, because what waits may be sent by another, and after the first piece.
        self.flush(seat)
        self.send(answer_frame(RESPONSE, stream, head))
        for part in [body] if isinstance(body, bytes) else body:
            part = part.encode() if isinstance(part, str) else bytes(part)
            at = 0
            while at < len(part):
                size = self.claim(seat, stream, min(PIECE, len(part) - at))
                if size is None:
                    if hasattr(body, "close"):
                        body.close()
                    self.credits.pop(stream, None)
                    return self.send(frame(FAILED | LAST, stream))
                self.send(frame(BODY, stream, part[at:at + size]))
                at += size
        self.credits.pop(stream, None)
        self.send(frame(BODY | LAST, stream))

    def claim(self, seat, stream, wanted):
        while True:
            with self.credited:
                credit = self.credits.get(stream)
                if credit is None:
                    return None
                if credit > 0:
                    size = min(credit, wanted)
                    self.credits[stream] -= size
                    return size
                if self.leader is not seat:
                    self.credited.wait(1)
                    continue
            # Nobody else reads: another request may come with the credit, and waits its turn.
            self.read_more()

    def read_more(self):
        # The socket stays a blocking one, for another thread may be sending.
        with self.reading:
            if not self.readable.poll(50):
                return
            try:
                data = self.connection.recv(65536, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            if not data:
                os._exit(0)
            self.feed(data)

    def print(self, stream, data):
        seat = getattr(self.seats, "seat", None)
        if seat is not None:
            self.flush(seat)
        self.send(data)

    def main(self):
        self.seats.seat = self.leader
        loop = self.lead(self.leader)
        while loop is None:
            self.follow(self.seats.seat)
        loop.main(self)


def describe(error):
    text = "".join(traceback.format_exception(error))
    # The frames of this file say nothing to the function's author.
    lines = text.split("\n")
    kept, skip = [], False
    for line in lines:
        if line.startswith("  File "):
            skip = __file__ in line
        elif not line.startswith("    "):
            skip = False
        if not skip:
            kept.append(line)
    return "\n".join(kept).strip().encode()[-LINE_MAX:]


# ---------------------------------------------------------------- coroutines and ASGI: an event loop


class Loop(Wire, asyncio.Protocol):
    def __init__(self, kind):
        Wire.__init__(self)
        self.kind = kind
        self.cycles = {}
        self.out = []
        self.scheduled = False
        self.since = 0
        self.loop = None
        self.transport = None
        self.lifespan = None

    def main(self, threads):
        try:
            import uvloop
            self.loop = uvloop.new_event_loop()
        except ImportError:
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        output.print = self.print
        self.rest, self.uploads = threads.rest, threads.uploads
        self.loop.run_until_complete(self.start(threads.connection))
        for job in threads.queue:
            self.request(*job)
        self.loop.run_forever()

    async def start(self, connection):
        connection.setblocking(False)
        await self.loop.connect_accepted_socket(lambda: self, connection)
        try:
            await self.kind.prepare(self)
        except Exception as error:
            self.send(frame(FAILED | LAST, 0, one_line(error)))
            return
        self.send(frame(READY, 0))

    def connection_made(self, transport):
        self.transport = transport

    def connection_lost(self, error):
        os._exit(0)

    def data_received(self, data):
        self.feed(data)

    def specialise(self, order):
        self.send(frame(FAILED | LAST, 0, b"it already is a function"))

    def send(self, data):
        self.out.append(data)
        if not self.scheduled:
            self.scheduled = True
            self.since = time.monotonic()
            self.loop.call_soon(self.flush)
        elif time.monotonic() - self.since > HELD_MAX:
            self.write()

    def flush(self):
        self.scheduled = False
        self.write()

    def write(self):
        if self.out:
            data = b"".join(self.out)
            self.out.clear()
            self.transport.write(data)
            self.since = time.monotonic()

    def print(self, stream, data):
        if threading.get_ident() == main_thread:
            self.send(data)
        else:
            self.loop.call_soon_threadsafe(self.send, data)

    def request(self, stream, head, body):
        self.begin(self.kind.cycle(self, stream, head, body, True))

    def begin(self, cycle):
        self.cycles[cycle.stream] = cycle
        if EAGER:
            task = asyncio.Task(cycle.run(), loop=self.loop, eager_start=True)
            cycle.task = None if task.done() else task
        else:
            cycle.task = self.loop.create_task(cycle.run())

    def upload(self, stream, head):
        if not self.kind.streams:
            return Wire.upload(self, stream, head)
        self.begin(self.kind.cycle(self, stream, head, b"", False))

    def piece(self, stream, payload, last):
        cycle = self.cycles.get(stream)
        if cycle is None:
            return Wire.piece(self, stream, payload, last)
        cycle.push(payload, last)

    def grant(self, stream, count):
        cycle = self.cycles.get(stream)
        if cycle is not None:
            cycle.credit += count
            cycle.wake()

    def cancel(self, stream):
        self.uploads.pop(stream, None)
        cycle = self.cycles.pop(stream, None)
        if cycle is not None:
            cycle.gone = True
            cycle.wake()
            if cycle.task is not None:
                cycle.task.cancel()
        self.send(frame(FAILED | LAST, stream))


EAGER = sys.version_info >= (3, 12)


class Cycle:
    """One request on the event loop."""

    def __init__(self, wire, stream, head, body, whole):
        self.wire = wire
        self.stream = stream
        self.head = head
        self.body = body
        self.whole = whole
        self.credit = WINDOW
        self.gone = False
        self.task = None
        self.waiter = None

    def wake(self):
        waiter, self.waiter = self.waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def wait(self):
        self.waiter = self.wire.loop.create_future()
        await self.waiter

    def over(self):
        self.wire.cycles.pop(self.stream, None)

    def failed(self, error):
        self.over()
        if not self.gone:
            self.wire.send(frame(FAILED | LAST, self.stream, describe(error)))

    async def pour(self, data):
        at = 0
        while at < len(data) and not self.gone:
            if self.credit == 0:
                await self.wait()
                continue
            size = min(PIECE, self.credit, len(data) - at)
            self.credit -= size
            self.wire.send(frame(BODY, self.stream, data[at:at + size]))
            at += size


class AsgiCycle(Cycle):
    started = None
    streaming = False
    received = False
    finished = False

    async def run(self):
        _asking.set((self.stream, self.head))
        try:
            await self.wire.kind.app(self.scope(), self.receive, self.send)
            if not self.finished and not self.gone:
                raise RuntimeError("the application returned without an answer")
        except asyncio.CancelledError:
            self.over()
        except BaseException as error:
            self.failed(error)

    def scope(self):
        lines = self.head.split(b"\n")
        path, _, query = lines[1].partition(b"?")
        headers = [(REQUEST_ID, lines[5]), *zip(lines[CLIENT::2], lines[CLIENT + 1::2])]
        # Few have it, and looking for the bytes costs less than looking at each header.
        encrypted = ENCRYPTED[0] in self.head and ENCRYPTED in headers
        return {
            "type": "http",
            "asgi": ASGI,
            "http_version": "1.1",
            "server": None,
            "client": None,
            "scheme": "https" if encrypted else "http",
            "method": lines[0].decode("latin-1"),
            "root_path": "",
            "path": unquote(path.decode("latin-1")) if b"%" in path else path.decode("latin-1"),
            "raw_path": path,
            "query_string": query,
            "headers": headers,
            "path_params": json.loads(lines[3]) if lines[3] else {},
            "state": self.wire.kind.state.copy(),
        }

    def push(self, payload, last):
        self.body += payload
        self.whole = bool(last)
        self.wake()

    async def receive(self):
        while not self.body and not self.whole and not self.gone:
            await self.wait()
        if self.gone or self.finished:
            return {"type": "http.disconnect"}
        if self.received:
            await self.wait()
            return {"type": "http.disconnect"}
        body, self.body = self.body, b""
        if self.whole:
            self.received = True
        elif body:
            self.wire.send(frame(CREDIT, self.stream, COUNT.pack(len(body))))
        return {"type": "http.request", "body": body, "more_body": not self.whole}

    async def send(self, message):
        kind = message["type"]
        if self.gone:
            raise OSError("the client is gone")
        if kind == "http.response.start":
            if self.started is not None:
                raise RuntimeError("the answer has already begun")
            lines = [b"%d" % message["status"]]
            for name, value in message.get("headers", ()):
                lines += (name, value)
            self.started = b"\n".join(lines)
            if self.started.count(b"\n") != len(lines) - 1:
                raise ValueError("a header has a line break")
        elif kind == "http.response.body":
            if self.started is None or self.finished:
                raise RuntimeError("a body outside of an answer")
            await self.send_body(message.get("body", b""), message.get("more_body", False))
        else:
            raise RuntimeError(f"messages of type {kind} are not understood")

    async def send_body(self, body, more):
        if not self.streaming and not more and len(body) <= WINDOW:
            self.finished = True
            self.over()
            return self.wire.send(answer_frame(RESPONSE | LAST, self.stream, self.started, body))
        if not self.streaming:
            self.streaming = True
            self.wire.send(answer_frame(RESPONSE, self.stream, self.started))
        await self.pour(body)
        if not more and not self.gone:
            self.finished = True
            self.over()
            self.wire.send(frame(BODY | LAST, self.stream))


ASGI = {"version": "3.0", "spec_version": "2.3"}


class AsgiApplication:
    cycle = AsgiCycle
    streams = True

    def __init__(self, app):
        self.app = app
        self.state = {}

    async def prepare(self, wire):
        """Runs the start of the lifespan protocol; an application that does not know it raises."""
        started = wire.loop.create_future()

        async def receive():
            if not started.done():
                return {"type": "lifespan.startup"}
            await wire.loop.create_future()

        async def send(message):
            if started.done():
                return
            if message["type"] == "lifespan.startup.failed":
                started.set_exception(RuntimeError(message.get("message") or "the application could not start"))
            else:
                started.set_result(None)

        async def run():
            try:
                await self.app({"type": "lifespan", "asgi": ASGI, "state": self.state}, receive, send)
            except Exception:
                pass
            if not started.done():
                started.set_result(None)

        self.lifespan = wire.loop.create_task(run())
        await started


class CoroutineCycle(Cycle):
    begun = False

    async def run(self):
        _asking.set((self.stream, self.head))
        request = Request(self.head, self.body)
        _request.set(request)
        try:
            kind = self.wire.kind
            if kind.flask is not None:
                return await self.answer(*await kind.flask.answer(request, kind.call, kind.is_json))
            value = await kind.call(request)
            await self.answer(*encode(as_json(value) if kind.is_json else value))
        except asyncio.CancelledError:
            self.over()
        except BaseException as error:
            told = None if self.begun else encode_error(error)
            if told is None and is_execution(self.head) and not self.begun:
                self.wire.send(frame(LOG, self.stream, b"\3" + describe(error)))
                told = encode_raised(error)
            if told is None:
                self.failed(error)
            else:
                await self.answer(*told)

    async def answer(self, head, body):
        self.begun = True
        if isinstance(body, bytes) and len(body) <= WINDOW:
            self.over()
            return self.wire.send(answer_frame(RESPONSE | LAST, self.stream, head, body))
        self.wire.send(answer_frame(RESPONSE, self.stream, head))
        if hasattr(body, "__aiter__"):
            async for part in body:
                await self.pour(part.encode() if isinstance(part, str) else part)
        else:
            for part in [body] if isinstance(body, bytes) else body:
                await self.pour(part.encode() if isinstance(part, str) else part)
        self.over()
        if not self.gone:
            self.wire.send(frame(BODY | LAST, self.stream))


class Coroutine:
    cycle = CoroutineCycle
    streams = False

    def __init__(self, function):
        self.call = caller_of(function)
        self.is_json = getattr(self.call, "is_json", False)
        self.flask = Flask.of_package()

    async def prepare(self, wire):
        pass


# ---------------------------------------------------------------- whose request it is


def attribute_calls():
    """Has calls of other functions say which request makes them, also from threads that the function starts."""
    from concurrent.futures import ThreadPoolExecutor
    from http.client import HTTPConnection

    end_head, submit, start = HTTPConnection.endheaders, ThreadPoolExecutor.submit, threading.Thread.start

    def attributed(self, *args, **named):
        # As it would be connected a moment later: only now is it known where to. The one such socket that a jail
        # shows to a function is folio's, and to others the header is of no harm.
        if self.sock is None and self.auto_open:
            try:
                self.connect()
            except BaseException:
                # Else the head would be sent in front of the next one.
                del self._buffer[:]
                raise
        _, head = _asking.get()
        is_local = getattr(self.sock, "family", None) == socket.AF_UNIX
        if head and is_local and not any(line.lower().startswith(REQUEST_ID + b":") for line in self._buffer):
            self.putheader(REQUEST_ID, head.split(b"\n", 6)[5])
        return end_head(self, *args, **named)

    # No more of the context than that: the rest is a thread's own, and may stay for long.
    def work_attributed(asking, work, args, named):
        before = _asking.set(asking)
        try:
            return work(*args, **named)
        finally:
            _asking.reset(before)

    def submit_attributed(self, work, /, *args, **named):
        # Other interpreters would have to be sent all of this.
        if type(self).__module__ == "concurrent.futures.interpreter":
            return submit(self, work, *args, **named)
        return submit(self, work_attributed, _asking.get(), work, args, named)

    def start_attributed(self):
        own, run, asking = self.__dict__.get("run"), self.run, _asking.get()

        def run_attributed():
            # A thread that holds on to what holds on to it would stay until the collector comes by.
            del self.run
            _asking.set(asking)
            run()

        self.run = run_attributed
        try:
            start(self)
        except BaseException:
            # It was not started, and may be tried again.
            self.__dict__.pop("run", None)
            if own is not None:
                self.run = own
            raise

    HTTPConnection.endheaders = attributed
    ThreadPoolExecutor.submit = submit_attributed
    threading.Thread.start = start_attributed


# ---------------------------------------------------------------- a network that is not there


def explain_denial(denial):
    """Has whoever looks a name up or connects hear why nothing comes of it, besides what the system makes of that."""
    from asyncio.selector_events import BaseSelectorEventLoop

    connect, sock_connect = socket.socket.connect, BaseSelectorEventLoop.sock_connect

    def tell(error):
        text = error.strerror
        if text is not None and not isinstance(error, BlockingIOError) and not text.endswith(denial):
            error.strerror = f"{text}: {denial}"
            error.args = (error.errno, error.strerror)

    def explained(look_up):
        def explain(*args, **named):
            try:
                return look_up(*args, **named)
            except OSError as error:
                tell(error)
                raise

        return explain

    def connect_explained(self, address):
        try:
            return connect(self, address)
        except OSError as error:
            # Other sockets of the same jail are reached.
            if self.family != socket.AF_UNIX:
                tell(error)
            raise

    async def sock_connect_explained(self, sock, address):
        try:
            return await sock_connect(self, sock, address)
        except OSError as error:
            if sock.family != socket.AF_UNIX:
                tell(error)
            raise

    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        setattr(socket, name, explained(getattr(socket, name)))
    socket.socket.connect = connect_explained
    BaseSelectorEventLoop.sock_connect = sock_connect_explained


# ---------------------------------------------------------------- output


class Output(io.TextIOBase):
    """Standard output or error: whole lines become frames of the request that printed them."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, number):
        self.number = bytes([number])
        self.descriptor = number
        self.partial = threading.local()
        self.buffer = OutputBytes(self)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        pending = getattr(self.partial, "text", "") + text
        *lines, pending = pending.split("\n")
        if len(pending) > LINE_MAX:
            lines.append(pending)
            pending = ""
        self.partial.text = pending
        if lines:
            stream, _ = _asking.get()
            output.print(stream, b"".join(
                frame(LOG, stream, self.number + line.encode(errors="replace")[:LINE_MAX + 1]) for line in lines))
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def fileno(self):
        return self.descriptor

    def writable(self):
        return True

    def isatty(self):
        return False


class OutputBytes(io.RawIOBase):
    def __init__(self, text):
        self.text = text

    def write(self, data):
        self.text.write(bytes(data).decode(errors="replace"))
        return len(data)

    def writable(self):
        return True


class output:
    """Where lines go; the event loop replaces it."""

    print = None


# ---------------------------------------------------------------- becoming a function


def one_line(error):
    if isinstance(error, SyntaxError):
        where = f" ({os.path.basename(error.filename or '?')}:{error.lineno})"
        return f"{type(error).__name__}: {error.msg}{where}".encode()
    text = str(error).split("\n")[0]
    return f"{type(error).__name__}: {text}".encode() if not isinstance(error, LoadError) else text.encode()


class LoadError(Exception):
    pass


def specialise(threads, order):
    """Loads the function; returns an event loop if it needs one."""
    try:
        os.environ.update(order["variables"])
        if order["denial"]:
            explain_denial(order["denial"])
        function = find(order["path"], order.get("entry") or "")
        if not callable(function):
            raise LoadError("the entry point cannot be called")
        if style_of(function) == "asgi":
            return Loop(AsgiApplication(function))
        if inspect.iscoroutinefunction(function):
            return Loop(Coroutine(function))
        threads.handler = handler_of(function)
        threads.concurrency = order["concurrency"]
        if threads.concurrency > 1:
            threads.hire()
        threads.send(frame(READY, 0))
    except BaseException as error:
        if not isinstance(error, (LoadError, SyntaxError)):
            sys.stderr.write(describe(error).decode() + "\n")
        threads.send(frame(FAILED | LAST, 0, one_line(error)))
    return None


def handler_of(function):
    call = caller_of(function)
    is_json = getattr(call, "is_json", False)
    flask = Flask.of_package()
    if flask is not None:
        return flask.handler(call, is_json)
    if is_json:
        def handle(request):
            _request.set(request)
            value = call(request)
            return encode(value) if isinstance(value, Response) else (JSON, json.dumps(value).encode())
    elif style_of(function) == "nothing":
        def handle(request):
            _request.set(request)
            return encode(function())
    else:
        def handle(request):
            _request.set(request)
            return encode(call(request))
    return handle


class Flask:
    """The package's own flask, which is given requests of its own kind."""

    def __init__(self, flask):
        self.flask = flask
        self.app = flask.Flask("folio", root_path="/")

    @staticmethod
    def of_package():
        flask = sys.modules.get("flask")
        return None if flask is None or hasattr(flask, "_is_folio") else Flask(flask)

    def context(self, request):
        environ = {
            "REQUEST_METHOD": request.method, "SCRIPT_NAME": "", "PATH_INFO": request.path,
            "QUERY_STRING": request._target[2], "SERVER_NAME": request.host.partition(":")[0],
            "SERVER_PORT": request.host.partition(":")[2] or "80", "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": request.remote_addr or "",
            "CONTENT_LENGTH": str(len(request.data)), "wsgi.version": (1, 0), "wsgi.url_scheme": request.scheme,
            "wsgi.input": io.BytesIO(request.data), "wsgi.errors": sys.stderr, "wsgi.multithread": True,
            "wsgi.multiprocess": True, "wsgi.run_once": False,
        }
        for name, value in request.headers.items():
            name = name.upper().replace("-", "_")
            environ["CONTENT_TYPE" if name == "CONTENT_TYPE" else f"HTTP_{name}"] = value
        return self.app.request_context(environ)

    def begin(self, request):
        self.flask.request.view_args = request.view_args

    def encode(self, value, is_json):
        if isinstance(value, Response):
            return encode(value)
        response = self.app.make_response(json.dumps(value) if is_json else value)
        if is_json:
            response.mimetype = "application/json"
        head = "\n".join([str(response.status_code), *(part for pair in response.headers.items() for part in pair)])
        return head.encode("latin-1"), response.response if response.is_streamed else response.get_data()

    def encode_error(self, error):
        """What `abort` and its kind say; anything else is raised again."""
        if not hasattr(error, "get_response"):
            raise error
        return self.encode(self.app.handle_http_exception(error), False)

    def handler(self, call, is_json):
        def handle(request):
            _request.set(request)
            with self.context(request):
                self.begin(request)
                try:
                    return self.encode(call(request), is_json)
                except Exception as error:
                    return self.encode_error(error)

        return handle

    async def answer(self, request, call, is_json):
        with self.context(request):
            self.begin(request)
            try:
                return self.encode(await call(request), is_json)
            except Exception as error:
                return self.encode_error(error)


def find(code, entry):
    module, _, name = entry.rpartition(".")
    if os.path.isfile(code):
        # One file: whatever module an entry point names is this one.
        return member(load_file(code), name or "main", entry)
    sys.path.insert(0, code)
    os.environ.setdefault("PYTHONPATH", code)
    module = module or "main"
    name = name or "main"
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        if not entry:
            scripts = [file for file in os.listdir(code) if file.endswith(".py")]
            if len(scripts) == 1:
                return member(load_file(os.path.join(code, scripts[0])), name, entry)
        raise LoadError(f"no module {module!r} for the entry point {entry or 'main.main'!r}")
    return member(importlib.import_module(module), name, entry)


def load_file(file):
    sys.path.insert(0, os.path.dirname(file))
    name = os.path.basename(file).partition(".")[0] or "main"
    name = name if name.isidentifier() and name not in sys.modules else "main"
    loader = importlib.machinery.SourceFileLoader(name, file)
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def member(module, name, entry):
    found = getattr(module, name, None)
    if found is None and not entry:
        found = getattr(module, "app", None) or getattr(module, "handler", None)
    if found is None:
        names = [key for key, value in vars(module).items() if callable(value) and getattr(value, "__module__", "") == module.__name__]
        only = f", only {', '.join(names)}" if names else ""
        raise LoadError(f"{module.__name__} has no function {name!r}{only}")
    return found


main_thread = threading.get_ident()


def main():
    sys.meta_path.append(FlaskFinder())
    connection = socket.socket(fileno=3)
    connection.setblocking(True)
    threads = Threads(connection)
    output.print = threads.print
    sys.stdout, sys.stderr = Output(1), Output(2)
    threads.send(frame(PONG, 0))
    # It is up, and most likely waits: what this loads takes a while.
    attribute_calls()
    threads.main()


main()
