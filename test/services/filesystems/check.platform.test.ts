import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import type { OutgoingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { type Azurite, startAzurite } from '../../support/azurite.ts'
import { startInterferingProxy } from '../../support/interfering-proxy.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { loopback } from '../../../subjects/kit/names.ts'

let platform: TestPlatform
let azurite: Azurite
beforeAll(async () => {
  ;[platform, azurite] = await Promise.all([startTestPlatform(), startAzurite()])
  await platform.call(settings.put, { storeHosts: [loopback] })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  await azurite[Symbol.asyncDispose]()
})

const linesOf = ({ checks }: { checks: { check: string; result: string }[] }) =>
  Object.fromEntries(checks.map(({ check, result }) => [check, result]))

const optionsOf = (containerName: string) => ({
  accountName: azurite.account,
  sharedKey: azurite.key,
  containerName,
  endpoint: azurite.endpoint,
  insecure: true,
})

const reached = { reach: 'yes', credentials: 'yes', root: 'yes', list: 'yes' }
const written = { read: 'yes', write: 'yes', replace: 'yes', condition: 'yes', parts: 'yes', delete: 'yes' }

test('a target is written to, and left as it was', async () => {
  using folder = createFolder('to')
  writeFileSync(join(folder.to, 'theirs'), 'x')
  const asked = { role: 'target', fsRoot: folder.to } as const
  const reply = await platform.call(filesystems['check-local'], asked)
  expect(reply.ok).toBe(true)
  expect(linesOf(reply)).toEqual({ ...reached, ...written, checksum: 'untried' })
  expect(readdirSync(folder.to)).toEqual(['theirs'])
})

test('a source is read, and nothing is written to it', async () => {
  using folder = createFolder('from', 'hollow')
  writeFileSync(join(folder.from, 'file'), 'x')
  const before = readdirSync(folder.root)
  expect(
    linesOf(await platform.call(filesystems['check-local'], { role: 'source', fsRoot: folder.from })),
  ).toEqual({
    ...reached,
    read: 'yes',
    changes: 'yes',
  })
  const hollow = await platform.call(filesystems['check-local'], { role: 'source', fsRoot: folder.hollow })
  expect(linesOf(hollow)).toEqual({ ...reached, read: 'untried', changes: 'yes' })
  expect(readdirSync(folder.root)).toEqual(before)
})

test('what is not there is named, and nothing is made', async () => {
  using folder = createFolder('to')
  const fsRoot = join(folder.to, 'nothing')
  const missing = `fsRoot ${fsRoot}: there is no such folder; check the path on the host of the platform (in a container, the path inside it), and that it is mounted`
  const { ok, checks } = await platform.call(filesystems['check-local'], { role: 'target', fsRoot })
  expect(ok).toBe(false)
  expect(checks.at(-1)).toMatchObject({
    check: 'root',
    result: 'no',
    detail: `fsRoot ${fsRoot}: there is no such folder; check that it is mounted, or create it on the host of the platform (in a container, inside it): "mkdir -p ${fsRoot}"`,
  })
  const ofSource = await platform.call(filesystems['check-local'], { role: 'source', fsRoot })
  expect(ofSource.checks.at(-1)).toMatchObject({ check: 'root', detail: missing })
  writeFileSync(join(folder.to, 'file'), '')
  const file = join(folder.to, 'file')
  const found = await platform.call(filesystems['check-local'], { role: 'target', fsRoot: file })
  expect(found.checks.at(-1)?.detail).toBe(
    `fsRoot ${file}: this is not a folder; use the folder that it is in`,
  )
  rmSync(file)
  expect(readdirSync(folder.to)).toEqual([])
})

test.for(['source', 'target'] as const)(
  'only a %s that is a target is to be created where it is missing',
  async (role) => {
    using folder = createFolder('there', 'gone')
    const fileSystemId = `missing-${role}`
    const fix = 'or create it on the host'
    const isSaid = role === 'target' ? expect.stringContaining(fix) : expect.not.stringContaining(fix)
    await expect(addLocal(platform, fileSystemId, role, join(folder.there, 'none'))).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      message: isSaid,
    })
    await addLocal(platform, fileSystemId, role, folder.gone)
    const fsRoot = join(folder.there, 'none')
    await expect(platform.call(filesystems['update-local'], { fileSystemId, fsRoot })).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      message: isSaid,
    })
    rmSync(folder.gone, { recursive: true })
    const health = await platform.call(filesystems.health, { fileSystemId })
    expect(health).toMatchObject({ healthReason: 'INVALID_FS_ROOT', cause: isSaid })
  },
)

