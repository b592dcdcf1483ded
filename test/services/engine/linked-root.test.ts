import { chmodSync, existsSync, lstatSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import type { Findings } from '../../../services/engine/walk/findings.ts'
import { encodeFolder } from '../../../services/engine/walk/walk-folder.ts'
import { walkAll, type WalkOptions } from '../../../services/engine/walk/walk-all.ts'
import { Planned, planAll } from '../../../services/migrations/removals/plan-walk.ts'
import { compareAll, differences } from './compare-folder.ts'
import { localSpec } from './local-spec.ts'
import { sharedMoves } from './move-folder.ts'

const moved = sharedMoves()
const { signal } = new AbortController()
const root = Buffer.alloc(0)

type Move = ReturnType<typeof moved>

/** The migration's specification where one of its roots is a symbolic link to the folder. */
function specOf(move: Move, linked: 'source' | 'target') {
  const link = move.at('link')
  symlinkSync(linked === 'source' ? 'from' : 'to', link)
  return localSpec(linked === 'source' ? { from: link, to: move.to } : { from: move.from, to: link })
}

async function walked(move: Move, step: WalkOptions['step']) {
  const found: Pick<Findings, 'counts'>[] = []
  const take: WalkOptions['take'] = async (findings) => {
    found.push(findings)
  }
  const start = [encodeFolder({ path: root, side: 'unknown' })]
  await walkAll({ start, atOnce: 1, spillFolder: move.at('spill'), step, take, signal })
  return (name: string) => found.reduce((sum, { counts }) => sum + (counts[name] ?? 0), 0)
}

describe.each(['source', 'target'] as const)('a root of the %s that is a link to a folder', (linked) => {
  test('is planned as the folder is', async () => {
    await using move = moved()
    writeFileSync(join(move.from, 'file'), 'file')
    const planned = new Planned()
    const by = { as: 'match' } as const
    const spec = specOf(move, linked)
    await planAll(move.mover, spec, { by, planned, spillFolder: move.at('spill'), signal })
    expect(planned.samples).toEqual([{ action: 'COPY', path: '/file' }])
  })

  test('is verified as the folder is', async () => {
    await using move = moved()
    writeFileSync(join(move.from, 'file'), 'file')
    const spec = specOf(move, linked)
    await move.run({}, spec)
    expect(differences(await compareAll(move.mover, spec, { level: 'metadata' }))).toEqual([])
  })

  test('is matched as the folder is', async () => {
    await using move = moved()
    writeFileSync(join(move.from, 'file'), 'file')
    writeFileSync(join(move.to, 'only'), 'here')
    const spec = specOf(move, linked)
    const count = await walked(move, (folders, take, stop) => move.mover.match(spec, {}, folders, take, stop))
    expect(count('filesDeleted')).toBe(1)
    expect(existsSync(join(move.to, 'only'))).toBe(false)
  })

  test('is cleaned up as the folder is', async () => {
    await using move = moved()
    writeFileSync(join(move.from, 'file'), 'file')
    const spec = specOf(move, linked)
    await move.run({}, spec)
    const count = await walked(move, (folders, take, stop) =>
      move.mover.clean(spec, 'files', folders, take, stop),
    )
    expect(count('filesRemoved')).toBe(1)
    expect(existsSync(join(move.from, 'file'))).toBe(false)
    expect(lstatSync(move.at('link')).isSymbolicLink()).toBe(true)
  })
})

test('the attributes of a root that is a link are those of the folder, and one that leads nowhere is not there', async () => {
  await using move = moved()
  chmodSync(move.from, 0o751)
  symlinkSync('from', move.at('link'))
  symlinkSync('nowhere', move.at('dangling'))
  const driver = new LocalDriver({ fsRoot: move.at('link') })
  expect(await driver.stat(root)).toMatchObject({ type: 'folder', mode: 0o751 })
  expect(await driver.attributesOf(root)).toMatchObject({ mode: 0o751 })
  expect(await new LocalDriver({ fsRoot: move.at('dangling') }).stat(root)).toBeUndefined()
})
