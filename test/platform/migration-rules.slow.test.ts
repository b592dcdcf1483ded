import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Output } from '../../subjects/kit/contract.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { inclusions } from '../../subjects/rules/inclusions.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { pathMappings } from '../../subjects/rules/path-mappings.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { settings } from '../../subjects/access/settings.ts'
import { textFromPath } from '../../services/drivers/paths/path-text.ts'
import { walkTree } from '../support/compare-trees.ts'
import { addLocal, createFolder, migrate, nextEvent, outcomeOf } from '../support/migrations.ts'
import { temporaryName } from '../../services/drivers/paths/temporary-names.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

const folder = createFolder('from', 'to', 'mapped', 'deep', 'own')
let platform: TestPlatform
beforeAll(async () => {
  for (const name of ['a/1.csv', 'a/2.tmp', 'a/b/3.csv', 'c/4.bin', '.snapshot/a/1.csv']) {
    mkdirSync(join(folder.from, dirname(name)), { recursive: true })
    writeFileSync(join(folder.from, name), name)
  }
  platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'deep', 'source', folder.deep)
  await addLocal(platform, 'to', 'target', folder.to)
  await addLocal(platform, 'mapped', 'target', folder.mapped)
  await addLocal(platform, 'own', 'target', folder.own)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const migrator = (method: string, path: string, body?: unknown) =>
  platform.rest('migrator', method, path, body === undefined ? {} : { body })
const filesIn = (root: string): string[] =>
  [...walkTree(root)]
    .filter(({ stat }) => stat.isFile())
    .map(({ path }) => textFromPath(path))
    .toSorted()
const ofKind = ['default-local-snapshots', 'default-local-trash']
const defaults = ['default-unfinished-files', ...ofKind]
const idsOf = (body: unknown): string[] => (body as { id: string }[]).map(({ id }) => id)

test('the existing product’s calls make, list, show and delete exclusions', async () => {
  const regex = await migrator(
    'PUT',
    '/exclusions/regex/temporary?description=none&patternType=GLOB&regex=*.tmp',
  )
  expect(regex).toMatchObject({
    status: 201,
    body: {
      id: 'temporary',
      type: 'RegexExclusion',
      patternType: 'GLOB',
      regex: '*.tmp',
      fsRestriction: false,
    },
  })
  expect((await migrator('PUT', '/exclusions/regex/temporary?description=again&regex=x')).status).toBe(409)
  const size = await migrator('PUT', '/exclusions/fileSize/large?description=none&value=2&unit=GB')
  expect(size.body).toMatchObject({ type: 'FileSizeExclusion', maxBytes: 2e9, maxBytesFormatted: '2 GB' })
  const date = await migrator(
    'PUT',
    '/exclusions/date/old?description=none&beforeIsoDateTime=2001-09-09T03:46:40%2B02:00',
  )
  expect(date.body).toMatchObject({ type: 'DateExclusion', beforeDateEpochMillis: 1e12 })
  const age = await migrator('PUT', '/exclusions/age/young?timeValue=2&timeUnit=Hours')
  expect(age.body).toMatchObject({ type: 'AgeExclusion', timeValue: 2, timeUnit: 'Hours' })
  const paths = await migrator('PUT', '/exclusions/paths/list', { paths: ['/c/', '/%63', '/x%20y'] })
  expect(paths.body).toMatchObject({ type: 'PathListExclusion', pathCount: 2, paths: ['/c', '/x y'] })
  expect((await migrator('GET', '/exclusions/temporary')).body).toEqual(regex.body)
  expect(idsOf((await migrator('GET', '/exclusions/userDefined')).body)).toEqual([
    'large',
    'list',
    'old',
    'temporary',
    'young',
  ])
  expect((await migrator('GET', '/exclusions/global')).body).toMatchObject([
    {
      id: 'default-unfinished-files',
      globalExclusion: true,
      sourceFsExclusion: false,
      defaultExclusion: true,
    },
  ])
  expect(idsOf((await migrator('GET', '/exclusions/source/local')).body)).toEqual(ofKind)
  const { body: refused } = await migrator('GET', '/exclusions/target/adls2')
  expect(refused).toContainEqual(
    expect.objectContaining({ fsRestriction: true, id: 'restriction-adls2-names' }),
  )
  expect((await migrator('GET', '/exclusions/target/tape')).status).toBe(400)
  expect(idsOf((await migrator('GET', '/exclusions')).body).length).toBeGreaterThan(6)
  expect((await migrator('DELETE', '/exclusions/young')).status).toBe(200)
  expect((await migrator('DELETE', '/exclusions/young')).status).toBe(404)
  expect((await migrator('DELETE', '/exclusions/default-local-snapshots')).status).toBe(403)
})

test('what is no rule is refused by its field, and of many none is made', async () => {
  const lookahead = await migrator('PUT', '/exclusions/regex/bad?regex=a(%3F%3Db)')
  expect(lookahead).toMatchObject({ status: 409, body: { details: [{ field: 'regex' }] } })
  expect((lookahead.body as { message: string }).message).toContain('lookahead, (?=…)')
  const many = (rules: unknown[]) => migrator('POST', '/exclusions', { rules })
  const fine = { id: 'fine', type: 'regex', patternType: 'GLOB', regex: '*.x' }
  expect(await many([fine, { id: 'bad', type: 'regex', regex: '(' }])).toMatchObject({
    status: 409,
    body: { details: [{ field: 'rules[1].regex' }] },
  })
  expect((await many([fine, { ...fine, id: 'temporary' }])).status).toBe(409)
  expect((await migrator('GET', '/exclusions/fine')).status).toBe(404)
  const ids = Array.from({ length: 700 }, (_, index) => `many ${index}`)
  const made = await many(ids.map((id) => ({ ...fine, id })))
  expect(made.status).toBe(201)
  expect(idsOf(made.body)).toEqual(ids)
})

test('rules of a migration: given when it is made, and later; default ones can be taken away', async () => {
  await platform.call(inclusions['create-paths'], { id: 'only these', paths: ['/a', '/.snapshot'] })
  const query = 'path=/&source=from&target=to&exclusions=temporary&inclusions=only%20these'
  const created = await migrator('PUT', `/migrations/ruled?${query}`)
  expect(created.status).toBe(201)
  const { exclusions: all, userDefinedExclusions, ...record } = created.body as Output<typeof migrations.get>
  expect(idsOf(all)).toEqual(['temporary', ...defaults])
  expect(idsOf(userDefinedExclusions)).toEqual(['temporary'])
  expect(record).toMatchObject({
    inclusions: [{ id: 'only these', type: 'PathListInclusion', pathCount: 2 }],
  })

  const decisionOf = async (path: string, query = '') => {
    const { body } = await migrator('GET', `/migrations/ruled/exclusions/test?path=${path}${query}`)
    const { decision, explanation, exclusion } = body as Output<typeof exclusions.test>
    return { decision, explanation, by: exclusion?.id }
  }
  expect(await decisionOf('/a/x.tmp')).toMatchObject({ decision: 'EXCLUDED', by: 'temporary' })
  expect(await decisionOf('/.snapshot/a/1')).toEqual({
    decision: 'EXCLUDED',
    by: 'default-local-snapshots',
    explanation: 'the exclusion default-local-snapshots matches the folder /.snapshot',
  })
  expect(await decisionOf('/.gantry-trash/first/file')).toMatchObject({ by: 'default-local-trash' })
  expect((await decisionOf('/a/.gantry-trash')).by).toBeUndefined()
  const unfinished = temporaryName('other').toString()
  expect(await decisionOf(`/a/${unfinished}/part-1`)).toMatchObject({ by: 'default-unfinished-files' })
  expect((await decisionOf('/a/.gantry')).by).toBeUndefined()
  expect(await decisionOf('/c/4.bin')).toMatchObject({ decision: 'NOT_INCLUDED' })
  expect(await decisionOf('/a/1.csv', '&size=3000000000')).toMatchObject({ decision: 'MIGRATED' })
  expect(await decisionOf('/a/pipe', '&type=other')).toMatchObject({ decision: 'REFUSED' })

  expect((await migrator('PUT', '/migrations/ruled/exclusions/large')).status).toBe(200)
  expect((await migrator('PUT', '/migrations/ruled/exclusions/large')).status).toBe(409)
  expect((await migrator('PUT', '/migrations/ruled/exclusions/nothing')).status).toBe(404)
  expect(await decisionOf('/a/1.csv', '&size=3000000000')).toMatchObject({
    decision: 'EXCLUDED',
    by: 'large',
  })
  // It is looked at, where it is; and what is not there has no size.
  expect(await decisionOf('/a/1.csv')).toMatchObject({ decision: 'MIGRATED' })
  expect(await decisionOf('/a/none.csv')).toMatchObject({ decision: 'DEPENDS', by: 'large' })
  expect(await migrator('DELETE', '/exclusions/large')).toMatchObject({
    status: 409,
    body: { code: 'IN_USE', details: { migrations: ['ruled'] } },
  })
  const completed = await nextEvent(platform, 'completed', 'ruled')
  await migrator('POST', '/migrations/ruled/start')
  await completed.payload
  expect(filesIn(folder.to)).toEqual(['/a/1.csv', '/a/b/3.csv'])
  expect(
    (await platform.call(migrations.get, { migrationId: 'ruled' })).scannerSummary.progressSummary,
  ).toMatchObject({
    filesScanned: 2,
    directoriesScanned: 3,
    filesExcluded: 1,
    dirsExcluded: 2,
    bytesExcluded: 7,
  })
  const { progress } = await platform.call(migrations.progress, { migrationId: 'ruled' })
  expect(progress.excludedBytes).toBe(7)

  for (const id of [...defaults, 'temporary', 'large']) {
    expect((await migrator('DELETE', `/migrations/ruled/exclusions/${id}`)).status).toBe(200)
  }
  expect((await migrator('DELETE', '/migrations/ruled/exclusions/large')).status).toBe(404)
  expect((await migrator('GET', '/migrations/ruled/exclusions')).body).toEqual([])
  const again = await nextEvent(platform, 'completed', 'ruled')
  await migrator('POST', '/migrations/ruled/addPendingRegion?path=/')
  await again.payload
  expect(filesIn(folder.to)).toEqual(['/.snapshot/a/1.csv', '/a/1.csv', '/a/2.tmp', '/a/b/3.csv'])
})

test(
  'a migration that runs goes on by the rules that it is given meanwhile',
  { timeout: 60_000 },
  async () => {
    // One folder in the other: each is found after the one above it.
    const bottom = Array(250).fill('d').join('/')
    mkdirSync(join(folder.deep, bottom), { recursive: true })
    for (const name of ['late', 'kept']) writeFileSync(join(folder.deep, bottom, name), name)
    await platform.call(exclusions['create-regex'], { id: 'late', patternType: 'GLOB', regex: 'late' })
    const completed = await nextEvent(platform, 'completed', 'running')
    await platform.call(migrations.create, {
      migrationId: 'running',
      path: '/',
      source: 'deep',
      target: 'mapped',
      autoStart: true,
    })
    await platform.call(exclusions.attach, { migrationId: 'running', id: 'late' })
    await completed.payload
    expect(existsSync(join(folder.mapped, bottom, 'kept'))).toBe(true)
    expect(existsSync(join(folder.mapped, bottom, 'late'))).toBe(false)
  },
)

test('path mappings: made, refused where they overlap, frozen in a migration, reloaded by a reset', async () => {
  const asked = 'sourceFileSystem=from&targetFileSystem=mapped'
  const make = (id: string, from: string, to: string) =>
    migrator(
      'PUT',
      `/transformations/mappings?pathMappingId=${id}&${asked}&sourcePath=${from}&targetPath=${to}`,
    )
  expect(await make('whole', '/', '/all')).toEqual({
    status: 201,
    headers: expect.anything() as object,
    body: {
      id: 'whole',
      description: '',
      sourceFileSystem: 'from',
      sourcePath: '/',
      targetFileSystem: 'mapped',
      targetPath: '/all',
    },
  })
  expect((await make('same source', '/', '/other')).status).toBe(409)
  expect((await make('same target', '/c', '/all/b')).status).toBe(409)
  expect((await make('the same again', '/c', '/all/c')).status).toBe(201)
  expect((await make('inner', '/a/b', '/b')).status).toBe(201)
  const nowhere = `/transformations/mappings?sourceFileSystem=nothing&targetFileSystem=mapped&sourcePath=/&targetPath=/`
  expect((await migrator('PUT', nowhere)).status).toBe(404)
  const listed = await migrator('GET', '/transformations/mappings?targetFileSystemName=mapped')
  expect(idsOf(listed.body)).toEqual(['inner', 'the same again', 'whole'])
  expect((await migrator('GET', '/transformations/mappings?targetFileSystemName=to')).body).toEqual([])
  expect((await migrator('GET', '/transformations/mappings/inner')).status).toBe(200)

  const check = (path: string) =>
    migrator('POST', `/migrations/led/checkMigrationPathMappings?path=${path}&source=from&target=mapped`)
  expect((await check('/a')).body).toMatchObject({
    mappings: [{ id: 'inner' }, { id: 'whole' }],
    // It has no mappings, and all of the target is its own.
    conflictingMigrationIds: ['running'],
  })
  const refused = await migrator('PUT', '/migrations/led?path=/a&source=from&target=mapped')
  expect(refused).toMatchObject({ status: 409, body: { details: { conflictingMigrationIds: ['running'] } } })
  expect((refused.body as { message: string }).message).toContain(
    'choose another path at the target, or delete that migration first with "gantry migrations delete running", which leaves the files that were copied',
  )
  await platform.call(migrations.delete, { migrationId: 'running' })

  await migrate(platform, { migrationId: 'led', source: 'from', target: 'mapped', path: '/a' })
  const arrived = filesIn(folder.mapped).filter((path) => !path.startsWith('/d/'))
  expect(arrived).toEqual(['/all/a/1.csv', '/all/a/2.tmp', '/b/3.csv'])
  const led = await platform.call(migrations.get, { migrationId: 'led' })
  expect(idsOf(led.pathMappings)).toEqual(['inner', 'whole'])
  expect(await platform.call(exclusions.test, { migrationId: 'led', path: '/a/b/3.csv' })).toMatchObject({
    decision: 'MIGRATED',
    targetPath: '/b/3.csv',
    pathMappingId: 'inner',
  })

  const status = await migrator('GET', '/migration-path-status?path=/a/b/3.csv&sourceId=from')
  expect(status.body).toMatchObject({ migrationId: 'led', targetPath: '/b/3.csv', pathMappingId: 'inner' })

  await platform.call(pathMappings.delete, { pathMappingId: 'inner' })
  expect(idsOf((await platform.call(migrations.get, { migrationId: 'led' })).pathMappings)).toContain('inner')
  const completed = await nextEvent(platform, 'completed', 'led')
  await migrator('POST', '/migrations/led/reset?reloadMappings=true')
  await completed.payload
  expect(idsOf((await platform.call(migrations.get, { migrationId: 'led' })).pathMappings)).toEqual(['whole'])
  expect(filesIn(folder.mapped)).toContain('/all/a/b/3.csv')
  await outcomeOf(platform, 'led')
})

test('a mapping must not lead into the source', async () => {
  await addLocal(platform, 'same', 'target', folder.from)
  const mapping = { sourceFileSystem: 'from', targetFileSystem: 'same', sourcePath: '/a' }
  await platform.call(pathMappings.create, { pathMappingId: 'inside', ...mapping, targetPath: '/a/copy' })
  const create = () =>
    platform.call(migrations.create, {
      migrationId: 'into itself',
      path: '/a',
      source: 'from',
      target: 'same',
    })
  await expect(create()).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await platform.call(pathMappings.delete, { pathMappingId: 'inside' })
  await platform.call(pathMappings.create, { pathMappingId: 'beside', ...mapping, targetPath: '/copy' })
  expect((await create()).pathMappings).toHaveLength(1)
})

test('what was made to be deleted with a migration goes with it, unless another one uses it', async () => {
  const own = { deletedWith: 'owner', value: 1, unit: 'TB' } as const
  await platform.call(exclusions['create-file-size'], { id: 'own', ...own })
  await platform.call(exclusions['create-file-size'], { id: 'own, detached', ...own })
  await platform.call(exclusions['create-file-size'], { id: 'own, lent', ...own })
  await platform.call(inclusions['create-file-size'], { id: 'own', ...own, deletedWith: 'borrower' })
  const { deletedWith } = await platform.call(exclusions.get, { id: 'own' })
  expect(deletedWith).toBe('owner')
  const created = { path: '/c', source: 'from', target: 'own', defaultExclusions: false }
  await platform.call(migrations.create, {
    ...created,
    ...{ migrationId: 'owner', exclusions: ['own', 'own, lent'] },
  })
  await platform.call(migrations.create, {
    ...created,
    ...{ migrationId: 'borrower', path: '/a', exclusions: ['own, lent'] },
  })
  const left = async () => ({
    exclusions: idsOf(await platform.call(exclusions.list, { scope: 'userDefined' })).filter((id) =>
      id.startsWith('own'),
    ),
    inclusions: idsOf(await platform.call(inclusions.list, {})).filter((id) => id.startsWith('own')),
  })
  await platform.call(migrations.delete, { migrationId: 'owner' })
  expect(await left()).toEqual({ exclusions: ['own, lent'], inclusions: ['own'] })
  await platform.call(migrations.delete, { migrationId: 'borrower' })
  expect(await left()).toEqual({ exclusions: ['own, lent'], inclusions: [] })
  await platform.call(exclusions.delete, { id: 'own, lent' })
})

test('a migration has no more patterns than can be matched', async () => {
  const rules = Array.from({ length: 40 }, (_, index) => ({
    id: `long ${index}`,
    type: 'regex' as const,
    regex: `.*${'x'.repeat(900)}${index}`,
  }))
  await platform.call(exclusions['create-many'], { rules })
  const created = platform.call(migrations.create, {
    migrationId: 'many rules',
    path: '/a',
    source: 'from',
    target: 'to',
    exclusions: rules.map(({ id }) => id),
  })
  await expect(created).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    message: expect.stringContaining('at most 30000 steps') as string,
  })
})

