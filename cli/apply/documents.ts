import { GantryError } from '../../subjects/kit/errors.ts'
import { problemsOf } from '../../subjects/kit/validate.ts'
import { isRow, type Row } from '../output/fields.ts'
import { pathOfField, placeIn, yaml } from '../../config/yaml.ts'
import { nearest } from '../../subjects/kit/nearest.ts'
import { type DocumentKind, documentKinds } from './kinds.ts'

/** A document of a file, as it stands there. */
export interface Document {
  /** `file:line` */
  readonly place: string
  readonly kindName: string
  readonly kind: DocumentKind
  readonly spec: Row
}

/** A text that is all of a value: `${NAME}` stands for a variable of the environment. */
const variable = /^\$\{(?<name>[A-Za-z_][A-Za-z0-9_]*)\}$/

/**
 * The documents of a YAML file, each `kind` and `spec`.
 * @throws GantryError INVALID_INPUT with file, line, column and field of all that is wrong
 */
export function documentsOf(name: string, text: string, env: NodeJS.ProcessEnv): Document[] {
  const { LineCounter, parseAllDocuments } = yaml()
  const lineCounter = new LineCounter()
  const parsed = parseAllDocuments(text, { lineCounter })
  const problems: string[] = []
  const documents: Document[] = []
  if (!Array.isArray(parsed)) return documents
  for (const document of parsed) {
    const at = (path: readonly (string | number)[]): string => {
      const place = placeIn(document, lineCounter, path)
      return place === undefined ? name : `${name}:${place.line}:${place.column}`
    }
    const syntax = document.errors.map(({ message, pos }) => {
      const { line, col } = lineCounter.linePos(pos[0])
      return `${name}:${line}:${col}: ${message.split(' at line ')[0]}`
    })
    problems.push(...syntax)
    if (syntax.length > 0 || document.contents === null) continue
    const value: unknown = document.toJS()
    const { kind: kindName, spec, ...others } = isRow(value) ? value : {}
    const kind =
      typeof kindName === 'string' && Object.hasOwn(documentKinds, kindName)
        ? documentKinds[kindName]
        : undefined
    const more = Object.keys(others)
    if (kind === undefined || typeof kindName !== 'string') {
      const known = Object.keys(documentKinds)
      const near = typeof kindName === 'string' ? nearest(kindName, known) : undefined
      const fix =
        near === undefined ? `must be one of ${known.join(', ')}` : `is unknown: did you mean ${near}?`
      problems.push(`${at(['kind'])}: kind ${fix}`)
    } else if (!isRow(spec)) {
      problems.push(`${at(['spec'])}: spec must have the fields of a ${kindName}`)
    } else if (more.length > 0) {
      problems.push(`${at([more[0]!])}: unknown field ${more[0]}; a document has only kind and spec`)
    } else {
      const filled = withVariables(spec, env, (path, text) =>
        problems.push(`${at(['spec', ...path])}: spec.${path.join('.')} ${text}`),
      ) as Row
      const wrong = problemsOf(kind.create.input, filled)
      const missing = kind.by.filter(
        (field) => filled[field] === undefined && !wrong.some((one) => one.field === field),
      )
      for (const { field, problem } of [
        ...wrong,
        ...missing.map((field) => ({ field, problem: 'is required' })),
      ])
        problems.push(`${at(['spec', ...pathOfField(field)])}: spec.${field} ${problem}`)
      documents.push({ place: at([]).replace(/:\d+$/, ''), kindName, kind, spec: filled })
    }
  }
  if (problems.length > 0) throw new GantryError('INVALID_INPUT', problems.join('; '))
  return documents
}

function withVariables(
  value: unknown,
  env: NodeJS.ProcessEnv,
  fail: (path: readonly string[], text: string) => void,
  path: readonly string[] = [],
): unknown {
  if (typeof value === 'string') {
    const name = variable.exec(value)?.groups?.['name']
    if (name === undefined) return value
    const text = env[name]
    if (text === undefined) fail(path, `uses ${name}, which is not set: set it in the environment`)
    return text ?? value
  }
  if (Array.isArray(value))
    return value.map((one, index) => withVariables(one, env, fail, [...path, String(index)]))
  if (!isRow(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withVariables(one, env, fail, [...path, key])]),
  )
}
