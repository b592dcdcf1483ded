import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { azuriteOptions } from '../../support/azure-driver.ts'
import { containerName, sharedAzurite } from '../../support/azurite.ts'
import { compareAll, differences } from './compare-folder.ts'
import { createMove } from './move-folder.ts'

test('the digest that Azure keeps spares reading its files', async () => {
  const azurite = await sharedAzurite()
  const name = containerName()
  await azurite.createContainer(name)
  const azure = { kind: 'adls2-shared-key', options: azuriteOptions(azurite, name) } as const
  await using move = createMove({ target: azure })
  const sizes = { none: 0, small: 100_000, large: 20_000_000 }
  for (const [name, size] of Object.entries(sizes))
    writeFileSync(join(move.from, name), Buffer.alloc(size, name))
  mkdirSync(join(move.from, 'folder'))
  utimesSync(join(move.from, 'folder'), 1, 1)
  await move.run()
  const { mover, spec } = move
  const attributes = { modes: true, owners: true, attributes: true }
  // It has folders' times, and no extended attributes.
  expect(
    differences(await compareAll(mover, { ...spec, metadata: attributes }, { level: 'metadata' })),
  ).toEqual([])
  const compared = await compareAll(mover, spec, { level: 'digest' })
  expect(differences(compared)).toEqual([])
  // The service keeps no digest of what went in parts: that is read on both sides.
  expect(compared.counts['bytesRead']).toBe(sizes.small + 2 * sizes.large)

  const other = Buffer.alloc(5, 'y')
  writeFileSync(join(move.from, 'changed'), Buffer.alloc(5, 'x'))
  await azurite.service.getContainerClient(name).getBlockBlobClient('changed').upload(other, other.length)
  const again = await compareAll(mover, spec, { level: 'digest' }, { path: Buffer.from('changed') })
  expect(differences(again)).toEqual(['DIGEST_MISMATCH /changed'])
  expect(again.counts['bytesRead']).toBe(5)
})
