import { chmodSync, lutimesSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newBucket, setRates } from '../../../services/engine/run/bucket.ts'
import { packRules } from '../../../services/engine/run/rules.ts'
import { momentOf, momentsOf } from '../../../services/engine/walk/differences.ts'
import { listWithUser, setExtended, whyNoExtended } from '../../support/extended.ts'
import { testUnless } from '../../support/unless.ts'
import { compareAll, differences } from './compare-folder.ts'
import { createMove } from './move-folder.ts'

/** Folders with the same content, which a test then changes. */
async function copied() {
  const move = createMove()
  for (const folder of ['a', 'a/deep', 'b']) mkdirSync(join(move.from, folder))
  for (const [path, text] of Object.entries({
    'a/one': 'first',
    'a/deep/two': 'second',
    'b/three': 'third',
    four: 'fourth',
    empty: '',
  })) {
    writeFileSync(join(move.from, path), text)
  }
  symlinkSync('a/one', join(move.from, 'link'))
  await move.run()
  return move
}

test('what was copied is the same at every level', async () => {
  await using move = await copied()
  for (const level of ['existence', 'size', 'time', 'metadata', 'digest'] as const) {
    const compared = await compareAll(move.mover, move.spec, { level })
    expect(differences(compared), level).toEqual([])
    expect(compared.counts).toMatchObject({
      filesOnSource: 6,
      filesOnTarget: 6,
      directoriesOnSource: 4,
      directoriesOnTarget: 4,
      bytesOnSource: 22,
      bytesOnTarget: 22,
    })
  }
})

test.each([
  [0, '1970-01-01T00:00:00.000Z'],
  [-5_500.25, '1969-12-31T23:59:54.500Z'],
  [9_999_999_999_999_000, '@9999999999999'],
])('a time of %d ms is told as %s', (modifiedMs, text) => {
  expect(momentOf({ modifiedMs })).toBe(text)
})

test('times that differ by less than a millisecond are told to a microsecond, and others as ever', () => {
  const at = (modifiedMs: number) => ({ modifiedMs })
  expect(momentsOf(at(1_500.25), at(1_500.5))).toEqual({
    source: '1970-01-01T00:00:01.500250Z',
    target: '1970-01-01T00:00:01.500500Z',
  })
  expect(momentsOf(at(-0.25), at(-0.5))).toEqual({
    source: '1969-12-31T23:59:59.999750Z',
    target: '1969-12-31T23:59:59.999500Z',
  })
  const [source, target] = ['1970-01-01T00:00:01.500Z', '1970-01-01T00:00:01.501Z']
  expect(momentsOf(at(1_500), at(1_501))).toEqual({ source, target })
  expect(momentsOf(at(1_500), at(1_500))).toEqual({ source, target: source })
  expect(momentsOf(at(1_500), undefined)).toEqual({ source, target: undefined })
})

test('a verification tells two times apart that differ by less than a millisecond', async () => {
  await using move = await copied()
  const seconds = 1_700_000_000
  utimesSync(join(move.from, 'a/one'), seconds, seconds + 0.00025)
  utimesSync(join(move.to, 'a/one'), seconds, seconds + 0.0005)
  const compared = await compareAll(move.mover, move.spec, { level: 'time' })
  expect(compared.rows.find(({ sourcePath }) => sourcePath === '/a/one')).toMatchObject({
    sourceModified: '2023-11-14T22:13:20.000250Z',
    targetModified: '2023-11-14T22:13:20.000500Z',
    detail: '2023-11-14T22:13:20.000250Z at the source, 2023-11-14T22:13:20.000500Z at the target',
  })
})

