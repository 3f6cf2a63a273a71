"""smolagentsui: two chats on its server, each with variables of its own, kept in its database."""

import tempfile
from pathlib import Path

import flask_socketio
from scripted_model import ScriptedModel
from smolagents import CodeAgent
from smolagentsUI import server


def ask(client, session, message):
    """Run one task and return what the server sent for it, by event."""
    client.get_received()
    client.emit("start_run", {"session_id": session, "message": message})
    received = {}
    for event in client.get_received():
        received.setdefault(event["name"], []).append(event["args"][0])
    assert "error" not in received, received["error"]
    return received


kept = []
# The server's loop is left out; the client of its own library speaks to the same handlers.
flask_socketio.SocketIO.run = lambda self, app, **_: kept.append((self, app))
agent = CodeAgent([], model=ScriptedModel("count = 41", "final_answer(count + 1)"))
storage = Path(tempfile.mkdtemp()) / "chats.db"
server.serve(agent, storage_path=str(storage), debug=False)
sockets, app = kept[0]
client = sockets.test_client(app)

first = ask(client, "first", "What is the answer?")
assert first["final_answer"][0]["content"] == 42, first
variables = {entry["name"]: entry["preview"] for entry in first["variable_state"][-1]["variables"]}
assert variables["count"] == "41", variables
agent.model.answers = ["own = 7\nfinal_answer(own)"]
second = ask(client, "second", "And in this chat?")
names = {entry["name"] for entry in second["variable_state"][-1]["variables"]}
assert "own" in names, names
assert "count" not in names, names

server.active_agents.clear()  # as after a restart of the server
agent.model.answers = ["final_answer(count + 2)"]
again = ask(client, "first", "And one more?")
assert again["final_answer"][0]["content"] == 43, again
print("two chats with variables of their own; the first restored from its database")
