/** Follows what happens to migrations, and says what it has heard: `GANTRY_TOKEN=… node examples/follower.ts`. */
import { Type } from 'typebox'
import { connect, openStorage } from '../sdk/index.ts'

const follower = await connect({ prefix: 'follower', name: 'Follower', version: '1.0.0' })
const storage = openStorage(follower)
const events: string[] = []
const notes: unknown[] = []

const Migration = Type.Object(
  { migrationId: Type.String({ maxLength: 200 }) },
  { additionalProperties: false },
)
const Note = Type.Object({ text: Type.String({ maxLength: 1_000 }) }, { additionalProperties: false })

follower
  .endpoint({ name: 'heard', summary: 'What was heard so far' }, (_, call) =>
    call.respond({ events: events.slice(-100), notes: notes.slice(-100) }),
  )
  .endpoint(
    { name: 'migration', summary: 'State of a migration', input: Migration, errors: ['NOT_FOUND'] },
    async (input, call) => {
      const { state } = (await call.request('gantry.services.v1.migrations.get', input)) as { state: string }
      call.respond({ state })
    },
  )
  .endpoint(
    { name: 'start', summary: 'Start a migration', input: Migration, errors: ['NOT_FOUND'] },
    async (input, call) => call.respond(await call.request('gantry.services.v1.migrations.start', input)),
  )
  .endpoint({ name: 'note', summary: 'Keep a note', input: Note }, async ({ text }, call) =>
    call.respond({ revision: await storage.put('note', text) }),
  )
await follower.ready()

const stopped = new AbortController()
const { signal } = stopped
const following = [followEvents(), followNotes()]
console.log('follower is registered')
process.once('SIGINT', () => stopped.abort())
process.once('SIGTERM', () => stopped.abort())
await Promise.all(following)
await follower.stop()

async function followEvents(): Promise<void> {
  for await (const { subject } of await follower.follow('gantry.events.v1.migrations.>', { signal }))
    events.push(subject)
}

async function followNotes(): Promise<void> {
  for (let after = 0; !signal.aborted;) {
    try {
      for await (const { value, revision } of storage.watch({ after, signal })) {
        after = revision
        notes.push(value)
      }
    } catch (error) {
      // The platform was away: go on after the last change that was dealt with.
      console.error(`asking for changes again: ${String(error)}`)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
  }
}