test('one that is stored is tried by its name', async () => {
  using folder = createFolder('to')
  await addLocal(platform, 'checked', 'target', folder.to)
  expect(
    linesOf(await platform.call(filesystems['check-stored'], { fileSystemId: 'checked' })),
  ).toMatchObject(written)
  await expect(platform.call(filesystems['check-stored'], { fileSystemId: 'unknown' })).rejects.toThrow(
    /there is no/,
  )
})

test('Azure: the digest is compared, a wrong key and a container that is not there are told apart', async () => {
  await azurite.createContainer('check')
  const options = { ...optionsOf('check'), role: 'target' } as const
  expect(linesOf(await platform.call(filesystems['check-adls2-shared-key'], options))).toEqual({
    ...reached,
    ...written,
    checksum: 'yes',
    clock: 'yes',
  })
  const wrong = { ...options, sharedKey: Buffer.from('another').toString('base64') }
  const refused = await platform.call(filesystems['check-adls2-shared-key'], wrong)
  expect(linesOf(refused)).toEqual({ reach: 'yes', credentials: 'no', clock: 'yes' })
  expect(JSON.stringify(refused)).not.toContain(wrong.sharedKey)
  const absent = await platform.call(filesystems['check-adls2-shared-key'], {
    ...options,
    containerName: 'not-there',
  })
  expect(linesOf(absent)).toEqual({ reach: 'yes', credentials: 'yes', root: 'no', clock: 'yes' })
})

test.each([
  ['behind', -20, 'no'],
  ['ahead of', 20, 'no'],
  ['ahead of', 5, 'yes'],
] as const)("a store whose clock is %s this host's by %i minutes: %s", async (said, minutes, result) => {
  const container = `clock-${said.split(' ')[0]}${Math.abs(minutes)}`
  await azurite.createContainer(container)
  const date = (headers: OutgoingHttpHeaders) =>
    new Date(Date.parse(String(headers['date'])) + minutes * 60_000).toUTCString()
  await using proxy = await startInterferingProxy(azurite.endpoint, () => ({
    after: (answer) => ({ ...answer, headers: { ...answer.headers, date: date(answer.headers) } }),
  }))
  const options = { ...optionsOf(container), endpoint: proxy.endpoint, role: 'source' } as const
  const { ok, checks } = await platform.call(filesystems['check-adls2-shared-key'], options)
  // An answer takes a moment, and dates are of whole seconds.
  const wholeMinutes = `(?:${Math.abs(minutes) * 60}|${Math.abs(minutes) * 60 - 1}|${Math.abs(minutes) * 60 + 1})`
  expect(ok).toBe(result === 'yes')
  expect(checks.find(({ check }) => check === 'clock')).toMatchObject({
    result,
    detail: expect.stringMatching(
      new RegExp(`at least ${wholeMinutes} s ${said} this host's${result === 'no' ? '.*NTP' : '$'}`),
    ) as string,
  })
})

test('what answers nothing is not reached', async () => {
  const options = { ...optionsOf('check'), endpoint: '127.0.0.1:1', role: 'source' } as const
  const { ok, checks } = await platform.call(filesystems['check-adls2-shared-key'], options)
  expect(ok).toBe(false)
  expect(checks).toMatchObject([{ check: 'reach', result: 'no' }])
})
