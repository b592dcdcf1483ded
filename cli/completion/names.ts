import type { Context, Globals } from '../context.ts'
import type { NameList } from './tree.ts'

/** Whoever presses TAB waits no longer for a platform that does not answer. */
const patienceMs = 1_000

/**
 * A name that a shell takes as it stands. Others have chosen the names, and bash puts candidates on the line without quotes:
 * `$(…)` would be run, and a blank would make two words.
 */
const plainName = /^[\w@%+=:,./][\w@%+=:,./-]*$/

/** Whether a shell takes a word as it stands. */
export const isPlain = (name: unknown): name is string => typeof name === 'string' && plainName.test(name)

/**
 * Names that a list has, without those that would have to be quoted. Empty where the platform does not answer in time. Never
 * rejects.
 */
export async function namesOf(
  { connect }: Pick<Context, 'connect'>,
  globals: Globals,
  { column, input, ...contract }: NameList,
): Promise<readonly string[]> {
  const asked = async () => {
    const session = await connect(globals)
    try {
      // A list's reply is one of rows.
      const rows = (await session.ask(contract, input)) as readonly Readonly<Record<string, unknown>>[]
      return rows.flatMap((row) => (isPlain(row[column]) ? [row[column]] : []))
    } finally {
      await session.close()
    }
  }
  const late = Promise.withResolvers<readonly string[]>()
  const timer = setTimeout(() => late.resolve([]), patienceMs)
  try {
    return await Promise.race([asked(), late.promise])
  } catch {
    return []
  } finally {
    clearTimeout(timer)
  }
}
