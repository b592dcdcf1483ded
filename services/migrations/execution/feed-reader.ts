import { hash } from 'node:crypto'
import { filesystemKinds, type FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import type { MoveSpec } from '../../engine/mover.ts'
import { type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { settingsKey } from './followed.ts'

const digestOf = (text: string): string => hash('sha256', text, 'base64url')

/** Under other rules others of its changes count: what it was told under those of before says nothing then. */
const settingsReader = (record: MigrationRecord): string =>
  `${workIdOf(record)} ${digestOf(settingsKey(record))}`

/**
 * Who is told of changes. Another one once source or target lead elsewhere: of what is there it was told nothing, though the
 * queue is the same.
 */
export const feedReader = (
  record: MigrationRecord,
  { source, target }: Pick<MoveSpec, 'source' | 'target'>,
): string => `${settingsReader(record)} ${digestOf(JSON.stringify([openOf(source), openOf(target)]))}`

/** Without secrets: others of them lead to the same place. */
function openOf({ kind, options }: FilesystemSpec): unknown {
  const secrets: readonly string[] = filesystemKinds[kind].secrets
  return [kind, ...Object.entries(options).filter(([name]) => !secrets.includes(name))]
}

/** Whether a reader is one of these migrations as they are now, wherever they lead. */
export function isReaderOf(records: Iterable<MigrationRecord>): (reader: string) => boolean {
  const known = new Set([...records].map(settingsReader))
  return (reader) => known.has(reader.slice(0, reader.lastIndexOf(' ')))
}