test('each level finds what it looks at, and only digests read content', async () => {
  await using move = await copied()
  const changed = (path: string) => join(move.to, path)
  writeFileSync(changed('a/one'), 'FIRST')
  writeFileSync(changed('four'), 'other size')
  utimesSync(changed('b/three'), 1, 1)
  chmodSync(changed('b'), 0o700)
  rmSync(changed('link'))
  symlinkSync('a/two', changed('link'))
  const found = async (level: 'existence' | 'size' | 'time' | 'metadata' | 'digest') => {
    const compared = await compareAll(move.mover, move.spec, { level })
    return { differences: differences(compared), bytesRead: compared.counts['bytesRead'] ?? 0 }
  }
  expect(await found('existence')).toEqual({ differences: [], bytesRead: 0 })
  expect(await found('size')).toEqual({ differences: ['SIZE_MISMATCH /four'], bytesRead: 0 })
  expect(await found('time')).toEqual({
    differences: ['SIZE_MISMATCH /four', 'TIME_MISMATCH /a/one', 'TIME_MISMATCH /b/three'],
    bytesRead: 0,
  })
  expect((await found('metadata')).differences).toEqual([
    'DIGEST_MISMATCH /link',
    'METADATA_MISMATCH /b',
    'SIZE_MISMATCH /four',
    'TIME_MISMATCH /a/one',
    'TIME_MISMATCH /b/three',
  ])
  expect(await found('digest')).toEqual({
    differences: ['DIGEST_MISMATCH /a/one', 'DIGEST_MISMATCH /link', 'SIZE_MISMATCH /four'],
    // Files of one size are read on both sides.
    bytesRead: 2 * ('first'.length + 'second'.length + 'third'.length),
  })
})

/** What the metadata of a path differ in, by path. */
async function metadataDifferences({ mover, spec }: Awaited<ReturnType<typeof copied>>) {
  const { rows } = await compareAll(mover, spec, { level: 'metadata' })
  const different = rows.filter(({ scanResult }) => scanResult === 'METADATA_MISMATCH')
  return Object.fromEntries(different.map(({ sourcePath, detail }) => [sourcePath, detail]))
}

test('times of folders and links are metadata, that of a store’s root is not', async () => {
  await using move = await copied()
  utimesSync(join(move.to, 'a/deep'), 1, 1)
  lutimesSync(join(move.to, 'link'), 2, 2)
  utimesSync(move.to, 3, 3)
  expect(await metadataDifferences(move)).toEqual({
    '/a/deep': expect.stringMatching('^time .*Z at the source, 1970-01-01T00:00:01.000Z at the target$'),
    '/link': expect.stringMatching('^time .*Z at the source, 1970-01-01T00:00:02.000Z at the target$'),
  })
  const { rows } = await compareAll(move.mover, move.spec, { level: 'time' })
  expect(rows.filter(({ scanResult }) => scanResult !== 'MATCH')).toEqual([])
})

test('bits of a mode that were kept with the owner are compared as well', async () => {
  await using move = createMove()
  writeFileSync(join(move.from, 'program'), '')
  chmodSync(join(move.from, 'program'), 0o4755)
  mkdirSync(join(move.from, 'shared'))
  chmodSync(join(move.from, 'shared'), 0o1777)
  await move.run()
  expect(await metadataDifferences(move)).toEqual({})
  chmodSync(join(move.to, 'program'), 0o755)
  chmodSync(join(move.to, 'shared'), 0o777)
  const lost = {
    '/program': 'mode 4755 at the source, 755 at the target',
    '/shared': 'mode 1777 at the source, 777 at the target',
  }
  expect(await metadataDifferences(move)).toEqual(lost)
  // Without owners a copy keeps the bit of the folder alone.
  const metadata = { modes: true, owners: false, attributes: false }
  expect(await metadataDifferences({ ...move, spec: { ...move.spec, metadata } })).toEqual({
    '/shared': lost['/shared'],
  })
})

