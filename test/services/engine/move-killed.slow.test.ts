import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { compareTrees, digestOfFile, walkTree } from '../../support/compare-trees.ts'
import { randomBelow, seededRandom } from '../../support/random.ts'
import { makeTree } from '../../support/tree.ts'
import { createMove } from './move-folder.ts'

const script = fileURLToPath(new URL('./moving-process.ts', import.meta.url))
const kills = 5
/** As many more until one leaves something behind, which is mostly the first. */
const maxKills = 20

/** Runs a process that moves, and kills it at its n-th item. */
async function killAt(count: number, args: string[]): Promise<void> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  let items = 0
  for await (const line of createInterface(child.stdout)) {
    if (line === 'item' && ++items === count) child.kill('SIGKILL')
  }
  await exited
}

test(
  'killed at any moment, no file is seen in part; what was left is gone when all is done',
  { timeout: 120_000 },
  async () => {
    await using move = createMove()
    makeTree(move.from, { seed: 5, files: 800, largeBytes: 60_000_000 })
    const random = seededRandom(42)
    let leftovers = 0
    for (let kill = 0; kill < kills || (leftovers === 0 && kill < maxKills); kill++) {
      await killAt(1 + randomBelow(random, 20), [move.spec.id, move.from, move.to])
      leftovers += move.leftovers().length
      for (const { path, stat } of walkTree(move.to)) {
        const name = path.toString('latin1')
        if (!stat.isFile() || name.includes(move.spec.id)) continue
        const [original, copy] = [move.from, move.to].map((root) =>
          Buffer.concat([Buffer.from(`${root}/`), path]),
        )
        const { size } = lstatSync(original!)
        expect(Number(stat.size), name).toBe(size)
        expect(digestOfFile(copy!, size), name).toBe(digestOfFile(original!, size))
      }
    }
    // Without any, this would not show that they are swept.
    expect(leftovers).toBeGreaterThan(0)
    const { failures } = await move.run({ redelivered: true })
    expect(failures).toEqual([])
    expect(move.leftovers()).toEqual([])
    expect(compareTrees(move.from, move.to)).toEqual([])
  },
)
