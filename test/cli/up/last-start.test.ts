import { mkdirSync, mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isElsewhere, lastStart, noteStart, startCommand } from '../../../cli/up/last-start.ts'

test('a note of the last start that is damaged counts as none', () => {
  using home = mkdtempDisposableSync(join(tmpdir(), 'gantry-home-'))
  mkdirSync(join(home.path, 'run'))
  const start = { broker: 'nats://127.0.0.1:5222', flags: ['--port-offset', '1000'] }
  noteStart(home.path, start)
  expect(lastStart(home.path)).toEqual(start)
  for (const text of ['', '{"broker":"nats://127', '{}', 'null', '[]', '{"broker":1,"flags":[]}']) {
    writeFileSync(join(home.path, 'run', 'last-start.json'), text)
    expect(lastStart(home.path), text).toBeUndefined()
    expect(isElsewhere(home.path, start.broker), text).toBe(false)
    expect(startCommand(home.path, start.broker), text).toBe('gantry up')
  }
})
