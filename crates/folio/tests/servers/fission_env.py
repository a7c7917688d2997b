"""An environment server as Fission knows them: generic until it is told, by HTTP, which function it serves.

Speaks version 2 of the contract. The function is `main()` or whatever the entry point names; it finds the request
in `context.request` of this module and returns text, bytes, or (body, status[, headers]).
"""

import importlib
import importlib.util
import json
import os
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

context = threading.local()
sys.modules["context"] = sys.modules[__name__]


def load(path, name):
    module_name, _, function_name = (name or "main").rpartition(".")
    if os.path.isdir(path):
        sys.path.insert(0, path)
        module = importlib.import_module(module_name or "main")
    else:
        spec = importlib.util.spec_from_file_location(module_name or "user", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return getattr(module, function_name)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    function = None

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        return b"".join(pieces)

    def specialize(self):
        if Handler.function:
            return self.answer(400, b"Not a generic container")
        order = json.loads(self.body())
        try:
            Handler.function = staticmethod(load(order["filepath"], order["functionName"]))
        except Exception:
            return self.answer(500, traceback.format_exc().encode())
        return self.answer(200)

    def handle_any(self):
        if self.path == "/healthz":
            return self.answer(200)
        if self.path == "/v2/specialize" and self.command == "POST":
            return self.specialize()
        if not Handler.function:
            return self.answer(500, b"Generic container: no requests supported")
        self.data = self.body()
        context.request = self
        try:
            result = Handler.function()
        except Exception:
            traceback.print_exc()
            return self.answer(500, b"Internal Server Error")
        result = result if isinstance(result, tuple) else (result, 200)
        body = result[0] if isinstance(result[0], bytes) else str(result[0]).encode()
        return self.answer(result[1], body, result[2] if len(result) > 2 else {})

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = handle_any

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


if __name__ == "__main__":
    port = int(os.environ.get("RUNTIME_PORT", "8888"))
    print("listening on", port, flush=True)
    Server(("127.0.0.1", port), Handler).serve_forever()
