import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import { type Entry, openDriver, type StorePath } from '../../drivers/index.ts'
import { hostFolderAt, type HostFolder } from '../../drivers/local/host-folder.ts'
import { LocalRoot } from '../../drivers/local/root.ts'
import { pathFromText } from '../../drivers/paths/path-text.ts'

/** Why a filesystem cannot hold something by its own rules; undefined when it can. */
export async function refusalAt(
  spec: FilesystemSpec,
  path: StorePath,
  entry: Pick<Entry, 'type' | 'sizeBytes'>,
): Promise<string | undefined> {
  const driver = await openDriver(spec)
  try {
    return driver.refuses(path, entry)
  } finally {
    await driver.close()
  }
}

/**
 * The folder of this host that a path of a filesystem is, symbolic links resolved as far as it is there, and mounts;
 * undefined for a filesystem that has none.
 */
export async function localFolder(spec: FilesystemSpec, path: string): Promise<HostFolder | undefined> {
  const driver = await openDriver(spec)
  try {
    const { localRoot } = driver.features
    return localRoot === undefined
      ? undefined
      : hostFolderAt(new LocalRoot(localRoot).absolute(pathFromText(path)))
  } finally {
    await driver.close()
  }
}

/** What the driver calls the store of a filesystem; undefined for a folder of the host. */
export async function storeName(spec: FilesystemSpec): Promise<string | undefined> {
  const driver = await openDriver(spec)
  try {
    return driver.features.storeName
  } finally {
    await driver.close()
  }
}
