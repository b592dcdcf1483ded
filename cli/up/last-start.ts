import { join } from 'node:path'
import { readTextFile, writeSecretFile } from '../../broker/common/files.ts'
import { product } from '../../subjects/kit/names.ts'

/** With what a platform was started last, as its configuration alone does not say it. */
export interface LastStart {
  /** Where its broker listens. */
  readonly broker: string
  readonly flags: readonly string[]
}

const pathIn = (home: string): string => join(home, 'run', 'last-start.json')

export const noteStart = (home: string, start: LastStart): void =>
  writeSecretFile(pathIn(home), `${JSON.stringify(start)}\n`)

/** The last start; undefined before the first one, and where the note of it is damaged: nothing depends on it. */
export function lastStart(home: string): LastStart | undefined {
  try {
    const { broker, flags } = JSON.parse(readTextFile(pathIn(home)) ?? '{}') as Partial<LastStart>
    return typeof broker === 'string' && Array.isArray(flags) ? { broker, flags } : undefined
  } catch {
    return undefined
  }
}

/** Whether the platform of this folder was started last with another address of its broker. */
export function isElsewhere(home: string, broker: string): boolean {
  const last = lastStart(home)
  return last !== undefined && last.broker !== broker
}

/** What starts the platform whose broker was there: with the flags of its last start where it is that of this folder. */
export function startCommand(home: string, broker: string): string {
  const last = lastStart(home)
  return [`${product} up`, ...(last?.broker === broker ? last.flags : [])].join(' ')
}
