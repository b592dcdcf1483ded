import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { exclusions } from '../../../subjects/rules/exclusions.ts'
import { inclusions } from '../../../subjects/rules/inclusions.ts'
import { pathMappings } from '../../../subjects/rules/path-mappings.ts'
import { extendedOf, setExtended, whyNoExtended } from '../../support/extended.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import { mountMemory, whyNoMount } from '../../support/mounts.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { testUnless } from '../../support/unless.ts'
import { exitCodes } from '../../../cli/exit-codes.ts'
import { gantry, spawnGantry } from '../support.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const copy = (...args: string[]) => gantry(['copy', ...args], { env: { GANTRY_HOME: platform.home } })

test('two folders: filesystems are added, all is copied and verified; again it brings up to date', async () => {
  using folder = createFolder('from', 'to')
  writeFileSync(join(folder.from, 'a'), 'one')
  const first = await copy(folder.from, folder.to)
  expect(first).toMatchObject({ code: 0 })
  expect(first.err).toMatch(/^Added source .+\.\nAdded target .+\.\nPlan: copy 1 file \(3 B\)\.\n$/)
  expect(first.out).toMatch(/completed: 1 file .+\nVerified by size: 1 file \(3 B\), no differences\.\n$/)
  expect(readFileSync(join(folder.to, 'a'), 'utf8')).toBe('one')
  writeFileSync(join(folder.from, 'b'), 'two')
  const again = await copy(folder.from, folder.to)
  expect(again.err).toBe('Plan: copy 1 file (3 B), skip 1 file already at the target.\n')
  expect(again.code).toBe(0)
  expect(readFileSync(join(folder.to, 'b'), 'utf8')).toBe('two')
})

test('what was changed at the target without another size or time, a verification by content finds', async () => {
  using folder = createFolder('from', 'to')
  writeFileSync(join(folder.from, 'a'), 'one')
  await copy(folder.from, folder.to)
  writeFileSync(join(folder.to, 'a'), 'two')
  execFileSync('touch', ['-r', join(folder.from, 'a'), join(folder.to, 'a')])
  expect(await copy(folder.from, folder.to)).toMatchObject({ code: 0 })
  const { code, out } = await copy(folder.from, folder.to, '--verify-level', 'digest')
  expect(code).toBe(1)
  expect(out).toContain('Verified by digest, with differences: 1 file with different content; see')
  expect(out).toContain('add --checksum to compare their content')
  const args = [folder.from, folder.to, '--verify-level', 'digest', '--checksum']
  const withChecksum = 'Different from the last run of this copy: with --checksum.\n'
  expect(await copy(...args, '--dry-run')).toMatchObject({
    out: expect.stringContaining('1 file'),
    err: expect.stringContaining(withChecksum),
  })
  expect(await copy(...args)).toMatchObject({ code: 0, err: expect.stringContaining(withChecksum) })
  expect((await copy(...args)).err).not.toContain('Different')
  expect(readFileSync(join(folder.to, 'a'), 'utf8')).toBe('one')
  // The next one compares as usual.
  writeFileSync(join(folder.to, 'a'), 'two')
  execFileSync('touch', ['-r', join(folder.from, 'a'), join(folder.to, 'a')])
  expect(await copy(folder.from, folder.to)).toMatchObject({
    code: 0,
    err: expect.stringMatching(/^Different from the last run of this copy: without --checksum\.\nPlan: /),
  })
  expect(readFileSync(join(folder.to, 'a'), 'utf8')).toBe('two')
  // Somebody may have changed the migration in between.
  const planned = await copy(folder.from, folder.to, '--dry-run', '-o', 'json')
  const { migrationId } = JSON.parse(planned.out) as { migrationId: string }
  await platform.call(migrations.update, { migrationId, actionPolicy: 'Overwrite' })
  expect((await copy(folder.from, folder.to)).err).toContain('without the action policy Overwrite.\n')
})

test('the same folders are the same copy, however they are typed', async () => {
  using folder = createFolder('from', 'to')
  writeFileSync(join(folder.from, 'a'), 'one')
  expect(await copy(folder.from, folder.to)).toMatchObject({ code: 0 })
  const cwd = process.cwd()
  const typed = [folder.from, folder.to].map((path) => `${relative(cwd, path)}/`)
  const again = await gantry(['copy', ...typed], { env: { GANTRY_HOME: platform.home }, cwd })
  expect(again.code, again.err).toBe(0)
})

