"""A server of HTTPS that asks for a token, and shows what it was sent in every form."""

from __future__ import annotations

import base64
import gzip
import json

from web_servers import Handler

#: Value of the tests' secret.
TOKEN = "ghp_R4nd0mV4lu3ThatN0b0dyG3ts99"
#: Value of a second secret.
OTHER = "sk-0therV4lu3OfAnotherH0st1234"


class SecretHandler(Handler):
    """Answers with what it was sent, in the form that the path names.

    ``server.seen`` is a list for method, path, fields and body of each request.
    """

    def do_GET(self) -> None:
        """Answer in the form that the path names; otherwise with fields and body as JSON."""
        self.server.requests.append(self.requestline)
        size = int(self.headers.get("Content-Length") or 0)
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while length := int(self.rfile.readline(), 16):
                body += self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(size)
        fields = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.command, self.path, fields, body))
        text = json.dumps({"fields": fields, "body": body.decode("latin-1")}).encode()
        form = self.path.partition("?")[0].strip("/")
        answer = getattr(self, f"answer_{form.replace('-', '_')}", self.answer_plain)
        answer(text)

    do_POST = do_HEAD = do_PUT = do_GET

    def answer_plain(self, text: bytes) -> None:
        """Answer with a body of known length."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def answer_closes(self, text: bytes) -> None:
        """Answer, and close a connection that was to be kept."""
        self.answer_plain(text)
        self.close_connection = True

    def answer_user(self, _text: bytes) -> None:
        """Answer as an API does that asks for the token."""
        if self.headers.get("Authorization") not in (f"Bearer {TOKEN}", f"token {TOKEN}"):
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.answer_plain(json.dumps({"login": "octocat", "issues": 3}).encode())

    def answer_fields(self, text: bytes) -> None:
        """Answer with what was sent in the fields and the status line."""
        self.send_response(200, f"OK {TOKEN}")
        self.send_header("X-Echo", self.headers.get("Authorization", ""))
        self.send_header("Set-Cookie", f"token={TOKEN}")
        self.answer_rest(text)

    def answer_rest(self, text: bytes) -> None:
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def answer_coding(self, text: bytes) -> None:
        """Answer in a coding that nobody asked for."""
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.answer_rest(gzip.compress(text))

    def answer_chunks(self, text: bytes) -> None:
        """Answer a byte at a time, with the value in a trailer, too."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(len(text)):
            self.wfile.write(b"1\r\n%b\r\n" % text[number : number + 1])
            self.wfile.flush()
        self.wfile.write(f"0\r\nX-Token: {TOKEN}\r\n\r\n".encode())

    def answer_base64(self, _text: bytes) -> None:
        """Answer with the credentials as they were sent, and with the value in the body."""
        _, _, credentials = self.headers["Authorization"].partition(" ")
        self.answer_plain(credentials.encode() + b" " + base64.b64decode(credentials))
