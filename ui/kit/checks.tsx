import { List } from '@mantine/core'
import type { CheckName, CheckResult } from '../../subjects/filesystems/filesystems.ts'
import type { CatalogCheck } from '../../subjects/metadata/catalogs.ts'
import { saidText, wordsOf } from './format.ts'
import { Named } from './named.tsx'
import { Status } from './status.tsx'

/** What a check found; of one that failed what is wrong, and what to do. */
interface Said extends Readonly<Record<Exclude<CheckResult, 'no'>, string>> {
  readonly no: readonly [wrong: string, fix: string]
}
type Sentences<N extends string> = Readonly<Record<N, Said>>

const ofStores: Sentences<CheckName> = {
  reach: {
    yes: 'The store answers.',
    no: ['The store does not answer.', 'Check its address, and that this host can reach it.'],
    untried: 'Whether the store answers was not checked.',
  },
  credentials: {
    yes: 'The store accepts the credentials.',
    no: ['The store rejects the credentials.', 'Correct them, or give them access.'],
    untried: 'The credentials were not checked.',
  },
  root: {
    yes: 'The root folder, bucket or container exists.',
    no: ['The root folder, bucket or container does not exist.', 'Correct its name, or create it.'],
    untried: 'Whether the root exists was not checked.',
  },
  clock: {
    yes: 'The clocks of the store and of this host agree.',
    no: ['The clocks of the store and of this host differ too much.', 'Synchronize the clock of this host.'],
    untried: 'The clocks were not compared.',
  },
  list: {
    yes: 'Folders can be listed.',
    no: ['Folders cannot be listed.', 'Give the credentials permission to list.'],
    untried: 'Listing was not checked.',
  },
  read: {
    yes: 'Files can be read.',
    no: ['Files cannot be read.', 'Give the credentials permission to read.'],
    untried: 'Reading was not checked.',
  },
  changes: {
    yes: 'The store reports changes to live migrations.',
    no: ['Changes cannot be received.', 'Correct the queue or feed, or leave it out.'],
    untried: 'The store reports no changes.',
  },
  write: {
    yes: 'Files can be written.',
    no: ['Files cannot be written.', 'Give the credentials permission to write, and check the free space.'],
    untried: 'Writing was not checked.',
  },
  checksum: {
    yes: 'The store keeps a correct digest of each file.',
    no: ['The digest that the store keeps is wrong.', 'Do not use it as a target.'],
    untried: 'The store keeps no digest that can be checked.',
  },
  replace: {
    yes: 'Files can be replaced.',
    no: ['Files cannot be replaced.', 'Give the credentials permission to overwrite.'],
    untried: 'Replacing was not checked.',
  },
  condition: {
    yes: 'A file that somebody else has changed is not deleted.',
    no: ['The store deletes files that somebody else has changed.', 'Let nobody else write to the target.'],
    untried: 'Whether changed files are protected from deletion was not checked.',
  },
  parts: {
    yes: 'Large files can be written in parts.',
    no: ['Large files cannot be written.', 'Give the credentials permission for multipart uploads.'],
    untried: 'Writing of large files was not checked.',
  },
  delete: {
    yes: 'Files can be deleted.',
    no: ['Files cannot be deleted.', 'Give the credentials permission to delete.'],
    untried: 'Deleting was not checked.',
  },
}

const ofCatalogs: Sentences<CatalogCheck['checks'][number]['check']> = {
  reach: {
    yes: 'The catalog answers and accepts the credentials.',
    no: [
      'The catalog does not answer, or rejects the credentials.',
      'Check its address and the credentials.',
    ],
    untried: 'Whether the catalog answers was not checked.',
  },
  list: {
    yes: 'Databases can be listed.',
    no: ['Databases cannot be listed.', 'Give the credentials permission to list.'],
    untried: 'Listing was not checked.',
  },
  read: {
    yes: 'Tables can be read.',
    no: ['Tables cannot be read.', 'Give the credentials permission to read.'],
    untried: 'Reading was not checked.',
  },
  write: {
    yes: 'The catalog can be written to.',
    no: ['The catalog cannot be written to.', 'Give the credentials permission to write.'],
    untried: 'Writing was not checked.',
  },
}

const sentences = { store: ofStores, catalog: ofCatalogs } as const
const marks: Readonly<Record<CheckResult, string>> = { yes: 'passed', no: 'failed', untried: 'not checked' }

/** What the platform adds, as a sentence. */
const sentence = (text: string): string => {
  const whole = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(whole) ? whole : `${whole}.`
}

/** What is wrong, and what to do: as the platform says it, which knows more, or else as it is in general. */
function failedText([wrong, fix]: Said['no'], detail: string | undefined): string {
  if (detail === undefined) return `${wrong} ${fix}`
  const said = saidText(detail)
  const [what = said, ...advice] = said.split(/(?:;|\.) /)
  return `${sentence(what)} ${advice.length === 0 ? fix : sentence(advice.join('; '))}`
}

/** What came of one check, in words. */
function resultText(known: Said | undefined, { check, result, detail }: Line): string {
  if (known !== undefined && result === 'no') return failedText(known.no, detail)
  const said = known === undefined || result === 'no' ? sentence(wordsOf(check)) : known[result]
  return detail === undefined ? said : `${said} ${sentence(saidText(detail))}`
}

interface Line {
  readonly check: string
  readonly result: CheckResult
  readonly detail?: string
}

/** What was tried of a store or catalog, and what came of it: in sentences, with what to do. */
export const Checks = ({
  of,
  what,
}: {
  readonly of: {
    readonly ok: boolean
    readonly checks: readonly Line[]
  }
  readonly what: keyof typeof sentences
}) => {
  const known: Partial<Sentences<string>> = sentences[what]
  return (
    <List mt="sm" spacing={4} listStyleType="none" role="status" aria-label="Results of the check">
      {of.checks.map((line) => (
        <List.Item key={line.check}>
          <Status of={marks[line.result]} /> <Named>{resultText(known[line.check], line)}</Named>
        </List.Item>
      ))}
    </List>
  )
}
