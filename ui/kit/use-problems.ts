import { useState } from 'react'
import { GantryError, type Problem } from '../../subjects/kit/errors.ts'

/** What the platform says of single fields. */
export const problemsOf = (error: unknown): readonly Problem[] =>
  error instanceof GantryError && Array.isArray(error.details)
    ? error.details.filter(
        (one): one is Problem =>
          typeof one === 'object' && one !== null && 'field' in one && 'problem' in one,
      )
    : []

/** The fields of a path such as `pub.allow[0]`, the whole first. */
export const fieldsIn = (path: string): readonly string[] =>
  path.split(/[.[\]/]/).filter((part) => part !== '')

/**
 * What is wrong with what was sent, as long as it stands in the form: what was said of a field goes when the field is
 * changed, and what was said of all of it when anything is.
 */
export function useProblems(error: unknown) {
  const [edited, setEdited] = useState<{ readonly error: unknown; readonly names: ReadonlySet<string> }>()
  const names = edited !== undefined && edited.error === error ? edited.names : new Set<string>()
  const all = problemsOf(error)
  const problems = all.filter(({ field }) => !fieldsIn(field).some((name) => names.has(name)))
  return {
    problems,
    /** What to show above the buttons. */
    shown: (all.length === 0 ? names.size === 0 : problems.length > 0) ? error : null,
    /** To be told of each change. */
    edit: (before: object, after: object): void => {
      const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
      const changed = [...new Set([...old.keys(), ...now.keys()])].filter(
        (name) => old.get(name) !== now.get(name),
      )
      setEdited({ error, names: new Set([...names, ...changed]) })
    },
  }
}
