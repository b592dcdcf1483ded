import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { blocksOf, damageAtRandom } from '../support/damage.ts'
import { oneOf, randomBelow } from '../support/random.ts'

/**
 * Flips a bit somewhere in a file of a stream, or cuts its end off: what a failing disk does, or one that lost power. Three
 * of four times it is a block of messages, else any file of the stream, such as its index or how far consumers are.
 * Returns what was done, in words.
 */
export function damageStream(storeDir: string, stream: string, random: () => number): string {
  const all = readdirSync(storeDir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.split('/').includes(stream))
    .map((name) => join(storeDir, name))
    .filter((path) => statSync(path).isFile() && statSync(path).size > 0)
    .toSorted()
  const blocks = blocksOf(storeDir, stream).filter((path) => all.includes(path))
  const isBlock = randomBelow(random, 4) > 0 && blocks.length > 0
  return damageAtRandom(oneOf(random, isBlock ? blocks : all), random)
}