test('there are as many rules as the settings say; all are listed, a page at a time', async () => {
  const rules = Array.from({ length: 300 }, (_, index) => ({
    id: `counted ${1_000 + index}`,
    type: 'regex' as const,
    regex: `${index}`,
  }))
  await platform.call(inclusions['create-many'], { rules })
  const there = (await platform.call(inclusions.list, {})).length
  await platform.call(settings.put, { maxRules: there })
  // A count holds for a second.
  const message = await until('the limit is known', async () => {
    try {
      await platform.call(inclusions['create-regex'], { id: 'one more', regex: 'x' })
    } catch (error) {
      if (isGantryError(error, 'LIMIT_REACHED')) return error.message
      throw error
    }
    await platform.call(inclusions.delete, { id: 'one more' })
    return undefined
  })
  expect(message).toContain(`there are already ${there} inclusions`)
  expect(message).toContain('gantry inclusions delete')
  const listed: string[] = []
  for (let after: string | undefined; ; after = listed.at(-1)) {
    const page = await platform.call(inclusions.list, {
      limit: 70,
      ...(after === undefined ? {} : { after }),
    })
    if (page.length === 0) break
    listed.push(...page.map(({ id }) => id))
  }
  expect(listed.filter((id) => id.startsWith('counted'))).toEqual(rules.map(({ id }) => id))
})
