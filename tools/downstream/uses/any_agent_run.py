"""any-agent: its agent on smolagents answers, with a chat completion service as its model."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from any_agent import AgentConfig, AnyAgent

CALL = {"name": "final_answer", "arguments": json.dumps({"answer": "forty-two"})}


class Chat(BaseHTTPRequestHandler):
    """Service that answers each request with a call of ``final_answer``."""

    def do_POST(self) -> None:
        """Answer one request."""
        self.rfile.read(int(self.headers["Content-Length"]))
        calls = [{"id": "call-1", "type": "function", "function": CALL}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted"}
        text = json.dumps({**body, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


with ThreadingHTTPServer(("127.0.0.1", 0), Chat) as service:
    threading.Thread(target=service.serve_forever, daemon=True).start()
    config = AgentConfig(
        model_id="openai:scripted",
        api_base=f"http://127.0.0.1:{service.server_address[1]}/v1",
        api_key="none",
    )
    trace = AnyAgent.create("smolagents", config).run("What is the answer?")
    service.shutdown()
assert "forty-two" in str(trace.final_output), trace.final_output
print(f"an answer, and a trace of {len(trace.spans)} spans")