test('errors name places as they were typed', async () => {
  using folder = createFolder('from', 'to')
  const inner = join(folder.from, 'inner')
  mkdirSync(inner)
  expect((await copy(folder.from, inner)).err).toContain(
    `TARGET must not overlap with the source: ${inner} is inside ${folder.from}`,
  )
  const missing = join(folder.from, 'missing')
  expect((await copy(missing, folder.to)).err).toMatch(/^error: SOURCE .*missing: there is no such folder;/)
})

test('what cannot be copied can be left out, and a plan is not taken for a copy', async () => {
  using folder = createFolder('from', 'to')
  writeFileSync(join(folder.from, 'a'), 'a')
  execFileSync('mkfifo', [join(folder.from, '[pipe]')])
  const tried = await copy(folder.from, folder.to)
  expect(tried.code).toBe(exitCodes.failed.status)
  expect(tried.err).toContain(String.raw`--exclude '/\[pipe\]'`)
  expect(await copy(folder.from, folder.to, '--exclude', String.raw`/\[pipe\]`)).toMatchObject({ code: 0 })
  const planned = await copy(folder.from, folder.to, '--exclude', String.raw`/\[pipe\]`, '--dry-run')
  expect(planned).toMatchObject({ code: 0, err: expect.stringContaining('nothing was copied') })
  expect(planned.out).not.toContain('planId')
})

test('a copy that cannot begin leaves nothing behind', async () => {
  using folder = createFolder('from')
  const before = await platform.call(filesystems.list, {})
  for (const more of [[], ['--dry-run']]) {
    const { code, err } = await copy(folder.from, join(folder.from, 'not', 'there'), ...more)
    expect({ code, err }).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        'or create it on the host of the platform (in a container, inside it): "mkdir -p ',
      ),
    })
  }
  expect(await platform.call(filesystems.list, {})).toEqual(before)
})

testUnless(
  whyNoMount(),
  'a target that cannot be written to is refused, with the reason and the fix',
  async () => {
    using folder = createFolder('from')
    using mount = mountMemory(2 ** 20)
    writeFileSync(join(folder.from, 'a'), 'one')
    mount.makeReadOnly()
    const before = await platform.call(filesystems.list, {})
    const refused = await copy(folder.from, mount.path)
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        `target ${mount.path} cannot be used: write: read-only file system: mount it writable or choose another folder (EROFS in mkdir) (STORE_REFUSED)`,
      ),
    })
    expect(await platform.call(filesystems.list, {})).toEqual(before)
    mount.makeWritable()
    expect(await copy(folder.from, mount.path)).toMatchObject({ code: 0 })
    expect(readdirSync(mount.path)).toEqual(['a'])
  },
)

test('a source without files, as a path that is wrong often is, is told', async () => {
  using folder = createFolder('from', 'to')
  mkdirSync(join(folder.from, 'empty'))
  const told = `The source ${folder.from} has no files: check its path.\n`
  const dry = await copy(folder.from, folder.to, '--dry-run')
  expect(dry).toMatchObject({ code: 0, err: `${told}Dry run: nothing was copied.\n` })
  const { code, err } = await copy(folder.from, folder.to)
  expect(code).toBe(0)
  expect(err).toMatch(new RegExp(`Plan: copy 0 files \\(0 B\\)\\.\n${told}$`))
  writeFileSync(join(folder.from, 'a'), 'one')
  for (const plan of ['copy 1 file (3 B)', 'copy 0 files (0 B), skip 1 file already at the target'])
    expect(await copy(folder.from, folder.to)).toMatchObject({ code: 0, err: `Plan: ${plan}.\n` })
})

test('--dry-run shows the plan, and nothing stays of it', async () => {
  using folder = createFolder('from', 'to')
  writeFileSync(join(folder.from, 'a'), 'one')
  const kept = async () => [
    await platform.call(filesystems.list, {}),
    await platform.call(migrations.list, {}),
    await platform.call(pathMappings.list, {}),
  ]
  const before = await kept()
  const { code, out } = await copy(folder.from, folder.to, '--dry-run', '-o', 'json')
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({ filesToCopy: 1, bytesToCopy: 3 })
  expect(await kept()).toEqual(before)
})

