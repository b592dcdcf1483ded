import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { GantryError } from '../subjects/kit/errors.ts'
import { sitePropertiesIn } from './site-files.ts'

/** Files with all properties that Hadoop has are a fifth of this. */
const maxFileBytes = 1024 * 1024

/** What refers to other properties is resolved by Hadoop alone, from files that are not read here. */
export const refersToOthers = (value: string): boolean => value.includes('${')

export interface SiteFolder {
  readonly properties: Readonly<Record<string, string>>
  /** Paths of the files that are there. */
  readonly read: readonly string[]
}

/**
 * Properties in the files of a folder with a configuration of Hadoop. Throws GantryError NOT_ACCEPTED for a file that cannot be
 * read, or is none.
 * @param files names: of a property that is in several, the value in the last one counts, as for Hadoop
 * @param isTaken whether a property is wanted
 */
export async function siteFolder(
  folder: string,
  files: readonly string[],
  isTaken: (name: string) => boolean,
): Promise<SiteFolder> {
  const properties: Record<string, string> = {}
  const read: string[] = []
  for (const name of files) {
    const path = join(folder, name)
    const xml = await contentOf(path)
    if (xml === undefined) continue
    read.push(path)
    try {
      Object.assign(properties, sitePropertiesIn(xml, isTaken).taken)
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause)
      throw refused(`${path} is not a Hadoop configuration: ${problem}`, cause)
    }
  }
  return { properties, read }
}

/** Undefined where there is none. */
async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    await using file = await open(path)
    const { size } = await file.stat()
    if (size > maxFileBytes)
      throw refused(`${path} has ${size} bytes; a Hadoop configuration may have at most ${maxFileBytes}`)
    return await file.readFile()
  } catch (error) {
    if (error instanceof GantryError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw refused(`${path} cannot be read: ${(error as Error).message}`, error)
  }
}

const refused = (message: string, cause?: unknown): GantryError =>
  new GantryError('NOT_ACCEPTED', message, { cause })
