import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keys } from '../../../subjects/access/keys.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { createFolder } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { gantry } from '../support.ts'

let platform: TestPlatform
let folder: ReturnType<typeof createFolder<'from' | 'to' | 'files'>>
beforeAll(async () => {
  platform = await startTestPlatform()
  folder = createFolder('from', 'to', 'files')
})
afterAll(async () => {
  folder[Symbol.dispose]()
  await platform[Symbol.asyncDispose]()
})

const operator = (args: string[], env: NodeJS.ProcessEnv = {}, stdin = '') =>
  gantry(args, { env: { GANTRY_HOME: platform.home, ...env }, cwd: folder.files, stdin })

const all = () => `kind: filesystem-local
spec: { fileSystemId: here, role: source, fsRoot: '${folder.from}', scanOnly: true, otherProperties: { team: data } }
---
kind: filesystem-local
spec: { fileSystemId: there, role: target, fsRoot: '${folder.to}' }
---
kind: exclusion-regex
spec: { id: no-temporary-files, patternType: GLOB, regex: '*.tmp' }
---
kind: exclusion-file-size
spec: { id: large, value: 100, unit: GB, description: too large }
---
kind: exclusion-date
spec: { id: old, beforeIsoDateTime: '2020-01-01T00:00:00Z' }
---
kind: exclusion-age
spec: { id: new, timeValue: 2, timeUnit: Days }
---
kind: inclusion-paths
spec: { id: some, paths: [/a, /b] }
---
kind: path-mapping
spec:
  pathMappingId: moved
  sourceFileSystem: here
  sourcePath: /a
  targetFileSystem: there
  targetPath: /b
---
kind: migration
spec:
  migrationId: nightly
  path: /
  source: here
  target: there
  recurringMigration: true
  recurringPeriod: 4H
  migrationPriority: HIGH
  exclusions: [no-temporary-files]
---
kind: role
spec:
  name: readers
  description: may read
  pub: { allow: [gantry.services.v1.migrations.list] }
  sub: { allow: [] }
  visible_extensions: []
---
kind: assignment
spec: { group: staff, roles: [readers] }
---
kind: key
spec:
  name: dashboard
  capabilities: { pub: { allow: [gantry.services.v1.migrations.list] }, sub: { allow: [] } }
---
kind: alert-rule
spec: { name: storage-memory-full, kind: storage-memory, threshold: 50 }
---
kind: webhook
spec: { name: pager, url: 'https://pager.example/hook', secret: '\${PAGER_SECRET}' }
`

const secrets = { PAGER_SECRET: `whsec_${Buffer.from('a secret that is long enough').toString('base64')}` }
const actions = (out: string) =>
  JSON.parse(out) as { name: string; action: string; token?: string; differences: string[] }[]

test('all kinds: a dry run changes nothing, apply makes all, a second one nothing', async () => {
  writeFileSync(join(folder.files, 'all.yaml'), all())
  const dry = await operator(['apply', '-f', 'all.yaml', '--dry-run', '-o', 'json'], secrets)
  expect(dry.err).toBe('')
  expect(actions(dry.out).map(({ action }) => action)).toEqual(Array(14).fill('created'))
  expect(await platform.call(migrations.list, {})).toEqual([])
  const first = await operator(['apply', '-f', 'all.yaml', '-o', 'json'], secrets)
  expect(first.err).toBe('')
  expect(actions(first.out).map(({ action }) => action)).toEqual(Array(14).fill('created'))
  const token = actions(first.out).find(({ name }) => name === 'dashboard')?.token
  expect(await platform.call(keys.examine, { token: token! })).toMatchObject({ valid: true })
  const second = await operator(['apply', '-f', 'all.yaml', '-o', 'json'], secrets)
  expect(second.err).toBe('')
  expect(actions(second.out).filter(({ action }) => action !== 'unchanged')).toEqual([])
})

test('what is exported is what is there: applied again it changes nothing, and has no secrets', async () => {
  const { out, code } = await operator(['export'])
  expect(code).toBe(0)
  expect(out).not.toContain('whsec_')
  expect(out).toMatch(/# Secret fields, not exported: secret, url\n+kind: webhook\n/)
  const again = await operator(['apply', '-f', '-', '-o', 'json'], {}, out)
  expect(again.err).toBe('')
  expect(actions(again.out).length).toBeGreaterThan(14)
  expect(actions(again.out).filter(({ action }) => action !== 'unchanged')).toEqual([])
})

test('what differs is changed, and shown before', async () => {
  const text = all()
    .replace('4H', '6H')
    .replace('may read', 'may look')
    .replace('team: data', 'team: lake')
    .replace('scanOnly: true', 'scanOnly: true, reportedChanges: true')
  const dry = await operator(['apply', '-f', '-', '--dry-run'], secrets, text)
  expect(dry.out).toMatch(/migration +nightly +would be changed +recurringPeriod: 14400 → 6H/)
  expect(dry.out).toMatch(/role +readers +would be changed +description: may read → may look/)
  const done = await operator(['apply', '-f', '-', '-o', 'json'], secrets, text)
  expect(done.err).toBe('')
  expect(await platform.call(migrations.get, { migrationId: 'nightly' })).toMatchObject({
    recurringPeriodSeconds: 21_600,
  })
  const [here] = await platform.call(filesystems.list, {})
  expect(here?.properties).toMatchObject({ team: 'lake', reportedChanges: 'true' })
  const again = await operator(['apply', '-f', '-', '-o', 'json'], secrets, text)
  expect(actions(again.out).filter(({ action }) => action !== 'unchanged')).toEqual([])
  const { err, code } = await operator(['apply', '-f', '-'], secrets, text.replace("'*.tmp'", "'*.bak'"))
  expect(code).toBe(2)
  expect(err).toMatch(
    /^error: stdin:7: exclusion-regex no-temporary-files: regex cannot be changed: delete the object/,
  )
})

test.for([
  ['kind: filesystem-local\nspec:\n  fileSystemId: x\n  role: neither\n', /stdin:4:9: spec\.role must be/],
  ['kind: filesystem-local\nspec:\n  role: source\n', /stdin:3:3: spec\.fileSystemId is required/],
  ['kind: filesystem\nspec: {}\n', /stdin:1:7: kind must be one of filesystem-local, /],
  ['kind: role\nspec: {\n', /stdin:3:1: /],
  ['kind: role\nname: x\nspec: {}\n', /stdin:2:7: unknown field name; a document has only kind and spec/],
  [
    'kind: webhook\nspec:\n  name: x\n  url: https://x.example\n  secret: ${NOT_SET}\n',
    /stdin:5:11: spec\.secret uses NOT_SET, which is not set/,
  ],
  [
    'kind: key\nspec:\n  name: k\n  capabilities:\n    pub: { allow: ["a b"] }\n    sub: { allow: [] }\n',
    /stdin:5:20: spec\.capabilities\.pub\.allow\[0\] must/,
  ],
] as const)('%j: the error has line, column and field', async ([text, message]) => {
  const { err, code } = await operator(['apply', '-f', '-'], {}, text)
  expect(err).toMatch(message)
  expect(code).toBe(2)
})
