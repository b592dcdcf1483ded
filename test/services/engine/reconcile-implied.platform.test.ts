import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Mover } from '../../../services/engine/mover.ts'
import { openAzure } from '../../support/azure-driver.ts'
import { createFolder } from '../../support/migrations.ts'
import { liveSpec } from './local-spec.ts'
import { changed, reconcile } from './reconcile-folder.ts'
import { sharedTargets } from './targets.ts'

/** Live migrations from a store whose folders come with the first and go with the last of what is in them. */

const { createContainer } = sharedTargets()
const mover = new Mover({ threads: 1, log: { error: () => undefined } })
afterAll(() => mover.close())

async function createLive() {
  const folder = createFolder('to', 'elsewhere')
  const { spec: source } = await createContainer()
  const driver = openAzure(source.options)
  // The root is a folder that stays.
  await driver.put(Buffer.from('stays'), Buffer.from('x'), {})
  return {
    put: (name: string) => driver.put(Buffer.from(name), Buffer.from('x'), {}),
    to: (name: string) => join(folder.to, name),
    elsewhere: folder.elsewhere,
    apply: (...groups: ReturnType<typeof changed>[]) =>
      reconcile(mover, { ...liveSpec({ from: '', to: folder.to }), source }, groups),
    listed: () => readdirSync(folder.to, { recursive: true, encoding: 'utf8' }).toSorted(),
    [Symbol.asyncDispose]: async () => {
      await driver.close()
      folder[Symbol.dispose]()
    },
  }
}

describe('what has gone from a folder', () => {
  test.each([
    ['its names told', changed('a/b', { names: ['1', '2'] })],
    ['all of it compared', changed('a/b', { scope: 'folder' })],
  ])(
    'that has nothing in it just then goes, %s: the folder may be back before it is missed',
    async (_, change) => {
      await using live = await createLive()
      mkdirSync(live.to('a/b/2'), { recursive: true })
      for (const name of ['a/b/1', 'a/b/2/below', 'a/other']) writeFileSync(live.to(name), 'x')
      const { failures, again, counts } = await live.apply(change)
      expect([failures, again]).toEqual([[], []])
      expect(counts.filesRemoved).toBe(2)
      expect(live.listed()).toEqual(['a', 'a/b', 'a/other'])
    },
  )

  test('that is a file just then goes', async () => {
    await using live = await createLive()
    mkdirSync(live.to('a'))
    writeFileSync(live.to('a/1'), 'x')
    await live.put('a')
    await live.apply(changed('a', { names: ['1'] }))
    expect(live.listed()).toEqual(['a'])
  })

  test('stays where a link of the migration leads elsewhere', async () => {
    await using live = await createLive()
    writeFileSync(join(live.elsewhere, '1'), 'x')
    symlinkSync(live.elsewhere, live.to('a'))
    for (const scope of ['names', 'folder'] as const) await live.apply(changed('a', { names: ['1'], scope }))
    expect(readdirSync(live.elsewhere)).toEqual(['1'])
  })

  test('and is back by now stays', async () => {
    await using live = await createLive()
    await live.put('a/2')
    mkdirSync(live.to('a'))
    for (const name of ['1', '2']) writeFileSync(live.to(`a/${name}`), 'x')
    await live.apply(changed('a', { names: ['1', '2'] }))
    expect(live.listed()).toEqual(['a', 'a/2'])
  })
})
