import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { describe, expect, test } from 'vitest'
import { compareTrees } from '../../support/compare-trees.ts'
import { sharedMoves } from './move-folder.ts'

const createMove = sharedMoves()

/** No UTF-8: Latin-1, a byte that never occurs, a sequence cut short. Beside it, what a lossy reading would make of it. */
const notText = [Buffer.from('caf\xe9', 'latin1'), Buffer.from([0xff]), Buffer.from([0x61, 0xe2, 0x82])]
/** Two names that look the same: composed, and with a mark that combines. */
const forms = ['é', 'Å', 'ﬁ', '한'].flatMap((text) => [
  text.normalize('NFC'),
  text.normalize('NFD'),
  text.normalize('NFKC'),
])
const names = [...notText, ...notText.map((name) => Buffer.from(name.toString())), ...new Set(forms)].map(
  (name) => Buffer.from(name),
)

const join = (...parts: readonly (string | Buffer)[]) =>
  Buffer.concat(parts.flatMap((part, index) => [Buffer.from(index === 0 ? '' : '/'), Buffer.from(part)]))

/** Names of a folder, as hexadecimal text: what a file system has, not what a program shows. */
const listed = (folder: string) =>
  readdirSync(folder, { encoding: 'buffer' })
    .map((name) => name.toString('hex'))
    .toSorted()
const expected = names.map((name) => name.toString('hex')).toSorted()

describe('names that are not UTF-8, and pairs that differ in Unicode form alone', () => {
  test('of files, folders and links, and targets of links, arrive byte for byte', async () => {
    await using move = createMove()
    for (const kind of ['files', 'empty', 'folders', 'links']) mkdirSync(move.at('from', kind))
    for (const name of names) {
      writeFileSync(join(move.from, 'files', name), name)
      writeFileSync(join(move.from, 'empty', name), '')
      mkdirSync(join(move.from, 'folders', name))
      writeFileSync(join(move.from, 'folders', name, name), name)
      symlinkSync(join('..', 'files', name), join(move.from, 'links', name))
    }
    const { failures } = await move.run()
    expect(failures).toEqual([])
    for (const kind of ['files', 'empty', 'folders', 'links'])
      expect(listed(move.at('to', kind)), kind).toEqual(expected)
    for (const name of names) {
      expect(readFileSync(join(move.to, 'folders', name, name))).toEqual(name)
      expect(readlinkSync(join(move.to, 'links', name), { encoding: 'buffer' })).toEqual(
        join('..', 'files', name),
      )
      expect(readFileSync(join(move.to, 'links', name))).toEqual(name)
    }
    expect(compareTrees(move.from, move.to)).toEqual([])
  })

  test('of large files, each in a folder of its name', async () => {
    await using move = createMove()
    for (const name of names.slice(0, 8)) {
      mkdirSync(join(move.from, name))
      writeFileSync(join(move.from, name, name), Buffer.alloc(17 * 2 ** 20, name))
    }
    const { failures } = await move.run()
    expect(failures).toEqual([])
    expect(compareTrees(move.from, move.to)).toEqual([])
    expect(lstatSync(join(move.to, names[0]!, names[0]!)).size).toBe(17 * 2 ** 20)
  })

  test('as the root of a migration, and behind followed links', async () => {
    const root = join(notText[0]!, notText[1]!)
    await using move = createMove({ root, links: 'follow' })
    mkdirSync(join(move.from, root, notText[2]!), { recursive: true })
    writeFileSync(join(move.from, root, notText[2]!, 'file'), 'bytes')
    symlinkSync(notText[2]!, join(move.from, root, 'link'))
    const { failures } = await move.run()
    expect(failures).toEqual([])
    expect(readFileSync(join(move.to, root, 'link', 'file'), 'utf8')).toBe('bytes')
  })

  test('in failures are told apart: percent-encoded where a person could not', async () => {
    await using move = createMove()
    const pipes = [
      notText[0]!,
      Buffer.from('é'.normalize('NFC')),
      Buffer.from('é'.normalize('NFD')),
      Buffer.from('100%\n'),
    ]
    for (const name of pipes) {
      execFileSync('mkfifo', ['pipe'], { cwd: move.from })
      renameSync(move.at('from', 'pipe'), join(move.from, name))
    }
    const { failures } = await move.run()
    expect(failures.map(({ path }) => path).toSorted()).toEqual(
      ['/caf%E9', `/${'é'.normalize('NFC')}`, `/${'é'.normalize('NFD')}`, '/100%25%0A'].toSorted(),
    )
  })
})
