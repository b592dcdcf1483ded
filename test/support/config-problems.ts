import { ConfigError } from '../../config/config-error.ts'

/** What of a configuration is refused; nothing where all is right. */
export function configProblems(work: () => unknown): readonly string[] {
  try {
    work()
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}
