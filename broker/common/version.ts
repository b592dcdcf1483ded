import { readFileSync } from 'node:fs'

/** Version of this release, semantic; all instances of a cluster must run the same. */
export const version = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version