test('globs choose the files, others take their place, and what a dry run made goes', async () => {
  using folder = createFolder('from', 'to', 'elsewhere')
  for (const name of ['a.csv', 'b.csv', 'b.tmp', 'c.txt']) writeFileSync(join(folder.from, name), name)
  const globs = ['--include', '*.csv', '--include', '*.tmp', '--exclude', '*.tmp']
  const idsOf = async () => [
    ...(await platform.call(exclusions.list, { scope: 'userDefined' })),
    ...(await platform.call(inclusions.list, {})),
  ]
  const before = await idsOf()
  expect(await copy(folder.from, folder.to, ...globs, '--dry-run')).toMatchObject({ code: 0 })
  expect(await idsOf()).toEqual(before)
  expect(await copy(folder.from, folder.to, ...globs)).toMatchObject({ code: 0 })
  expect(readdirSync(folder.to).toSorted()).toEqual(['a.csv', 'b.csv'])
  expect((await idsOf()).length).toBe(before.length + 3)
  expect(await copy(folder.from, folder.to, ...globs)).toMatchObject({ code: 0 })
  expect((await idsOf()).length).toBe(before.length + 3)
  // Others take the place of those; a plan is made with them, and leaves the migration as it is.
  const others = ['--exclude', '*.txt', '--dry-run', '-o', 'json']
  const planned = await copy(folder.from, folder.to, ...others)
  expect(planned).toMatchObject({ code: 0 })
  expect(JSON.parse(planned.out)).toMatchObject({ filesToCopy: 1, filesExcluded: 1 })
  expect((await idsOf()).length).toBe(before.length + 3)
  const changed =
    "Different from the last run of this copy: with --exclude '*.txt'; without --exclude '*.tmp', --include '*.csv', --include '*.tmp'.\n"
  expect(planned.err).toContain(changed)
  expect(await copy(folder.from, folder.to, '--exclude', '*.txt')).toMatchObject({
    code: 0,
    err: expect.stringContaining(changed),
  })
  expect(readdirSync(folder.to).toSorted()).toEqual(['a.csv', 'b.csv', 'b.tmp'])
  expect((await idsOf()).length).toBe(before.length + 1)
  expect(await copy(folder.from, folder.to)).toMatchObject({ code: 0 })
  expect(readdirSync(folder.to).length).toBe(4)
  expect(await idsOf()).toEqual(before)
  const wrong = await copy(folder.from, folder.to, '--exclude', '[')
  expect(wrong.code).not.toBe(0)
  expect(wrong.err).toContain('--exclude')
  expect(await idsOf()).toEqual(before)
  // They go with the migration that they were made for.
  expect(await copy(folder.from, folder.elsewhere, ...globs)).toMatchObject({ code: 0 })
  const [own] = await platform.call(inclusions.list, {})
  await platform.call(migrations.delete, { migrationId: own!.deletedWith! })
  expect(await idsOf()).toEqual(before)
})

test('a glob that begins with a slash is one of the source as it was typed; a filter that leaves nothing is told', async () => {
  using folder = createFolder('from', 'to')
  for (const name of ['raw', 'raw/logs', 'logs']) mkdirSync(join(folder.from, name))
  for (const name of ['raw/a', 'raw/logs/b', 'logs/c']) writeFileSync(join(folder.from, name), name)
  await addLocal(platform, 'wide-lake', 'source', folder.from)
  const { code, err } = await copy('wide-lake:/raw', folder.to, '--exclude', '/logs/**')
  expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('leave out') })
  expect(readFileSync(join(folder.to, 'a'), 'utf8')).toBe('raw/a')
  expect(readdirSync(join(folder.to, 'logs'))).toEqual([])
  const without = await copy('wide-lake:/raw', folder.to)
  expect(without.err).toContain("without --exclude '/logs/**'.\n")
  const nothing = await copy('wide-lake:/raw', folder.to, '--include', '*.nothing')
  expect(nothing.err).toContain('The rules leave out everything that the source wide-lake:/raw has')
})

