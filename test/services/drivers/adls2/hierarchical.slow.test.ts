import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkStore } from '../../../../services/filesystems/check.ts'
import { bodyOf, contentOf, failureOf, listAll, never } from '../../../conformance/driver-store.ts'
import { driverConformance } from '../../../conformance/driver.ts'
import { azuriteOptions, openAzure } from '../../../support/azure-driver.ts'
import { type Azurite, containerName, sharedAzurite } from '../../../support/azurite.ts'
import { type DfsDouble, startDfsDouble } from '../../../support/dfs-double.ts'

/** The Data Lake endpoint is a double: Azurite has none. */

driverConformance('adls2 with a hierarchical namespace', async () => {
  const azurite = await sharedAzurite()
  const double = await startDfsDouble(azurite)
  const name = containerName()
  await azurite.createContainer(name)
  const options = (container: string) => ({
    ...azuriteOptions(azurite, container),
    endpoint: double.endpoint,
  })
  return {
    openDriver: () => openAzure(options(name)),
    openMissing: () => openAzure(options(containerName())),
    [Symbol.asyncDispose]: () => double[Symbol.asyncDispose](),
  }
})

let azurite: Azurite
let double: DfsDouble
let container: string
beforeAll(async () => {
  azurite = await sharedAzurite()
  double = await startDfsDouble(azurite)
  container = containerName()
  await azurite.createContainer(container)
})
afterAll(() => double[Symbol.asyncDispose]())

const at = (path: string) => Buffer.from(path)
const options = (endpoint = double.endpoint) => ({ ...azuriteOptions(azurite, container), endpoint })
const open = (properties: Record<string, string> = {}) => openAzure(options(), properties)

test('the namespace is asked for once, and what it can do is there then', async () => {
  await using driver = open()
  expect(driver.capabilities.folders).toBe('implied')
  expect(driver.rename).toBeUndefined()
  await Promise.all([driver.stat(at('a')), driver.makeFolder(at('a'), {}), driver.version(at('b'))])
  expect(driver.capabilities.folders).toBe('real')
  expect(driver.rename).toBeDefined()
  await using told = open({ 'fs.azure.account.hns.enabled': 'true' })
  expect(told.rename).toBeDefined()
  await using flat = open({ 'fs.azure.account.hns.enabled': 'false' })
  await flat.makeFolder(at('flat'), {})
  expect(flat.capabilities.folders).toBe('implied')
})

test('where the account may not be asked, the access control of the root tells the namespace', async () => {
  await using closed = await startDfsDouble(azurite, { knowsAccount: false })
  await using driver = openAzure(options(closed.endpoint))
  await driver.makeFolder(at('asked'), {})
  expect(driver.capabilities.folders).toBe('real')
  expect(closed.asked).toContain('HEAD action=getAccessControl')
})

test('Azurite, which has a flat namespace, is used as one', async () => {
  await using driver = openAzure(azuriteOptions(azurite, container))
  await driver.makeFolder(at('flat account'), {})
  expect(driver.capabilities.folders).toBe('implied')
})

test('a folder is renamed with all that is in it, though the service does it in several goes', async () => {
  await using driver = open()
  await driver.makeFolder(at('from'), { mode: 0o750 })
  for (const name of ['from/1', 'from/2', 'from/deep/3', 'from/deep/4'])
    await driver.put(at(name), at(name), { mode: 0o600 })
  await driver.rename!(at('from'), at('to'))
  expect(await driver.stat(at('from'))).toBeUndefined()
  expect((await contentOf(driver, at('to/deep/4'))).toString()).toBe('from/deep/4')
  expect(await driver.stat(at('to'))).toMatchObject({ type: 'folder', mode: 0o750 })
  expect((await driver.stat(at('to/1')))?.mode).toBe(0o600)
  expect(await failureOf(driver.rename!(at('from'), at('elsewhere')))).toBe('gone')
})

