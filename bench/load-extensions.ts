/**
 * Many extensions with many endpoints each, in a process of their own. Prints how long it took until all of them were
 * registered, in milliseconds; ends with its parent.
 */
import { connect, type Extension } from '../sdk/index.ts'

/** Registrations under way at once. */
const atOnce = 32

const { servers, tokens, count, endpoints } = JSON.parse(process.argv[2]!) as {
  servers: string
  tokens: string[]
  count: number
  endpoints: number
}

const input = {
  type: 'object',
  properties: { n: { type: 'integer', description: 'Comes back' } },
  additionalProperties: false,
} as const

async function start(index: number): Promise<Extension> {
  const extension = await connect({
    prefix: `load${index}`,
    version: '1.0.0',
    token: tokens[index % tokens.length]!,
    servers,
  })
  for (let number = 0; number < endpoints; number++)
    extension.endpoint({ name: `echo${number}`, summary: 'What it was asked', input }, (asked, call) =>
      call.respond(asked),
    )
  await extension.ready()
  return extension
}

process.stdin.once('end', () => process.exit(0)).resume()
const started = performance.now()
for (let first = 0; first < count; first += atOnce) {
  const some = Array.from({ length: Math.min(atOnce, count - first) }, (_, index) => start(first + index))
  await Promise.all(some)
}
process.stdout.write(`${Math.round(performance.now() - started)}\n`)
