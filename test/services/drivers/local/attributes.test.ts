import { chownSync, chmodSync, closeSync, lstatSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { dress, presentOf, bornWith } from '../../../../services/drivers/local/attributes.ts'
import { applyAttributes } from '../../../../services/drivers/local/folder.ts'
import { readExtended } from '../../../../services/drivers/local/extended.ts'
import { extendedOf, setExtended, whyNoExtended } from '../../../support/extended.ts'
import { createFolder } from '../../../support/migrations.ts'
import { testUnless } from '../../../support/unless.ts'

const nobody = 65_534
const noExtended = whyNoExtended()
const notRoot = process.getuid?.() === 0 ? undefined : 'only root can stop being root'

/** Works as a user who may give nothing away. */
function asNobody(work: () => void): void {
  process.seteuid?.(nobody)
  try {
    work()
  } finally {
    process.seteuid?.(0)
  }
}

/** A file of nobody's in a folder where nobody may write, open. */
function fileOfNobody(folder: string, name: string): number {
  const path = join(folder, name)
  writeFileSync(path, 'bytes')
  chownSync(path, nobody, nobody)
  return openSync(path, 'r+')
}

testUnless(
  notRoot,
  'what may not be given away is lost, with the bits that need it, and tried once for a folder',
  () => {
    using folder = createFolder('data')
    const fd = fileOfNobody(folder.data, 'file')
    const attributes = { modifiedMs: 1_000_000, mode: 0o6755, owner: { uid: 1001, gid: 1001 } }
    asNobody(() => {
      const born = bornWith(fd, attributes)
      expect(dress(fd, attributes, born)).toEqual(['owner', 'mode'])
      expect([...born.refusedOwners]).toEqual(['1001:1001'])
      expect(dress(fd, attributes, born)).toEqual(['owner', 'mode'])
      expect(dress(fd, { ...attributes, mode: 0o640 }, presentOf(fd, attributes))).toEqual(['owner'])
      expect(
        dress(
          fd,
          { ...attributes, owner: { uid: nobody, gid: nobody }, mode: 0o4755 },
          presentOf(fd, attributes),
        ),
      ).toEqual([])
    })
    closeSync(fd)
    expect(lstatSync(join(folder.data, 'file'))).toMatchObject({
      mtimeMs: 1_000_000,
      mode: 0o104755,
      uid: nobody,
    })
  },
)

testUnless(notRoot, 'of a folder of somebody else nothing can be changed, which is no error', () => {
  using folder = createFolder('data')
  for (const path of [folder.root, folder.data]) chmodSync(path, 0o755)
  const attributes = { modifiedMs: 1_000_000, mode: 0o700, owner: { uid: nobody, gid: nobody } }
  asNobody(() =>
    expect(applyAttributes(Buffer.from(folder.data), attributes)).toEqual(['owner', 'mode', 'time']),
  )
  expect(lstatSync(folder.data).mode & 0o7777).toBe(0o755)
})

testUnless(noExtended, 'extended attributes that are not among the given ones go', () => {
  using folder = createFolder('data')
  const path = join(folder.data, 'file')
  writeFileSync(path, 'bytes')
  setExtended(path, { 'user.stays': 'old', 'user.goes': 'x' })
  const fd = openSync(path, 'r+')
  const extended = { all: [{ name: 'user.stays', value: Buffer.from('new') }], isComplete: true }
  expect(dress(fd, { extended }, presentOf(fd, { extended }))).toEqual([])
  expect(extendedOf(path)).toEqual({ 'user.stays': Buffer.from('new').toString('hex') })
  const unknown = { all: [{ name: 'nothing.like.this', value: Buffer.from('x') }], isComplete: true }
  expect(dress(fd, { extended: unknown }, presentOf(fd, { extended }))).toEqual(['attributes'])
  expect(dress(fd, { extended: { all: [], isComplete: false } }, presentOf(fd, {}))).toEqual(['attributes'])
  expect(readExtended(fd)).toEqual({ all: [], isComplete: true })
  closeSync(fd)
})
