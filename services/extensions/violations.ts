import type { Violation } from '../../broker/violations.ts'
import { roots } from '../../subjects/names.ts'
import type { Directory } from './directory.ts'
import type { LogBook } from './log-book.ts'

/** The prefix that a subject of extensions is of. */
function prefixOf(subject: string): string | undefined {
  const root = `${roots.extensions}.`
  return subject.startsWith(root) ? subject.slice(root.length).split('.')[0] : undefined
}

/**
 * Notes what the broker did not let an extension do, where its author looks: with every extension that the key has an
 * instance of; where it has none, with the one whose subjects it meant, if that is its owner's.
 */
export async function noteViolation(
  { keyId, action, subject }: Violation,
  {
    directory,
    book,
    ownsPrefix,
  }: {
    readonly directory: Directory
    readonly book: LogBook
    readonly ownsPrefix: (keyId: string, prefix: string) => Promise<boolean>
  },
): Promise<void> {
  const rule = `${action === 'publish' ? 'pub' : 'sub'}.allow`
  const what = subject === undefined ? 'a subject with a token in it' : subject
  const message = `permission denied: key ${keyId} may not ${action === 'publish' ? 'publish' : 'subscribe'} to ${what}, which no rule of its ${rule} covers`
  const own = directory.instances().filter(({ key }) => key === keyId)
  const prefixes = new Set(own.map(({ prefix }) => prefix))
  const meant = prefixes.size === 0 && subject !== undefined ? prefixOf(subject) : undefined
  if (meant !== undefined && (await ownsPrefix(keyId, meant))) prefixes.add(meant)
  for (const prefix of prefixes) book.note(prefix, { level: 'error', message })
}
