import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keys } from '../../../subjects/access/keys.ts'
import { roles } from '../../../subjects/access/roles.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { bandwidth } from '../../../subjects/migrations/bandwidth.ts'
import { exclusions } from '../../../subjects/rules/exclusions.ts'
import { pathMappings } from '../../../subjects/rules/path-mappings.ts'
import { issueInside } from '../../support/keys.ts'
import { createFolder } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { gantry } from '../support.ts'

let platform: TestPlatform
let folder: ReturnType<typeof createFolder<'from' | 'to' | 'files'>>
beforeAll(async () => {
  platform = await startTestPlatform()
  folder = createFolder('from', 'to', 'files')
  for (const name of ['from/c', 'from/metadata', 'to/metadata']) mkdirSync(join(folder.root, name))
})
afterAll(async () => {
  folder[Symbol.dispose]()
  await platform[Symbol.asyncDispose]()
})

const operator = (args: string[], env: NodeJS.ProcessEnv = {}, stdin = '') =>
  gantry(args, { env: { GANTRY_HOME: platform.home, ...env }, cwd: folder.files, stdin })

const all = () => `kind: settings
spec: { sessionHours: 11, roleLimits: { admin: { maxKeys: 4000 } } }
---
kind: filesystem-local
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
kind: migration
spec:
  migrationId: always
  path: /c
  source: here
  target: there
  recurringMigration: true
  recurringPeriod: 1D
  autoStart: true
---
kind: bandwidth-limit
spec: { scope: global, limit: 1536, unit: MiB }
---
kind: bandwidth-limit
spec:
  scope: migration
  name: nightly
  limit: -1
  requests: 100
  schedule:
    timeZone: Europe/Berlin
    windows: [{ days: [MON, FRI], from: '08:00', to: '18:00', limitBytesPerSecond: 1048576 }]
---
kind: catalog-filesystem
spec: { catalogId: lake, fileSystemId: here, rootFolder: /metadata }
---
kind: catalog-filesystem
spec: { catalogId: copy, fileSystemId: there, rootFolder: /metadata }
---
kind: catalog-azure
spec:
  catalogId: kept
  dbServerName: metastore.database.example
  databaseName: hive
  storageAccount: lake
  containerName: data
  databaseUser: gantry
  databasePassword: '\${KEPT_PASSWORD}'
---
kind: metadata-rule
spec: { ruleName: sales, databasePattern: sales, tablePattern: '*' }
---
kind: metadata-migration
spec: { migrationName: tables, source: lake, target: copy, ruleNames: [sales], maxDrops: 7 }
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
  expiresInDays: 90
  capabilities: { pub: { allow: [gantry.services.v1.migrations.list] }, sub: { allow: [] } }
---
kind: alert-rule
spec: { name: storage-memory-full, kind: storage-memory, threshold: 50 }
---
kind: webhook
spec: { name: pager, url: 'https://pager.example/hook', secret: '\${PAGER_SECRET}' }
`

const secrets = {
  KEPT_PASSWORD: 'a password',
  PAGER_SECRET: `whsec_${Buffer.from('a secret that is long enough').toString('base64')}`,
}
interface Action {
  kind: string
  name: string
  action: string
  token?: string
  differences: string[]
  error?: string
}
const actions = (out: string) => JSON.parse(out) as Action[]
/** Of each kind how often something else was done than this. */
const others = (out: string, than: string) =>
  actions(out).flatMap(({ kind, name, action }) => (action === than ? [] : [[kind, name, action]]))
const alwaysThere = [
  ['settings', '', 'changed'],
  ['bandwidth-limit', 'global', 'changed'],
]
const secretsAreGiven = [
  ['catalog-azure', 'kept', 'secretsSent'],
  ['webhook', 'pager', 'secretsSent'],
]

