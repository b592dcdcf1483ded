import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { call } from '../../broker/rpc/client.ts'
import { cacheFolder } from '../../broker/server/nats-server.ts'
import type { FilesystemOptions } from '../../subjects/filesystems/kinds.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { settings } from '../../subjects/access/settings.ts'
import { type Client, createClient } from '../support/keys.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { mountAgain, whyNoMount } from '../support/mounts.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { testUnless } from '../support/unless.ts'
import { until } from '../support/until.ts'

const program = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

let platform: TestPlatform
/** Of somebody who may make filesystems and migrations, and nothing else. */
let client: Client
beforeAll(async () => {
  platform = await startTestPlatform()
  client = await createClient(platform, {
    pub: { allow: ['gantry.services.v1.filesystems.>', 'gantry.services.v1.migrations.>'] },
    sub: { allow: ['gantry.events.v1.migrations.>'] },
  })
})
afterAll(async () => {
  await client[Symbol.asyncDispose]()
  await platform[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await platform.call(settings.put, { filesystemRoots: [] })
  for (const { migrationId } of await platform.call(migrations.list, {})) {
    await platform.call(migrations.delete, { migrationId })
  }
  for (const role of ['source', 'target'] as const) await platform.call(filesystems.clear, { role })
})

const create = (fsRoot: string, role: 'source' | 'target' = 'source', fileSystemId: string = role) =>
  call(client.connection, filesystems['create-local'], { fileSystemId, role, fsRoot })
const update = (options: Partial<FilesystemOptions<'local'>>) =>
  call(client.connection, filesystems['update-local'], { fileSystemId: 'source', ...options })
const health = (fileSystemId: string) => call(client.connection, filesystems.health, { fileSystemId })
const refused = (problem: string) => ({ code: 'NOT_ACCEPTED', message: expect.stringContaining(problem) })

/** Tables of mounts, as the kernel has them, name what is the kernel's own interface by its type. */
describe.skipIf(process.platform !== 'linux')(
  'interfaces of the kernel, which only Linux shows, are no filesystems',
  () => {
    test.each(['/sys', '/sys/kernel', '/dev', '/dev/pts', '/sys/fs/cgroup'])('%s', async (fsRoot) => {
      for (const role of ['source', 'target'] as const)
        await expect(create(fsRoot, role)).rejects.toMatchObject(refused(' of the kernel ('))
    })

    test('memory is, where people keep data', async () => {
      const folder = mkdtempSync('/dev/shm/gantry-test-')
      await create(folder)
      rmSync(folder, { recursive: true })
    })

    testUnless(whyNoMount(), 'wherever they are mounted, before or after', async () => {
      using folder = createFolder('data')
      const inner = join(folder.data, 'inner')
      mkdirSync(inner)
      await create(folder.data)
      {
        using _mounted = mountAgain('/sys/kernel', inner)
        for (const [fsRoot, problem] of [
          [folder.data, `contains a part of the kernel (sysfs at ${inner})`],
          [inner, `is part of the kernel (sysfs at ${inner})`],
        ] as const)
          await expect(create(fsRoot, 'target')).rejects.toMatchObject(refused(problem))
        await until('it is noticed', async () => !(await health('source')).healthy)
      }
      await until('it is well again', async () => (await health('source')).healthy)
    })
  },
)

describe('the folders of Gantry itself are no filesystems', () => {
  /** Whether a clone and its tests are in one folder: of what a folder contains, the first is told. */
  const isBeside = () => platform.home.startsWith(join(dirname(program), '/'))
  const own = (): [fsRoot: string, problem: string][] => [
    [platform.home, 'is the configuration folder of Gantry'],
    [join(platform.home, 'run'), 'is in the configuration folder of Gantry'],
    [join(platform.home, 'jetstream'), 'is in the configuration folder of Gantry'],
    [join(platform.home, 'not', 'there'), 'is in the configuration folder of Gantry'],
    [dirname(platform.home), 'contains the configuration folder of Gantry'],
    [program, 'is the program folder of Gantry'],
    [join(program, 'node_modules'), 'is in the program folder of Gantry'],
    [dirname(program), `contains the ${isBeside() ? 'configuration' : 'program'} folder of Gantry`],
    [cacheFolder(process.env), 'is the cache folder of Gantry'],
    ['/', 'contains the configuration folder of Gantry'],
    ['/proc', 'is part of the kernel (proc at /proc)'],
    ['/proc/self', 'is part of the kernel (proc at /proc)'],
    [`/proc/self/root${platform.home}`, 'is the configuration folder of Gantry'],
  ]

  test('neither as a source nor as a target, nor by a change', async () => {
    using folder = createFolder('data')
    for (const [fsRoot, problem] of own()) {
      await expect(create(fsRoot), fsRoot).rejects.toMatchObject(refused(problem))
      await expect(create(fsRoot, 'target'), fsRoot).rejects.toMatchObject(refused(problem))
    }
    expect(await platform.call(filesystems.list, {})).toEqual([])
    await create(folder.data)
    for (const [fsRoot, problem] of own()) {
      await expect(update({ fsRoot }), fsRoot).rejects.toMatchObject(refused(problem))
    }
    await expect(create('/', 'target')).rejects.toThrow('GANTRY_HOME')
  })

  test('over a symbolic link neither', async () => {
    using folder = createFolder('data')
    const link = join(folder.data, 'link')
    symlinkSync(platform.home, link)
    const problem = 'is the configuration folder of Gantry'
    await expect(create(link)).rejects.toMatchObject(refused(problem))
    await expect(create(join(link, 'run'))).rejects.toMatchObject(
      refused('is in the configuration folder of Gantry'),
    )
  })

  test('a link that leads there later is refused when the filesystem is opened', async () => {
    using folder = createFolder('data', 'copy')
    const link = join(dirname(folder.data), 'link')
    symlinkSync(folder.data, link)
    writeFileSync(join(folder.data, 'file'), 'x')
    await create(link)
    await create(folder.copy, 'target')
    await call(client.connection, migrations.create, {
      migrationId: 'copy',
      path: '/',
      source: 'source',
      target: 'target',
    })
    rmSync(link)
    symlinkSync(platform.home, link)
    const problem = 'is the configuration folder of Gantry'
    const listing = { fileSystemId: 'source', path: '/' }
    await expect(call(client.connection, filesystems['list-paths'], listing)).rejects.toMatchObject(
      refused(problem),
    )
    expect(await health('source')).toMatchObject({
      healthy: false,
      healthReason: 'INVALID_FS_ROOT',
      cause: expect.stringContaining(problem),
    })
    await call(client.connection, migrations.start, { migrationId: 'copy' })
    await until('it is stopped, and says why', async () => {
      const { state, stateText } = await call(client.connection, migrations.get, { migrationId: 'copy' })
      return state === 'STOPPED' && stateText.includes(problem)
    })
    expect(readdirSync(folder.copy)).toEqual([])
  })

  testUnless(whyNoMount(), 'over a bind mount neither, made before or after', async () => {
    using folder = createFolder('at', 'data', 'copy')
    {
      using _mounted = mountAgain(platform.home, folder.at)
      await expect(create(folder.at)).rejects.toMatchObject(refused('is the configuration folder of Gantry'))
    }
    mkdirSync(join(folder.data, 'inner', 'deep'), { recursive: true })
    await create(folder.data)
    await create(folder.copy, 'target')
    for (const [part, at] of [
      ['.', 'inner'],
      ['run', 'inner/deep'],
    ] as const) {
      using _mounted = mountAgain(join(platform.home, part), join(folder.data, at))
      const problem = 'contains the configuration folder of Gantry'
      const listing = { fileSystemId: 'source', path: `/${at}` }
      await expect(call(client.connection, filesystems['list-paths'], listing)).rejects.toMatchObject(
        refused(problem),
      )
      expect(await health('source')).toMatchObject({ healthy: false })
    }
    expect(await health('source')).toMatchObject({ healthy: true })
  })
})

describe('the setting filesystemRoots', () => {
  test('says where filesystems may be, for new ones and for those that are there', async () => {
    using folder = createFolder('allowed', 'other')
    mkdirSync(join(folder.allowed, 'inner'))
    symlinkSync(folder.other, join(folder.allowed, 'link'))
    await addLocal(platform, 'old', 'target', folder.other)
    await platform.call(settings.put, { filesystemRoots: [folder.allowed] })
    expect(await platform.call(settings.get, {})).toMatchObject({ filesystemRoots: [folder.allowed] })

    await create(join(folder.allowed, 'inner'))
    const problem = `is in none of the folders that filesystems may be in (${folder.allowed})`
    for (const fsRoot of [folder.other, dirname(folder.other), join(folder.allowed, 'link')]) {
      await expect(create(fsRoot, 'target'), fsRoot).rejects.toMatchObject(refused(problem))
    }
    expect(await health('old')).toMatchObject({
      healthy: false,
      cause: expect.stringContaining('filesystemRoots'),
    })
    await platform.call(settings.put, { filesystemRoots: [folder.allowed, folder.other] })
    expect(await health('old')).toMatchObject({ healthy: true })
  })

  test('holds for a migration that is running', async () => {
    using folder = createFolder('from', 'to', 'elsewhere')
    for (let index = 0; index < 20; index++) mkdirSync(join(folder.from, `${index}`))
    await create(folder.from)
    await create(folder.to, 'target')
    await call(client.connection, migrations.create, {
      migrationId: 'live',
      path: '/',
      source: 'source',
      target: 'target',
      scanOnlyMigration: false,
      autoStart: true,
    })
    await until('the scan is over', () => readdirSync(folder.to).length === 20)
    await platform.call(settings.put, { filesystemRoots: [folder.elsewhere] })
    writeFileSync(join(folder.from, 'late'), 'x')
    await until('it says why nothing moves', async () => {
      const { conditions } = await call(client.connection, migrations.get, { migrationId: 'live' })
      return conditions.some(({ message }) => message.includes('filesystemRoots'))
    })
    expect(readdirSync(folder.to)).not.toContain('late')
    await platform.call(settings.put, { filesystemRoots: [dirname(folder.to)] })
    await until('it arrives', () => readdirSync(folder.to).includes('late'))
    await call(client.connection, migrations.stop, { migrationId: 'live' })
    const state = async () => (await platform.call(migrations.get, { migrationId: 'live' })).state
    await until('it is stopped', async () => (await state()) === 'STOPPED')
  })

  test('takes absolute paths alone, and stays over a restart', async () => {
    for (const path of ['relative', '/a/../b', '/a//b', '/%zz']) {
      await expect(platform.call(settings.put, { filesystemRoots: [path] }), path).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('filesystemRoots'),
      })
    }
  })
})
