import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { contracts } from '../subjects/index.ts'
import { conditionReasons } from '../subjects/migrations/model/condition-terms.ts'
import { root } from './cli/support.ts'

/** What a native technical writer would not write, and what they would. Reviewers add to it. */
const replacements: Readonly<Record<string, string>> = {
  'again and again': 'repeatedly, or "repeat"',
  anew: 'again, or "new"',
  'approve of': 'approve',
  'at will': 'at any time',
  'besides that': 'also',
  'by itself': 'automatically',
  'by turns': 'in turn',
  'came of it': 'the result',
  'comings and goings': 'registrations and losses',
  'does not get on': 'makes no progress',
  'for a trial': 'test, as in "a test message"',
  'go on': 'continue',
  'goes on': 'continues',
  'held against': 'checked against',
  'if need be': 'if needed',
  'in hand': 'in progress',
  'in place of': 'instead of',
  'in vain': 'without success',
  'is for once': 'runs once',
  'is looked at': 'is checked',
  'is mended': 'is corrected',
  'is told': 'is reported',
  'is told of': 'is notified of, or "detects"',
  'leads elsewhere': 'changes the path',
  'made up for': 'caught up',
  'sealed at rest': 'encrypted at rest',
  "somebody else's": "another user's",
  stranger: 'anonymous client',
  'take as it is': 'accept',
  'takes nothing': 'rejects requests',
  'tried with': 'tested with',
  'what became of': 'the result of',
  whatever: 'any',
  whoever: 'anyone who, or name the role',
  'without a goodbye': 'without deregistering',
}
/** A sentence of more words needs a second reading. */
const maxWords = 45

/** Texts that callers read, with where they are. */
function textsOfContracts(): Map<string, string> {
  const texts = new Map<string, string>()
  const read = (value: unknown, where: string): void => {
    if (typeof value !== 'object' || value === null) return
    if ('description' in value && typeof value.description === 'string') texts.set(value.description, where)
    for (const inner of Object.values(value)) read(inner, where)
  }
  for (const { subject, summary, description, input, output } of contracts) {
    texts.set(summary, subject)
    if (description !== undefined) texts.set(description, subject)
    read(input, subject)
    read(output, subject)
  }
  for (const [reason, text] of Object.entries(conditionReasons)) texts.set(text, reason)
  return texts
}

const wrongIn = (text: string): string[] =>
  Object.entries(replacements).flatMap(([words, better]) =>
    new RegExp(`\\b${words}\\b`, 'i').test(text) ? [`"${words}": write ${better}`] : [],
  )

test('contracts and conditions are in plain words', () => {
  const wrong = [...textsOfContracts()].flatMap(([text, where]) =>
    wrongIn(text).map((what) => `${where}: ${what} in: ${text}`),
  )
  expect(wrong).toEqual([])
})

test('no sentence of a contract needs a second reading', () => {
  const long = [...textsOfContracts()].flatMap(([text, where]) =>
    text
      .split(/[.;:] /)
      .filter((sentence) => sentence.split(/\s+/).length > maxWords)
      .map((sentence) => `${where}: ${sentence}`),
  )
  expect(long).toEqual([])
})

test('summaries are one line without a full stop', () => {
  const wrong = contracts.filter(({ summary }) => /\.$|\n/.test(summary) || summary.length > 130)
  expect(wrong.map(({ subject, summary }) => `${subject}: ${summary}`)).toEqual([])
})

/** Pages that a user reads first; those for developers keep their own words. */
const pages = [
  'README.md',
  'docs/PROGRAMS.md',
  'docs/UI.md',
  'docs/CUTOVER.md',
  'docs/COMING-FROM.md',
  'docs/MIGRATIONS.md',
  'docs/RULES.md',
  'docs/STORES.md',
  'docs/S3.md',
  'docs/AZURE.md',
  'docs/GCS.md',
  'docs/HDFS.md',
  'docs/METADATA.md',
  'docs/MIGRATOR.md',
  'docs/AGENTS.md',
  'docs/ACCESS.md',
  'docs/SECURITY.md',
  'docs/OPERATIONS.md',
  'docs/EXTENSIONS.md',
  'docs/PROTOCOL.md',
]

test.for(pages)('%s is in plain words', (page) => {
  const wrong = readFileSync(join(root, page), 'utf8')
    .split('\n')
    .flatMap((line, index) => wrongIn(line).map((what) => `${page}:${index + 1}: ${what}`))
  expect(wrong).toEqual([])
})
