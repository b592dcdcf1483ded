import type { FilesystemLook, LookedType } from '../../../subjects/filesystems/internal.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import type { RuleType } from '../../../subjects/migrations/model/rules.ts'
import { momentOf } from '../../engine/walk/differences.ts'

/** What somebody says of an entry. */
export interface Given {
  readonly type?: LookedType
  readonly size?: number
  /** ISO 8601. */
  readonly modified?: string
}

/** What rules are asked about: what was given, else what stands at the source. */
export interface Judged {
  readonly type: LookedType
  /** Of a file; undefined when nobody knows. */
  readonly sizeBytes?: number
  /** The same, and where the store gives none: no rule matches that. */
  readonly modifiedMs?: number
  /** Kinds of rules that cannot be decided, by what nobody knows of a file: nothing else is judged by size or time. */
  readonly open: ReadonlySet<RuleType>
  /** The same in words, and where each of it is from. */
  readonly text: string
}

const names: Record<LookedType, string> = {
  file: 'a file',
  folder: 'a folder',
  symlink: 'a symbolic link',
  other: 'not a file, folder or link',
}

/** @param look what stands at the source; asked only for what is not given, and undefined where there is no source */
export async function judgedOf(
  { type, size, modified }: Given,
  look: (() => Promise<FilesystemLook>) | undefined,
): Promise<Judged> {
  const isKnown = type !== undefined && (type !== 'file' || (size !== undefined && modified !== undefined))
  const { there, problem } = isKnown || look === undefined ? {} : await lookedAt(look)
  // What stands there is another thing than the one that is asked about.
  const found = type === undefined || there?.type === type ? there : undefined
  const judged = type ?? found?.type ?? 'file'
  const said = (given: unknown) => (given === undefined ? 'at the source' : 'as given')
  const unknown = problem === undefined ? [] : [problem]
  if (judged !== 'file')
    return {
      type: judged,
      open: new Set(),
      text: [`assumed to be ${names[judged]}, ${said(type)}`, ...unknown].join('; '),
    }
  const sizeBytes = size ?? found?.length
  const modifiedMs = modified === undefined ? found?.modificationTime : Date.parse(modified)
  const facts = [
    ...(type === undefined && found === undefined
      ? ['assumed to be a file']
      : [`${names.file}, ${said(type)}`]),
    ...(sizeBytes === undefined ? [] : [`${sizeBytes} bytes, ${said(size)}`]),
    ...(modifiedMs === undefined ? [] : [`changed ${momentOf({ modifiedMs })}, ${said(modified)}`]),
    ...(modifiedMs === undefined && found !== undefined
      ? ['without a modification time, at the source']
      : []),
    ...unknown,
  ]
  const isOpen = found === undefined
  return {
    type: judged,
    open: new Set<RuleType>([
      ...(isOpen && size === undefined ? (['fileSize'] as const) : []),
      ...(isOpen && modified === undefined ? (['date', 'age'] as const) : []),
    ]),
    ...(sizeBytes === undefined ? {} : { sizeBytes }),
    ...(modifiedMs === undefined ? {} : { modifiedMs }),
    text: facts.join('; '),
  }
}

async function lookedAt(look: () => Promise<FilesystemLook>) {
  try {
    const { entry } = await look()
    return entry === undefined ? { problem: 'the path does not exist at the source' } : { there: entry }
  } catch (error) {
    if (!isGantryError(error)) throw error
    return { problem: `the source could not be read: ${error.message}` }
  }
}
