import { product } from './names.ts'
import { listed } from './plural.ts'
import { shellArgument } from './shell-word.ts'

/**
 * Why a thing has to stay while migrations need it, and what to do first, with the command for the first of them.
 * @param migrations their names, at least one
 * @param fix what to do first, such as `delete it`
 * @param commandOf what does that for a migration, after the program's name
 */
export function inUseText(
  thing: string,
  migrations: readonly string[],
  fix: string,
  commandOf: (migration: string) => string,
): string {
  const how = migrations.length > 1 ? ', starting with' : ' with'
  const command = `"${product} ${commandOf(migrations[0]!)}"`
  return `${thing} is in use by ${listed('migration', migrations)}: ${fix} first${how} ${command}`
}

/** What takes a rule off a migration, after the program's name. */
export const detachCommand = (rules: 'exclusions' | 'inclusions', migration: string, id: string): string =>
  `${rules} detach ${shellArgument(migration)} ${shellArgument(id)}`
