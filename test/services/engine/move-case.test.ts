import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { mountFolding, whyNoFolding } from '../../support/mounts.ts'
import { testUnless } from '../../support/unless.ts'
import { sharedMoves } from './move-folder.ts'

const createMove = sharedMoves()
const noFolding = whyNoFolding()

/** Names of a folder that differ by case, written in one order and in the other. */
const pairs = [
  ['Name', 'name'],
  ['b.TXT', 'B.txt'],
] as const

testUnless(
  noFolding,
  'where the target takes names that differ by case for one, the second is a failure, and the first stays as it is',
  async () => {
    using mount = mountFolding()
    await using move = createMove({ target: { kind: 'local', options: { fsRoot: mount.path } } })
    for (const name of pairs.flat()) writeFileSync(join(move.from, name), `content of ${name}`)
    for (const name of ['Folder', 'folder']) {
      mkdirSync(join(move.from, name))
      writeFileSync(join(move.from, name, 'inside'), `inside ${name}`)
    }
    writeFileSync(join(move.from, 'other'), 'x')
    const { failures, counts } = await move.run()
    expect(failures.map(({ failure }) => failure)).toEqual(['collision', 'collision', 'collision'])
    const failed = failures.map(({ path }) => path.slice(1))
    expect(failures[0]?.message).toMatch(/^target: .*only by case/)
    expect(counts.filesMigrated).toBe(4)
    const names = readdirSync(mount.path).toSorted()
    expect([...names, ...failed].toSorted()).toEqual(
      [...pairs.flat(), 'Folder', 'folder', 'other'].toSorted(),
    )
    for (const name of names.filter((one) => pairs.flat().includes(one as 'Name')))
      expect(readFileSync(join(mount.path, name), 'utf8')).toBe(`content of ${name}`)
    const folder = names.find((name) => name.toLowerCase() === 'folder')!
    expect(readFileSync(join(mount.path, folder, 'inside'), 'utf8')).toBe(`inside ${folder}`)
    // Once more: what is there is replaced under its own name, and by nothing else.
    const again = await move.run()
    expect(again.failures.map(({ path }) => path.slice(1)).toSorted()).toEqual(failed.toSorted())
    expect(readdirSync(mount.path).toSorted()).toEqual(names)
  },
)

testUnless(
  noFolding,
  'what is named otherwise is neither seen, nor removed, nor given anything',
  async () => {
    using mount = mountFolding()
    const driver = new LocalDriver({ fsRoot: mount.path }, true)
    const [own, other] = [Buffer.from('Kept'), Buffer.from('kept')]
    await driver.put(own, Buffer.from('kept'), {})
    expect(await driver.stat(other)).toBeUndefined()
    expect(await driver.version(other)).toBeUndefined()
    expect(await driver.remove(other)).toBe(false)
    for (const refused of [
      driver.put(other, Buffer.from('lost'), {}),
      driver.makeFolder(other, {}),
      driver.beginUpload(other, { sizeBytes: 1, tag: 'test', attributes: {} }),
    ])
      await expect(refused).rejects.toMatchObject({ failure: 'collision' })
    await expect(driver.setAttributes(other, { modifiedMs: 0 })).rejects.toMatchObject({ failure: 'gone' })
    expect(readFileSync(join(mount.path, 'Kept'), 'utf8')).toBe('kept')
    // It is free once the other one is gone, by whomever.
    rmSync(join(mount.path, 'Kept'))
    await driver.put(other, Buffer.from('new'), {})
    expect(readdirSync(mount.path)).toEqual(['kept'])
    await driver.close()
  },
)

testUnless(noFolding, 'changes of a folder that another program serves are not told, and why', async () => {
  using mount = mountFolding()
  const driver = new LocalDriver({ fsRoot: mount.path })
  expect(await driver.changes.feed(Buffer.alloc(0))).toEqual({
    refusal: 'the source is on FUSE, which does not tell of all changes',
  })
  await driver.close()
})
