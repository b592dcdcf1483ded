import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { agentKeys } from '../../subjects/migrations/agents.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { AgentChild } from '../support/agent-child.ts'
import { addAzurite, addLocal, createFolder } from '../support/migrations.ts'
import { startTestPlatform } from '../support/platform.ts'
import { containerName, sharedAzurite } from '../support/azurite.ts'
import { until } from '../support/until.ts'

test('documents are listed through gantry agent --catalogs, and not without it', async () => {
  using folder = createFolder('documents')
  mkdirSync(join(folder.documents, 'metadata'))
  await using platform = await startTestPlatform()
  await addLocal(platform, 'documents', 'source', folder.documents)
  const { token } = await platform.call(agentKeys.register, { name: 'edge' })
  const make = () =>
    platform.call(metadataCatalogs['create-filesystem'], {
      catalogId: 'far',
      fileSystemId: 'documents',
      rootFolder: '/metadata',
      agent: 'edge',
    })
  let last: unknown
  const told = (error: unknown) => {
    last = error
    return false
  }
  {
    await using _without = new AgentChild(token, ['--share', folder.root])
    await expect(make()).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
  }
  await using child = new AgentChild(token, ['--catalogs', '--share', folder.root])
  await until('the agent is there', () => make().then(() => true, told), 15_000).catch((error: unknown) => {
    throw new Error(`${String(last)}\n${child.printed}`, { cause: error })
  })
  expect(await platform.call(metadataCatalogs.databases, { catalogId: 'far' })).toEqual([])
  expect((await platform.call(metadataCatalogs['check-stored'], { catalogId: 'far' })).ok).toBe(true)
  child.kill('SIGTERM')
  expect(await child.exitCode()).toBe(0)
})

test('the secrets of a store with documents are sent to no agent', async () => {
  const azurite = await sharedAzurite()
  const container = containerName()
  await azurite.createContainer(container)
  await using platform = await startTestPlatform()
  await addAzurite(platform, 'lake', 'source', azurite, container)
  const options = { fileSystemId: 'lake', agent: 'edge' }
  const refused = {
    code: 'NOT_ACCEPTED',
    message: expect.stringMatching(
      /agent cannot be used with filesystem lake, .*sharedKey.*a folder or a store without secrets.*without agent/s,
    ),
  }
  await expect(
    platform.call(metadataCatalogs['create-filesystem'], { catalogId: 'far', ...options }),
  ).rejects.toMatchObject(refused)
  await expect(platform.call(metadataCatalogs['check-filesystem'], options)).rejects.toMatchObject(refused)
  expect(await platform.call(metadataCatalogs.list, {})).toEqual([])
})
