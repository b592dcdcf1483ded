import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readTextFile } from '../../broker/common/files.ts'
import { product } from '../../subjects/kit/names.ts'

/** With what a platform was started last, as its configuration alone does not say it. */
export interface LastStart {
  /** Where its broker listens. */
  readonly broker: string
  readonly flags: readonly string[]
}

const pathIn = (home: string): string => join(home, 'run', 'last-start.json')

export const noteStart = (home: string, start: LastStart): void =>
  writeFileSync(pathIn(home), `${JSON.stringify(start)}\n`, { mode: 0o600 })

/** The last start; undefined before the first one. */
export function lastStart(home: string): LastStart | undefined {
  const text = readTextFile(pathIn(home))
  return text === undefined ? undefined : (JSON.parse(text) as LastStart)
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
