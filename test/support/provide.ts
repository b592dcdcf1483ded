import { join } from 'node:path'
import { cacheFolder } from '../../broker/server/nats-server.ts'

/** What is downloaded or built for tests with real peers is kept here, for the next run. */
export const peersFolder = (): string => join(cacheFolder(process.env), 'peers')

/**
 * Gets what tests with a real peer need, before any test: that takes longer than a test may. They find it in the environment
 * variable `name`, or in `<name>_MISSING` why it cannot be had here.
 */
export async function provide(name: string, get: () => Promise<string>): Promise<void> {
  try {
    process.env[name] = await get()
  } catch (error) {
    process.env[`${name}_MISSING`] = (error as Error).message
  }
}

/** Why what tests need is not here; undefined where it is. */
export const whyMissing = (name: string): string | undefined =>
  process.env[name] === undefined ? (process.env[`${name}_MISSING`] ?? 'it was not looked for') : undefined