testUnless(whyNoExtended(), 'extended attributes are compared where the migration keeps them', async () => {
  await using move = createMove({ metadata: { modes: true, owners: true, attributes: true } })
  mkdirSync(join(move.from, 'folder'))
  for (const name of ['file', 'same']) {
    writeFileSync(join(move.from, name), name)
    setExtended(join(move.from, name), { 'user.one': 'ünï', 'user.two': Buffer.from([0, 255]) })
  }
  setExtended(join(move.from, 'folder'), { 'user.folder': '' })
  await move.run()
  expect(await metadataDifferences(move)).toEqual({})
  setExtended(join(move.to, 'file'), { 'user.one': 'other', 'user.new': 'x' })
  setExtended(join(move.to, 'folder'), { 'system.posix_acl_default': listWithUser(1002, 7) })
  expect(await metadataDifferences(move)).toEqual({
    '/file': 'extended attributes user.new, user.one',
    '/folder': 'extended attributes system.posix_acl_default',
  })
  const without = {
    ...move,
    spec: { ...move.spec, metadata: { modes: true, owners: true, attributes: false } },
  }
  expect(await metadataDifferences(without)).toEqual({})
})

test('what is read counts under the limits of the migration', async () => {
  const limit = newBucket()
  setRates(limit, { bytesPerSecond: 100_000, requestsPerSecond: undefined })
  await using move = createMove()
  writeFileSync(join(move.from, 'file'), Buffer.alloc(30_000, 'x'))
  await move.run()
  const spec = { ...move.spec, limits: [limit] }
  const begun = performance.now()
  const { counts } = await compareAll(move.mover, spec, { level: 'digest' })
  expect(counts).toMatchObject({ bytesRead: 60_000 })
  // A fifth of a second is free at the beginning.
  expect(performance.now() - begun).toBeGreaterThan(350)
  const compared = await move.run({}, { ...spec, policy: 'SkipIfDigestMatch' })
  expect(compared.counts.filesSkipped).toBe(1)
  expect(performance.now() - begun).toBeGreaterThan(900)
})

test('what is on one side only is found with all that is in it, and so is a file in place of a folder', async () => {
  await using move = await copied()
  rmSync(join(move.to, 'a'), { recursive: true })
  mkdirSync(join(move.to, 'extra/below'), { recursive: true })
  writeFileSync(join(move.to, 'extra/below/file'), 'x')
  rmSync(join(move.to, 'b'), { recursive: true })
  writeFileSync(join(move.to, 'b'), 'no folder')
  const compared = await compareAll(move.mover, move.spec, { level: 'size' })
  expect(differences(compared)).toEqual([
    'MISSING_ON_SOURCE /extra',
    'MISSING_ON_SOURCE /extra/below',
    'MISSING_ON_SOURCE /extra/below/file',
    'MISSING_ON_TARGET /a',
    'MISSING_ON_TARGET /a/deep',
    'MISSING_ON_TARGET /a/deep/two',
    'MISSING_ON_TARGET /a/one',
    'MISSING_ON_TARGET /b/three',
    'TYPE_MISMATCH /b',
  ])
  expect(compared.counts).toMatchObject({
    filesMissingOnTarget: 3,
    directoriesMissingOnTarget: 2,
    filesMissingOnSource: 1,
    directoriesMissingOnSource: 2,
    typeMismatches: 1,
    totalDiscrepancies: 9,
  })
})

test('paths, depth and a moment narrow a comparison', async () => {
  await using move = await copied()
  rmSync(join(move.to, 'a/deep/two'))
  rmSync(join(move.to, 'a/one'))
  rmSync(join(move.to, 'four'))
  const { mover, spec } = move
  const size = { level: 'size' } as const
  const inA = await compareAll(mover, spec, size, { path: Buffer.from('a') })
  expect(differences(inA)).toEqual(['MISSING_ON_TARGET /a/deep/two', 'MISSING_ON_TARGET /a/one'])
  const shallow = await compareAll(mover, spec, size, { path: Buffer.from('a'), levels: 1 })
  expect(differences(shallow)).toEqual(['MISSING_ON_TARGET /a/one'])
  const oneFile = await compareAll(mover, spec, size, { path: Buffer.from('four') })
  expect(differences(oneFile)).toEqual(['MISSING_ON_TARGET /four'])
  const nowhere = await compareAll(mover, spec, size, { path: Buffer.from('nowhere') })
  expect(differences(nowhere)).toEqual(['UNREADABLE /nowhere'])
  utimesSync(join(move.from, 'four'), 1, 1)
  const old = await compareAll(mover, spec, { ...size, ignoreAfterMs: 2_000 })
  expect(differences(old).filter((one) => !one.startsWith('IGNORED'))).toEqual(['MISSING_ON_TARGET /four'])
  // The listing of a folder does not tell the time of a link.
  expect(old.counts['filesIgnored']).toBe(4)
})

