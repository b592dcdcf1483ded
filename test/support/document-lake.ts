import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Catalog } from '../../services/metadata/catalogs/contract/catalog.ts'
import { openCatalog } from '../../services/metadata/catalogs/index.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import type { TestPlatform } from './platform.ts'

type Caller = Pick<TestPlatform, 'call'>
export type LakeSide = 'source' | 'target'
const sides = ['source', 'target'] as const

/** Two folders, each a filesystem of its own with data and documents of metadata; gone with the scope. */
export class DocumentLake implements Disposable {
  readonly root: string

  constructor() {
    this.root = mkdtempSync(join(tmpdir(), 'gantry-lake-'))
    for (const side of sides) mkdirSync(join(this.root, side))
  }

  /** Location of something at the source. */
  at(path: string): string {
    return `file:${this.root}/source/${path}`
  }

  /** Makes the filesystems `source` and `target`. */
  async addFilesystems(platform: Caller): Promise<void> {
    for (const role of sides) {
      const fsRoot = join(this.root, role)
      await platform.call(filesystems['create-local'], { fileSystemId: role, role, fsRoot })
    }
  }

  /** Makes a catalog at each side. @param nameOf its name */
  async addCatalogs(
    platform: Caller,
    rootFolder: string,
    nameOf = (side: LakeSide): string => side,
  ): Promise<void> {
    for (const side of sides) {
      const catalogId = nameOf(side)
      await platform.call(metadataCatalogs['create-filesystem'], {
        catalogId,
        fileSystemId: side,
        rootFolder,
      })
    }
  }

  /** The catalog of a side, past the platform. */
  open(side: LakeSide, rootFolder: string): Promise<Catalog> {
    return openCatalog({
      kind: 'filesystem',
      options: { fileSystemId: side, rootFolder },
      filesystem: { kind: 'local', options: { fsRoot: join(this.root, side) } },
    })
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
