import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeAll } from 'vitest'
import { textFromPath } from '../../../services/drivers/paths/path-text.ts'
import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import { azuriteOptions, openAzure } from '../../support/azure-driver.ts'
import { type Azurite, containerName, sharedAzurite } from '../../support/azurite.ts'
import { walkTree } from '../../support/compare-trees.ts'

export const targetKinds = ['folder', 'container'] as const
export type TargetKind = (typeof targetKinds)[number]

/** A target of a migration, and the hands of somebody else in it. Paths have no slash at their beginning. */
export interface TestTarget extends AsyncDisposable {
  readonly spec: FilesystemSpec
  /** Makes or replaces a file, with the folders above it. @param modifiedMs default: now */
  put(path: string, content: string, modifiedMs?: number): Promise<void>
  /** Removes a file, or a folder with all that is in it. */
  remove(path: string): Promise<void>
  /** All paths in the words of the interfaces, folders with a slash at their end, sorted. */
  paths(): Promise<string[]>
  /** Content of all files, by path. */
  contents(): Promise<Record<string, string>>
}

/** Targets of both kinds for the tests of a file. */
export function sharedTargets() {
  let azurite: Azurite
  beforeAll(async () => {
    azurite = await sharedAzurite()
  })
  /** A container of its own, with Microsoft's client to look into it. */
  const createContainer = async () => {
    const name = containerName()
    await azurite.createContainer(name)
    const spec = { kind: 'adls2-shared-key', options: azuriteOptions(azurite, name) } as const
    return { spec, client: azurite.service.getContainerClient(name) }
  }
  return {
    createContainer,
    create: async (kind: TargetKind): Promise<TestTarget> =>
      kind === 'folder' ? folderTarget() : containerTarget(await createContainer()),
  }
}

function folderTarget(): TestTarget {
  const root = mkdtempSync(join(tmpdir(), 'gantry-target-'))
  const all = () => [...walkTree(root)]
  return {
    spec: { kind: 'local', options: { fsRoot: root } },
    put: async (path, content, modifiedMs = Date.now()) => {
      const at = join(root, path)
      mkdirSync(dirname(at), { recursive: true })
      writeFileSync(at, content)
      utimesSync(at, modifiedMs / 1_000, modifiedMs / 1_000)
    },
    remove: async (path) => rmSync(join(root, path), { recursive: true }),
    paths: async () =>
      all()
        .map(({ path, stat }) => `${textFromPath(path)}${stat.isDirectory() ? '/' : ''}`)
        .toSorted(),
    contents: async () =>
      Object.fromEntries(
        all()
          .filter(({ stat }) => stat.isFile())
          .map(({ path }) => [path.toString(), readFileSync(join(root, path.toString()), 'utf8')]),
      ),
    [Symbol.asyncDispose]: async () => rmSync(root, { recursive: true }),
  }
}

type Container = Awaited<ReturnType<ReturnType<typeof sharedTargets>['createContainer']>>

function containerTarget({ spec, client }: Container): TestTarget {
  const driver = openAzure(spec.options)
  const blobs = () => Array.fromAsync(client.listBlobsFlat({ includeMetadata: true }))
  const isFolder = ({ metadata }: { metadata?: Record<string, string> }) =>
    metadata?.['hdi_isfolder'] === 'true'
  return {
    spec,
    put: async (path, content, modifiedMs = Date.now()) => {
      const segments = path.split('/').slice(0, -1)
      for (const index of segments.keys())
        await driver.makeFolder(Buffer.from(segments.slice(0, index + 1).join('/')), {})
      await driver.put(Buffer.from(path), Buffer.from(content), { modifiedMs })
    },
    remove: async (path) => {
      for (const { name } of await blobs())
        if (name === path || name.startsWith(`${path}/`)) await client.deleteBlob(name)
    },
    paths: async () => {
      const all = await blobs()
      return all
        .map((blob) => `${textFromPath(Buffer.from(blob.name))}${isFolder(blob) ? '/' : ''}`)
        .toSorted()
    },
    contents: async () => {
      const files = (await blobs()).filter((blob) => !isFolder(blob))
      const content = async (name: string) => (await client.getBlobClient(name).downloadToBuffer()).toString()
      return Object.fromEntries(
        await Promise.all(files.map(async ({ name }) => [name, await content(name)] as const)),
      )
    },
    [Symbol.asyncDispose]: () => driver.close(),
  }
}
