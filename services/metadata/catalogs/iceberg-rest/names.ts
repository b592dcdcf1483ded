/**
 * The name of a namespace as a database: its levels with dots between them. A dot or a percent sign in one is percent-encoded,
 * so that each name is of one namespace.
 */
export const databaseName = (levels: readonly string[]): string =>
  levels.map((level) => level.replaceAll('%', '%25').replaceAll('.', '%2E')).join('.')

export const levelsOf = (database: string): string[] =>
  database.split('.').map((level) => level.replaceAll('%2E', '.').replaceAll('%25', '%'))
