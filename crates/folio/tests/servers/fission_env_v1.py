"""An environment server of Fission's first contract: the code lies at a fixed place, and the order has no body."""

import http.server
import os
import runpy


class Handler(http.server.BaseHTTPRequestHandler):
    function = None

    def do_POST(self):
        known = self.path == "/specialize"
        if known:
            Handler.function = staticmethod(runpy.run_path("/userfunc/user")["main"])
        self.send_response(200 if known else 404)
        self.end_headers()

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(Handler.function().encode() if Handler.function else b"generic")


if __name__ == "__main__":
    address = ("127.0.0.1", int(os.environ["PORT"]))
    http.server.HTTPServer(address, Handler).serve_forever()
