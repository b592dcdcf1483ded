import { GantryError } from '../../subjects/kit/errors.ts'

/** How a reply is written. */
export const forms = ['table', 'wide', 'json', 'yaml', 'name'] as const
export type Form = (typeof forms)[number]

/** What the options of every command say of the reply. */
export interface FormOptions {
  readonly output?: Form
  readonly columns?: string
  readonly json?: true
  readonly wide?: true
}

/** A reply as it is wanted. */
export interface Wanted {
  readonly form: Form
  /** Fields, also of objects in it as `progress.failedPaths`; undefined: those that the form shows. */
  readonly columns?: readonly string[]
}

/** @throws GantryError INVALID_INPUT when two forms are asked for */
export function wantedOf({ output, columns, json, wide }: FormOptions): Wanted {
  const asked = [
    ...(output === undefined ? [] : [output]),
    ...(json ? ['json' as const] : []),
    ...(wide ? ['wide' as const] : []),
  ]
  const [form = 'table', ...others] = new Set(asked)
  if (others.length > 0)
    throw new GantryError(
      'INVALID_INPUT',
      `${asked.join(' and ')} cannot be used together: choose one output format`,
    )
  const names = columns?.split(',').map((name) => name.trim())
  if (names?.some((name) => name === ''))
    throw new GantryError('INVALID_INPUT', '--columns: use field names, such as --columns id,state')
  return names === undefined ? { form } : { form, columns: names }
}
