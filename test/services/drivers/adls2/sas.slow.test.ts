import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  ContainerSASPermissions,
  generateAccountSASQueryParameters,
  generateBlobSASQueryParameters,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { beforeAll, describe, expect, test } from 'vitest'
import { Adls2Driver } from '../../../../services/drivers/adls2/adls2.ts'
import type { Driver } from '../../../../services/drivers/contract/driver.ts'
import { checkStore } from '../../../../services/filesystems/check.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'
import { contentOf, failureOf, listAll, never } from '../../../conformance/driver-store.ts'
import { driverConformance } from '../../../conformance/driver.ts'
import { azuriteOptions, openAzure } from '../../../support/azure-driver.ts'
import { type Azurite, containerName, sharedAzurite } from '../../../support/azurite.ts'

type Options = FilesystemOptions<'adls2-sas'>

const hourMs = 3_600_000
let azurite: Azurite
beforeAll(async () => {
  azurite = await sharedAzurite()
})

const inHours = (hours: number) => new Date(Date.now() + hours * hourMs)
const credential = ({ account, key }: Azurite) => new StorageSharedKeyCredential(account, key)

/** As Microsoft's own library makes it. */
const containerSas = (
  container: string,
  changes: Partial<Parameters<typeof generateBlobSASQueryParameters>[0]> = {},
): string =>
  generateBlobSASQueryParameters(
    {
      containerName: container,
      permissions: ContainerSASPermissions.parse('rwdl'),
      expiresOn: inHours(1),
      ...changes,
    },
    credential(azurite),
  ).toString()

const accountSas = (permissions = 'rwdl', types = 'co', services = 'b'): string =>
  generateAccountSASQueryParameters(
    {
      expiresOn: inHours(1),
      permissions: AccountSASPermissions.parse(permissions),
      resourceTypes: AccountSASResourceTypes.parse(types).toString(),
      services: AccountSASServices.parse(services).toString(),
    },
    credential(azurite),
  ).toString()

function open(container: string, sasToken: string, changes: Partial<Options> = {}) {
  const { sharedKey: _, ...options } = azuriteOptions(azurite, container)
  const retries = { 'fs.azure.io.retry.max.retries': '0' }
  const driver = new Adls2Driver({ ...options, sasToken, additionalProperties: retries, ...changes })
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
}

async function freshContainer(): Promise<string> {
  const name = containerName()
  await azurite.createContainer(name)
  return name
}

