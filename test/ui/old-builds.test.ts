import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { removeOldBuilds } from '../../ui/build/old-builds.ts'

test('the two builds that were used last stay, and what is no build', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-builds-'))
  for (const [age, name] of ['d', 'b', 'a', 'c', 'work.1'].entries()) {
    mkdirSync(join(folder, name))
    const then = new Date(Date.now() - age * 60_000)
    utimesSync(join(folder, name), then, then)
  }
  removeOldBuilds(folder, (name) => /^[a-z]$/.test(name))
  expect(readdirSync(folder).toSorted()).toEqual(['b', 'd', 'work.1'])
  rmSync(folder, { recursive: true })
})
