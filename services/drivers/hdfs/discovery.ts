import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { sitePropertiesIn } from '../../../config/site-files.ts'
import { fieldsOf } from '../../../subjects/kit/json-schema.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { optionSchemas } from '../../../subjects/filesystems/kinds.ts'
import type { Discovery } from '../contract/kind.ts'

/** Where Hadoop's own programs look, and where distributions put it. */
const folderVariable = 'HADOOP_CONF_DIR'
const usualFolder = '/etc/hadoop/conf'

/** Of a property that is in both, the value in the last one counts, as for Hadoop. */
const siteFiles = ['core-site.xml', 'hdfs-site.xml'] as const

/** Files with all properties that Hadoop has are a fifth of this. */
const maxFileBytes = 1024 * 1024

/** The first is its name of old. */
const addresses: readonly string[] = ['fs.default.name', 'fs.defaultFS']

/** What refers to other properties is resolved by Hadoop alone, from files that are not read here. */
const reference = /\$\{/

/**
 * The cluster that this host is configured for. Keytabs are not read: whoever asks gives one. Throws GantryError NOT_ACCEPTED
 * where there is no such configuration, or none of a cluster.
 */
export async function discoverHdfs(): Promise<Discovery<'hdfs'>> {
  const folder = process.env[folderVariable] || usualFolder
  const patterns = Object.keys(
    fieldsOf(optionSchemas.hdfs)['additionalProperties']?.patternProperties ?? {},
  ).map((pattern) => new RegExp(pattern, 'u'))
  const isTaken = (name: string) => patterns.some((pattern) => pattern.test(name)) || addresses.includes(name)
  const found: Record<string, string> = {}
  const read: string[] = []
  for (const name of siteFiles) {
    const path = join(folder, name)
    const xml = await contentOf(path)
    if (xml === undefined) continue
    read.push(path)
    try {
      Object.assign(found, sitePropertiesIn(xml, isTaken).taken)
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause)
      throw refused(`${path} is no configuration of Hadoop: ${problem}`, cause)
    }
  }
  if (read.length === 0)
    throw refused(
      `there is no ${siteFiles.join(' or ')} in ${folder} on the host of the platform: set ${folderVariable} for it, or give the options of the cluster`,
    )
  const { [addresses[0]!]: old, [addresses[1]!]: defaultFS = old, ...properties } = found
  if (defaultFS === undefined)
    throw refused(`${read.join(' and ')} say nothing of fs.defaultFS: give defaultFS`)
  const entries = Object.entries(properties)
  const left = entries.filter(([, value]) => reference.test(value)).map(([name]) => name)
  const additionalProperties = Object.fromEntries(entries.filter(([name]) => !left.includes(name)))
  const notTaken =
    left.length === 0
      ? ''
      : `; ${left.join(', ')} ${left.length === 1 ? 'refers' : 'refer'} to other properties and must be given`
  return {
    options: { defaultFS, ...(entries.length > left.length && { additionalProperties }) },
    message: `${defaultFS} is the cluster in ${read.join(' and ')}${notTaken}`,
  }
}

/** Throws GantryError NOT_ACCEPTED where it is there and cannot be read. */
async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    await using file = await open(path)
    const { size } = await file.stat()
    if (size > maxFileBytes)
      throw refused(`${path} has ${size} bytes, and a configuration of Hadoop has at most ${maxFileBytes}`)
    return await file.readFile()
  } catch (error) {
    if (error instanceof GantryError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw refused(`${path} cannot be read: ${(error as Error).message}`, error)
  }
}

const refused = (message: string, cause?: unknown): GantryError =>
  new GantryError('NOT_ACCEPTED', message, { cause })
