import type {
  CatalogFunction,
  Database,
  Parameters,
  Partition,
  Storage,
  Table,
} from '../../../../subjects/metadata/objects.ts'

/** Where the files of tables are at either side. Plain data. */
export interface LocationRules {
  /** URIs of the root of the source's filesystem; empty where that is not known: each table says where its own files are. */
  readonly from: readonly string[]
  /** URI of the root of the target's; undefined where locations stay as they are. */
  readonly to: string | undefined
  /** Folders that go elsewhere; paths in the filesystems. */
  readonly mappings: readonly { readonly sourcePath: string; readonly targetPath: string }[]
}

/** Parameters whose value is a path however it looks; of others, those values are that begin with the URI of the source. */
const pathParameters = new Set([
  'path',
  'location',
  'avro.schema.url',
  'metadata_location',
  'previous_metadata_location',
])

/** Changes locations from a source's to a target's. */
export class Locations {
  readonly #rules: LocationRules
  readonly #from: readonly Place[]
  readonly #mappings: readonly { readonly source: string; readonly target: string }[]

  constructor(rules: LocationRules) {
    this.#rules = rules
    this.#from = rules.from.flatMap((uri) => placeOf(uri) ?? [])
    this.#mappings = rules.mappings
      .map(({ sourcePath, targetPath }) => ({ source: noSlash(sourcePath), target: noSlash(targetPath) }))
      .toSorted((one, other) => other.source.length - one.source.length)
  }

  /** The path in the source's filesystem; undefined where it is in none that is known. */
  pathAtSource(uri: string | undefined): string | undefined {
    return uri === undefined ? undefined : this.#pathIn(uri, this.#from)
  }

  database(database: Database): Database {
    const { location, managedLocation } = database
    const rewrite = this.#rewriting(location ?? managedLocation)
    return {
      ...database,
      ...(location !== undefined && { location: rewrite.uri(location) }),
      ...(managedLocation !== undefined && { managedLocation: rewrite.uri(managedLocation) }),
      parameters: rewrite.parameters(database.parameters),
    }
  }

  table(table: Table): Table {
    const rewrite = this.#rewriting(table.storage.location)
    return {
      ...table,
      storage: rewrite.storage(table.storage),
      parameters: rewrite.parameters(table.parameters),
    }
  }

  /** @param table as it is at the source */
  partition(partition: Partition, table: Table): Partition {
    const rewrite = this.#rewriting(partition.storage.location ?? table.storage.location)
    return {
      ...partition,
      storage: rewrite.storage(partition.storage),
      parameters: rewrite.parameters(partition.parameters),
    }
  }

  function(its: CatalogFunction): CatalogFunction {
    const resources = its.resources.map(({ uri, ...resource }) => ({
      ...resource,
      uri: this.#rewriting(uri).uri(uri),
    }))
    return { ...its, resources }
  }

  /** @param home where the object is, for a source whose filesystem is not known */
  #rewriting(home: string | undefined): Rewriting {
    const { to } = this.#rules
    const homePlace = home === undefined ? undefined : placeOf(home)
    const from =
      this.#rules.from.length > 0 ? this.#from : homePlace === undefined ? [] : [{ ...homePlace, path: '' }]
    return new Rewriting((uri) => {
      const path = to === undefined ? undefined : this.#pathIn(uri, from)
      return path === undefined ? undefined : joined(to!, this.#mapped(path))
    })
  }

  #pathIn(uri: string, roots: readonly Place[]): string | undefined {
    const place = placeOf(uri)
    if (place === undefined) return undefined
    for (const root of roots) {
      if (root.scheme !== place.scheme || root.authority !== place.authority) continue
      if (root.port !== undefined && place.port !== undefined && root.port !== place.port) continue
      if (place.path === root.path) return '/'
      if (place.path.startsWith(`${root.path}/`)) return place.path.slice(root.path.length)
    }
    return undefined
  }

  #mapped(path: string): string {
    for (const { source, target } of this.#mappings)
      if (path === source || path.startsWith(`${source}/`)) return target + path.slice(source.length)
    return path
  }
}

/** Changes what an object says of places. */
class Rewriting {
  readonly #rewritten: (uri: string) => string | undefined

  /** @param rewritten undefined for what is elsewhere */
  constructor(rewritten: (uri: string) => string | undefined) {
    this.#rewritten = rewritten
  }

  uri(uri: string): string {
    return this.#rewritten(uri) ?? uri
  }

  storage(storage: Storage): Storage {
    const { location, serde, skew } = storage
    return {
      ...storage,
      ...(location !== undefined && { location: this.uri(location) }),
      ...(serde !== undefined && { serde: { ...serde, parameters: this.parameters(serde.parameters) } }),
      ...(skew !== undefined && {
        skew: {
          ...skew,
          locations: skew.locations.map(({ values, location: its }) => ({
            values,
            location: this.uri(its),
          })),
        },
      }),
      parameters: this.parameters(storage.parameters),
    }
  }

  parameters(parameters: Parameters): Parameters {
    return Object.fromEntries(
      Object.entries(parameters).map(([name, value]) => {
        const isPath = pathParameters.has(name) || schemeOf(value) !== undefined
        return [name, isPath ? this.uri(value) : value]
      }),
    )
  }
}

interface Place {
  readonly scheme: string
  readonly authority: string
  /** Of a name node, apart from its authority: the usual one is written or left out, and two clusters of a host differ by it. */
  readonly port: string | undefined
  /** With a slash at its start and none at its end; empty for the root. */
  readonly path: string
}

const schemeOf = (text: string): string | undefined => /^([a-z][a-z0-9+.-]*):\/[^\s]*$/i.exec(text)?.[1]

/** What a location says. Undefined for what has no scheme. */
function placeOf(uri: string): Place | undefined {
  const scheme = schemeOf(uri)?.toLowerCase()
  if (scheme === undefined) return undefined
  const rest = uri.slice(scheme.length + 1)
  const [, authority = '', path = ''] = /^(?:\/\/([^/]*))?(.*)$/s.exec(rest)!
  const [, host = authority, port] = (scheme.endsWith('hdfs') && /^(.*):(\d+)$/.exec(authority)) || []
  return {
    scheme,
    authority: host,
    port,
    path: noSlash(path.replaceAll(/\/{2,}/g, '/')),
  }
}

const noSlash = (path: string): string => path.replace(/\/+$/, '')

/** A path below a URI; never with two slashes in a row behind the authority. */
const joined = (root: string, path: string): string => (path === '/' ? root : `${noSlash(root)}${path}`)