test('files under construction at the target are none', async () => {
  await using move = await copied()
  writeFileSync(join(move.to, `.gantry~${move.spec.id}~00000000.1.000000000000.1~1`), 'half')
  expect(differences(await compareAll(move.mover, move.spec, { level: 'size' }))).toEqual([])
})

test('what is excluded is missed nowhere, and told of where it is at the target all the same', async () => {
  await using move = await copied()
  rmSync(join(move.to, 'a/deep'), { recursive: true })
  writeFileSync(join(move.to, 'kept'), 'the rules do not want it')
  const rules = packRules({
    exclusions: [
      { id: 'deep', type: 'paths', paths: ['/a/deep', '/kept'] },
      { id: 'third', type: 'paths', paths: ['/b/three'] },
    ],
    inclusions: [],
  })
  const compared = await compareAll(move.mover, { ...move.spec, ...(rules && { rules }) }, { level: 'size' })
  expect(differences(compared)).toEqual(['EXCLUDED /a/deep', 'EXCLUDED /kept', 'FOUND_ON_BOTH /b/three'])
  expect(compared.counts).toMatchObject({
    totalDiscrepancies: 1,
    filesOnSource: 4,
    directoriesExcluded: 1,
    directoriesExcludedNotExistsOnTarget: 1,
    filesExcluded: 1,
    filesExcludedExistsOnTarget: 1,
  })
  const included = packRules({ exclusions: [], inclusions: [{ id: 'b', type: 'paths', paths: ['/b'] }] })
  const confined = await compareAll(
    move.mover,
    { ...move.spec, ...(included && { rules: included }) },
    { level: 'size' },
  )
  expect(
    confined.rows.filter(({ scanResult }) => scanResult === 'MATCH').map(({ sourcePath }) => sourcePath),
  ).toEqual(['/', '/b', '/b/three'])
})

test('path mappings lead to where a path is at the target', async () => {
  const bytes = (text: string) => Buffer.from(text)
  await using move = createMove({
    mappings: [
      { from: bytes('a/deep'), to: bytes('elsewhere') },
      { from: bytes(''), to: bytes('all') },
    ],
  })
  mkdirSync(join(move.from, 'a/deep'), { recursive: true })
  for (const path of ['a/one', 'a/deep/two']) writeFileSync(join(move.from, path), path)
  await move.run()
  expect(differences(await compareAll(move.mover, move.spec, { level: 'digest' }))).toEqual([])
  rmSync(join(move.to, 'elsewhere/two'))
  mkdirSync(join(move.to, 'all/extra'))
  writeFileSync(join(move.to, 'all/extra/file'), '')
  const compared = await compareAll(move.mover, move.spec, { level: 'digest' })
  expect(differences(compared)).toEqual([
    'MISSING_ON_SOURCE /extra',
    'MISSING_ON_SOURCE /extra/file',
    'MISSING_ON_TARGET /a/deep/two',
  ])
  expect(
    compared.rows.filter(({ scanResult }) => scanResult !== 'MATCH').map(({ targetPath }) => targetPath),
  ).toEqual(expect.arrayContaining(['/all/extra', '/all/extra/file', '/elsewhere/two']))
})

test('symbolic links that are followed or left out are compared as they were migrated', async () => {
  for (const links of ['follow', 'skip'] as const) {
    await using move = createMove({ links })
    mkdirSync(join(move.from, 'folder'))
    for (const path of ['file', 'folder/in']) writeFileSync(join(move.from, path), path)
    symlinkSync('file', join(move.from, 'to-file'))
    symlinkSync('folder', join(move.from, 'to-folder'))
    await move.run()
    expect(differences(await compareAll(move.mover, move.spec, { level: 'digest' })), links).toEqual([])
  }
})
