import { refersToOthers, siteFolder } from '../../../config/site-folder.ts'
import { fieldsOf } from '../../../subjects/kit/json-schema.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { optionSchemas } from '../../../subjects/filesystems/kinds.ts'
import type { Discovery } from '../contract/kind.ts'

/** Where Hadoop's own programs look, and where distributions put it. */
const folderVariable = 'HADOOP_CONF_DIR'
const usualFolder = '/etc/hadoop/conf'

/** Of a property that is in both, the value in the last one counts, as for Hadoop. */
const siteFiles = ['core-site.xml', 'hdfs-site.xml'] as const

/** The first is its name of old. */
const addresses: readonly string[] = ['fs.default.name', 'fs.defaultFS']

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
  const { properties: found, read } = await siteFolder(folder, siteFiles, isTaken)
  if (read.length === 0)
    throw refused(
      `there is no ${siteFiles.join(' or ')} in ${folder} on the host of the platform: set ${folderVariable} for it, or give the options of the cluster`,
    )
  const { [addresses[0]!]: old, [addresses[1]!]: defaultFS = old, ...properties } = found
  if (defaultFS === undefined)
    throw refused(`${read.join(' and ')} say nothing of fs.defaultFS: give defaultFS`)
  const entries = Object.entries(properties)
  const left = entries.filter(([, value]) => refersToOthers(value)).map(([name]) => name)
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

const refused = (message: string): GantryError => new GantryError('NOT_ACCEPTED', message)
