import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createBounds } from '../../../../services/drivers/contract/bounds.ts'
import { isSameFolder, requireShareable, seenFolder, shareOf } from '../../../../services/drivers/index.ts'
import { createFolder } from '../../../support/migrations.ts'

const own = (path: string) => ({ name: 'the configuration folder', path, fix: 'move it' })

describe.each(['100%', 'a%20b', '%2e%2e', 'line\nbreak', 'bell\u0007'])('a folder %j', (name) => {
  const made = () => {
    const folder = createFolder('root')
    const path = join(folder.root, name)
    mkdirSync(path)
    return { path, [Symbol.dispose]: () => folder[Symbol.dispose]() }
  }

  test('of Gantry itself is not shared under its text', () => {
    using folder = made()
    const bounds = createBounds([own(folder.path)])
    expect(() => requireShareable(shareOf(folder.path), bounds)).toThrow(
      expect.objectContaining({ code: 'NOT_ACCEPTED' }) as Error,
    )
  })

  test('that is allowed is shared, and no other for it', () => {
    using folder = made()
    const share = shareOf(folder.path)
    const bounds = createBounds([], { roots: [share], hosts: undefined })
    expect(() => requireShareable(share, bounds)).not.toThrow()
    expect(() => requireShareable(shareOf(join(folder.path, '..')), bounds)).toThrow(
      expect.objectContaining({ code: 'NOT_ACCEPTED' }) as Error,
    )
  })

  test('is seen, and known again', () => {
    using folder = made()
    writeFileSync(join(folder.path, 'entry'), 'x')
    const { path, witness } = seenFolder(shareOf(folder.path), createBounds([]))
    expect(path).toBe(shareOf(folder.path))
    expect(witness.entries.map((entry) => entry.name)).toEqual(['entry'])
    expect(isSameFolder(path, witness)).toBe(true)
    renameSync(folder.path, `${folder.path} before`)
    mkdirSync(folder.path)
    expect(isSameFolder(path, witness)).toBe(false)
  })
})
