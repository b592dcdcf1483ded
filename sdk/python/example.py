"""Follows what happens to migrations, and says what it has heard: `GANTRY_TOKEN=… python example.py`."""

import asyncio

import gantry_platform

MIGRATION = {
    "type": "object",
    "properties": {"migrationId": {"type": "string", "maxLength": 200}},
    "required": ["migrationId"],
    "additionalProperties": False,
}
NOTE = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 1_000}},
    "required": ["text"],
    "additionalProperties": False,
}


async def main():
    async with await gantry_platform.connect("follower", "1.0.0", name="Follower") as follower:
        events, notes = [], []

        @follower.endpoint("heard", summary="What was heard so far")
        async def heard(input, call):
            return {"events": events[-100:], "notes": notes[-100:]}

        @follower.endpoint("migration", summary="State of a migration", input=MIGRATION, errors=["NOT_FOUND"])
        async def migration(input, call):
            found = await call.call("gantry.services.v1.migrations.get", input)
            return {"state": found["state"]}

        @follower.endpoint("start", summary="Start a migration", input=MIGRATION, errors=["NOT_FOUND"])
        async def start(input, call):
            return await call.call("gantry.services.v1.migrations.start", input)

        @follower.endpoint("note", summary="Keep a note", input=NOTE)
        async def note(input, call):
            return {"revision": await follower.put("note", input["text"])}

        async def follow_events():
            async for event in await follower.follow("gantry.events.v1.migrations.>"):
                events.append(event.subject)

        async def follow_notes():
            after = 0
            while True:
                try:
                    async for change in follower.watch(after):
                        after = change.revision
                        notes.append(change.value)
                except gantry_platform.GantryError as error:
                    # The platform was away: go on after the last change that was dealt with.
                    print(f"asking for changes again: {error}", flush=True)
                    await asyncio.sleep(1)

        await follower.ready()
        following = [asyncio.create_task(work()) for work in (follow_events, follow_notes)]
        print("follower is registered", flush=True)
        await follower.run()
        for work in following:
            work.cancel()


asyncio.run(main())
