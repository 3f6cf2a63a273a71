"""A web service whose agents run their code in containers of a pool, one container a request.

Run it with ``uvicorn app:app``; see docs/recipes/service.md.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from smolagents import CodeAgent, OpenAIModel
from smolagents.monitoring import LogLevel

from smolagents_fork import DockerExecutor, DockerPool
from smolagents_fork.errors import ExecutorStartError

IMPORTS = ["numpy", "pandas", "matplotlib", "PIL"]
MODEL = "gpt-4.1-mini"


class Question(BaseModel):
    """A question, and the text of files that it is about, by name."""

    text: str
    files: dict[str, str] = {}


@asynccontextmanager
async def lifespan(service: FastAPI) -> AsyncIterator[None]:
    """Keep a pool of ready containers while the service runs."""
    DockerExecutor.setup(IMPORTS)
    with DockerPool(
        min_size=1,
        max_size=int(os.environ.get("POOL_SIZE", "2")),
        acquire_timeout_seconds=float(os.environ.get("POOL_SECONDS", "20")),
        additional_imports=IMPORTS,
        memory="512m",
        cpus=0.5,
    ) as pool:
        service.state.pool = pool
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/ask")
def ask(question: Question) -> dict[str, Any]:
    """Answer a question in a container that no other request has used or will use."""
    try:
        agent = CodeAgent(
            tools=[],
            model=OpenAIModel(MODEL),
            executor_class=DockerExecutor,
            executor_kwargs={"pool": app.state.pool, "timeout_seconds": 30},
            additional_authorized_imports=IMPORTS,
            max_steps=6,
            verbosity_level=LogLevel.ERROR,
        )
    except ExecutorStartError as error:  # all containers are in use, or the engine is gone
        raise HTTPException(503, str(error), {"Retry-After": "5"}) from error
    with agent:
        for name, text in question.files.items():
            agent.python_executor.put_file(text.encode(), name)
        return {"answer": str(agent.run(question.text))}


@app.get("/stats")
def stats() -> dict[str, Any]:
    """Give the pool's figures, for a health check or a dashboard."""
    return asdict(app.state.pool.stats())