test('a path in a filesystem is copied to another path', async () => {
  using folder = createFolder('from', 'to')
  mkdirSync(join(folder.from, 'raw'))
  writeFileSync(join(folder.from, 'raw', 'a'), 'one')
  await addLocal(platform, 'lake', 'source', folder.from)
  const { code, err } = await copy('lake:raw/', folder.to)
  expect({ code, err }).toMatchObject({ code: 0 })
  expect(readFileSync(join(folder.to, 'a'), 'utf8')).toBe('one')
})

test('what does not arrive is exit code 1', async () => {
  using folder = createFolder('from', 'to')
  writeFileSync(join(folder.from, 'a'), 'one')
  execFileSync('mkfifo', [join(folder.from, 'pipe')])
  const { code, out, err } = await copy(folder.from, folder.to)
  expect(code).toBe(1)
  expect(out).toMatch(/is completed with 1 failure: .*list them with: gantry migrations failures copy-/)
  expect(err).toMatch(
    /Not verified, as the copy is incomplete; to verify what arrived, run "gantry verifications create copy-\S+ --level size"\.\nTo leave out paths, add --exclude, such as --exclude \/pipe\. Or fix the reason that the list shows, and run the same command again\.\n$/,
  )
})

test('what the target does not keep is told, with its number', async () => {
  using folder = createFolder('from', 'to')
  writeFileSync(join(folder.from, 'a'), 'one')
  linkSync(join(folder.from, 'a'), join(folder.from, 'b'))
  const { code, err } = await copy(folder.from, folder.to)
  expect(code).toBe(0)
  expect(err).toContain('Not kept at the target by this run: the hard links of 2 files')
})

test('the same command, started several times at once, copies once and ends well each time', async () => {
  using folder = createFolder('from', 'to')
  for (let count = 0; count < 50; count++) writeFileSync(join(folder.from, `f${count}`), 'x')
  const all = await Promise.all(Array.from({ length: 4 }, () => copy(folder.from, folder.to)))
  for (const { code, err } of all) expect(code, err).toBe(0)
  expect(readdirSync(folder.to).length).toBe(50)
})

test('one source is copied to several folders of one target, once the one before is deleted', async () => {
  using folder = createFolder('from', 'to')
  writeFileSync(join(folder.from, 'a'), 'one')
  await addLocal(platform, 'nas', 'target', folder.to)
  expect(await copy(folder.from, 'nas:/first')).toMatchObject({ code: 0 })
  expect(await platform.call(pathMappings.list, {})).toEqual([])
  const second = await copy(folder.from, 'nas:/second')
  expect(second.code).toBe(exitCodes.failed.status)
  const [, remedy] = /delete it with "gantry (migrations delete \S+)"/.exec(second.err) ?? []
  expect((await gantry(remedy!.split(' '), { env: { GANTRY_HOME: platform.home } })).code).toBe(0)
  expect(await copy(folder.from, 'nas:/second')).toMatchObject({ code: 0 })
  expect(readdirSync(folder.to).toSorted()).toEqual(['first', 'second'])
})

test('differences are told by their kinds', async () => {
  using folder = createFolder('from', 'to')
  writeFileSync(join(folder.from, 'a'), 'one')
  mkdirSync(join(folder.to, 'more'))
  for (const name of ['b', 'more/c']) writeFileSync(join(folder.to, name), 'b')
  const { code, out } = await copy(folder.from, folder.to)
  expect(code).toBe(exitCodes.failed.status)
  expect(out).toContain(
    'Verified by size, with differences: 2 files only at the target, 1 folder only at the target; see "gantry',
  )
})

test('globs that match nothing are told, and a plan names those that do as they were typed', async () => {
  using folder = createFolder('from', 'to')
  writeFileSync(join(folder.from, 'a'), 'one')
  const wrong = await copy(folder.from, folder.to, '--exclude', './a', '--dry-run')
  expect(wrong.err).toContain('Nothing matches --exclude ./a: give globs')
  writeFileSync(join(folder.from, 'b.tmp'), 'one')
  const mistyped = ['--exclude', '*.tmp', '--exclude', '*.tmpp']
  for (const more of [['--dry-run'], []])
    expect((await copy(folder.from, folder.to, ...mistyped, ...more)).err).toContain(
      "Nothing matches --exclude '*.tmpp', or only paths that other rules leave out: give globs",
    )
  const right = await copy(folder.from, folder.to, '--exclude', '/a', '--dry-run')
  expect(right.err).not.toContain('Nothing matches')
  expect(right.out).toMatch(/EXCLUDE +\/a +excluded by --exclude \/a/)
})

