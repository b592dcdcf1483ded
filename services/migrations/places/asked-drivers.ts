import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import { type Driver, type Entry, type Location, openDriver, type StorePath } from '../../drivers/index.ts'
import { pathFromText } from '../../drivers/paths/path-text.ts'

/** What the driver of a filesystem says without asking its store. */
async function saidBy<T>(spec: FilesystemSpec, ask: (driver: Driver) => T): Promise<T> {
  const driver = await openDriver(spec)
  try {
    return ask(driver)
  } finally {
    await driver.close()
  }
}

/** Why a filesystem cannot hold something by its own rules; undefined when it can. */
export const refusalAt = (
  spec: FilesystemSpec,
  path: StorePath,
  entry: Pick<Entry, 'type' | 'sizeBytes'>,
): Promise<string | undefined> => saidBy(spec, (driver) => driver.refuses(path, entry))

/** Where a path of a filesystem is, whatever leads to it. */
export const locate = (spec: FilesystemSpec, path: string): Promise<Location> =>
  saidBy(spec, (driver) => driver.locate(pathFromText(path)))

/** Whether what is in a filesystem can be given another path there, without being copied. */
export const canRename = (spec: FilesystemSpec): Promise<boolean> =>
  saidBy(spec, (driver) => driver.rename !== undefined)
