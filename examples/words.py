"""An extension in Python, with nothing but nats-py: `GANTRY_TOKEN=… python examples/words.py`.

It counts the words of a text, and records how many it has counted for whom. What it sends is in docs/PROTOCOL.md.
"""

import asyncio
import base64
import json
import os
import secrets
import signal

import nats

PREFIX = "words"
INSTANCE = f"words-{os.getpid()}"
REGISTRATION = {
    "prefix": PREFIX,
    "name": "Words",
    "version": "1.0.0",
    "instance": INSTANCE,
    "endpoints": [
        {
            "name": "count",
            "summary": "Counts the words of a text",
            "input": {
                "type": "object",
                "properties": {"text": {"type": "string", "maxLength": 10_000}, "owner": {"type": "string"}},
                "required": ["text"],
                "additionalProperties": False,
            },
            "output": {"type": "object", "properties": {"words": {"type": "integer"}}, "required": ["words"]},
            "errors": ["NOT_FOUND"],
        }
    ],
}


class Refused(Exception):
    """An answer that is an error, as its header says."""

    def __init__(self, body):
        super().__init__(body["message"])
        self.code = body["code"]


async def main():
    token = os.environ["GANTRY_TOKEN"]
    _, location, key_id, _ = token.split(".")
    servers = json.loads(base64.urlsafe_b64decode(location + "=="))["n"]

    async def ask(service, verb, body):
        # The client's own reply subjects can be guessed.
        inbox = f"_INBOX.{key_id}.{secrets.token_hex(16)}"
        replies = await connection.subscribe(inbox)
        try:
            subject = f"gantry.services.v1.{service}.{verb}"
            await connection.publish(subject, json.dumps(body).encode(), reply=inbox)
            reply = await replies.next_msg(timeout=6)
        finally:
            await replies.unsubscribe()
        if reply.headers and reply.headers.get("Status") == "503":
            raise ConnectionError(f"nobody answers {subject}")
        answer = json.loads(reply.data)
        if reply.headers and "Nats-Service-Error-Code" in reply.headers:
            raise Refused(answer)
        return answer

    async def register():
        return await ask("extensions", "register", REGISTRATION)

    async def again():
        try:
            await register()
        except Exception as error:
            print(f"not registered again: {error}", flush=True)

    connection = await nats.connect(
        servers,
        token=token,
        inbox_prefix=f"_INBOX.{key_id}".encode(),
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.5,
        reconnected_cb=again,
    )

    async def count(message):
        if not message.reply.startswith("_INBOX."):
            return
        call = json.loads(message.data or b"{}")
        words = len(call["text"].split())
        if words == 0:
            error = {"code": "NOT_FOUND", "message": "there are no words"}
            headers = {"Nats-Service-Error": error["message"], "Nats-Service-Error-Code": "404"}
            return await connection.publish(message.reply, json.dumps(error).encode(), headers=headers)
        used = {"prefix": PREFIX, "dimension": "words", "quantity": words}
        await ask("usage", "record", used | ({"owner": call["owner"]} if "owner" in call else {}))
        await message.respond(json.dumps({"words": words}).encode())

    await connection.subscribe(f"gantry.extensions.{PREFIX}.count", queue="gantry", cb=count)
    heartbeat_seconds = (await register())["heartbeatEveryMs"] / 1000
    print("words is registered", flush=True)

    stopped = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    me = {"prefix": PREFIX, "instance": INSTANCE}
    while not stopped.is_set():
        try:
            await asyncio.wait_for(stopped.wait(), heartbeat_seconds)
        except asyncio.TimeoutError:
            try:
                await ask("extensions", "heartbeat", me)
            except Refused as error:
                if error.code == "NOT_FOUND":
                    await again()
            except Exception as error:
                print(f"no heartbeat: {error}", flush=True)
    await ask("extensions", "deregister", me)
    await connection.drain()


asyncio.run(main())