test('permissions are those of the service, whoever set them, and no umask takes any away', async () => {
  await using driver = open()
  await driver.makeFolder(at('open'), { mode: 0o1777 })
  await driver.put(at('open/file'), at('x'), { mode: 0o666 })
  expect((await driver.stat(at('open')))?.mode).toBe(0o1777)
  expect((await driver.stat(at('open/file')))?.mode).toBe(0o666)
  const [lake] = [
    `http://${double.endpoint}/${azurite.account}/${container}/open/file?action=setAccessControl`,
  ]
  const headers = { authorization: 'SharedKey', 'x-ms-permissions': '0400' }
  expect((await fetch(lake, { method: 'PATCH', headers })).status).toBe(200)
  expect((await driver.stat(at('open/file')))?.mode).toBe(0o400)
  await driver.makeFolder(at('kept'), { mode: 0o2750 })
  expect((await driver.stat(at('kept')))?.mode).toBe(0o2750)
})

test('owners by the ids of the directory, and access control lists, are read and given', async () => {
  await using driver = open()
  const user = '0a1b2c3d-0000-4000-8000-000000000001'
  const group = '0a1b2c3d-0000-4000-8000-000000000002'
  const acl = `user::rwx,user:${user}:r-x,group::r--,mask::r-x,other::---`
  const extended = { all: [{ name: 'azure.acl', value: Buffer.from(acl) }], isComplete: true }
  expect(await driver.put(at('listed'), at('x'), { ownerNames: { user, group }, extended })).toEqual([])
  const found = await driver.attributesOf(at('listed'), { extended: true })
  expect(found?.ownerNames).toEqual({ user, group })
  expect(found?.extended?.all.map(({ value }) => Buffer.from(value).toString())).toEqual([acl])
  expect((await driver.attributesOf(at('listed')))?.extended).toBeUndefined()
  const plain = await driver.put(at('plain'), at('x'), { ownerNames: { user: 'hive', group: 'hadoop' } })
  expect(plain).toEqual([])
  expect((await driver.stat(at('plain')))?.ownerNames?.user).toBe('$superuser')
  const other = { all: [{ name: 'user.x', value: at('y') }], isComplete: true }
  expect(await driver.setAttributes(at('plain'), { extended: other })).toEqual(['attributes'])
})

test('a listing tells of folders what stat tells', async () => {
  await using driver = open()
  await driver.makeFolder(at('list'), {})
  await driver.makeFolder(at('list/empty'), { modifiedMs: 1_600_000_000_000, mode: 0o700 })
  await driver.put(at('list/full/file'), at('x'), {})
  const entries = await listAll(driver, at('list'))
  for (const entry of entries)
    expect(entry).toEqual(await driver.stat(Buffer.concat([at('list/'), entry.name])))
  expect(entries).toHaveLength(2)
})

test('a file of the Data Lake endpoint is replaced as a whole, and refused by name in parts', async () => {
  await using driver = open()
  for (const name of ['whole', 'parts']) await double.createFile(container, name, 'before')
  await driver.put(at('whole'), at('after'), {})
  expect((await contentOf(driver, at('whole'))).toString()).toBe('after')
  const upload = await driver.beginUpload(at('parts'), { sizeBytes: 1, tag: 'tag', attributes: {} })
  const written = driver.writePart(upload, 0, 0, bodyOf(at('x')))
  expect(await failureOf(written)).toBe('unsupported')
  await expect(written).rejects.toThrow(/written through the Data Lake endpoint; delete/)
  expect((await contentOf(driver, at('parts'))).toString()).toBe('before')
})

test('a check passes, and says that the protocol was tested against a double', async () => {
  await using driver = open()
  const lines = await checkStore(driver, 'target', never)
  expect(lines.filter(({ result }) => result === 'no')).toEqual([])
  expect(lines.find(({ check }) => check === 'root')?.detail).toMatch(/hierarchical namespace.*double/)
})