testUnless(whyNoExtended(), 'extended attributes are kept where they are asked for', async () => {
  using folder = createFolder('from', 'to', 'plain')
  writeFileSync(join(folder.from, 'a'), 'one')
  setExtended(join(folder.from, 'a'), { 'user.k': 'v' })
  const kept = (path: string) => Object.keys(extendedOf(join(path, 'a')))
  expect(await copy(folder.from, folder.to, '--attributes', '--verify-level', 'metadata')).toMatchObject({
    code: 0,
  })
  expect(kept(folder.to)).toEqual(['user.k'])
  expect(await copy(folder.from, folder.plain)).toMatchObject({ code: 0 })
  expect(kept(folder.plain)).toEqual([])
  const late = await copy(folder.from, folder.plain, '--attributes')
  expect(late.err).toContain('was made without --attributes')
})

test.for([
  [['ftp://host/x', '/tmp'], 2, /ftp:\/\/host\/x: use an address that starts with s3:\/\//],
  [['nobody:/x', '/tmp'], 1, /there is no source nobody; see "gantry filesystems list"/],
  [['lake:/x', '/tmp', '--source-option', 'a=b'], 2, /options apply only to new filesystems/],
  [['/tmp', 's3://bucket', '--target-option', 'endpoint'], 2, /write options as key=value/],
  [['/nowhere-at-all', '/tmp'], 1, /nowhere-at-all/],
] as const)('gantry copy %s says what is wrong', async ([args, code, message]) => {
  const ran = await copy(...args)
  expect(ran.err).toMatch(message)
  expect(ran.code).toBe(code)
})

test('credentials come from the variables of the service', async () => {
  const { code, err } = await gantry(['copy', 's3://data/x', '/tmp'], {
    env: { GANTRY_HOME: platform.home, AWS_ACCESS_KEY_ID: 'no key', AWS_ENDPOINT_URL: 'http://127.0.0.1:1' },
  })
  expect(code).toBe(2)
  expect(err).toContain('AWS_ACCESS_KEY_ID (accessKey) must be')
  const env = { GANTRY_HOME: platform.home, AWS_ENDPOINT_URL: 'http://127.0.0.1:1' }
  const typed = await gantry(['copy', 's3://data/x', '/tmp', '--source-option', 'accessKey=no key'], { env })
  expect(typed.err).toContain('--source-option accessKey (accessKey) must be')
})

test('without keys, it says where they may come from', async () => {
  const env = { GANTRY_HOME: platform.home }
  const { code, err } = await gantry(['copy', 's3://data/x', '/tmp'], { env })
  expect(code).toBe(2)
  expect(err).toContain(
    'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or add --source-option accessKey=… --source-option secretKey=…',
  )
  using folder = createFolder('from')
  const { err: ofGcs } = await gantry(['copy', folder.from, 'gs://data/x'], { env })
  expect(ofGcs).toContain('set GOOGLE_APPLICATION_CREDENTIALS, or add --target-option jsonKey=…')
})

test('Ctrl-C says how to go on, exit code 130; the same command then finishes', async () => {
  using folder = createFolder('from', 'to')
  // More than is copied before the signal arrives.
  for (let count = 0; count < 2_000; count++) writeFileSync(join(folder.from, `f${count}`), 'x')
  await using running = spawnGantry(['copy', folder.from, folder.to], { GANTRY_HOME: platform.home })
  await running.said('RUNNING')
  running.child.kill('SIGINT')
  expect(await running.ended).toBe(130)
  expect(running.written.err).toMatch(/continues on the platform: watch it with "\.\/gantry watch copy-\S+"/)
  expect(await copy(folder.from, folder.to)).toMatchObject({ code: 0 })
})
