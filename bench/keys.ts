/**
 * Folders of many keys, listed, and compared with themselves: time and memory against a tenth as many. The buckets are doubles,
 * which have listings alone. `node bench/keys.ts [keys] [part of a name …]`, such as `10000000 "list of s3a"`;
 * 1,000,000 without a number.
 */
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { listingDoubles } from '../test/support/listing-doubles.ts'
import { listenOnLoopback } from '../test/support/loopback.ts'
import { type Figure, print } from './figures.ts'

const run = promisify(execFile)
const child = fileURLToPath(new URL('keys-child.ts', import.meta.url))

interface Taken {
  readonly seconds: number
  readonly highestMb: number
}

/** In a process of its own, whose memory is that of the work alone. */
async function take(kind: 's3a' | 'gcs', what: 'list' | 'compare', keys: number): Promise<Taken> {
  const { answer, spec } = listingDoubles(keys)[kind]
  await using double = await listenOnLoopback(createServer(answer))
  const store = JSON.stringify(spec(`http://127.0.0.1:${double.port}`))
  const { stdout } = await run(process.execPath, [child, what, store])
  const { keys: found, ...taken } = JSON.parse(stdout) as Taken & { keys: number }
  if (found !== keys) throw new Error(`${what} of ${kind} found ${found} keys of ${keys}`)
  return taken
}

/**
 * @param keys of the larger folder
 * @param wanted parts of what is to be measured; all without any
 */
export async function benchKeys(keys = 1_000_000, wanted: readonly string[] = []): Promise<void> {
  const figures: Figure[] = []
  for (const kind of ['s3a', 'gcs'] as const)
    for (const what of ['list', 'compare'] as const) {
      const name = `${what} of ${kind}`
      if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue
      const few = await take(kind, what, keys / 10)
      const many = await take(kind, what, keys)
      figures.push({
        name: `${name}: highest resident memory of the process`,
        value: `${many.highestMb.toFixed(0)} MB`,
        aim: 'bounded',
        details: `${few.highestMb.toFixed(0)} MB for a tenth; ${many.seconds.toFixed(1)} and ${few.seconds.toFixed(1)} s, ${((many.seconds * 1e6) / keys).toFixed(1)} µs a key`,
      })
    }
  print(`A folder of ${keys.toLocaleString('en')} keys`, figures)
}

if (import.meta.main) {
  const [keys, ...wanted] = process.argv.slice(2)
  await benchKeys(Number(keys ?? 1_000_000), wanted)
}