test('all kinds: a dry run changes nothing, apply makes all, a second one nothing', async () => {
  writeFileSync(join(folder.files, 'all.yaml'), all())
  const dry = await operator(['apply', '-f', 'all.yaml', '--dry-run', '-o', 'json'], secrets)
  expect(dry.err).toBe('')
  expect(others(dry.out, 'created')).toEqual(alwaysThere)
  expect(await platform.call(migrations.list, {})).toEqual([])
  const first = await operator(['apply', '-f', 'all.yaml', '-o', 'json'], secrets)
  expect(first.err).toBe('')
  expect(others(first.out, 'created')).toEqual(alwaysThere)
  const token = actions(first.out).find(({ name }) => name === 'dashboard')?.token
  expect(await platform.call(keys.examine, { token: token! })).toMatchObject({ valid: true })
  const second = await operator(['apply', '-f', 'all.yaml', '-o', 'json'], secrets)
  expect(second.err).toBe('')
  expect(others(second.out, 'unchanged')).toEqual(secretsAreGiven)
})

test('what is exported is what is there: applied again it changes nothing, and has no secrets', async () => {
  const { out, code } = await operator(['export'])
  expect(code).toBe(0)
  expect(out).not.toContain('whsec_')
  expect(out).toMatch(/# Secret fields, not exported: secret, url\n+kind: webhook\n/)
  expect(out).toContain('expiresInDays: 90\n')
  const again = await operator(['apply', '-f', '-', '-o', 'json'], {}, out)
  expect(again.err).toBe('')
  const kindsOf = (text: string) => new Set([...text.matchAll(/^kind: (\S+)$/gm)].map(([, kind]) => kind))
  expect(kindsOf(out)).toEqual(kindsOf(all()))
  expect(others(again.out, 'unchanged')).toEqual([])
})

test('what is exported makes the same elsewhere', async () => {
  await using other = await startTestPlatform()
  const elsewhere = (args: string[], stdin = '') => gantry(args, { env: { GANTRY_HOME: other.home }, stdin })
  const { out } = await operator(['export'])
  const withSecrets = out
    .replace('kind: catalog-azure\nspec:', '$&\n  databasePassword: a password')
    .replace('kind: webhook\nspec:', "$&\n  url: 'https://pager.example/hook'")
  const made = await elsewhere(['apply', '-f', '-', '-o', 'json'], withSecrets)
  expect(made.err).toBe('')
  expect((await elsewhere(['export'])).out).toBe(out)
  const { state } = await other.call(migrations.get, { migrationId: 'always' })
  expect(state).not.toBe('NONSCHEDULED')
})

test('a secret that the file has is sent, whether or not anything else has changed', async () => {
  const secret = {
    ...secrets,
    PAGER_SECRET: `whsec_${Buffer.from('another one that is long').toString('base64')}`,
  }
  const { out, err } = await operator(['apply', '-f', '-'], secret, all())
  expect(err).toBe('')
  expect(out).toMatch(/webhook +pager +secrets sent +secret: sent, as secrets cannot be compared/)
  const withHost = all().replace('metastore.database.example', 'other.database.example')
  const changed = await operator(['apply', '-f', '-', '-o', 'json'], secrets, withHost)
  expect(changed.err).toBe('')
  expect((await platform.call(metadataCatalogs.get, { catalogId: 'kept' })).properties).toMatchObject({
    dbServerName: 'other.database.example',
  })
  await operator(['apply', '-f', '-'], secrets, all())
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
  expect(others(again.out, 'unchanged')).toEqual(secretsAreGiven)
})

test('rules of a migration are attached and detached, in any order', async () => {
  const text = (rules: string) => all().replace('exclusions: [no-temporary-files]', `exclusions: [${rules}]`)
  const excluded = async () => {
    const { userDefinedExclusions } = await platform.call(migrations.get, { migrationId: 'nightly' })
    return userDefinedExclusions.map(({ id }) => id).toSorted()
  }
  const dry = await operator(['apply', '-f', '-', '--dry-run'], secrets, text('large'))
  expect(dry.out).toMatch(/migration +nightly +would be changed .*exclusions: no-temporary-files → large/)
  expect(await excluded()).toEqual(['no-temporary-files'])
  for (const [rules, action] of [
    ['large', 'changed'],
    ['no-temporary-files, large', 'changed'],
    ['large, no-temporary-files', 'unchanged'],
    ['', 'changed'],
    ['no-temporary-files', 'changed'],
  ] as const) {
    const { err, out } = await operator(['apply', '-f', '-', '-o', 'json'], secrets, text(rules))
    expect(err).toBe('')
    expect(actions(out), rules).toContainEqual(expect.objectContaining({ name: 'nightly', action }))
    expect((await excluded()).join(', '), rules).toBe(rules.split(', ').toSorted().join(', '))
  }
})

test('the expiry of a key is compared, and cannot be changed', async () => {
  for (const days of [30, 91]) {
    const text = all().replace('expiresInDays: 90', `expiresInDays: ${days}`)
    const { err, code } = await operator(['apply', '-f', '-'], secrets, text)
    expect(code).toBe(2)
    expect(err).toContain(
      'key dashboard: expiresInDays cannot be changed: revoke the object, then apply the file again',
    )
  }
  const unsaid = all().replace('  expiresInDays: 90\n', '')
  const { out, err } = await operator(['apply', '-f', '-', '-o', 'json'], secrets, unsaid)
  expect(err).toBe('')
  expect(actions(out)).toContainEqual(expect.objectContaining({ name: 'dashboard', action: 'unchanged' }))
})

test('a key that ends with the one that made it is as it was asked for', async () => {
  const text = 'kind: key\nspec: { name: short, role: viewer, expiresInDays: 90 }\n'
  const { token } = await platform.call(keys.create, {
    name: 'maker',
    capabilities: { pub: { allow: ['gantry.>', '$SRV.>'] }, sub: { allow: ['gantry.>'] } },
    expiresInDays: 10,
  })
  const maker = { ...secrets, GANTRY_TOKEN: token }
  const made = await operator(['apply', '-f', '-', '-o', 'json'], maker, text)
  expect(actions(made.out)).toMatchObject([{ name: 'short', action: 'created' }])
  const again = await operator(['apply', '-f', '-', '-o', 'json'], maker, text)
  expect([again.err, actions(again.out)]).toMatchObject(['', [{ name: 'short', action: 'unchanged' }]])
})

test('a key with the name of a role loses what the role has lost; what the role has beside that is told', async () => {
  const verb = (name: string) => `gantry.services.v1.migrations.${name}`
  const role = (...verbs: string[]) =>
    `kind: role\nspec: { name: lookers, description: look, pub: { allow: [${verbs.map(verb).join(', ')}] }, sub: { allow: [] }, visible_extensions: [] }\n`
  const key = 'kind: key\nspec: { name: looking, role: lookers }\n'
  const run = async (text: string, ...more: string[]) => {
    const { out, err } = await operator(['apply', '-f', '-', '-o', 'json', ...more], secrets, text)
    expect(err).toBe('')
    return actions(out).at(-1)!
  }
  const allowed = async () =>
    (await platform.call(keys.list, {})).find(({ name }) => name === 'looking')?.capabilities.pub.allow
  expect(await run(`${role('list', 'get')}---\n${key}`)).toMatchObject({ action: 'created' })
  expect(await run(key)).toMatchObject({ action: 'unchanged', differences: [] })
  // A dry run knows what the role will be.
  const narrowed = `${role('get')}---\n${key}`
  expect(await run(narrowed, '--dry-run')).toMatchObject({
    action: 'changed',
    differences: [expect.stringContaining(`capabilities: pub.allow=${verb('list')}, ${verb('get')}`)],
  })
  expect(await allowed()).toEqual([verb('list'), verb('get')])
  expect(await run(narrowed)).toMatchObject({ action: 'changed' })
  expect(await allowed()).toEqual([verb('get')])
  expect(await run(key)).toMatchObject({ action: 'unchanged', differences: [] })
  const gained =
    'role: lookers allows more than this key, and a key cannot gain permissions; for all of them, revoke the key, then apply the file again'
  expect(await run(`${role('get', 'states')}---\n${key}`)).toMatchObject({
    action: 'unchanged',
    differences: [gained],
  })
  expect(await run(`${role('states')}---\n${key}`)).toMatchObject({
    action: 'changed',
    differences: [expect.stringMatching(/^capabilities: .* → none$/), gained],
  })
  expect(await allowed()).toEqual([])
  await platform.call(roles.delete, { name: 'lookers' })
  expect(await run(key)).toMatchObject({
    action: 'unchanged',
    differences: ['role: not compared, as there is no role lookers'],
  })
})

test('the key of another user that has the same name stays what it is', async () => {
  const name = 'of two users'
  const { key } = await issueInside(platform, { name, owner: 'ada', createdBy: 'k0123456789abc' })
  const text = `kind: key\nspec: { name: ${name}, capabilities: { pub: { allow: [] }, sub: { allow: [] } } }\n`
  const { out } = await operator(['apply', '-f', '-', '-o', 'json'], {}, text)
  expect(actions(out)).toMatchObject([{ action: 'created' }])
  const kept = await platform.call(keys.get, { id: key.id })
  expect(kept.capabilities).toEqual(key.capabilities)
  expect((await operator(['export'])).out.split(`name: ${name}`)).toHaveLength(2)
})

test('a key whose caller may not list roles is not compared with its role, which is told', async () => {
  const { token } = await platform.call(keys.create, {
    name: 'without-roles',
    capabilities: { pub: { allow: ['gantry.services.v1.keys.*'] }, sub: { allow: [] } },
  })
  const maker = { ...secrets, GANTRY_TOKEN: token }
  await platform.call(roles.put, {
    ...{ name: 'self-lookers', description: 'look at keys', visible_extensions: [] },
    ...{ pub: { allow: ['gantry.services.v1.keys.list'] }, sub: { allow: [] } },
  })
  const text = 'kind: key\nspec: { name: own-keys, role: self-lookers }\n'
  const made = await operator(['apply', '-f', '-', '-o', 'json'], maker, text)
  expect([made.err, actions(made.out)]).toMatchObject(['', [{ action: 'created' }]])
  const again = await operator(['apply', '-f', '-', '-o', 'json'], maker, text)
  expect([again.err, actions(again.out)]).toMatchObject([
    '',
    [{ action: 'unchanged', differences: ['role: not compared, as your key may not list roles'] }],
  ])
})

test('limits on bandwidth are compared whatever their unit, and changed', async () => {
  const text = (limit: string) => `kind: bandwidth-limit\nspec: { scope: global, ${limit} }\n`
  const same = await operator(['apply', '-f', '-', '-o', 'json'], {}, text('limit: 1610612736, unit: B'))
  expect(actions(same.out)).toMatchObject([{ name: 'global', action: 'unchanged' }])
  const other = await operator(['apply', '-f', '-'], {}, text('limit: 3, unit: GiB'))
  expect(other.out).toMatch(/limitBytesPerSecond: 1\.5 GiB\/s → 3(?:\.0)? GiB\/s/)
  expect(await platform.call(bandwidth.get, { scope: 'global' })).toMatchObject({
    limitBytesPerSecond: 3 * 2 ** 30,
  })
  const limit = (windows: string) =>
    `kind: bandwidth-limit\nspec: { scope: migration, name: nightly, schedule: { timeZone: UTC, windows: [${windows}] } }\n`
  const emptied = await operator(['apply', '-f', '-'], {}, limit(''))
  expect(emptied.out).toMatch(/schedule: .* → none/)
  const again = await operator(['apply', '-f', '-', '-o', 'json'], {}, limit(''))
  expect(actions(again.out)).toMatchObject([{ action: 'unchanged' }])
  await operator(['apply', '-f', '-'], secrets, all())
  const nobody = await operator(
    ['apply', '-f', '-'],
    {},
    'kind: bandwidth-limit\nspec: { scope: migration, limit: 1, unit: MiB }',
  )
  expect(nobody.err).toContain('bandwidth-limit migration: input: name is required: which migration is meant')
})

test('a migration is exported with all of its rules, also where a list has no room for them', async () => {
  const migrationId = 'z-with-rules'
  // Nearly as many, and as long, as there can be.
  const ids = Array.from({ length: 990 }, (_, index) => `long-${index}`)
  const description = 'a'.repeat(1_000)
  for (const half of [ids.slice(0, 500), ids.slice(500)]) {
    const rules = half.map(
      (id) => ({ id, type: 'regex', regex: id, description, deletedWith: migrationId }) as const,
    )
    await platform.call(exclusions['create-many'], { rules })
  }
  mkdirSync(join(folder.from, 'd'))
  await platform.call(migrations.create, {
    ...{ migrationId, path: '/d', source: 'here', target: 'there', scanOnlyMigration: true },
    exclusions: ids,
  })
  const [listed] = await platform.call(migrations.list, { migrationIds: [migrationId] })
  expect(listed!.userDefinedExclusions).toEqual([])
  const { out } = await operator(['export'])
  const exported = out.split('---\n').find((one) => one.includes(`migrationId: ${migrationId}\n`))
  expect(exported!.match(/- long-\d+/g)).toHaveLength(ids.length)
  await platform.call(migrations.delete, { migrationId })
})

test('what nothing changes is made again where it is not in use; what fails keeps nothing else from being done', async () => {
  const text = all()
    .replace("'*.tmp'", "'*.bak'")
    .replace('value: 100', 'value: 200')
    .replace('targetPath: /b', 'targetPath: /d')
    .replace('path: /c', 'path: /')
    .replace('threshold: 50', 'threshold: 60')
  const dry = await operator(['apply', '-f', '-', '--dry-run'], secrets, text)
  expect(dry.out).toMatch(/exclusion-file-size +large +would be replaced/)
  expect(dry.out).toMatch(/exclusion-regex +no-temporary-files +would fail/)
  expect(dry.err).toMatch(
    /exclusion-regex no-temporary-files: regex cannot be changed: no-temporary-files is in use by migration nightly: detach it first with "gantry exclusions detach nightly no-temporary-files", or/,
  )
  const { err, out, code } = await operator(['apply', '-f', '-', '-o', 'json'], secrets, text)
  expect(code).toBe(1)
  const message = (JSON.parse(err) as { message: string }).message
  expect(message).toMatch(
    /^2 of \d+ objects failed: stdin:\d+: exclusion-regex no-temporary-files: regex cannot be changed: no-temporary-files is in use by migration nightly: detach it first with "gantry exclusions detach nightly no-temporary-files", or give the object in the file another name; stdin:\d+: migration always: path cannot be changed: delete the object, then apply the file again$/,
  )
  expect(actions(out).filter(({ action }) => action === 'failed')).toMatchObject([
    { name: 'no-temporary-files', error: expect.stringContaining('is in use') },
    { name: 'always' },
  ])
  expect(others(out, 'unchanged').filter(([, , action]) => action !== 'failed')).toEqual(
    expect.arrayContaining([
      ['exclusion-file-size', 'large', 'replaced'],
      ['path-mapping', 'moved', 'replaced'],
      ['alert-rule', 'storage-memory-full', 'changed'],
    ]),
  )
  expect(await platform.call(exclusions.get, { id: 'large' })).toMatchObject({ maxBytes: 200e9 })
  expect(await platform.call(pathMappings.get, { pathMappingId: 'moved' })).toMatchObject({
    targetPath: '/d',
  })
  const wrong = await operator(
    ['apply', '-f', '-'],
    {},
    'kind: exclusion-regex\nspec: { id: no-use, regex: a }',
  )
  expect(wrong.code).toBe(0)
  const bad = await operator(
    ['apply', '-f', '-'],
    {},
    "kind: exclusion-regex\nspec: { id: no-use, regex: '(' }",
  )
  expect(bad.code).toBe(2)
  expect(await platform.call(exclusions.get, { id: 'no-use' })).toMatchObject({ regex: 'a' })
})

test.for([
  ['kind: filesystem-local\nspec:\n  fileSystemId: x\n  role: neither\n', /stdin:4:9: spec\.role must be/],
  ['kind: filesystem-local\nspec:\n  role: source\n', /stdin:3:3: spec\.fileSystemId is required/],
  ['kind: filesystem\nspec: {}\n', /stdin:1:7: kind must be one of settings, filesystem-local, /],
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
