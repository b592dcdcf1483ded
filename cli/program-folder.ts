import { dirname, join, resolve } from 'node:path'
import { readTextFile } from '../broker/common/files.ts'

/** The clone, or the package with all that it brings: the next folder above whose manifest has a name. */
export function programFolder(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = readTextFile(join(folder, 'package.json'))
    if (manifest !== undefined && (JSON.parse(manifest) as { name?: string }).name !== undefined)
      return folder
  }
  return resolve(import.meta.dirname, '..')
}
