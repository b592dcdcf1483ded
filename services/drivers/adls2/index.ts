import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import type { Side, StoreKind } from '../contract/kind.ts'

type Options = FilesystemOptions<'adls2-shared-key' | 'adls2-oauth2' | 'adls2-sas'>

const defaultEndpoint = 'dfs.core.windows.net'

/** What is the same whoever asks. */
const azure = {
  defaults: { endpoint: defaultEndpoint, insecure: 'false' },
  exclusions: [],
  restrictions: [
    {
      id: 'restriction-adls2-names',
      description:
        'Names that are not UTF-8, have a backslash, a control character or a dot at the end of a segment; paths of more than 1,024 characters or 254 segments',
    },
    { id: 'restriction-adls2-sizes', description: 'Files of more than 190.7 TiB' },
    { id: 'restriction-adls2-types', description: 'Symbolic links, pipes, sockets and devices' },
  ],
  uris: ({ accountName, containerName, endpoint = defaultEndpoint }: Options): [string, ...string[]] => {
    const container = `${containerName}@${accountName}`
    const blobs = endpoint.replace(/^dfs\./, 'blob.')
    return [
      `abfss://${container}.${endpoint}`,
      `abfs://${container}.${endpoint}`,
      `wasbs://${container}.${blobs}`,
      `wasb://${container}.${blobs}`,
    ]
  },
  open: async (options: Options, _side: Side, bounds: StoreBounds | undefined) => {
    const { Adls2Driver } = await import('./adls2.ts')
    const driver = new Adls2Driver(options, bounds)
    driver.requirePlace()
    return driver
  },
}

export const adls2: StoreKind<'adls2-shared-key'> = { kind: 'adls2-shared-key', ...azure }
export const adls2OAuth2: StoreKind<'adls2-oauth2'> = { kind: 'adls2-oauth2', ...azure }
export const adls2Sas: StoreKind<'adls2-sas'> = { kind: 'adls2-sas', ...azure }
