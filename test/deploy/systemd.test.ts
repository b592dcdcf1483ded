import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect } from 'vitest'
import { testUnless } from '../support/unless.ts'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const folder = mkdtempSync(join(tmpdir(), 'gantry-unit-'))
afterAll(() => rmSync(folder, { recursive: true }))

const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' })
const why = analyze('--version').status === 0 ? undefined : 'there is no systemd-analyze'
/** systemd 250 and newer judge a file. */
const version = Number(/systemd (\d+)/.exec(analyze('--version').stdout ?? '')?.[1] ?? 0)

/** In tenths: what has no user of its own, or may write everywhere, has more. */
const mostExposed = 25

testUnless(why, 'systemd understands the unit, and finds it well confined', () => {
  const unit = join(folder, 'gantry.service')
  const text = readFileSync(join(root, 'deploy/systemd/gantry.service'), 'utf8')
  expect(text).toContain('/opt/gantry/')
  // Programs must be where the unit says.
  writeFileSync(unit, text.replaceAll('/opt/gantry', root))
  expect(analyze('verify', '--man=no', unit)).toMatchObject({ status: 0, stderr: '' })
  if (version < 250) return
  const judged = analyze('security', '--offline=true', `--threshold=${mostExposed}`, unit)
  expect(judged.stdout).toContain('Overall exposure level')
  expect(judged.status).toBe(0)
})
