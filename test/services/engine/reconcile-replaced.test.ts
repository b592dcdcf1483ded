import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Mover, type MoveSpec } from '../../../services/engine/mover.ts'
import { extendedOf, setExtended, whyNoExtended } from '../../support/extended.ts'
import { createFolder } from '../../support/migrations.ts'
import { testUnless } from '../../support/unless.ts'
import { until } from '../../support/until.ts'
import { drive } from './drive.ts'
import { liveSpec } from './local-spec.ts'
import { changed, reconcile } from './reconcile-folder.ts'

const mover = new Mover({ threads: 2, log: { error: () => undefined } })
afterAll(() => mover.close())

/** As archives and builds that are to be the same each time set it. */
const fixedTime = new Date('1980-01-01T00:00:00Z')

/** A migration that has copied these files, all of one size and time, a while ago. */
async function copied(files: Record<string, string>, options: Partial<MoveSpec> = {}) {
  const folder = createFolder('from', 'to')
  const spec = liveSpec(folder, options)
  const from = (path: string) => join(folder.from, path)
  const write = (path: string, content: string) => {
    mkdirSync(join(from(path), '..'), { recursive: true })
    writeFileSync(from(path), content)
    utimesSync(from(path), fixedTime, fixedTime)
  }
  for (const [path, content] of Object.entries(files)) write(path, content)
  await drive(mover, spec)
  const probe = join(folder.root, 'probe')
  const clock = () => {
    writeFileSync(probe, '')
    return lstatSync(probe).ctimeMs
  }
  // What follows is a change of its own to the file system's clock, too.
  const copiedMs = clock()
  await until('time goes on', () => clock() > copiedMs + 20)
  return {
    from,
    write,
    apply: (...groups: ReturnType<typeof changed>[]) => reconcile(mover, spec, groups),
    arrived: (path: string) => readFileSync(join(folder.to, path), 'utf8'),
    to: (path: string) => join(folder.to, path),
    [Symbol.dispose]: folder[Symbol.dispose],
  }
}

const everything = changed('', { scope: 'tree' })

describe('content of the same size and time', () => {
  test('of a file that another one was renamed to arrives, told or found', async () => {
    for (const group of [changed('', { names: ['a'] }), everything]) {
      using move = await copied({ a: 'one', b: 'two' })
      renameSync(move.from('b'), move.from('a'))
      await move.apply(group)
      expect(move.arrived('a')).toBe('two')
    }
  })

  test('of a file that was written to in its place, and given its time back, arrives, told or found', async () => {
    for (const group of [changed('', { names: ['a'] }), everything]) {
      using move = await copied({ a: 'one' })
      move.write('a', 'two')
      await move.apply(group)
      expect(move.arrived('a')).toBe('two')
    }
  })

  test('of a folder that another one was renamed to arrives, with all that is below it', async () => {
    using move = await copied({
      'app/VERSION': '1.2.3',
      'app/lib/x': 'one',
      'new/VERSION': '1.2.4',
      'new/lib/x': 'two',
    })
    renameSync(move.from('app'), move.from('old'))
    renameSync(move.from('new'), move.from('app'))
    await move.apply(changed('', { trees: ['app', 'old', 'new'] }))
    expect([move.arrived('app/VERSION'), move.arrived('app/lib/x')]).toEqual(['1.2.4', 'two'])
    expect([move.arrived('old/VERSION'), move.arrived('old/lib/x')]).toEqual(['1.2.3', 'one'])
  })
})

test('a file with another mode alone is not copied, and is not read again by each comparison', async () => {
  using move = await copied({ a: 'one' })
  const { ino } = lstatSync(move.to('a'))
  chmodSync(move.from('a'), 0o640)
  const told = await move.apply(changed('', { names: ['a'] }))
  expect(told.counts).toMatchObject({ filesMigrated: 0 })
  expect(lstatSync(move.to('a'))).toMatchObject({ ino, mode: 0o100640 })
  const settled = lstatSync(move.to('a')).ctimeMs
  await move.apply(everything)
  expect(lstatSync(move.to('a')).ctimeMs).toBe(settled)
})

testUnless(
  whyNoExtended(),
  'extended attributes that nobody was told of arrive with a comparison',
  async () => {
    using move = await copied({ 'd/a': 'one' }, { metadata: { modes: true, owners: true, attributes: true } })
    for (const path of ['d', 'd/a']) setExtended(move.from(path), { 'user.set': 'late' })
    await move.apply(everything)
    for (const path of ['d', 'd/a'])
      expect(extendedOf(move.to(path))).toMatchObject({ 'user.set': Buffer.from('late').toString('hex') })
  },
)
