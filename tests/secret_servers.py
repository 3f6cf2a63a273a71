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
        body = self.read_body()
        fields = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.command, self.path, fields, body))
        text = json.dumps({"fields": fields, "body": body.decode("latin-1")}).encode()
        form = self.path.partition("?")[0].strip("/")
        answer = getattr(self, f"answer_{form.replace('-', '_')}", self.answer)
        answer(text)

    do_POST = do_HEAD = do_PUT = do_GET

    def answer_closes(self, text: bytes) -> None:
        """Answer, and close a connection that was to be kept."""
        self.answer(text)
        self.close_connection = True

    def answer_user(self, _text: bytes) -> None:
        """Answer as an API does that asks for the token."""
        if self.headers.get("Authorization") not in (f"Bearer {TOKEN}", f"token {TOKEN}"):
            self.send_response(401)
            self.answer_rest(b"")
            return
        self.answer(json.dumps({"login": "octocat", "issues": 3}).encode())

    def answer_fields(self, text: bytes) -> None:
        """Answer with what was sent in the fields and the status line."""
        self.send_response(200, f"OK {TOKEN}")
        self.send_header("X-Echo", self.headers.get("Authorization", ""))
        self.send_header("Set-Cookie", f"token={TOKEN}")
        self.answer_rest(text)

    def answer_gzip(self, text: bytes) -> None:
        """Answer compressed."""
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.answer_rest(gzip.compress(text))

    def answer_gzip_members(self, text: bytes) -> None:
        """Answer with the value in the second of two members, and a byte at a time."""
        packed = gzip.compress(text[:10]) + gzip.compress(text[10:])
        self._answer_chunks([packed[n : n + 1] for n in range(len(packed))], gzip=True)

    def answer_gzip_cut(self, text: bytes) -> None:
        """Answer with a compressed body that ends in the middle."""
        self._answer_chunks([gzip.compress(text)[:-12]], gzip=True)

    def answer_gzip_not(self, text: bytes) -> None:
        """Answer with a plain body that is said to be compressed."""
        self._answer_chunks([text], gzip=True)

    def answer_bomb(self, _text: bytes) -> None:
        """Answer with a small body that is a large one."""
        self._answer_chunks([gzip.compress(b"x" * 50_000_000)], gzip=True)

    def answer_other_coding(self, text: bytes) -> None:
        """Answer in a coding that nobody asked for."""
        self.send_response(200)
        self.send_header("Content-Encoding", "br")
        self.answer_rest(text)

    def answer_chunks(self, text: bytes) -> None:
        """Answer a byte at a time, with the value in a trailer, too."""
        self._answer_chunks([text[n : n + 1] for n in range(len(text))], trailer=True)

    def answer_base64(self, _text: bytes) -> None:
        """Answer with the credentials as they were sent, and with the value in the body."""
        _, _, credentials = self.headers["Authorization"].partition(" ")
        self.answer(credentials.encode() + b" " + base64.b64decode(credentials))

    def _answer_chunks(
        self, parts: list[bytes], *, gzip: bool = False, trailer: bool = False
    ) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        if gzip:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        for part in parts:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.wfile.flush()
        last = f"X-Token: {TOKEN}\r\n".encode() if trailer else b""
        self.wfile.write(b"0\r\n" + last + b"\r\n")
