import { refersToOthers, siteFolder } from '../../../../config/site-folder.ts'
import { notAccepted } from '../../../../subjects/kit/errors.ts'
import { product } from '../../../../subjects/kit/names.ts'
import type { CatalogOptions } from '../../../../subjects/metadata/kinds.ts'
import { metastoreUrisForm, metastoreUrisInWords } from '../../../../subjects/metadata/metastore-uris.ts'
import { AllowedView, type StoreBounds } from '../../../drivers/contract/bounds.ts'

type Options = CatalogOptions<'hive'>
/** With all that is not given taken from where the options say. */
export type MetastoreOptions = Options & { readonly metastoreUris: string }

/** Of a property that is in both, the value in the last one counts, as for Hive. */
const siteFiles = ['core-site.xml', 'hive-site.xml'] as const

/** Names of properties; the first is that of a metastore without the rest of Hive. */
const properties = {
  uris: ['metastore.thrift.uris', 'hive.metastore.uris'],
  sasl: ['metastore.sasl.enabled', 'hive.metastore.sasl.enabled'],
  principal: ['metastore.kerberos.principal', 'hive.metastore.kerberos.principal'],
  framed: ['metastore.thrift.framed.transport.enabled', 'hive.metastore.thrift.framed.transport.enabled'],
  ssl: ['metastore.use.SSL', 'hive.metastore.use.SSL'],
} as const
const names: readonly string[] = Object.values(properties).flat()

/** Where Hive's own programs look, and where distributions put it. */
const usualFolders = () => [process.env['HIVE_CONF_DIR'], '/etc/hive/conf']

const urisPattern = new RegExp(metastoreUrisForm.pattern, 'u')
const isTrue = (value: string | undefined) => value?.toLowerCase() === 'true'

/**
 * The options of a metastore, with what the configuration says in the folder that they name. Throws GantryError NOT_ACCEPTED.
 * @param bounds what of this host may be read; without them anything
 */
export async function metastoreOptions(
  options: Options,
  bounds: StoreBounds | undefined,
): Promise<MetastoreOptions> {
  const { metastoreUris, configPath } = options
  if (configPath === undefined) {
    if (metastoreUris === undefined)
      throw notAccepted('metastoreUris', 'is required; or set configPath to a folder with hive-site.xml')
    return { ...options, metastoreUris }
  }
  if (metastoreUris !== undefined)
    throw notAccepted('metastoreUris', 'cannot be combined with configPath; remove one of them')
  requireReadable(configPath, bounds)
  const { properties: found, read } = await siteFolder(configPath, siteFiles, (name) => names.includes(name))
  if (read.length === 0)
    throw notAccepted('configPath', `must be a folder with a hive-site.xml: there is none in ${configPath}`)
  const valueOf = (which: keyof typeof properties, option: string): string | undefined => {
    const name = properties[which].find((one) => found[one] !== undefined)
    const value = name && found[name]
    if (value !== undefined && refersToOthers(value))
      throw notAccepted(
        'configPath',
        `contains ${name}, which refers to other properties: set ${option} instead`,
      )
    return value
  }
  const uris = valueOf('uris', 'metastoreUris')
  if (uris === undefined || !urisPattern.test(uris))
    throw notAccepted(
      'configPath',
      `contains ${uris === undefined ? 'no hive.metastore.uris' : 'an invalid hive.metastore.uris'} in ${read.join(' and ')}: set metastoreUris instead, ${metastoreUrisInWords}`,
    )
  if (isTrue(valueOf('sasl', 'metastoreUris')) && options.kerberosPrincipal === undefined)
    throw notAccepted(
      'kerberosPrincipal',
      `is required: according to ${read.join(' and ')}, the metastore uses Kerberos (hive.metastore.sasl.enabled)`,
    )
  const metastorePrincipal = options.metastorePrincipal ?? valueOf('principal', 'metastorePrincipal')
  return {
    ...options,
    metastoreUris: uris,
    framed: options.framed ?? isTrue(valueOf('framed', 'framed')),
    ssl: options.ssl ?? isTrue(valueOf('ssl', 'ssl')),
    // Of one that does not want it, it says nothing.
    ...(options.kerberosPrincipal !== undefined &&
      metastorePrincipal !== undefined && { metastorePrincipal }),
  }
}

/** Whoever may add a catalog could look into any folder of the host else. */
function requireReadable(folder: string, bounds: StoreBounds | undefined): void {
  if (bounds === undefined || usualFolders().includes(folder)) return
  if (new AllowedView(bounds).allowed.hostCredentials?.includes(folder) === true) return
  throw notAccepted(
    'configPath',
    `is a folder on the host that catalogs may not read: an administrator can add ${folder} to the setting hostCredentials with "${product} settings put --host-credentials …" (each call replaces the list); or set metastoreUris instead`,
  )
}
