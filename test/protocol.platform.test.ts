import { readFileSync } from 'node:fs'
import { connect, headers, type NatsConnection } from 'nats'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { gantry } from './cli/support.ts'
import { createKey } from './support/keys.ts'
import { startTestPlatform, type TestPlatform } from './support/platform.ts'
import { until } from './support/until.ts'

const text = readFileSync(new URL('../docs/PROTOCOL.md', import.meta.url), 'utf8')

/** What the page shows, in its order: messages and commands. */
type Example =
  | { readonly kind: 'request'; readonly subject: string; readonly body: unknown; readonly reply: unknown }
  | { readonly kind: 'command'; readonly words: string }

function examplesOf(page: string): Example[] {
  const blocks = page.matchAll(
    /<!-- request: (\S+) -->\s+```json\n([\s\S]*?)```\s+<!-- reply -->\s+```json\n([\s\S]*?)```|```sh\n([\s\S]*?)```/g,
  )
  return [...blocks].flatMap(([, subject, body, reply, commands]): Example[] =>
    subject === undefined
      ? commands!
          .trim()
          .split(/\n(?=\.\/gantry|nats|export|alias)/)
          .map((words) => ({ kind: 'command', words }))
      : [{ kind: 'request', subject, body: JSON.parse(body!), reply: JSON.parse(reply!) }],
  )
}

const examples = examplesOf(text)
const errorMessage = /<!-- message: error -->\s+```json\n([\s\S]*?)```/.exec(text)![1]!

let platform: TestPlatform
let connection: NatsConnection
let open: () => Promise<NatsConnection>
beforeAll(async () => {
  platform = await startTestPlatform()
  const [, capabilities] = /keys create weather --capabilities '([\s\S]*?)'/.exec(text)!
  const { id, token } = await createKey(platform, JSON.parse(capabilities!))
  open = () => connect({ servers: platform.tcpUrl, token, inboxPrefix: `_INBOX.${id}` })
  connection = await open()
})
afterAll(async () => {
  await connection.close()
  await platform[Symbol.asyncDispose]()
})

async function ask(subject: string, body: string, from = connection): Promise<unknown> {
  const reply = await from.request(subject, body, { timeout: 30_000 })
  return JSON.parse(reply.string(), (name, value: unknown) => (name === 'requestId' ? '…' : value))
}

/** Answers as `nats reply` does, and with the error of the page where the city is none. */
function answer(words: string): void {
  const [, queue, subject, body] = /^nats reply --queue (\S+) (\S+) '(.*)'$/.exec(words)!
  connection.subscribe(subject!, {
    queue: queue!,
    callback: (_, message) => {
      if (!message.string().includes('Atlantis')) return void message.respond(body)
      const head = headers()
      head.set('Nats-Service-Error', 'there is no such city')
      head.set('Nats-Service-Error-Code', '404')
      message.respond(errorMessage, { headers: head })
    },
  })
}

/** The first JSON of the page, with what it says to add. */
function file(): string {
  const first = examples.find((one) => one.kind === 'request')
  return JSON.stringify({ ...(first?.body as object), outlivesConnection: true })
}

async function run(words: string): Promise<void> {
  if (words.startsWith('nats reply')) return answer(words)
  const request = /^nats req (\S+) (?:'(.*)'|< weather\.json)$/.exec(words)
  if (request !== null) {
    const [, subject, body] = request
    // A connection for each command, as it is when it is typed.
    const typed = await open()
    const reply = await ask(subject!, body ?? file(), typed)
    await typed.close()
    // What was taken away by its JSON before is gone.
    const isAgain = subject!.endsWith('.deregister')
    if (isAgain) expect(reply, words).toMatchObject({ code: 'NOT_FOUND' })
    else expect(reply, words).not.toHaveProperty('code')
    return
  }
  if (words.startsWith('./gantry keys') || /^(export|alias)/.test(words)) return
  const args = words.split(' ').slice(1)
  const ran = await gantry(args, { env: { GANTRY_TOKEN: platform.operatorToken } })
  expect(ran, words).toMatchObject({ code: 0, err: '' })
}

test('every example of docs/PROTOCOL.md says what really happens', async () => {
  expect(examples.length).toBeGreaterThan(20)
  for (const example of examples) {
    if (example.kind === 'command') await run(example.words)
    else
      expect(await ask(example.subject, JSON.stringify(example.body)), example.subject).toEqual(example.reply)
    if (example.kind === 'command' && example.words.includes('weather forecast')) await expectErrors()
  }
  await until('the platform has noticed', async () => {
    const { body } = await platform.rest('platform', 'GET', '/api/v1/extensions/all')
    return (body as unknown[]).length === 0
  })
})

/** The error of the page, as a caller over REST gets it. */
async function expectErrors(): Promise<void> {
  const body = { city: 'Atlantis' }
  const answer = await platform.rest('platform', 'POST', '/api/v1/extensions/weather/forecast', { body })
  expect(answer).toMatchObject({ status: 404, body: JSON.parse(errorMessage) })
}
