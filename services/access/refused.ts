/** Why somebody is not let in: for the log, never for the caller. */
export class Refused extends Error {}

/** The identity provider did not answer, or not as one does. */
export class Unreachable extends Error {
  constructor(what: string, cause: unknown) {
    super(`cannot get ${what}: ${reasonOf(cause)}`, { cause })
  }
}

/** The innermost message: that of `fetch` itself says nothing. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (cause instanceof AggregateError) return reasonOf(cause.errors[0])
  return cause instanceof Error ? reasonOf(cause) : error.message
}
