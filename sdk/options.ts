import type { ExtensionOptions } from './extension.ts'

export interface ConnectOptions extends ExtensionOptions {
  /** API token; in Node by default that of GANTRY_TOKEN. */
  readonly token?: string
  /** Address of the broker; in Node by default the one in the token. */
  readonly servers?: string | string[]
}
