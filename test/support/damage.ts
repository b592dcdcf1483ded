import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestBroker } from './broker.ts'
import { randomBelow } from './random.ts'
import { until } from './until.ts'

/** Ends a broker by kill -9, so that nothing of its store is put in order. */
export async function crash(broker: Pick<TestBroker, 'server'> & AsyncDisposable): Promise<void> {
  process.kill(await until('nats-server runs', () => broker.server.pid()), 'SIGKILL')
  await broker[Symbol.asyncDispose]()
}

/** The files with the messages of a stream, the oldest first. */
export function blocksOf(storeDir: string, stream: string): string[] {
  const names = readdirSync(storeDir, { recursive: true, encoding: 'utf8' })
  const place = new RegExp(`/streams/${stream}/msgs/(\\d+)\\.blk$`)
  return names
    .flatMap((name) => {
      const number = place.exec(name)?.[1]
      return number === undefined ? [] : [{ path: join(storeDir, name), number: Number(number) }]
    })
    .toSorted((one, other) => one.number - other.number)
    .map(({ path }) => path)
}

/** The records in a file of messages: where each begins, its length, and its subject. */
export function recordsIn(path: string): { at: number; length: number; subject: string }[] {
  const block = readFileSync(path)
  const records: { at: number; length: number; subject: string }[] = []
  for (let at = 0, length = 0; at < block.length; at += length) {
    length = block.readUInt32LE(at) & 0x7fffffff
    const subject = block.toString('utf8', at + 22, at + 22 + block.readUInt16LE(at + 20))
    records.push({ at, length, subject })
  }
  return records
}

/** Turns over the lowest bit of one byte. */
export function flipAt(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes[at] = bytes[at]! ^ 1
  writeFileSync(path, bytes)
}

/** Turns one bit of a file over. @param share how far from its beginning, from 0 to 1 */
export function flipBit(path: string, share: number, bit = 0): void {
  const bytes = readFileSync(path)
  const at = Math.min(bytes.length - 1, Math.floor(bytes.length * share))
  bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
  writeFileSync(path, bytes)
}

/** Takes the last bytes of a file away. */
export function cutTail(path: string, bytes: number): void {
  truncateSync(path, Math.max(0, statSync(path).size - bytes))
}

/** One of both, at a random place; what was done, in words. */
export function damageAtRandom(path: string, random: () => number): string {
  const isCut = randomBelow(random, 3) === 0
  const place = random()
  if (isCut) cutTail(path, Math.floor(statSync(path).size * place))
  else flipBit(path, place, randomBelow(random, 8))
  return `${isCut ? 'cut' : 'flipped'} at ${Math.round(100 * place)} % of ${path}`
}