driverConformance('adls2 by the SAS of a container', async () => {
  azurite = await sharedAzurite()
  const container = await freshContainer()
  const missing = containerName()
  return {
    openDriver: () => open(container, containerSas(container)),
    openMissing: () => open(missing, containerSas(missing)),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
})

driverConformance('adls2 by a SAS, in a directory', async () => {
  azurite = await sharedAzurite()
  const container = await freshContainer()
  await using whole = openAzure(azuriteOptions(azurite, container))
  await whole.makeFolder(Buffer.from('raw'), {})
  await whole.makeFolder(Buffer.from('raw/2024'), {})
  const sas = containerSas(container)
  const missing = containerName()
  return {
    openDriver: () => open(container, sas, { directory: 'raw/2024' }),
    openMissing: () => open(missing, containerSas(missing), { directory: 'raw/2024' }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
})

test('the SAS of an account lets in, with and without its question mark, and tells which container it is', async () => {
  const container = await freshContainer()
  for (const sas of [accountSas(), `?${accountSas()}`]) {
    await using driver = open(container, sas)
    await driver.probe(never)
    await driver.put(Buffer.from('file'), Buffer.from('content'), {})
    expect((await contentOf(driver, Buffer.from('file'))).toString()).toBe('content')
    expect(await driver.identify?.(undefined)).toMatchObject({ isOther: false })
  }
})

test('a SAS that a program decoded lets in', async () => {
  const container = await freshContainer()
  for (let tries = 0; tries < 100; tries++) {
    const sas = containerSas(container, { expiresOn: new Date(Date.now() + hourMs + tries * 1_000) })
    if (!sas.includes('%2B')) continue
    await using driver = open(container, decodeURIComponent(sas))
    await driver.probe(never)
    return
  }
  expect.unreachable('no signature has a plus sign')
})

test('below a directory nothing else of the container is seen', async () => {
  const container = await freshContainer()
  await using whole = openAzure(azuriteOptions(azurite, container))
  await whole.put(Buffer.from('outside'), Buffer.from('x'), {})
  await whole.put(Buffer.from('raw/inside'), Buffer.from('x'), {})
  await using driver = open(container, containerSas(container), { directory: 'raw' })
  await driver.probe(never)
  await using other = open(container, containerSas(container), { directory: 'ra' })
  expect(await failureOf(other.probe(never))).toBe('gone')
  expect((await listAll(driver, Buffer.alloc(0))).map(({ name }) => name.toString())).toEqual(['inside'])
  await driver.put(Buffer.from('new'), Buffer.from('y'), {})
  expect((await contentOf(whole, Buffer.from('raw/new'))).toString()).toBe('y')
  expect(await driver.stat(Buffer.from('outside'))).toBeUndefined()
  expect(driver.locate(Buffer.from('a')).own).toEqual(whole.locate(Buffer.from('raw/a')).own)
})

describe('what a SAS does not allow is told, and never the signature', () => {
  const told = async (driver: Driver, work: Promise<unknown>) => {
    const error = await work.then(
      () => expect.unreachable('it did not fail'),
      (error: unknown) => error as Error,
    )
    await driver.close()
    return error.message
  }
  const signatureOf = (sas: string) => new URLSearchParams(sas).get('sig')!

  test('it is over', async () => {
    const container = await freshContainer()
    const sas = containerSas(container, { startsOn: inHours(-2), expiresOn: inHours(-1) })
    const driver = open(container, sas)
    expect(await failureOf(driver.probe(never))).toBe('refused')
    const message = await told(driver, driver.probe(never))
    expect(message).toMatch(/the SAS ended at \d{4}-.*: give another sasToken/)
    expect(message).not.toContain(signatureOf(sas))
  })

  test('it has not begun', async () => {
    const container = await freshContainer()
    const driver = open(container, containerSas(container, { startsOn: inHours(1), expiresOn: inHours(2) }))
    expect(await told(driver, driver.probe(never))).toMatch(/the SAS begins at \d{4}-/)
  })

  test('it is that of another container', async () => {
    const driver = open(await freshContainer(), containerSas(await freshContainer()))
    expect(await failureOf(driver.probe(never))).toBe('refused')
    expect(await told(driver, driver.probe(never))).toMatch(/check accountName, .*sasToken/)
  })

  test('it is for reading alone', async () => {
    const container = await freshContainer()
    const readOnly = containerSas(container, { permissions: ContainerSASPermissions.parse('rl') })
    await using driver = open(container, readOnly)
    await driver.probe(never)
    const lines = await checkStore(driver, 'target', never)
    const write = lines.find(({ check }) => check === 'write')
    expect(write).toMatchObject({ result: 'no' })
    expect(write?.detail).toMatch(/the SAS allows sp=rl, a source needs rl and a target rwdl/)
    expect(JSON.stringify(lines)).not.toContain(signatureOf(readOnly))
  })
})

test.each([
  [() => 'sp=rl&se=2030-01-01&sr=c&sig=bXk=', /sasToken has no sv/],
  [() => 'sv=2021-12-02&sp=rl&se=2030-01-01&sr=c', /sasToken has no sig/],
  [() => 'sv=2021-12-02&sp=rl&sr=c&sig=bXk=', /sasToken has no time at which it ends/],
  [() => 'sv=2021-12-02&sp=rl&se=2030-01-01&sr=b&sig=bXk=', /sasToken is for a single blob/],
  [() => 'sv=2021-12-02&se=2030-01-01&sr=c&sig=bXk=&comp=list', /sasToken has parameters that are none/],
  [() => 'sv=2021-12-02&se=2030-01-01&sr=c&sig=bXk=&sig=bXk=', /sasToken has a parameter twice/],
  [() => 'sv=2021-12-02&se=2030-01-01&sr=d&sdd=2&sig=bXk=', /directory must be .* 2 levels deep/],
  [() => accountSas('rwdl', 'o'), /sasToken is not for containers and their blobs/],
  [() => accountSas('rwdl', 'co', 'q'), /sasToken is not for the Blob service/],
  [() => containerSas('c', { protocol: SASProtocol.Https }), /sasToken is for https alone/],
])('what cannot be used is refused by name (%#)', (sas, message) => {
  expect(() => open('c', sas())).toThrow(message)
})

test('a directory that no blob can be in is refused', () => {
  for (const directory of ['a/../b', '.', 'a./b', 'a\u0001'])
    expect(() => open('c', containerSas('c'), { directory })).toThrow(/directory cannot be there/)
})
